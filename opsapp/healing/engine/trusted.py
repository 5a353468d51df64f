"""Stage 6 in the store: trust that may be acted on, what is counted for it, and what is suggested then.

What is stored counts where it was signed: a rule whose trust was edited in the store falls to `notify`, and people are
told. The same evidence makes no second suggestion. Must not: decide what a level allows.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from opsapp.audit.engine import THE_SERVICE, note
from opsapp.healing.config import HealingSettings, PromotionSettings
from opsapp.healing.logic import effectiveness
from opsapp.healing.logic.levels import LEVELS, lowest
from opsapp.healing.logic.rules import names_of
from opsapp.healing.resources import healing_of
from opsapp.healing.resources.ledger import Ledger
from opsapp.healing.resources.ledger import held as index_of
from opsapp.healing.resources.rules import TrustState
from opsapp.healing.resources.signedtrust import mark_older, sign_older
from opsapp.healing.resources.suggestions import Suggestions
from opsapp.healing.resources.trials import TossedCoin
from opsapp.healing.stages import trust as governor
from opsapp.healing.stages.attempt import Tried, comes_to
from opsapp.healing.stages.ledger import LedgerRecord
from opsapp.healing.stages.trust import LevelChange, Trust
from opsapp.monitoring.resources import monitors_of
from opsapp.notify.engine import tell
from opsapp.runtime.node import Node, node_of, now_of
from opsapp.runtime.secrets.chainkey import is_shut
from opsapp.tree.root import Root
from opsapp.wire.spoken import spoken_target

from . import edges, notifications, problems
from .context import PipelineContext

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
    healing, now = healing_of(root), now_of(root)
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
            suggest_promotion(healing.suggestions, trust, settings.promotion, now)


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


def count_trigger(context: PipelineContext, rule_id: str, at: float, root_cause: str | None) -> None:
    """`at`: when its condition was found true."""
    state = context.healing.trust.get(rule_id)
    if state is not None:
        promotion = context.settings.promotion
        root = "" if root_cause is None else outage_of(context, root_cause)
        _evaluate(context, state, governor.triggered(state.trust, at, promotion, root))


def outage_of(context: PipelineContext, root_cause: str) -> str:
    """What tells a failure of a root cause from its next one. Empty: what began at another time is another outage."""
    monitor_id = context.inventory.monitors.get(root_cause, "").partition(":")[2]
    monitor = monitors_of(context.root).find(monitor_id)
    incident_id = None if monitor is None else monitor.state.incident_id
    return context.book.open_on.get(root_cause) or incident_id or ""


def count_case(
    context: PipelineContext,
    tried: Sequence[Tried],
    last: LedgerRecord,
    alone_at: float | None = None,
    *,
    drawn: bool = False,
) -> None:
    """One case is one heal attempt, whatever its chain's length. `last`: its last entry; `drawn`: a coin fell for
    it, or for its outage; `alone_at`: when it ended, where an agent reports it."""
    if last.outcome == "verified":
        problems.healed(context, last.rule_id, last.target)
        edges.healed(context, last.target)
    state = context.healing.trust.get(last.rule_id)
    result = state and comes_to(tried, str(last.outcome), state.trust.definition)
    if state is None or result is None:
        return
    settings = context.settings
    if alone_at is None:
        trust, change = governor.recorded(state.trust, result, context.now, settings, drawn=drawn)
    else:
        trust, change = governor.reported(state.trust, result, alone_at, context.now, settings)
    if change is not None:
        state.become(context.root, trust, cause=change.cause, now=context.now)
        suggest_review(context, change, f"see ledger entry {last.id}", str(last.id))
        notifications.demoted(context, change, last.id)
    _evaluate(context, state, trust)


def count_trial(context: PipelineContext, rule_id: str, coin: TossedCoin) -> None:
    """What was tossed for another definition of the rule says nothing about this one."""
    state = context.healing.trust.get(rule_id)
    if state is None or coin.definition != state.trust.definition:
        return
    trials, settings = coin.counted(state.trust.trials), context.settings
    treated = bool(coin.recovered) if coin.draw is not None and coin.draw.treated else None
    trust, change = governor.after_trial(state.trust, trials, treated, context.now, settings)
    if change is not None:
        state.become(context.root, trust, cause=change.cause, now=context.now)
        suggest_review(context, change, governor.said_of_lift(trials), f"lift:{context.now:.0f}")
        notifications.useless(context, change, trials)
    _evaluate(context, state, trust)


def _evaluate(context: PipelineContext, state: TrustState, trust: Trust) -> None:
    settings = context.settings
    trust, change = governor.evaluate(trust, context.now, settings)
    state.become(context.root, trust, cause=change.cause if change else "edit", now=context.now)
    context.world.trust = {**context.world.trust, trust.rule_id: trust}
    suggest_promotion(context.healing.suggestions, trust, settings.promotion, context.now)


REVIEWED = {  # by cause: what a suggestion says of the rule
    governor.BREAKER: "failed several times in a row within a short time and only notifies now",
    governor.BAD: "helps too seldom and asks for approval now",
    governor.NO_LIFT: "hardly helps and asks for approval now",
    governor.NEEDLESS: "may have become needless and asks for approval now",
}


def suggest_review(context: PipelineContext, change: LevelChange, why: str, evidence: str) -> None:
    context.healing.suggestions.suggest(
        "circuit_breaker",
        "warning",
        f"Rule {change.rule_id} {REVIEWED[change.cause]}: {why}.",
        rule_id=change.rule_id,
        evidence=evidence,
        now=context.now,
    )


def suggest_promotion(suggestions: Suggestions, trust: Trust, promotion: PromotionSettings, now: float) -> None:
    """It could do more, but only a person may allow it."""
    triggers = governor.triggers_at_level(trust, now, promotion)
    if trust.current_level in ("observation", "dry-run") and triggers >= promotion.triggers:
        suggestions.suggest(
            "trust_promotion",
            "info",
            f"Rule {trust.rule_id} at {trust.current_level} would have fired {triggers} times in "
            f"{governor.in_days(promotion)}.",
            rule_id=trust.rule_id,
            evidence=f"{trust.current_level}:{trust.since:.0f}",
            now=now,
        )


def suggest_after(context: PipelineContext, record: LedgerRecord) -> None:
    """Does the problem come back again and again, and does the action help at all?"""
    suggestions, ledger, now = context.healing.suggestions, context.ledger, context.now
    rule_id, action, condition = record.rule_id, record.action_type, record.condition
    own, fleet = ledger.history(action, condition, record.target)
    doubt = effectiveness.against(own, fleet, now, context.settings.skip)
    if doubt:
        host = names_of(record.target)[-1]
        suggestions.suggest(
            "low_effectiveness",
            "warning",
            f"{action} against {condition!r} is skipped on {host} from now on: {doubt}.",
            rule_id=rule_id,
            evidence=f"{action}|{condition}|{host}",
            now=now,
        )
    recurrence = context.settings.recurrence
    heals = _heals_within(ledger, rule_id, record.target, now - recurrence.window_s, recurrence.heals)
    if heals >= recurrence.heals:
        suggestions.suggest(
            "recurring_issue",
            "warning",
            f"{spoken_target(record.target)} was healed by {rule_id} {heals} times within "
            f"{recurrence.window_s / 86400:g} days: look for the cause.",
            rule_id=rule_id,
            evidence=f"{record.target}:{int(now // recurrence.window_s)}",
            now=now,
        )


def _heals_within(ledger: Ledger, rule_id: str, target: str, since: float, enough: int) -> int:
    index = index_of(ledger.by_both, (rule_id, target))
    heals = 0
    for record in ledger.records(index.newest(0, 10 * enough) if index else ()):
        if record.created_at < since:
            break
        heals += record.executed
    return heals
