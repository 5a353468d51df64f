"""What each rule looks for, what it does, how far it may go."""

from __future__ import annotations

from typing import NamedTuple

from opsapp.healing.answers import TrustShown
from opsapp.healing.records import RuleRecord, RuleSettings
from opsapp.ui.parts import RULES, TRUST, names_in
from opsapp.ui.reader import Answers, Reader, TemplateValues, rows_named
from opsapp.wire.spoken import spoken_action

SOURCES = {"default": "comes with opsapp", "yaml": "configuration file", "api": "made here"}


class RuleLine(NamedTuple):
    does: str
    targets: str
    level: str
    healed: str
    source: str
    row: RuleRecord


def list_query(reader: Reader, _said: Answers) -> dict[str, str]:
    """The gravest first, unless a person sorts it."""
    return {} if reader.asked("sort") else {"sort": "severity"}


def targets_asked(_reader: Reader, earlier: Answers) -> dict[str, tuple[str, ...]]:
    return rows_named(name for rule in earlier[RULES] for name in _targets(rule))


def shape(answers: Answers, reader: Reader) -> TemplateValues:
    names = names_in(answers)
    trust = {row.rule_id: row for row in answers[TRUST]}
    return {
        "lines": tuple(_line(rule, trust.get(rule.id), names) for rule in answers[RULES]),
        "wanted": reader.asked("q"),
        "may_add": reader.may("POST /api/healing/rules"),
    }


def _line(rule: RuleRecord, trust: TrustShown | None, names: dict[str, str]) -> RuleLine:
    verified = trust.evidence.verified if trust else 0
    decided = verified + (trust.evidence.failed if trust else 0)
    return RuleLine(
        ", then ".join(spoken_action(step.action) for step in rule.steps) or "nothing",
        _where(rule, names),
        trust.current_level if trust else "",
        f"{verified} of {decided}" if decided else "",
        SOURCES.get(rule.source, rule.source),
        rule,
    )


def _targets(rule: RuleSettings) -> tuple[str, ...]:
    return rule.targets.agents + rule.targets.monitors if rule.targets else ()


def _where(rule: RuleSettings, names: dict[str, str]) -> str:
    if rule.targets is None:
        return "everywhere"
    return ", ".join(names.get(name, name) for name in _targets(rule)) or "nowhere"
