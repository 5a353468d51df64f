"""What makes healing do less for a while: a pause, hands off, a release, somebody who is here."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from opsapp.agents.records import AgentRow
from opsapp.healing.health_answers import HoldRecord
from opsapp.maintenance.records import HealingWindowRecord
from opsapp.ui.sentences import target_words

SAID = {
    "pause": "All healing is paused by {by}{reason}. Nothing is healed.",
    "hands_off": "Hands off {name}, says {by}{reason}. Rules act one level lower there.",
    "release": "A release is under way on {name}, says {by}{reason}. Rules act one level lower there.",
    "here": "{by} is here{reason}. Actions of medium risk need an approval.",
}
HOLDING = {  # what the action of a healing window does
    "suppress": "nothing is healed, and nobody is notified",
    "queue": "events wait until the pause ends",
    "notify_only": "people are notified, nothing is healed",
    "release": "a release is under way, rules act one level lower",
    "hands_off": "hands off, rules act one level lower",
    "here": "somebody is here, actions of medium risk need an approval",
}


class HoldLine(NamedTuple):
    look: str
    words: str
    until: int | None


class HealingWindowLine(NamedTuple):
    sentence: str
    row: HealingWindowRecord


def window_line(row: HealingWindowRecord, name: str | None = None) -> HealingWindowLine:
    target = "Everything" if row.target == "all" else target_words(name or row.target)
    reason = f" {row.reason}." if row.reason else ""
    return HealingWindowLine(f"{target}: {HOLDING[row.action]}.{reason} {row.created_by} asked for it.", row)


def lines(holds: Iterable[HoldRecord]) -> list[HoldLine]:
    """Of the overview's or the health's answer."""
    return [_line(hold.kind, hold.name, hold.by, hold.reason, hold.until) for hold in holds]


def on_host(windows: Iterable[HealingWindowRecord], agent: AgentRow) -> list[HoldLine]:
    names = (agent.id, agent.hostname, agent.label)
    held = [row for row in windows if row.target in names and row.action in SAID]
    return [_line(row.action, "this host", row.created_by, row.reason, int(row.expires_at)) for row in held]


def _line(kind: str, name: str, by: str, reason: str, until: int | None) -> HoldLine:
    where = "everything" if name == "all" else name
    words = SAID[kind].format(name=where, by=by, reason=f" ({reason})" if reason else "")
    return HoldLine("warn" if kind == "pause" else "maint", words, until)
