"""Grouping: what is told under one key within a while is one message. Groups are plain dicts, replaced whole.

    nothing → gathering        the first row; what follows within `wait_s` joins it
    gathering → told           a message is made of what was gathered
    told → told                more of the same within `every_s` is counted and says nothing new
    told → gathering           news (another kind, a higher severity) is gathered until `every_s` after what was told
    told → nothing             `every_s` after what was told

So a key never has more than one message in `every_s`, and a storm of one kind has one message, however many its rows.

A row may say that something `begins` or is `over`, or `also` tells of what may have begun already. A group counts what
has begun in it and is not over as `open`; whoever stores the group knows which. As long as anything is open, a further
beginning is no news unless it is more severe, and an end is told when it is the last one, in the words of the root
cause if that has said any. So what has one root cause has one message when it begins and one when it is over.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from . import rank

TITLES = 10
LOOK_AGAIN_S = 2.0  # how often a group that waits for its root cause is looked at
BEGINS, ALSO, OVER = "begins", "also", "over"
PHASES = ("", BEGINS, ALSO, OVER)
WORDS = ("title", "text", "severity", "tags", "target")
Group = dict[str, Any]


class Before(NamedTuple):
    """What was open in a group before a row: whether that which the row is about was, and how many others."""

    own: bool = False
    others: int = 0

    @property
    def total(self) -> int:
        return self.others + self.own


NOTHING = Before()


def gather(
    group: Group | None, row: Mapping[str, Any], before: Before, now: float, wait_s: float, every_s: float
) -> Group:
    """The group with one more row in it."""
    after = before.total
    if row.get("phase") in (BEGINS, OVER):
        after = before.others + (row["phase"] == BEGINS)
    return {**_with(group, row, before, after, now, wait_s, every_s), "open": after}


def _with(
    group: Group | None, row: Mapping[str, Any], before: Before, after: int, now: float, wait_s: float, every_s: float
) -> Group:
    if group is not None and before.own and _begins_again(group, row, now, every_s):
        return {**_begun(row, now, row.get("at", now) + wait_s), "root": group.get("root")}
    if group is not None and before.total:
        is_root = row.get("name") == group.get("root")
        if row.get("phase") == OVER and after:  # others of the same root cause are not over yet
            return {**_counted(group, row, now), **({"end": {name: row[name] for name in WORDS}} if is_root else {})}
        is_known = row.get("phase") in (BEGINS, ALSO) and rank(row["severity"]) <= rank(_said(group)["severity"])
        if is_known and not (is_root and group["told"] is None and row["phase"] == BEGINS):
            return _counted(group, row, now)
        if row.get("phase") == OVER:
            row = {**row, **group.get("end", {})}
    if group is None or is_over(group, now, every_s):
        return _begun(row, now, row.get("at", now) + wait_s)
    if group["due"] is None:
        if not _is_news(row, group["told"]):
            return {**group, "absorbed": group["absorbed"] + 1}
        begun = _begun(row, now, group["told"]["at"] + every_s)
        return {**begun, "told": group["told"], "absorbed": group["absorbed"], "root": group.get("root")}
    return _settled(_joined(group, row, now))


def _begins_again(group: Group, row: Mapping[str, Any], now: float, every_s: float) -> bool:
    """Whether what is open here begins once more: its end was told to nobody, as in a maintenance window."""
    told_long_ago = group["due"] is None and bool(group["told"]["at"] + every_s <= now)
    return row.get("phase") == BEGINS and told_long_ago


def _said(group: Mapping[str, Any]) -> Mapping[str, Any]:
    """What people were told last, or are about to be told first."""
    told: Mapping[str, Any] | None = group["told"]
    return group if told is None else told


def _counted(group: Mapping[str, Any], row: Mapping[str, Any], now: float) -> Group:
    """A row that says nothing new."""
    if group["due"] is None:
        return {**group, "absorbed": group["absorbed"] + 1}
    titles = _titles(group["titles"], (row["title"],))
    return {**group, "events": group["events"] + 1, "last_at": row.get("at", now), "titles": titles}


def is_over(group: Mapping[str, Any], now: float, every_s: float) -> bool:
    """Whether nothing is gathered, and what was told is long ago."""
    return group["due"] is None and not group.get("open") and group["told"]["at"] + every_s <= now


def agenda(group: Mapping[str, Any], every_s: float) -> float:
    """When this group must be looked at: its message is due, or it can be forgotten. One with something open waits."""
    if group["due"] is not None:
        return float(group["due"])
    return math.inf if group.get("open") else float(group["told"]["at"] + every_s)


def join(group: Group, other: Mapping[str, Any], now: float, wait_s: float, every_s: float) -> Group:
    """What another key has gathered (`other`) belongs to this group after all: both have the same root cause."""
    before, more_open = Before(others=group.get("open", 0)), other.get("open", 0)
    row = {**other, "phase": BEGINS if more_open else "", "name": other.get("root")}
    after = before.total + more_open  # nothing is open in two groups
    joined = {**_with(group, row, before, after, now, wait_s, every_s), "open": after}
    more = other["events"] - 1
    if joined["due"] is None:
        return {**joined, "absorbed": joined["absorbed"] + more}
    return {**joined, "events": joined["events"] + more, "titles": _titles(joined["titles"], other["titles"])}


def may_wait(group: Mapping[str, Any]) -> bool:
    """Whether its message may wait until its root cause is known: something begins, and nothing was told of it."""
    return group["told"] is None and bool(group.get("open"))


def postponed(group: Mapping[str, Any], now: float) -> Group:
    """It waits until its root cause is known."""
    return {**group, "due": now + LOOK_AGAIN_S}


def told(group: Mapping[str, Any], message_id: str, now: float) -> Group:
    """After its message was made."""
    said = {"kind": group["kind"], "severity": group["severity"], "at": now, "message_id": message_id}
    return {**group, "due": None, "told": said, "events": 0, "titles": ()}


def _begun(row: Mapping[str, Any], now: float, due: float) -> Group:
    about = {name: row[name] for name in ("kind", "severity", "title", "text", "tags", "target")}
    return {
        **about,
        "sealed": row.get("sealed"),
        "root": row.get("name"),
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
