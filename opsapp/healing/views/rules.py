"""/api/healing/rules and /api/healing/trust."""

from __future__ import annotations

from typing import Any

from pyramid.request import Request

from opsapp.healing import answers, schemas
from opsapp.healing.config import HealingSettings
from opsapp.healing.engine import memberviews, reach
from opsapp.healing.logic.soundness import incomplete
from opsapp.healing.records import NewRule, RuleDone, RuleRecord, RuleSettings
from opsapp.healing.resources.rules import (
    Rule,
    Rules,
    TrustBook,
    TrustState,
    drop_rule,
    put_rule,
    require_free,
    rule_then,
    rules_then,
    trust_then,
)
from opsapp.healing.stages import trust as governor
from opsapp.lib.ids import new_id
from opsapp.lib.problems import Conflict
from opsapp.tree.damage import NAMELESS, Damage
from opsapp.web import api
from opsapp.web.deletions import undoable
from opsapp.web.fields import AsOf
from opsapp.web.listpages import in_order, page_of
from opsapp.web.sight import require_present
from opsapp.wire.records import changed, made, plain

from . import WORST_FIRST


def unread(damage: Damage) -> RuleRecord:
    return RuleRecord(
        NAMELESS, cooldown_s=0, trust_ceiling="observation", enabled=False, id=damage.id, unreadable=damage.reason
    )


@api.get(Rules, query=schemas.RuleList, returns=[RuleRecord], teams="filtered")
def rules(context: Rules, request: Request) -> Any:
    """All rules, or those with these words in their name, description or condition. Who is in a team gets those that
    name no hosts, monitors or tags, or only ones that it sees, without descriptions."""
    query = request.valid_query
    at = query["as_of"]
    require_present(request, at)
    records = _all_rules(context) if at is None else request.node.transact_at(at, rules_then)
    rows = [record for record in _seen(request, records) if has_words(record, query["q"])]
    return request.shown(page_of(request, in_order(rows, query["sort"], {"severity": WORST_FIRST})))


def _seen(request: Request, records: list[RuleRecord]) -> list[RuleRecord]:
    sight = request.sight
    if sight is None:
        return records
    tags_of = reach.reader_of(request.root)
    return [memberviews.rule(record) for record in records if not record.unreadable and sight.sees(tags_of(record))]


def _all_rules(context: Rules) -> list[RuleRecord]:
    rules, damaged = context.parted()
    return [unread(damage) for damage in damaged if damage.id] + [rule.record for rule in rules]


def has_words(rule: RuleRecord, words: str | None) -> bool:
    text = f"{rule.id} {rule.description} {rule.condition}".casefold()
    return all(word in text for word in (words or "").casefold().split())


def answer(rule: Rule, status: str) -> Any:
    return {**plain(rule.record), "status": status}


@api.create(Rules, role="admin", body=NewRule, returns=RuleDone)
def create_rule(context: Rules, request: Request) -> Any:
    """A new rule."""
    draft = made(NewRule, request.valid_body)
    rule_id = draft.id or new_id()
    require_free(request.root, rule_id)
    rule = put_rule(request.root, rule_id, draft, source="api", now=request.now)
    request.audit("healing.rule.create", rule_id, after=rule.fields)
    return answer(rule, "created")


@api.get(Rule, query=AsOf, returns=RuleRecord, teams="see")
def rule(context: Rule, request: Request) -> Any:
    """One rule."""
    at = request.valid_query["as_of"]
    require_present(request, at)
    if at is not None:
        return request.shown(request.node.transact_at(at, rule_then, context.__name__))
    return request.shown(context.record if request.sight is None else memberviews.rule(context.record))


@api.update(
    Rule,
    role="admin",
    body=RuleSettings,
    also=lambda rule, request, sound: incomplete({**rule.fields, **sound}),
    stored=lambda rule: rule.fields,
    read_only=RuleRecord,
    returns=RuleDone,
)
def edit_rule(context: Rule, request: Request) -> Any:
    """Changes what is given; a rule that does something else has its trust to earn again."""
    before, settings = context.record, changed(context.record, request.valid_body)
    if settings != before:  # sent back as it was read, a rule of the file stays the file's
        put_rule(request.root, context.__name__, settings, source="api", now=request.now)
    request.audit("healing.rule.update", context.__name__, before=before.stored(), after=settings.stored())
    return answer(context, "updated")


@api.delete(Rule, role="admin", returns=answers.Status, undoes=True)
def delete_rule(context: Rule, request: Request) -> Any:
    """The rule is gone; what it did stays in the ledger."""
    request.audit("healing.rule.delete", context.__name__, before=context.fields)
    undoable(request, "rule", context.__name__, context.__name__, drop_rule(request.root, context.__name__))
    return {"status": "deleted"}


@api.get(TrustBook, query=schemas.PastPage, returns=[answers.TrustShown], teams="filtered")
def trust(context: TrustBook, request: Request) -> Any:
    """How far each rule is trusted, on what evidence, and what it lacks for more. Who is in a team gets the rules that
    name only hosts and monitors that it sees: of others the evidence counts everybody's."""
    at, settings = request.valid_query["as_of"], request.node.config[HealingSettings]
    require_present(request, at)
    if at is not None:
        return page_of(request, request.node.transact_at(at, trust_then, at, settings))
    now = request.now
    is_theirs = reach.counts_theirs(request.root, request.sight)
    return page_of(request, [state.shown(now, settings) for state in context.values() if is_theirs(state.__name__)])


@api.act(TrustState, "promote", role="admin", body=schemas.Promotion, returns=answers.NewLevel)
def promote(context: TrustState, request: Request) -> Any:
    """A higher level for the rule, up to its ceiling."""
    return _move(context, request, governor.promote, "promote")


@api.act(TrustState, "demote", role="admin", body=schemas.Demotion, returns=answers.NewLevel)
def demote(context: TrustState, request: Request) -> Any:
    """A lower level for the rule."""
    return _move(context, request, governor.demote, "demote")


def _move(context: TrustState, request: Request, move: Any, name: str) -> answers.NewLevel:
    before, now = context.trust.current_level, request.now
    context.require_sound(request.root)
    try:
        moved = move(context.trust, request.valid_body["level"], now)
    except governor.LevelRefused as refusal:
        raise Conflict(str(refusal), code="level_refused") from None
    context.become(request.root, moved, cause=f"{name} by {request.caller.name}", now=now)
    request.audit(f"healing.trust.{name}", context.__name__, before=before, after=moved.current_level)
    return answers.NewLevel(True, context.__name__, moved.current_level)
