"""Grouping: what is told under one key within a while is one message. Groups are values, replaced whole.

    nothing → gathering        the first row; what follows within `wait_s` joins it
    gathering → told           a message is made of what was gathered
    told → told                more of the same within `every_s` is counted and says nothing new
    told → gathering           news (another kind, a higher severity, a problem that was not named) is gathered until
                               `every_s` after what was told, and for `wait_s` only once something of it is more
                               severe than what was told
    told → nothing             `every_s` after what was told

Two rows are about one problem if they have one title and one rule. A group keeps the last row about each subject (a
rule, an incident) as its `news`: what is over does not speak as long as something that is not over was not told.

A group counts what has begun in it and is not over as `open`. While anything is open, a further beginning is no news
unless it is more severe. An end is told when it is the last one, in the words of the root cause if that has said any.

A row that stands `apart` joins no root cause, and nothing joins it. Only such rows can be withdrawn: one that says
`gone` takes back what the group of the key that it names has gathered.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from . import rank
from .texts import GOOD_NEWS

TITLES = 10
PROBLEMS = 50  # so many of a message are known by their names
LOOK_AGAIN_S = 2.0  # how often a group that waits for its root cause is looked at
BEGINS, ALSO, OVER = "begins", "also", "over"
APART, GONE = "apart", "gone"
WORDS = ("title", "text", "severity", "tags", "target", "ids")


class Told(NamedTuple):
    """A row of the inbox. `sealed`: the confidential form of title and text."""

    at: float
    key: str
    kind: str
    severity: str
    title: str
    text: str = ""
    tags: tuple[str, ...] = ()
    target: str | None = None
    phase: str = ""
    name: str = ""
    sealed: str | None = None
    ids: Mapping[str, str] = {}

    @property
    def problem(self) -> tuple[str, str]:
        return self.title, self.ids.get("rule", "")

    @property
    def subject(self) -> str:
        """Whatever is told of it later takes the place of this row."""
        return self.ids.get("rule") or self.ids.get("incident", "")

    @property
    def is_good(self) -> bool:
        return self.kind.rpartition(".")[2] in GOOD_NEWS

    @property
    def is_counted(self) -> bool:
        """Whether a group knows of it by what is open there: a beginning, or what joins a root cause (no key)."""
        return self.phase == BEGINS or not self.key


class LastTold(NamedTuple):
    kind: str
    severity: str
    at: float
    message_id: str
    names: tuple[tuple[str, str], ...] = ()


class MessageGroup(NamedTuple):
    """`root`: the name of the root cause; `open`: how many have begun in it and are not over; `due`: when its message
    is; `absorbed`: rows that said nothing new; `end`: the words of the root cause about its own end (WORDS)."""

    kind: str
    severity: str
    title: str
    text: str
    tags: tuple[str, ...]
    target: str | None
    sealed: str | None
    root: str
    first_at: float
    last_at: float
    events: int
    titles: tuple[str, ...]
    due: float | None
    told: LastTold | None = None
    absorbed: int = 0
    open: int = 0
    end: tuple[Any, ...] | None = None
    apart: bool = False
    ids: Mapping[str, str] = {}
    news: tuple[Told, ...] = ()

    @classmethod
    def read(cls, stored: Mapping[str, Any]) -> MessageGroup:
        """Older stores lack what has a default here, and the root cause."""
        known = {name: stored[name] for name in cls._fields if name in stored}
        told, end = stored.get("told"), stored.get("end")
        known |= {"sealed": stored.get("sealed"), "root": stored.get("root") or "", "told": told and LastTold(**told)}
        known["news"] = tuple(Told(**row) for row in stored.get("news", ()))
        return cls(**known | {"end": end and tuple(end.get(name, {}) for name in WORDS)})

    def moved(self, by: float) -> MessageGroup:
        """Its message is due when it would have been."""
        told = self.told and self.told._replace(at=self.told.at + by)
        return self._replace(due=None if self.due is None else self.due + by, told=told)

    def stored(self, look_at: float) -> dict[str, Any]:
        told, end = self.told and self.told._asdict(), self.end and dict(zip(WORDS, self.end, strict=True))
        news = tuple(row._asdict() for row in self.news)
        return {**self._asdict(), "told": told, "end": end, "news": news, "look_at": look_at}


class Before(NamedTuple):
    """What was open in a group before a row: whether that which the row is about was, and how many others."""

    own: bool = False
    others: int = 0

    @property
    def total(self) -> int:
        return self.others + self.own


NOTHING = Before()


def gather(
    group: MessageGroup | None, row: Told, before: Before, now: float, wait_s: float, every_s: float
) -> MessageGroup:
    after = before.total
    if row.phase in (BEGINS, OVER):
        after = before.others + (row.phase == BEGINS)
    return _with(group, row, before, after, now, wait_s, every_s)._replace(open=after)


def _with(
    group: MessageGroup | None, row: Told, before: Before, after: int, now: float, wait_s: float, every_s: float
) -> MessageGroup:
    if group is not None and before.own and _begins_again(group, row, now, every_s):
        return _begun(row, row.at + wait_s)._replace(root=group.root)
    if group is not None and before.total:
        is_root = row.name == group.root
        if row.phase == OVER and after:  # others of the same root cause are not over yet
            words = (row.title, row.text, row.severity, row.tags, row.target, row.ids)
            return _counted(group, row)._replace(end=words if is_root else group.end)
        is_known = row.phase in (BEGINS, ALSO) and rank(row.severity) <= rank((group.told or group).severity)
        if is_known and not (is_root and group.told is None and row.phase == BEGINS):
            return _counted(group, row)
        if row.phase == OVER and group.end:
            row = row._replace(**dict(zip(WORDS, group.end, strict=True)))
    if group is None or is_over(group, now, every_s):
        return _begun(row, row.at + wait_s)
    if group.due is None:
        told = _told_of(group)
        if not _is_news(row, told) and not _is_another(row, told):
            return group._replace(absorbed=group.absorbed + 1)
        begun = _begun(row, told.at + every_s)._replace(told=told, absorbed=group.absorbed, root=group.root)
        return _paced(begun, row, wait_s, every_s)
    return _settled(_paced(_joined(group, row), row, wait_s, every_s))


def _paced(group: MessageGroup, row: Told, wait_s: float, every_s: float) -> MessageGroup:
    """What is more severe than what was told does not wait for that one's minute; everything else does."""
    if group.told is None or group.due is None:
        return group
    if rank(group.severity) > rank(group.told.severity):
        return group._replace(due=min(group.due, row.at + wait_s))
    return group._replace(due=max(group.due, group.told.at + every_s))


