"""A case: why it went so, what comes next, what would happen now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from opsapp.agents.records import CommandRecord
from opsapp.healing.answers import CaseShown, CaseWave, LedgerEntryShown, WaveCounts
from opsapp.healing.whatif import Simulated
from opsapp.lib.addresses import HIDDEN
from opsapp.tracing.interfaces import trace_of_case
from opsapp.ui.parts import CASE, COMMAND, HOST_POINTS, MONITOR_POINTS, TRUST, WHAT_IF
from opsapp.ui.questions import Question
from opsapp.ui.reader import Answers, Reader, TemplateValues
from opsapp.ui.sentences import Word, act, count, place_of, reason, span, target_words
from opsapp.wire.spoken import spoken_action

from . import beforeafter
from .gates import WOULD, GateLine, counted, helped_before, of_dry_run, rungs

DONE = {
    "restart_service": "was restarted",
    "restart_container": "was restarted",
    "container_recreate": "was made anew",
    "service_reload": "was reloaded",
    "service_dependency_restart": "was restarted with what it needs",
    "host_reboot": "was rebooted",
    "vm_restart": "was restarted",
}
KINDS = {"verified": "ok", "failed": "bad", "lost": "bad", "rolled_back": "warn", "inconclusive": "warn"}
STATES = {
    "correlating": "Held",
    "planning": "Being planned",
    "awaiting_approval": "Waits for a decision",
    "executing": "Being done",
    "settling": "Taking effect",
    "verifying": "Being measured",
}
NEXT = {
    "correlating": "It is held until then, so that alerts of what it depends on can arrive. Then it is planned.",
    "planning": "The next step is planned, once the host and its turn are there.",
    "awaiting_approval": "Nothing is done until somebody decides.",
    "executing": "The host has been asked. Its answer comes next.",
    "settling": "The action ran. It has until then to take effect; then it is measured again.",
    "verifying": "It is measured again and again until then. The first fresh reading that is well proves the heal.",
}

LEFT_TO_LEARN = (
    "It is left alone until then, to learn whether the heal is needed. If it has not recovered by itself, it is healed."
)
LEFT_TO_WAIT = (
    "It is left alone until then, because waiting costs the least downtime. If it has not recovered by itself, it is "
    "healed."
)
WAVE_ENDS = {"well": "verified", "harm": "not healed", "unknown": "unknown", "left": "without a heal"}
COMPARED = " Until then those that went are compared with those that wait, to learn whether the heal helps."
WAITS_FOR_WAVE = "One outage is healed in waves ({words}). Its turn comes if those before it are well."


class ComesNext(NamedTuple):
    """`at`: where it is known. `left`: the case, where people may end its wait."""

    words: str
    at: int | None
    href: str
    left: CaseShown | None = None


class ReadingPair(NamedTuple):
    name: str
    before: str
    after: str


class SaidByHost(NamedTuple):
    """What was run and what it said."""

    host: str
    command: str
    text: str
    end: str


class WhatIf(NamedTuple):
    gates: tuple[GateLine, ...]
    differs: str


class WaveLine(NamedTuple):
    name: str
    hosts: int
    kind: str
    words: str


def shape(answers: Answers, reader: Reader) -> TemplateValues:
    case = answers[CASE]
    trust = next((row for row in answers[TRUST] if row.rule_id == case.rule_id), None)
    ladder = rungs(case, trust)
    tried = answers.known(WHAT_IF)
    record = helped_before(case, case.act.action) if case.act else ""
    return {
        "title": title(case),
        "case": case,
        "kind": KINDS.get(case.outcome or "", "heal" if case.state != "closed" else "off"),
        "state": (case.outcome or "").replace("_", " ").capitalize() or STATES.get(case.state, case.state),
        "took": ended_words(case),
        "place": place(case),
        "rule": Word(case.rule_id, place_of("healing.rule", case.rule_id)),
        "asked": _asked(case.entries),
        "wave": wave_words(case.wave) if case.wave else "",
        "waves": _waves(case.wave) if case.wave else (),
        "rungs": ladder,
        "counted": counted(ladder),
        "next": _next(case, reader.now),
        "readings": _readings(case.entries),
        "output": _output(case, answers.known(COMMAND)),
        "undo": _undo(case),
        "undone": _undoable(case),
        "record": record,
        "trace": trace_of_case(case.id) if reader.traced else None,
        "around": beforeafter.of_case(case, answers[HOST_POINTS], answers[MONITOR_POINTS], reader),
        "what_if": None if tried is None else WhatIf(of_dry_run(tried, record), _differs(case, tried)),
        "may_try": reader.may("POST /api/healing/dry-run"),
    }


def title(case: CaseShown) -> str:
    named, acted = target_words(case.target), case.act
    if case.state != "closed":
        return f"What is done about {named}"
    if acted and acted.acted_at is not None:
        verb = DONE.get(acted.action)
        return f"Why {named} {verb}" if verb else f"Why {spoken_action(acted.action)} was run on {named}"
    if case.outcome == "notified":
        return f"Why people were notified about {named}"
    if acted:
        return f"Why {spoken_action(acted.action)} was not carried out on {named}"
    return f"Why nothing was done about {named}"


def place(case: CaseShown) -> Word:
    kind, _, name = (case.subject or "").partition(":")
    href = {"agent": f"/agents/{name}", "monitor": f"/monitors/{name}"}.get(kind, "")
    return Word(case.target.partition("/")[0], href)


def _asked(entries: Sequence[LedgerEntryShown]) -> Word | None:
    approval_id = next((entry.approval_id for entry in reversed(entries) if entry.approval_id), None)
    return Word("the approval", f"/approvals/{approval_id}") if approval_id else None


def ended_words(case: CaseShown) -> str:
    """A case may end long before what it is about: that is over only where its condition was seen to be false."""
    if case.closed_at is None:
        return ""
    if case.outcome == "verified":
        return f"healed after {span(case.closed_at - case.opened_at)}"
    if case.recovered_at is not None:
        return f"true for {span(max(0, case.recovered_at - case.opened_at))}"
    return f"case closed after {span(case.closed_at - case.opened_at)}"


def _next(case: CaseShown, now: float) -> ComesNext | None:
    state = case.state
    if state == "closed":
        return None
    if state in ("planning", "awaiting_approval") and (case.left_until or 0) > now:
        return ComesNext(LEFT_TO_LEARN if case.arm == "control" else LEFT_TO_WAIT, case.left_until, "", case)
    turn = case.wave
    if turn and not turn.number and (state == "planning" or (state == "awaiting_approval" and turn.wave)):
        words = WAITS_FOR_WAVE.format(words=wave_words(turn)) + (COMPARED if turn.compared_at else "")
        return ComesNext(words, turn.compared_at, "")
    entry = case.entries[-1] if case.entries else None
    asked = state == "awaiting_approval" and entry and entry.approval_id
    at = case.deadline if state == "verifying" else case.due if state in ("correlating", "settling") else None
    return ComesNext(NEXT.get(state, ""), at, f"/approvals/{entry.approval_id}" if asked and entry else "")


def wave_words(turn: CaseWave) -> str:
    """ "wave 2 of 4: 3 of 31 hosts, 2 verified, 27 wait for its verdict"."""
    if not turn.wave:
        return f"{turn.targets} targets, none has begun"
    present = f"{turn.wave} of {turn.waves}: {turn.hosts} of {turn.targets} hosts"
    ends = "".join(f", {end}" for end in _ends(turn.counts[-1]))
    if turn.stopped:
        return f"stopped in wave {present}{ends}: {turn.stopped}"
    wait = f", {count(turn.waiting, 'waits', 'wait')} for its verdict" if turn.waiting else ""
    return f"wave {present}{ends}{wait}"


def _ends(wave: WaveCounts) -> list[str]:
    return [f"{getattr(wave, name)} {word}" for name, word in WAVE_ENDS.items() if getattr(wave, name)]


def _waves(turn: CaseWave) -> tuple[WaveLine, ...]:
    lines = [_wave(wave, turn) for wave in turn.counts]
    if turn.waiting:
        lines.append(WaveLine("Later", turn.waiting, "off", f"{count(turn.waiting, 'waits', 'wait')}"))
    elif (left := turn.targets - sum(wave.hosts for wave in turn.counts)) > 0:
        lines.append(WaveLine("Not begun", left, "off", "withdrawn, or over before their turn"))
    return tuple(lines)


def _wave(wave: WaveCounts, turn: CaseWave) -> WaveLine:
    at_work = wave.hosts - sum(getattr(wave, name) for name in WAVE_ENDS)
    came_to = ", ".join([*_ends(wave), *([f"{at_work} at work"] if at_work else [])])
    is_last = wave.number == turn.wave
    kind = "bad" if is_last and turn.stopped else "heal" if at_work else "ok" if wave.well else "off"
    return WaveLine(f"Wave {wave.number}", wave.hosts, kind, came_to)


def _readings(entries: Sequence[LedgerEntryShown]) -> tuple[ReadingPair, ...]:
    before: Mapping[str, object] = next((entry.metrics_before for entry in entries if entry.metrics_before), {})
    after: Mapping[str, object] = next((entry.metrics_after for entry in reversed(entries) if entry.metrics_after), {})
    return tuple(
        ReadingPair(name, _value(before.get(name)), _value(after.get(name))) for name in sorted({**before, **after})
    )


def _value(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return "not measured" if value is None else str(value)
    return f"{value:,.10g}".replace(",", "\u202f")


def _output(case: CaseShown, command: CommandRecord | None) -> SaidByHost | None:
    acted = case.act
    entry = next(
        (candidate for candidate in reversed(case.entries) if candidate.action_type not in ("", "rollback")), None
    )
    if acted is None or entry is None or command is None or command.output == HIDDEN:
        return None
    if command.finished_at is None:
        end = "waits for the host" if command.started_at is None else "is running"
    else:
        code = "" if command.exit_code is None else f", exit {command.exit_code}"
        began = command.started_at or command.delivered_at or command.created_at
        end = f"{command.status}{code}, {span(max(0, command.finished_at - began))}"
    return SaidByHost(case.target.partition("/")[0], act(entry).text, command.output or "", end)


def _undo(case: CaseShown) -> str:
    acted, entries = case.act, case.entries
    if acted is None:
        return ""
    rolled = next((entry.rollback_status for entry in reversed(entries) if entry.rollback_status), None)
    if rolled == "rolled_back":
        return "It was undone: the host is as it was before."
    if rolled is not None:
        return f"Undoing it ended: {rolled.replace('_', ' ')}."
    if acted.snapshot is None:
        return "Nothing was recorded before the act, so nothing can be put back."
    return f"The host's state ({acted.snapshot}) was recorded before the act."


def _undoable(case: CaseShown) -> LedgerEntryShown | None:
    """The last act, where the host's state was recorded before it."""
    if case.act is None or case.act.snapshot is None:
        return None
    entries = [entry for entry in case.entries if entry.action_success and not entry.rolls_back]
    return entries[-1] if entries else None


def _differs(case: CaseShown, tried: Simulated) -> str:
    now, then = tried.action_selection, case.act
    told = []
    chosen, done = now.action_type if now else None, then.action if then else None
    if chosen != done:
        told.append(f"{spoken_action(chosen or 'no action')} instead of {spoken_action(done or 'none')}")
    if tried.trust.effective_level != case.level:
        told.append(f"level {tried.trust.effective_level} instead of {case.level}")
    if not told:
        return "It would go the same way now."
    because = f" ({reason(tried.why[0])})" if tried.why and tried.would == "nothing" else ""
    return f"Now it would differ: {', '.join(told)}. {WOULD.get(tried.would, tried.would)}{because}."


def questions(form: Mapping[str, str], ids: Mapping[str, str], answers: Answers) -> tuple[Question, ...]:
    """The same event, as if it came now with live readings."""
    event = {name: form[name] for name in ("rule_id", "target", "condition") if form.get(name)}
    return (Question("what_if", "POST /api/healing/dry-run", {"event": {**event, "source": "test"}}),)
