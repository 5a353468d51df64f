"""The gates of healing in words: those that a case met, and those of a dry run."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from opsapp.healing.answers import CaseGate, CaseShown, LedgerEntryShown, TrustShown
from opsapp.healing.whatif import Simulated
from opsapp.ui.sentences import figures, reason, span
from opsapp.wire.spoken import spoken_action

SERVER = "server"  # the host of an act that the service does itself
RUNGS = (
    ("correlation", "Correlate"),
    ("planning", "Plan"),
    ("execution", "Execute"),
    ("verification", "Verify"),
    ("ledger", "Record"),
    ("trust", "Trust"),
)
LOOKS = {"passed": "ok", "stopped": "stop", "lowered": "warn", "waits": "warn", "noted": "off"}
CHECKS = {
    "host_online": "The host is there",
    "capability": "The host has the tool",
    "host": "A host to act on",
    "action": "A step is left to try",
    "snapshot": "Its state can be recorded",
}
WOULD: dict[str, str] = {
    "execute": "Carried out without asking",
    "request_approval": "People are asked first",
    "notify": "People are told, nothing is done",
    "simulate": "Only tried dry",
    "observe": "Only counted",
    "suppress": "Left alone",
    "absorb": "Added to an open case",
    "nothing": "Nothing is done",
}
ENDS: dict[str, str] = {
    "verified": "Measured afresh, the condition is false",
    "failed": "It did not help",
    "inconclusive": "Nobody can tell whether it helped",
    "rolled_back": "It did not help and was undone",
    "lost": "No answer came back",
    "suppressed": "Left alone",
    "withdrawn": "Not begun",
    "notified": "People were notified",
    "skipped": "Nothing was left to try",
    "rejected": "People said no",
    "expired": "Nobody decided in time",
}
PHASES = {
    "snapshot": "State recorded for undo",
    "execute": "Sent to the host",
    "confirm": "Confirmed, so that the host keeps it",
    "rollback": "Put back as it was",
}


COUNTED = {
    "verified": ("ok", "Success counted"),
    "failed": ("warn", "Failure counted"),
    "rolled_back": ("warn", "Failure counted"),
}


class GateLine(NamedTuple):
    """One gate: a glyph, a strong word (what it is about), the sentence, its figure."""

    look: str
    strong: str
    words: str
    figure: str = ""
    stops: bool = False


class Rung(NamedTuple):
    """One of the six stages. `state`: passed, now, ahead."""

    number: int
    title: str
    state: str
    gates: tuple[GateLine, ...]
    took: str = ""


def line(gate: CaseGate, by_service: bool = False) -> GateLine:
    """A gate of the API in words. `by_service`: the service acts itself, no host is asked."""
    kind, result, detail = gate.gate, gate.result, gate.detail
    subject = gate.subject
    look = LOOKS[result]
    told = GateLine(look, "", reason(detail) if detail else "", stops=result == "stopped")
    if kind == "held":
        return told._replace(words="Held, so that alerts of what it depends on could arrive", figure=detail)
    if kind == "root_cause":
        words = {"passed": "Root cause is the target itself", "waits": "Waits"}.get(result, "Not handled")
        return told._replace(words=words, figure=reason(detail) if detail else "")
    if kind == "level":
        if result == "passed":
            return told._replace(words=f"Trust level {subject}", figure="")
        return told._replace(words=f"Trust level {subject}, held down", figure=f"acts as {detail}")
    if kind in ("cap", "stake"):
        return told._replace(words=f"Held down: {reason(detail)}", figure=subject)
    if kind == "cause":
        words = detail or "Its host knows no cause"
        return told._replace(strong="" if subject == "unknown" else "Cause", words=words, figure="")
    if kind == "step":
        return told._replace(strong=subject, words="passed over", figure=reason(detail))
    if kind == "pre_flight":
        return told._replace(words=CHECKS.get(subject, subject.replace("_", " ")), figure=detail)
    if kind == "plan":
        return told._replace(words=WOULD.get(subject, subject), figure=reason(detail) if detail else "")
    if kind in PHASES:
        words = "Done by the service itself" if by_service and kind == "execute" else PHASES[kind]
        return told._replace(words=words, figure="")
    if kind == "approval":
        return _approval(told, subject, detail)
    if kind in ("outcome", "verdict"):
        return told._replace(words=ENDS.get(subject, subject.replace("_", " ")), figure=reason(detail))
    return told


def _approval(told: GateLine, by: str, status: str) -> GateLine:
    if status == "requested":
        return told._replace(words="People are asked", figure="")
    words = {"approved": "said yes", "rejected": "said no"}.get(status, status)
    return told._replace(strong=by, words=words if by else f"Approval {status}", figure="")


def rungs(case: CaseShown, trust: TrustShown | None) -> tuple[Rung, ...]:
    reached = [name for name, _ in RUNGS].index(case.stage)
    by_stage: dict[str, list[GateLine]] = {name: [] for name, _ in RUNGS}
    by_service = case.act is not None and case.act.host == SERVER
    for gate in case.gates:
        told = line(gate, by_service)
        if told not in by_stage[gate.stage][-1:]:
            by_stage[gate.stage].append(told)
    by_stage["planning"] += _chosen(case)
    by_stage["verification"] = _measured(by_stage["verification"], case)
    by_stage["ledger"] += [_recorded(entry) for entry in case.entries if entry.state == "final"]
    by_stage["trust"] += _trusted(case, trust)
    took = _took(case)
    closed = case.state == "closed"
    made = []
    for number, (name, title) in enumerate(RUNGS, 1):
        gates = tuple(by_stage[name])
        state = "passed" if closed or number - 1 < reached else "now" if number - 1 == reached else "ahead"
        if closed and not gates:
            state, gates = "ahead", (GateLine("off", "", "Not reached"),)
        made.append(Rung(number, title, state, gates, took.get(name, "")))
    return tuple(made)


def _chosen(case: CaseShown) -> list[GateLine]:
    chosen = []
    for entry in case.entries:
        action = entry.action_type
        if action and action != "rollback":
            known = any(record.action_type == action for record in case.records)
            before = helped_before(case, action) or ("not tried before" if known else "")
            chosen.append(GateLine("ok", spoken_action(action), "chosen", before))
    return list(dict.fromkeys(chosen))


def helped_before(case: CaseShown, action: str) -> str:
    """This case aside; "" where it had never been tried."""
    known = next((record for record in case.records if record.action_type == action), None)
    if known is None:
        return ""
    own = [entry.outcome for entry in case.entries if entry.action_type == action and entry.state == "final"]
    helped, tried = (known.verified - own.count("verified"), known.total - sum(outcome in COUNTED for outcome in own))
    return f"helped {helped} of {tried} times" if tried > 0 else ""


def _measured(gates: list[GateLine], case: CaseShown) -> list[GateLine]:
    changed = [text for entry in case.entries if (text := figures(entry) or _changed(entry))]
    if not gates or not changed:
        return gates
    return [*gates[:-1], gates[-1]._replace(figure=changed[-1])]


def _changed(entry: LedgerEntryShown) -> str:
    before, after = entry.metrics_before or {}, entry.metrics_after or {}
    names = [name for name in sorted(before.keys() & after.keys()) if before[name] != after[name]]
    return ", ".join(f"{name} {before[name]} → {after[name]}" for name in names[:2])


def _recorded(entry: LedgerEntryShown) -> GateLine:
    return GateLine("ok", "", f"Ledger entry {entry.id} is in the chain")


def _trusted(case: CaseShown, trust: TrustShown | None) -> list[GateLine]:
    if case.state != "closed" or trust is None:
        return []
    evidence = trust.evidence
    look, words = COUNTED.get(case.outcome or "", ("off", "It counts neither for nor against the rule"))
    decided = evidence.verified + evidence.failed
    figure = f"{evidence.verified} of {decided} at level {trust.current_level}" if decided else ""
    return [GateLine(look, "", words, figure)]


def _took(case: CaseShown) -> dict[str, str]:
    entries, act = case.entries, case.act
    durations = {}
    if entries:
        durations["correlation"] = span(max(0, entries[0].created_at - case.opened_at))
    if act and act.acted_at is not None:
        durations["execution"] = span(max(0, act.acted_at - act.began_at))
        if case.closed_at is not None:
            durations["verification"] = span(max(0, case.closed_at - act.acted_at))
    return durations


def of_dry_run(answer: Simulated, helped: str = "") -> tuple[GateLine, ...]:
    would, chosen, trust = answer.would, answer.action_selection, answer.trust
    correlation, dependency = answer.correlation, answer.dependency
    if correlation.kind != "open":
        return (
            GateLine("warn", "", "Correlate: " + WOULD.get(would, would).lower(), reason(correlation.reason), True),
        )
    if dependency.suppressed:
        return (GateLine("warn", "", "Correlate: put under its root cause", dependency.root_cause, True),)
    lines = [GateLine("ok", "", "Correlate: a new case")]
    if chosen is not None:
        lines.append(GateLine("ok", "", f"Plan: {spoken_action(chosen.action_type)}", helped))
    else:
        lines.append(GateLine("stop", "", "Plan: no step is left", ""))
    lines += [
        GateLine("stop", "", f"Plan: {CHECKS.get(check.check, check.check)}: no", check.detail, True)
        for check in answer.pre_flight.checks
        if not check.passed
    ]
    level = trust.effective_level
    held = "" if level == trust.level else f", held down from {trust.level}"
    acts = would in ("execute", "request_approval")
    lines.append(GateLine("ok" if would == "execute" else "warn", "", f"Execute: {WOULD.get(would, would).lower()}",
                          f"level {level}{held}"))  # fmt: skip
    lines.append(GateLine("off", "", "Verify, record, trust", "after the act" if acts else "not reached"))
    return tuple(lines)


def counted(lines: Iterable[Rung]) -> str:
    """ "13 gates passed, 1 stopped"."""
    gates = [gate for rung in lines for gate in rung.gates]
    passed, stopped = sum(gate.look == "ok" for gate in gates), sum(gate.stops for gate in gates)
    return f"{passed} gates passed" + (f", {stopped} stopped" if stopped else "")
