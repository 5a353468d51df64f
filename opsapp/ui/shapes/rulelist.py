"""The list of rules: what each looks for, what it does, how far it may go.

Pure. Must not: ask anybody.
"""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import quote

from opsapp.lib.jsontypes import JsonObject
from opsapp.ui.reader import Answers, Reader, names_by_id, rows_named

SOURCES = {"default": "comes with opsapp", "yaml": "configuration file", "api": "made here"}


class RuleLine(NamedTuple):
    name: str
    href: str
    description: str
    condition: str
    does: str
    targets: str
    severity: str
    level: str
    healed: str
    enabled: bool
    source: str
    unreadable: str
    row: JsonObject


def list_query(reader: Reader, _said: Answers) -> dict[str, str]:
    """The gravest first, unless a person sorts it."""
    return {} if reader.query.get("sort") else {"sort": "severity"}


def targets_asked(_reader: Reader, earlier: Answers) -> dict[str, tuple[str, ...]]:
    """Of a list only what the rules are for."""
    return rows_named(name for row in earlier["rules"] or () for name in _targets(row))


def shape(answers: Answers, reader: Reader) -> dict[str, object]:
    names = names_by_id(answers, "monitors", "hosts")
    trust = {row["rule_id"]: row for row in answers["trust"] or ()}
    return {
        "lines": tuple(_line(row, trust.get(row["id"]), names) for row in answers["rules"] or ()),
        "wanted": reader.query.get("q", ""),
        "may_add": reader.may("POST /api/healing/rules"),
    }


def _line(row: JsonObject, trust: JsonObject | None, names: dict[str, str]) -> RuleLine:
    evidence = trust["evidence"] if trust else {}
    decided = evidence.get("verified", 0) + evidence.get("failed", 0)
    return RuleLine(
        row["id"],
        f"/healing/rules/{quote(row['id'], safe='')}",
        row["description"],
        row["condition"],
        ", then ".join(action.replace("_", " ") for action in actions_of(row)) or "nothing",
        _where(row, names),
        row["severity"],
        trust["current_level"] if trust else "",
        f"{evidence['verified']} of {decided}" if decided else "",
        row["enabled"],
        SOURCES.get(str(row["source"]), str(row["source"])),
        row.get("unreadable") or "",
        row,
    )


def actions_of(row: JsonObject) -> list[str]:
    """The names of its actions, in their order."""
    chain = [step["action"] for step in row["escalation_chain"]]
    return chain or ([row["action"]["type"]] if row["action"] else [])


def _targets(row: JsonObject) -> tuple[str, ...]:
    targets = row["targets"] or {"agents": (), "monitors": ()}
    return (*targets["agents"], *targets["monitors"])


def _where(row: JsonObject, names: dict[str, str]) -> str:
    if row["targets"] is None:
        return "everywhere"
    return ", ".join(names.get(name, name) for name in _targets(row)) or "nowhere"
