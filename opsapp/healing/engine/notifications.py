"""What people are told of heals: one message per root cause, because what a root cause suppresses tells nobody.

Written in the transaction that makes it true. Must not: decide whether something is worth telling; stages do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from opsapp.healing.logic.levels import PREDICTIVE_SOURCES
from opsapp.healing.logic.lift import Trials
from opsapp.healing.logic.reasons import reason as spoken_reason
from opsapp.healing.stages import ending, looking
from opsapp.healing.stages import trust as governor
from opsapp.healing.stages.attempt import CauseNamed
from opsapp.healing.stages.case import About, CaseRecord
from opsapp.healing.stages.ledger import LedgerRecord
from opsapp.healing.stages.planning import Plan
from opsapp.healing.stages.trust import LevelChange
from opsapp.healing.stages.waves import HARM, LEFT, UNKNOWN, WELL, Deed
from opsapp.notify.engine import tell, withdraw
from opsapp.wire.spoken import spoken_action, spoken_condition, spoken_target

from .context import PipelineContext

SEVERITY = {"info": "info", "warning": "warning", "error": "critical", "critical": "critical"}
BRAKE_AGAIN_S = 3600.0
NAMED = 10  # so many targets of an outage are named in a message
DEMOTED = {  # by cause: what the rule does now, and why
    governor.BREAKER: ("only notifies now", "Several of its heals in a row failed within a short time."),
    governor.BAD: ("helps too seldom", "Its heals help less often than promotion asks for."),
    governor.NO_LIFT: ("hardly helps", "Its cases recover about as often by themselves."),
    governor.NEEDLESS: ("may have become needless", "More of its cases recover by themselves than used to."),
}


def notified(context: PipelineContext, case: CaseRecord, reason: str) -> None:
    about = case.about
    trouble = _known(case.cause) or sentence(context, case.rule_id, about.rule_condition)
    title = about.note or f"{spoken_target(about.target)}: {trouble}"
    text = _caused(case.cause, f"{_what(context, case.rule_id, about)} Nothing was done: {spoken_reason(reason)}.")
    severity = SEVERITY.get(about.severity, "warning")
    _tell(context, case, "heal.notified", severity, title, text, phase="also")


def acts(context: PipelineContext, case: CaseRecord, plan: Plan) -> None:
    assert plan.choice is not None
    action, host = spoken_action(plan.choice.action.name), plan.host.hostname if plan.host else case.target
    text = _caused(case.cause, f"{_what(context, case.rule_id, case.about)} {action} on {host} runs by itself.")
    _tell(context, case, "heal.executing", "warning", f"{spoken_target(case.target)}: {action} runs", text)


class Wish(NamedTuple):
    """An action on so many `targets`; `lowered`: why its level is below the rule's."""

    action: str
    lowered: str
    targets: int

    @classmethod
    def of(cls, plan: Plan, targets: int) -> Wish:
        assert plan.choice is not None
        return cls(spoken_action(plan.choice.action.name), lowered(plan), targets)


def lowered(plan: Plan) -> str:
    return "" if plan.effective.lowered is None else str(plan.effective.lowered)


def asked(context: PipelineContext, cases: Sequence[CaseRecord], wish: Wish, approval_id: str) -> None:
    """One message for a case, or for all of an outage, of which the first ones are given."""
    case, why = cases[0], f" Level {wish.lowered}." if wish.lowered else ""
    if wish.targets > 1:
        what = sentence(context, case.rule_id, case.about.rule_condition)
        title = f"{wish.targets} targets: {wish.action} waits for an approval"
        some = _some([record.target for record in cases[:NAMED]], wish.targets)
        text = f"{what}: {some} (rule {case.rule_id}).{why} Approval {approval_id} decides."
        ids = {"rule": case.rule_id, "approval": approval_id}
        _of_deed(context, case.deed or case.id, "heal.approval", "warning", title, text, ids)
        return
    title = f"{spoken_target(case.target)}: {wish.action} waits for an approval"
    text = _caused(case.cause, f"{_what(context, case.rule_id, case.about)}{why} Approval {approval_id} decides.")
    _tell(context, case, "heal.approval", "warning", title, text, approval=approval_id)


