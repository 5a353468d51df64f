"""What a case met on its way, typed: each line that the stages wrote about it is a gate of one of the six stages.

The stages write lines, and every version has stored them; so a case of an older version is read here too. Must not:
decide anything, read the store.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import NamedTuple

STAGES = ("correlation", "planning", "execution", "verification", "ledger", "trust")
RESULTS = ("passed", "stopped", "lowered", "waits", "noted")
# How a step that was acted upon ends: what verification says. Other ends are said where the case stood.
VERIFIED = {"verified": "passed", "failed": "stopped", "inconclusive": "stopped", "rolled_back": "stopped"}
WOULD_ACT = ("execute", "request_approval")


class CaseGate(NamedTuple):
    """One gate. `gate` is a stable word; `subject` is the action, phase or person that it is about; `detail` is its
    figure or reason as the stage said it. `command_id` leads to what a host was asked."""

    stage: str
    gate: str
    result: str
    subject: str = ""
    detail: str = ""
    step: int | None = None
    command_id: str | None = None


Reader = Callable[[re.Match[str]], CaseGate]


def gates(why: Iterable[str]) -> list[CaseGate]:
    """The gates in the order in which the case met them."""
    met: list[CaseGate] = []
    for line in why:
        stage = met[-1].stage if met else "correlation"
        met.append(_read(line, stage, acted=any(gate.gate == "execute" for gate in met)))
    return met


def _read(line: str, stage: str, *, acted: bool) -> CaseGate:
    for pattern, reader in LINES:
        matched = pattern.fullmatch(line)
        if matched is not None:
            gate = reader(matched)
            if gate.gate == "outcome" and not (acted and gate.subject in VERIFIED):
                return gate._replace(stage=stage)
            return gate
    return CaseGate(stage, "said", "noted", detail=line)


def _correlated(match: re.Match[str]) -> CaseGate:
    result = {"plan": "passed", "end": "stopped"}.get(match["kind"], "waits")
    return CaseGate("correlation", "root_cause", result, detail=match["more"] or "")


def _level(match: re.Match[str]) -> CaseGate:
    result = "passed" if match["level"] == match["effective"] else "lowered"
    return CaseGate("planning", "level", result, match["level"], match["effective"])


def _capped(match: re.Match[str]) -> CaseGate:
    return CaseGate("planning", "cap", "lowered", match["cap"], match["why"])


def _lowered(match: re.Match[str]) -> CaseGate:
    return CaseGate("planning", "stake", "lowered", match["level"], match["why"])


def _skipped(match: re.Match[str]) -> CaseGate:
    return CaseGate("planning", "step", "stopped", match["action"], match["why"], int(match["step"]))


def _caused(match: re.Match[str]) -> CaseGate:
    return CaseGate("planning", "cause", "noted", match["cause"] or "unknown", match["text"] or "")


def _checked(match: re.Match[str]) -> CaseGate:
    result = "passed" if match["result"] == "passed" else "stopped"
    return CaseGate("planning", "pre_flight", result, match["check"], match["detail"] or "")


def _would(match: re.Match[str]) -> CaseGate:
    result = "passed" if match["would"] in WOULD_ACT else "stopped"
    return CaseGate("planning", "plan", result, match["would"], match["why"] or "")


def _approval(match: re.Match[str]) -> CaseGate:
    result = {"requested": "waits", "approved": "passed"}.get(match["status"], "stopped")
    return CaseGate("execution", "approval", result, match["by"] or "", match["status"])


def _sent(match: re.Match[str]) -> CaseGate:
    stage = "verification" if match["phase"] in ("confirm", "rollback") else "execution"
    return CaseGate(stage, match["phase"], "passed", match["action"], match["host"], command_id=match["command"])


def _no_snapshot(match: re.Match[str]) -> CaseGate:
    return CaseGate("execution", "no_snapshot", "stopped", "", match["why"])


def _not_begun(match: re.Match[str]) -> CaseGate:
    return CaseGate("execution", "not_begun", "stopped", "", match["why"])


def _ended(match: re.Match[str]) -> CaseGate:
    result = VERIFIED.get(match["outcome"], "stopped")
    return CaseGate("verification", "outcome", result, match["outcome"], match["why"] or "", int(match["step"]))


LINES: tuple[tuple[re.Pattern[str], Reader], ...] = tuple(
    (re.compile(pattern, re.DOTALL), reader)
    for pattern, reader in (
        (
            r"event of rule (?P<rule>\S+): held until (?P<for>\S+ s) from now",
            lambda match: CaseGate("correlation", "held", "passed", match["rule"], match["for"]),
        ),
        (r"correlated: (?P<kind>plan|end|wait|hold)(, (?P<more>.*))?", _correlated),
        (r"level (?P<level>\S+), effective (?P<effective>\S+)", _level),
        (r"(?P<level>\S+) instead of \S+: (?P<why>.*)", _lowered),
        (r"(?P<why>.*): at most (?P<cap>\S+)", _capped),
        (r"(?P<why>source \S+): (?P<cap>one level below)", _capped),
        (r"(?P<why>ceiling) (?P<cap>\S+)", _capped),
        (r"cause unknown(: (?P<text>.*))?(?P<cause>)", _caused),
        (r"cause (?P<cause>[a-z_]+): (?P<text>.*)", _caused),
        (r"step (?P<step>\d+) (?P<action>\S+) skipped: (?P<why>.*)", _skipped),
        (r"pre-flight (?P<check>\S+): (?P<result>passed|failed)( (?P<detail>.*))?", _checked),
        (r"would (?P<would>\S+?)(: (?P<why>.*))?", _would),
        (r"approval (\S+ )?(?P<status>requested|approved|rejected|expired|withdrawn)( by (?P<by>.*))?", _approval),
        (
            r"(?P<phase>snapshot|execute|confirm|rollback) of (?P<action>\S+) sent to (?P<host>\S+): "
            r"command (?P<command>\S+)",
            _sent,
        ),
        (r"snapshot missing: (?P<why>.*)", _no_snapshot),
        (r"not begun: (?P<why>.*)", _not_begun),
        (
            r"(?P<verdict>failed|inconclusive|lost), (?P<why>.*); rolling back",
            lambda match: CaseGate("verification", "verdict", "stopped", match["verdict"], match["why"]),
        ),
        (
            r"verified; (?P<why>confirming .*)",
            lambda match: CaseGate("verification", "verdict", "passed", "verified", match["why"]),
        ),
        (r"step (?P<step>\d+): (?P<outcome>\w+)(, (?P<why>.*))?", _ended),
    )
)
