"""The lines that stages wrote about a case, as typed gates of the six stages. Lines of every version are read. Must
not: decide anything, read the store."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Annotated, NamedTuple

from opsapp.wire.dataclass import frozen
from opsapp.wire.kinds import Choice

STAGES = ("correlation", "planning", "execution", "verification", "ledger", "trust")
RESULTS = ("passed", "stopped", "lowered", "waits", "noted")
# How a step that was acted upon ends: what verification says. Other ends are said where the case stood.
VERIFIED = ("verified", "failed", "inconclusive", "rolled_back")


@frozen
class CaseGate:
    """`gate`: a stable word; `subject`: its action, phase or person; `detail`: its figure or reason."""

    stage: Annotated[str, Choice(*STAGES)]
    gate: str
    result: Annotated[str, Choice(*RESULTS)]
    subject: str = ""
    detail: str = ""
    step: int | None = None
    command_id: str | None = None


class LinePattern(NamedTuple):
    """Groups of the pattern are fields of the gate. `results`: by the group `of`; else `result`."""

    pattern: re.Pattern[str]
    stage: str
    gate: str
    result: str
    of: str = ""
    results: Mapping[str, str] = {}

    def read(self, line: str) -> CaseGate | None:
        matched = self.pattern.fullmatch(line)
        if matched is None:
            return None
        said = matched.groupdict("").get
        step, result = said("step"), self.results.get(said(self.of, ""), self.result)
        return CaseGate(
            self.stage,
            said("gate", self.gate),
            result,
            said("subject", ""),
            said("detail", ""),
            int(step) if step else None,
            said("command_id"),
        )


def gates(why: Iterable[str]) -> list[CaseGate]:
    met: list[CaseGate] = []
    for line in why:
        stage = met[-1].stage if met else "correlation"
        met.append(_read(line, stage, acted=any(gate.gate == "execute" for gate in met)))
    return met


def _read(line: str, stage: str, *, acted: bool) -> CaseGate:
    gate = next((gate for known in LINES if (gate := known.read(line)) is not None), None)
    if gate is None:
        return CaseGate(stage, "said", "noted", detail=line)
    return replace(gate, stage=stage) if gate.gate == "outcome" and not (acted and gate.subject in VERIFIED) else gate


def _line(pattern: str, stage: str, gate: str, result: str, of: str = "", **results: str) -> LinePattern:
    return LinePattern(re.compile(pattern, re.DOTALL), stage, gate, result, of, results)


SENT = r"of (?P<subject>\S+) sent to (?P<detail>\S+): command (?P<command_id>\S+)"
LINES = (
    _line(r"event of rule (?P<subject>\S+): held until (?P<detail>\S+ s) from now", "correlation", "held", "passed"),
    _line(r"correlated: plan(, (?P<detail>.*))?", "correlation", "root_cause", "passed"),
    _line(r"correlated: end(, (?P<detail>.*))?", "correlation", "root_cause", "stopped"),
    _line(r"correlated: (wait|hold)(, (?P<detail>.*))?", "correlation", "root_cause", "waits"),
    _line(r"level (?P<subject>\S+), effective (?P<detail>(?P=subject))", "planning", "level", "passed"),
    _line(r"level (?P<subject>\S+), effective (?P<detail>\S+)", "planning", "level", "lowered"),
    _line(r"(?P<subject>\S+) instead of \S+: (?P<detail>.*)", "planning", "stake", "lowered"),
    _line(r"(?P<detail>.*): at most (?P<subject>\S+)", "planning", "cap", "lowered"),
    _line(r"(?P<detail>source \S+): (?P<subject>one level below)", "planning", "cap", "lowered"),
    _line(r"(?P<detail>ceiling) (?P<subject>\S+)", "planning", "cap", "lowered"),
    _line(r"cause (?P<subject>unknown)(: (?P<detail>.*))?", "planning", "cause", "noted"),
    _line(r"cause (?P<subject>[a-z_]+): (?P<detail>.*)", "planning", "cause", "noted"),
    _line(r"step (?P<step>\d+) (?P<subject>\S+) skipped: (?P<detail>.*)", "planning", "step", "stopped"),
    _line(r"pre-flight (?P<subject>\S+): passed( (?P<detail>.*))?", "planning", "pre_flight", "passed"),
    _line(r"pre-flight (?P<subject>\S+): failed( (?P<detail>.*))?", "planning", "pre_flight", "stopped"),
    _line(r"would (?P<subject>execute|request_approval)(: (?P<detail>.*))?", "planning", "plan", "passed"),
    _line(r"would (?P<subject>\S+?)(: (?P<detail>.*))?", "planning", "plan", "stopped"),
    _line(
        r"approval (\S+ )?(?P<detail>requested|approved|rejected|expired|withdrawn)( by (?P<subject>.*))?",
        "execution", "approval", "stopped", "detail", requested="waits", approved="passed",
    ),
    _line(rf"(?P<gate>snapshot|execute) {SENT}", "execution", "", "passed"),
    _line(rf"(?P<gate>confirm|rollback) {SENT}", "verification", "", "passed"),
    _line(r"snapshot missing: (?P<detail>.*)", "execution", "no_snapshot", "stopped"),
    _line(r"not begun: (?P<detail>.*)", "execution", "not_begun", "stopped"),
    _line(
        r"(?P<subject>failed|inconclusive|lost), (?P<detail>.*); rolling back", "verification", "verdict", "stopped"
    ),
    _line(r"(?P<subject>verified); (?P<detail>confirming .*)", "verification", "verdict", "passed"),
    _line(
        r"step (?P<step>\d+): (?P<subject>\w+)(, (?P<detail>.*))?",
        "verification", "outcome", "stopped", "subject", verified="passed",
    ),
)  # fmt: skip