def deed_stopped(context: PipelineContext, deed: Deed, left: list[str]) -> None:
    """Once for all that were waiting."""
    title = f"Rule {deed.rule_id}: stopped, {_count(len(left))} left as they are"
    text = (
        f"Wave {deed.wave} stopped it: {deed.stopped}. Nothing was done about {_some(left, len(left))}. "
        "Look at what failed; where the condition still holds after the cooldown, it begins again with one."
    )
    _of_deed(context, deed.id, "heal.waves", "critical", title, text, {"rule": deed.rule_id}, "stopped")


def deed_over(context: PipelineContext, deed: Deed, first: Sequence[str], outcome: str) -> None:
    ends = [("healed", WELL), ("not healed", HARM), ("unknown", UNKNOWN), ("without a heal", LEFT)]
    counts = [f"{members} {word}" for word, verdict in ends if (members := getattr(deed.ends, verdict))]
    bad = bool(deed.ends.harm or deed.ends.unknown) or not deed.wave
    title = f"Rule {deed.rule_id}: {_count(deed.members)}, {', '.join(counts)}"
    told = f"In {deed.wave} waves" if deed.wave else f"Nobody has decided in time ({outcome})"
    text = f"{told}: {_some(first, deed.members)}."
    _of_deed(context, deed.id, "heal.waves", "warning" if bad else "info", title, text, {"rule": deed.rule_id}, "over")


def _count(targets: int) -> str:
    return f"{targets} target" + ("" if targets == 1 else "s")


def _some(names: Sequence[str], total: int) -> str:
    more = total - NAMED
    return ", ".join(map(spoken_target, names[:NAMED])) + (f" and {more} more" if more > 0 else "")


def _of_deed(
    context: PipelineContext, deed_id: str, kind: str, severity: str, title: str, text: str, ids: Mapping[str, str],
    part: str = "asked",
) -> None:  # fmt: skip
    """A message of its own: it has many targets, and none of their windows expects it."""
    tell(context.root, context.now, key=f"outage:{deed_id}:{part}", kind=kind, severity=severity, title=title,
         text=text, tags=("healing",), ids=ids, phase="apart", name=deed_id, despite_window=True)  # fmt: skip


def unresolved(
    context: PipelineContext, rule_id: str, about: About, entry: LedgerRecord, attempts: tuple[str, ...] = ()
) -> None:
    """A case ended, and is not known to be well. The message is withdrawn where it has not left when the condition
    is over."""
    outcome, severity = str(entry.outcome), "warning" if about.source in PREDICTIVE_SOURCES else "critical"
    trouble = _known(entry.cause) or sentence(context, rule_id, about.rule_condition)
    title = f"{spoken_target(about.target)}: {trouble}, not healed ({outcome})"
    ended = entry.reason or outcome
    lines = [_what(context, rule_id, about), *(f"Tried: {attempt}" for attempt in attempts)]
    if not any(ended in attempt for attempt in attempts):
        lines.append(f"It ended: {spoken_reason(ended)}")
    then = looking.by_hand(entry.cause) or ending.what_next(outcome)
    lines.append(f"Next: {then} Ledger entry {entry.id} has the whole story.")
    context.book.note_unhealed(rule_id, about.target)
    key = _unhealed(rule_id, about.target)
    ids = {"rule": rule_id, "entry": str(entry.id)} | ({"case": entry.case_id} if entry.case_id else {})
    text = _caused(entry.cause, "\n".join(lines))
    _say(context, about.target, "heal.unresolved", severity, title, text, phase="apart", key=key, ids=ids)
    if ending.has_end(about):
        context.book.note_told(rule_id, about.target, severity)


def over(context: PipelineContext, rule_id: str, condition: str, target: str) -> None:
    """The condition is known false again: as severe as what people were told, to reach the same ones. Who was not
    told of a failed heal yet hears neither."""
    severity, only = context.book.forget_told(rule_id, target), context.book.forget_unhealed(rule_id, target)
    if only is False or (only and severity is None):
        withdraw(context.root, context.now, _unhealed(rule_id, target))
    if severity is None:
        return
    text = f"No longer true: {sentence(context, rule_id, condition)}: {spoken_target(target)} (rule {rule_id})."
    phase, name = ("gone", _unhealed(rule_id, target)) if only else ("", target)
    _say(context, target, "heal.resolved", severity, f"{spoken_target(target)}: over", text, phase=phase, name=name,
         ids={"rule": rule_id})  # fmt: skip


