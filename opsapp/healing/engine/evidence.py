"""Stage 6 in the store: triggers, cases and trials are counted for their rule's trust."""

from __future__ import annotations

from collections.abc import Sequence

from opsapp.healing.resources.rules import TrustState
from opsapp.healing.resources.trials import TossedCoin
from opsapp.healing.stages import trust as governor
from opsapp.healing.stages.attempt import Tried, comes_to
from opsapp.healing.stages.ledger import LedgerRecord
from opsapp.monitoring.resources import monitors_of

from . import edges, notifications, problems, suggestions
from .context import PipelineContext


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
        why = f"see ledger entry {last.id}"
        suggestions.demoted(context.healing.suggestions, change, why, str(last.id), context.now)
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
        why, shown = governor.said_of_lift(trials), f"lift:{context.now:.0f}"
        suggestions.demoted(context.healing.suggestions, change, why, shown, context.now)
        notifications.useless(context, change, trials)
    _evaluate(context, state, trust)


def _evaluate(context: PipelineContext, state: TrustState, trust: governor.Trust) -> None:
    settings = context.settings
    trust, change = governor.evaluate(trust, context.now, settings)
    state.become(context.root, trust, cause=change.cause if change else "edit", now=context.now)
    context.world.trust = {**context.world.trust, trust.rule_id: trust}
    suggestions.after_trigger(context.healing.suggestions, trust, settings.promotion, context.now)
