"""/api/healing/rules and /api/healing/trust."""

from __future__ import annotations

from typing import Any

from pyramid.request import Request

from opsapp.healing import answers, schemas
from opsapp.healing.config import HealingSettings
from opsapp.healing.engine import as_of
from opsapp.healing.engine.default_rules import RULE_DEFAULTS, complete
from opsapp.healing.logic.soundness import incomplete
from opsapp.healing.resources.rules import Rule, Rules, TrustBook, TrustState, drop_rule, put_rule, require_free
from opsapp.healing.resources.signedtrust import TRUST
from opsapp.healing.stages import trust as governor
from opsapp.lib.ids import new_id
from opsapp.lib.jsontypes import JsonObject
from opsapp.lib.problems import Conflict
from opsapp.runtime.projection import readable
from opsapp.tree.damage import NAMELESS, Damage
from opsapp.web import api
from opsapp.web.deletions import undoable
from opsapp.web.fields import AsOf
from opsapp.web.listpages import in_order, page_of

from . import WORST_FIRST

UNREAD: JsonObject = {
    **RULE_DEFAULTS,
    "condition": NAMELESS,
    "cooldown_s": 0,
    "trust_ceiling": "observation",
    "initial_level": "observation",
    "enabled": False,
    "source": "api",
    "created_at": 0,
    "updated_at": 0,
}


@api.get(Rules, query=schemas.RuleList, returns=[answers.RuleRecord])
def rules(context: Rules, request: Request) -> Any:
    """All rules, or those with these words in their name, description or condition."""
    query = request.valid_query
    rows = _all_rules(context) if query["as_of"] is None else request.node.transact_at(query["as_of"], as_of.rules)
    matching = [row for row in rows if has_words(row, query["q"])]
    return request.shown(page_of(request, in_order(matching, query["sort"], {"severity": WORST_FIRST})))


def _all_rules(context: Rules) -> list[JsonObject]:
    damaged: list[Damage] = []
    rows = [rule.plain() for _, rule in readable(context, "rule", damaged)]
    return [{**UNREAD, "id": damage.id, "unreadable": damage.reason} for damage in damaged if damage.id] + rows


def has_words(row: JsonObject, words: str | None) -> bool:
    text = f"{row['id']} {row['description']} {row['condition']}".casefold()
    return all(word in text for word in (words or "").casefold().split())


@api.create(Rules, role="admin", body=schemas.NewRule, returns=answers.RuleMade)
def create_rule(context: Rules, request: Request) -> Any:
    """A new rule."""
    rule_id = request.valid_body["id"] or new_id()
    require_free(request.root, rule_id)
    fields = complete(request.valid_body)
    put_rule(request.root, rule_id, fields, source="api", now=request.node.clock.now())
    request.audit("healing.rule.create", rule_id, after=fields)
    return {**context[rule_id].plain(), "status": "created"}


@api.get(Rule, query=AsOf, returns=answers.RuleRecord)
def rule(context: Rule, request: Request) -> Any:
    """One rule."""
    at = request.valid_query["as_of"]
    if at is not None:
        return request.shown(request.node.transact_at(at, as_of.rule, context.__name__))
    return request.shown(context.plain())


@api.update(
    Rule,
    role="admin",
    body=schemas.RuleBody,
    also=lambda rule, request, sound: incomplete({**rule.fields, **sound}),
    stored=lambda rule: rule.fields,
    read_only=answers.RuleRecord,
    returns=answers.RuleUpdated,
)
def edit_rule(context: Rule, request: Request) -> Any:
    """Changes what is given; a rule that does something else has its trust to earn again."""
    before, fields = context.fields, {**context.fields, **request.valid_body}
    if fields != before:  # sent back as it was read, a rule of the file stays the file's
        put_rule(request.root, context.__name__, fields, source="api", now=request.node.clock.now())
    request.audit("healing.rule.update", context.__name__, before=before, after=fields)
    return {**context.__parent__[context.__name__].plain(), "status": "updated"}


@api.delete(Rule, role="admin", returns=answers.Status, undoes=True)
def delete_rule(context: Rule, request: Request) -> Any:
    """The rule is gone; what it did stays in the ledger."""
    request.audit("healing.rule.delete", context.__name__, before=context.fields)
    undoable(request, "rule", context.__name__, context.__name__, drop_rule(request.root, context.__name__))
    return {"status": "deleted"}


@api.get(TrustBook, query=schemas.PastPage, returns=[answers.TrustRecord])
def trust(context: TrustBook, request: Request) -> Any:
    """How far each rule is trusted, on what evidence, and what it lacks for more."""
    at, settings = request.valid_query["as_of"], request.node.config[HealingSettings]
    if at is not None:
        return page_of(request, request.node.transact_at(at, as_of.trust, at, settings))
    now = request.node.clock.now()
    return page_of(request, [state.plain(now, settings) for _, state in readable(context, TRUST)])


@api.act(TrustState, "promote", role="admin", body=schemas.Promotion, returns=answers.NewLevel)
def promote(context: TrustState, request: Request) -> Any:
    """A higher level for the rule, up to its ceiling."""
    return _move(context, request, governor.promote, "promote")


@api.act(TrustState, "demote", role="admin", body=schemas.Demotion, returns=answers.NewLevel)
def demote(context: TrustState, request: Request) -> Any:
    """A lower level for the rule."""
    return _move(context, request, governor.demote, "demote")


def _move(context: TrustState, request: Request, move: Any, name: str) -> JsonObject:
    before, now = context.trust.current_level, request.node.clock.now()
    context.require_sound(request.root)
    try:
        moved = move(context.trust, request.valid_body["level"], now)
    except governor.LevelRefused as refusal:
        raise Conflict(str(refusal), code="level_refused") from None
    context.become(request.root, moved, cause=f"{name} by {request.caller.name}", now=now)
    request.audit(f"healing.trust.{name}", context.__name__, before=before, after=moved.current_level)
    return {"success": True, "rule_id": context.__name__, "new_level": moved.current_level}