def _told_of(group: MessageGroup) -> LastTold:
    assert group.told is not None
    return group.told


def _begins_again(group: MessageGroup, row: Told, now: float, every_s: float) -> bool:
    """The end of what is open here was told to nobody, as in a maintenance window."""
    return row.phase == BEGINS and group.due is None and _told_of(group).at + every_s <= now


def _counted(group: MessageGroup, row: Told) -> MessageGroup:
    """A row that says nothing new."""
    if group.due is None:
        return group._replace(absorbed=group.absorbed + 1)
    return group._replace(events=group.events + 1, last_at=row.at, titles=_titles(group.titles, (row.title,)))


def is_over(group: MessageGroup, now: float, every_s: float) -> bool:
    """Nothing is gathered, and what was told is long ago."""
    return group.due is None and not group.open and _told_of(group).at + every_s <= now


def agenda(group: MessageGroup, every_s: float) -> float:
    """Its message is due, or it can be forgotten. One with something open waits."""
    if group.due is not None:
        return group.due
    return math.inf if group.open else _told_of(group).at + every_s


def join(group: MessageGroup, other: MessageGroup, now: float, wait_s: float, every_s: float) -> MessageGroup:
    """What another key has gathered (`other`) belongs to this group after all: both have the same root cause."""
    before, phase = Before(others=group.open), BEGINS if other.open else ""
    row = Told(
        now, "", other.kind, other.severity, other.title, other.text, other.tags, other.target, phase, other.root
    )
    after = before.total + other.open  # nothing is open in two groups
    row = row._replace(sealed=other.sealed, ids=other.ids)
    joined = _with(group, row, before, after, now, wait_s, every_s)._replace(open=after)
    more = other.events - 1
    if joined.due is None:
        return joined._replace(absorbed=joined.absorbed + more)
    return joined._replace(events=joined.events + more, titles=_titles(joined.titles, other.titles))


