"""What happened and what it says: ledger, effectiveness, suggestions, cases, rollback."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from pyramid.request import Request

from opsapp.approvals.reach import seen_by
from opsapp.healing import answers, records, schemas
from opsapp.healing.engine import archive, ledgerchecks, memberviews, reach, rollback, trials
from opsapp.healing.engine.casestory import story
from opsapp.healing.engine.dependencies import learn_edge, remove_edge
from opsapp.healing.logic.chain import LedgerVerdict
from opsapp.healing.resources import Cases, CaseView, Healing, RollbackOf, healing_of
from opsapp.healing.resources.ledger import Ledger
from opsapp.healing.resources.ledgerfilters import LedgerFilter
from opsapp.healing.resources.suggestions import Suggestion, Suggestions
from opsapp.healing.stages.ledger import Effectiveness
from opsapp.healing.stages.ledger import effectiveness as figures
from opsapp.lib.durations import seconds
from opsapp.lib.jsontypes import JsonObject
from opsapp.lib.problems import Conflict
from opsapp.tree.acl import Permission
from opsapp.tree.rights import Sight
from opsapp.tree.root import Root
from opsapp.web import api, files
from opsapp.web.answers import Deferred, Stream, later
from opsapp.web.listpages import counted, in_order, page_of
from opsapp.web.schemas import ArchiveAnswer, ArchiveQuery
from opsapp.wire.records import plain

from . import WORST_FIRST


@api.get(Ledger, query=schemas.LedgerQuery, returns=[answers.LedgerEntryShown], teams="filtered")
def ledger(context: Ledger, request: Request) -> Any:
    """Every outcome, newest first. Who is in a team gets those about hosts and monitors that it sees, without what may
    name others."""
    query = request.valid_query
    only = LedgerFilter(*(query[name] for name in LedgerFilter._fields))
    if query["within"] is not None:
        only = only._replace(since=int(request.now - seconds(query["within"])))
    asked = (query["rule_id"], query["target"], query["limit"], query["offset"])
    total, rows = context.page(*asked, only, reach.seen_subjects(request.root, request.sight))
    return request.shown(
        counted(request, _told([*map(context.shown, rows)], seen_by(request.root, request.sight)), total)
    )


def _told(rows: list[answers.LedgerEntryShown], is_seen: memberviews.IsSeen | None) -> list[answers.LedgerEntryShown]:
    return rows if is_seen is None else [memberviews.entry(row, is_seen) for row in rows]


@api.get(Ledger, "file", query=files.FileQuery, returns=files.EITHER, teams="filtered")
def file(context: Ledger, request: Request) -> Stream:
    """The entries of a month as a file, newest first; for who is in a team as in the list."""
    read = partial(_entries_of, sight=request.sight)
    return files.of_month(request, "ledger", files.columns_of(answers.LedgerEntryShown), read)


def _entries_of(root: Root, month: files.FilePage, sight: Sight | None) -> list[JsonObject]:
    only = LedgerFilter(since=month.since, until=month.until - 1)
    rows = healing_of(root).ledger.before(month.last, month.limit, only, reach.seen_subjects(root, sight))
    return [*map(plain, _told(rows, seen_by(root, sight)))]


@api.get(Ledger, "verify", query=schemas.KeptHead, returns=answers.LedgerVerdict, teams="filtered")
def verify(context: Ledger, request: Request) -> Deferred:
    """Whether the chain of final entries is whole, and what is kept beside them is what they say. Every entry is read
    for it, from the mark on that stands for those that were folded away. `head` is that of an old morning letter: the
    chain must still go through it. Who is in a team is told whether the whole chain is whole, and how many entries of
    theirs it has."""
    node, head, narrow = request.node, request.valid_query["head"], _narrowing(context, request)
    return later(lambda: narrow(ledgerchecks.answered(node, head)))


def _narrowing(ledger: Ledger, request: Request) -> Callable[[LedgerVerdict], LedgerVerdict]:
    subjects = reach.seen_subjects(request.root, request.sight)
    if subjects is None:
        return lambda verdict: verdict
    return partial(memberviews.verdict, own=ledger.page(None, None, 0, 0, subjects=subjects)[0])


@api.get(Ledger, "last-check", returns=answers.LastCheck, teams="filtered")
def last_check(context: Ledger, request: Request) -> answers.LastCheck:
    """What the node that answers found when it checked that last, which it does each hour. Null as long as it has not
    done so since its start."""
    last = ledgerchecks.checks_of(request.node).last
    if last is None or last.verdict is None:
        return answers.LastCheck(None, None)
    return answers.LastCheck(last.checked_at, _narrowing(context, request)(last.verdict))


@api.get(Ledger, "archive", role="admin", query=ArchiveQuery, returns=ArchiveAnswer, errors=(409,))
def archived_entries(context: Ledger, request: Request) -> JsonObject:
    """A page of the final entries in the order of the chain, for `opsapp export --archive`. Addresses are masked."""
    return archive.ledger_page(request.root, request.valid_query["after"])._asdict()


@api.act(Ledger, "archived", role="admin", body=schemas.Archived, returns=answers.Success)
def archived(context: Ledger, request: Request) -> answers.Success:
    """Says that an archive has the entries up to this link: nobody is told any more that they will be folded."""
    body = request.valid_body
    archive.archived(request.root, body["links"], body["head"])
    request.audit("healing.ledger.archived", "ledger", after=body)
    return answers.Success(True)


@api.get(Cases, "archive", role="admin", query=ArchiveQuery, returns=ArchiveAnswer)
def archived_cases(context: Cases, request: Request) -> JsonObject:
    """A page of the closed cases, for `opsapp export --archive`. Addresses are masked."""
    return archive.case_page(request.root, request.valid_query["after"])._asdict()


@api.get(Healing, "effectiveness", query=schemas.EffectivenessQuery, returns=Effectiveness)
def effectiveness(context: Healing, request: Request) -> Any:
    """How often an action has helped against a condition."""
    action, condition, target = (request.valid_query[name] for name in ("action_type", "condition", "target"))
    return figures(action, condition, *context.ledger.statistics(action, condition, target))


@api.get(Suggestions, query=schemas.SuggestionList, returns=[answers.SuggestionRecord])
def suggestions(context: Suggestions, request: Request) -> Any:
    """What people should look at, the newest first unless `sort` names a field."""
    query = request.valid_query
    matching = [
        row
        for row in context.active()
        if query["category"] in (None, row.category) and query["rule_id"] in (None, row.rule_id)
    ]
    return request.shown(page_of(request, in_order(matching, query["sort"], {"severity": WORST_FIRST})))


@api.act(Suggestion, "dismiss", returns=answers.Success)
def dismiss(context: Suggestion, request: Request) -> Any:
    """Puts it away; the same evidence does not bring it back."""
    context.dismiss()
    request.audit("healing.suggestion.dismiss", context.__name__)
    return answers.Success(True)


@api.act(Suggestion, "confirm", returns=answers.Success)
def confirm(context: Suggestion, request: Request) -> Any:
    """Declares the dependency that it suggests, or takes out the one that it doubts."""
    about, category = context.fields.get("about"), context.fields["category"]
    if category not in ("dependency_candidate", "dependency_doubt") or not about:
        raise Conflict("Only a dependency candidate can be confirmed.", code="not_a_candidate")
    if context.fields["dismissed"]:
        raise Conflict("This suggestion is dismissed or confirmed already.", code="already_dismissed")
    if category == "dependency_doubt":
        remove_edge(request.root, about["target"], about["depends_on"])
    else:
        learn_edge(request.root, about["target"], about["depends_on"])
    context.dismiss()
    request.audit("healing.suggestion.confirm", context.__name__, after=about)
    return answers.Success(True)


@api.get(CaseView, returns=answers.CaseShown, teams="see")
def case(context: CaseView, request: Request) -> Any:
    """One case: what it took in, its plan, and why it went as it did."""
    may_administer = bool(request.has_permission(Permission.administer))
    healing, node = context.__parent__.__parent__, request.node
    told = story(healing, context.__name__, node, operates=request.may_edit, administers=may_administer)
    seen, is_seen = reach.seen_subjects(request.root, request.sight), seen_by(request.root, request.sight)
    return request.shown(told if seen is None or is_seen is None else memberviews.case(told, seen, is_seen))


@api.act(CaseView, "act-now", returns=answers.Success, teams="act")
def act_now(context: CaseView, request: Request) -> Any:
    """Does not wait any longer for a case that is left alone; it counts for neither arm then."""
    trials.act_now(request.root, context.__name__, request.caller.name, request.now)
    request.audit("healing.case.act_now", context.__name__)
    return answers.Success(True)


@api.act(RollbackOf, role="admin", idempotent=True, returns=records.RolledBack)
def roll_back(context: RollbackOf, request: Request) -> Any:
    """Puts back what the action of an entry had changed."""
    node, ledger_id = request.node, context.ledger_id
    rollback.refuse_impossible(request.root, ledger_id)
    request.audit("healing.rollback", str(ledger_id))
    return later(lambda: rollback.perform(node, ledger_id))
