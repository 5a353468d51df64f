"""Grouping: what is told under one key within a while is one message. Groups are plain dicts, replaced whole.

    nothing → gathering        the first row; what follows within `wait_s` joins it
    gathering → told           a message is made of what was gathered
    told → told                more of the same within `every_s` is counted and says nothing new
    told → gathering           news (another kind, a higher severity) is gathered until `every_s` after what was told
    told → nothing             `every_s` after what was told

So a key never has more than one message in `every_s`, and a storm of one kind has one message, however many its rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from . import rank

TITLES = 10
Group = dict[str, Any]


def gather(group: Mapping[str, Any] | None, row: Mapping[str, Any], now: float, wait_s: float, every_s: float) -> Group:
    """The group with one more row in it."""
    if group is None or is_over(group, now, every_s):
        return _begun(row, now, row.get("at", now) + wait_s)
    if group["due"] is None:
        if not _is_news(row, group["told"]):
            return {**group, "absorbed": group["absorbed"] + 1}
        begun = _begun(row, now, group["told"]["at"] + every_s)
        return {**begun, "told": group["told"], "absorbed": group["absorbed"]}
    return _settled(_joined(group, row, now))


def is_over(group: Mapping[str, Any], now: float, every_s: float) -> bool:
    """Whether nothing is gathered, and what was told is long ago."""
    return group["due"] is None and group["told"]["at"] + every_s <= now


def agenda(group: Mapping[str, Any], every_s: float) -> float:
    """When this group must be looked at: its message is due, or it can be forgotten."""
    return group["due"] if group["due"] is not None else group["told"]["at"] + every_s


def join(group: Mapping[str, Any], other: Mapping[str, Any], now: float, wait_s: float, every_s: float) -> Group:
    """What another key has gathered (`other`) belongs to this group after all: both have the same root cause."""
    worst = {**other, "severity": other["severity"]}
    joined = gather(group, worst, now, wait_s, every_s)
    more = other["events"] - 1
    if joined["due"] is None:
        return {**joined, "absorbed": joined["absorbed"] + more}
    return {**joined, "events": joined["events"] + more, "titles": _titles(joined["titles"], other["titles"])}


def told(group: Mapping[str, Any], message_id: str, now: float) -> Group:
    """After its message was made."""
    said = {"kind": group["kind"], "severity": group["severity"], "at": now, "message_id": message_id}
    return {**group, "due": None, "told": said, "events": 0, "titles": ()}


def _begun(row: Mapping[str, Any], now: float, due: float) -> Group:
    about = {name: row[name] for name in ("kind", "severity", "title", "text", "tags", "target")}
    return {
        **about,
        "sealed": row.get("sealed"),
        "first_at": row.get("at", now),
        "last_at": row.get("at", now),
        "events": 1,
        "titles": (row["title"],),
        "due": due,
        "told": None,
        "absorbed": 0,
    }


def _joined(group: Mapping[str, Any], row: Mapping[str, Any], now: float) -> Group:
    """The latest row speaks, as severely as the worst of the same kind."""
    same = row["kind"] == group["kind"]
    return {
        **group,
        "kind": row["kind"],
        "severity": max(group["severity"], row["severity"], key=rank) if same else row["severity"],
        "title": row["title"],
        "text": row["text"],
        "sealed": row.get("sealed"),
        "tags": tuple(dict.fromkeys((*group["tags"], *row["tags"]))),
        "last_at": row.get("at", now),
        "events": group["events"] + 1,
        "titles": _titles(group["titles"], (row["title"],)),
    }


def _settled(group: Group) -> Group:
    """What has come back to where it was when people were told last is no news any more."""
    if group["told"] is None or _is_news(group, group["told"]):
        return group
    return {**group, "due": None, "absorbed": group["absorbed"] + group["events"], "events": 0, "titles": ()}


def _is_news(row: Mapping[str, Any], said: Mapping[str, Any]) -> bool:
    return row["kind"] != said["kind"] or rank(row["severity"]) > rank(said["severity"])


def _titles(known: Iterable[str], more: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*known, *more)))[:TITLES]
