"""Trust that may be acted on: what is stored and was signed. A rule whose trust was edited in the store falls to
`notify`, and people are told. Must not: decide what a level allows."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from opsapp.audit.engine import THE_SERVICE, note
from opsapp.healing.config import HealingSettings
from opsapp.healing.logic.levels import LEVELS, lowest
from opsapp.healing.resources import healing_of
from opsapp.healing.resources.signedtrust import mark_older, sign_older
from opsapp.healing.stages import trust as governor
from opsapp.healing.stages.trust import Trust
from opsapp.notify.engine import tell
from opsapp.runtime.chainkey import is_shut
from opsapp.runtime.node import Node, node_of
from opsapp.tree.root import Root

from . import suggestions

TOLD = (
    "Its trust, or what the rule does, was changed in the store, and not by the service: what it had earned counts no "
    "longer. "
    "Find out who has written to the store. Then the rule can be promoted again."
)


class TrustHeld(NamedTuple):
    """The trust of each rule; of what was `edited` nothing counts but a level below `notify`."""

    trust: dict[str, Trust]
    edited: tuple[str, ...]


def held(root: Root) -> TrustHeld:
    trust, edited = {}, []
    states = healing_of(root).trust
    rules = dict(healing_of(root).rules.items()) if states.defined else {}
    for rule_id, state in states.items():
        trust[rule_id] = state.trust
        deeds = rules[rule_id].deeds(root) if rule_id in rules else None
        is_other = deeds is not None and deeds.definition != state.trust.definition
        if not state.is_sound(root) or is_other:
            trust[rule_id] = _harmless(rule_id, state.trust)
            if deeds is None or deeds.whole or not is_other:  # an automation that cannot be read is no edit
                edited.append(rule_id)
    return TrustHeld(trust, tuple(edited))


def said(edited: tuple[str, ...]) -> str:
    return f"the trust of rules was edited: {', '.join(edited)}"


def _harmless(rule_id: str, trust: Trust) -> Trust:
    level = trust.current_level if trust.current_level in LEVELS else "notify"
    return Trust(rule_id, lowest("notify", level), "notify", trust.definition, trust.since)


def let_fall(root: Root, rule_ids: Collection[str]) -> None:
    """Let the rules' trust fall in the store too, unless this node lacks the key and cannot tell."""
    if is_shut(root):
        return
    healing, now = healing_of(root), node_of(root).clock.now()
    for rule_id in rule_ids:
        state, rule = healing.trust[rule_id], healing.rules.get(rule_id)
        if rule is None:
            continue
        level = state.trust.current_level
        state.fall(root, rule.record, now)
        note(root, THE_SERVICE, "healing.trust.edited", rule_id, before=level, after=state.trust.current_level)
        tell(root, now, key=f"trust:{rule_id}", kind="heal.trust_edited", severity="critical", tags=("healing",),
             title=f"Rule {rule_id} only notifies now", text=TOLD, ids={"rule": rule_id})  # fmt: skip


def govern(root: Root, now: float) -> None:
    """Each minute: triggers grow old, ceilings and evidence may have changed."""
    healing, settings = healing_of(root), node_of(root).config[HealingSettings]
    let_fall(root, held(root).edited)
    for state in healing.trust.values():
        if not state.is_sound(root):
            continue
        trust, change = governor.evaluate(state.trust, now, settings)
        if change is not None or now - state.trust.last_evaluated >= 30:
            state.become(root, trust, cause=change.cause if change else "edit", now=now)
            suggestions.after_trigger(healing.suggestions, trust, settings.promotion, now)


def prepare(node: Node) -> None:
    """An older store has no signatures: what is there is signed, and audited."""
    node.transact(_sign)


def _sign(root: Root) -> None:
    _define(root)
    signed = sign_older(root)
    mark_older(root)
    if signed:
        note(root, THE_SERVICE, "healing.trust.signed", "", after=signed)


def _define(root: Root) -> None:
    """Once in an older store: what its rules do is taken as it is."""
    states = healing_of(root).trust
    if states.defined or is_shut(root):
        return
    states.defined = True
    rules = dict(healing_of(root).rules.items())
    for rule_id, state in states.items():
        if rule_id in rules and state.is_sound(root):
            definition = rules[rule_id].deeds(root).definition
            if definition != state.trust.definition:
                state.trust = state.trust._replace(definition=definition)