def withdraw_unhealed(context: PipelineContext, rule_id: str, target: str) -> None:
    """Over, and told elsewhere or not at all: a failed heal is no news any more."""
    if context.book.forget_unhealed(rule_id, target) is not None:
        withdraw(context.root, context.now, _unhealed(rule_id, target))


def _unhealed(rule_id: str, target: str) -> str:
    """The key of failed heals: they join nothing else."""
    return f"unhealed:{rule_id}:{target}"


def _known(cause: CauseNamed | None) -> str:
    return "" if cause is None else cause.text


def _caused(cause: CauseNamed | None, text: str) -> str:
    return f"Cause: {_known(cause)}.\n{text}" if cause is not None else text


def sentence(context: PipelineContext, rule_id: str, condition: str) -> str:
    """What the rule itself says that it finds; else its condition in words."""
    rule = context.world.rules.get(rule_id)
    return (rule.description if rule else "").strip().rstrip(".") or spoken_condition(condition)


def _what(context: PipelineContext, rule_id: str, about: About) -> str:
    """What is only predicted does not hold yet, and says so itself."""
    if about.note:
        return f"{about.note} (rule {rule_id})."
    return f"{sentence(context, rule_id, about.rule_condition)}: {spoken_target(about.target)} (rule {rule_id})."


def demoted(context: PipelineContext, change: LevelChange, entry_id: int) -> None:
    then = f"See ledger entry {entry_id}. Find the cause; then the rule can be promoted again."
    _lost_level(context, change, then, entry=str(entry_id))


def useless(context: PipelineContext, change: LevelChange, trials: Trials) -> None:
    """It is known to help hardly anything, or to help no more."""
    _lost_level(context, change, f"It asks for approval from now on: {governor.said_of_lift(trials)}.")


def _lost_level(context: PipelineContext, change: LevelChange, then: str, **more: str) -> None:
    (title, why), rule_id = DEMOTED[change.cause], change.rule_id
    _call_somebody(context, f"breaker:{rule_id}", "heal.breaker", f"Rule {rule_id} {title}", f"{why} {then}",
                   ids={"rule": rule_id, **more})  # fmt: skip


def braked(context: PipelineContext, reason: str) -> None:
    """Once an hour for as long as it is on."""
    if context.now - context.healing.brake_told_at < BRAKE_AGAIN_S:
        return
    context.healing.brake_told_at = context.now
    text = f"Healing only notifies where this holds: {reason}."
    _call_somebody(context, "healing:brake", "heal.brake", "Healing has put its brake on", text, ids={})


def _call_somebody(
    context: PipelineContext, key: str, kind: str, title: str, text: str, ids: Mapping[str, str]
) -> None:
    tell(context.root, context.now, key=key, kind=kind, severity="critical", title=title, text=text,
         tags=("healing",), ids=ids)  # fmt: skip


def _tell(
    context: PipelineContext,
    case: CaseRecord,
    kind: str,
    severity: str,
    title: str,
    text: str,
    *,
    phase: str = "",
    **more: str,
) -> None:
    ids = {"rule": case.rule_id} | ({"case": case.id} if case.id else {}) | more
    _say(context, case.about.target, kind, severity, title, text, phase=phase, ids=ids)
    if ending.has_end(case.about):
        context.book.note_told(case.rule_id, case.about.target, severity)
        context.book.note_else_told(case.rule_id, case.about.target)


def _say(
    context: PipelineContext,
    target: str,
    kind: str,
    severity: str,
    title: str,
    text: str,
    *,
    ids: Mapping[str, str],
    phase: str = "",
    key: str | None = None,
    name: str | None = None,
) -> None:
    """Tell people also in a maintenance window: what the window leaves to people is nothing expected."""
    tell(context.root, context.now, key=key or f"heal:{target}", kind=kind, severity=severity, title=title, text=text,
         tags=("healing",), target=target, ids=ids, phase=phase, name=name or target, despite_window=True)  # fmt: skip