def may_wait(group: MessageGroup) -> bool:
    """Whether it may wait until its root cause is known: something begins, and nothing was told of it."""
    return group.told is None and bool(group.open)


def postponed(group: MessageGroup, now: float) -> MessageGroup:
    """It waits until its root cause is known."""
    return group._replace(due=now + LOOK_AGAIN_S)


def told(group: MessageGroup, message_id: str, now: float) -> MessageGroup:
    """The group once its message was made."""
    last = LastTold(group.kind, group.severity, now, message_id, tuple(row.problem for row in group.news))
    return group._replace(due=None, told=last, events=0, titles=(), news=())


def _begun(row: Told, due: float) -> MessageGroup:
    about = (row.kind, row.severity, row.title, row.text, row.tags, row.target, row.sealed, row.name)
    group = MessageGroup(*about, row.at, row.at, 1, (row.title,), due, apart=row.phase == APART, ids=row.ids)
    return group._replace(news=_latest((), row))


def _joined(group: MessageGroup, row: Told) -> MessageGroup:
    """The latest row speaks, as severely as the worst of the same kind; an end only if nothing else has to be told."""
    news = _latest(group.news, row)
    bad = [told for told in news if not told.is_good]
    speaks = bad[-1] if row.is_good and bad else row
    alike = [group.severity] if row.kind == group.kind else []
    severities = [told.severity for told in bad] if speaks is not row else [*alike, row.severity]
    return group._replace(
        kind=speaks.kind,
        severity=max(severities, key=rank),
        title=speaks.title,
        text=speaks.text,
        sealed=speaks.sealed,
        ids=speaks.ids,
        tags=tuple(dict.fromkeys((*group.tags, *row.tags))),
        last_at=row.at,
        events=group.events + 1,
        titles=_titles(group.titles, (_label(group, row, speaks),)),
        news=news,
    )


def _latest(news: tuple[Told, ...], row: Told) -> tuple[Told, ...]:
    if row.is_counted:
        return news
    return (*(told for told in news if told.subject != row.subject), row)[-PROBLEMS:]


def _label(group: MessageGroup, row: Told, speaks: Told) -> str:
    """The title, with its rule where the title alone does not say what is over."""
    rule = row.ids.get("rule")
    unclear = row.is_good and (speaks is not row or row.title in group.titles)
    return f"{row.title} ({rule})" if rule and unclear else row.title


def _settled(group: MessageGroup) -> MessageGroup:
    """What has come back to where it was when people were told last is no news any more."""
    last = group.told
    if last is None or _is_news(group, last) or any(_is_another(row, last) for row in group.news):
        return group
    return group._replace(due=None, absorbed=group.absorbed + group.events, events=0, titles=(), news=())


def _is_another(row: Told, last_told: LastTold) -> bool:
    """People were not told of it by its name."""
    return not row.is_counted and row.problem not in last_told.names


def _is_news(row: Told | MessageGroup, last_told: LastTold) -> bool:
    return row.kind != last_told.kind or rank(row.severity) > rank(last_told.severity)


def _titles(known: Iterable[str], more: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*known, *more)))[:TITLES]
