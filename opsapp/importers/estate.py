"""What another program's file gives: monitors, channels and more to make, and what is said about each of its entries.

What every reader fills and shares: spans, names, ranges. Must not: know any program.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field, replace
from typing import Any, NamedTuple
from urllib.parse import quote, urlsplit, urlunsplit

from opsapp.maintenance.records import WindowAsCode
from opsapp.monitoring.earlier import EarlierDaysAsCode
from opsapp.monitoring.records import MonitorSettings
from opsapp.notify.records import ChannelAsCode
from opsapp.statuspages.records import OwnPageAsCode, PageAsCode
from opsapp.wire.dataclass import dataclass, frozen
from opsapp.wire.records import parts_of, settings_of

from .foreign import NotImported

LOWEST_INTERVAL_S, HIGHEST_INTERVAL_S = 5, 86400
HIGHEST_TIMEOUT_S = 60
MOST_RETRIES = 10
MOST_TAGS, TAG_LENGTH = 50, 64
PUBLIC = "public"  # the tag of what the status page shows
_SPAN = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d|w)")
_SECONDS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}


@frozen(kw_only=True)
class MonitorEntry(MonitorSettings):
    """Its times may be unsaid: they are configured."""

    interval: int | None = None  # type: ignore[assignment]
    timeout: int | None = None  # type: ignore[assignment]
    retries: int | None = None  # type: ignore[assignment]

    def having(self, **own: Any) -> MonitorEntry:
        """The entry with the settings that only its type has."""
        return replace(self, **own)


Entry = MonitorEntry | ChannelAsCode | WindowAsCode | PageAsCode | OwnPageAsCode | EarlierDaysAsCode


class EntryKind(NamedTuple):
    """`name` is that of the document, `told` that of the report; `key` is the field by which an entry is known."""

    name: str
    told: str
    key: str = "name"
    longest: int = 0  # characters of its name


KINDS: dict[type[Entry], EntryKind] = {  # what names monitors comes last
    MonitorEntry: EntryKind("monitors", "monitor", longest=200),
    ChannelAsCode: EntryKind("channels", "channel", longest=100),
    WindowAsCode: EntryKind("windows", "window", longest=200),
    PageAsCode: EntryKind("status_page", "status page", "page"),
    OwnPageAsCode: EntryKind("status_pages", "status page of its own", "slug"),
    EarlierDaysAsCode: EntryKind("earlier_days", "history", "monitor"),
}


@dataclass
class ReportLine:
    """`notes`: what is different here; of an entry that is not taken, the reason."""

    kind: str  # monitor, channel, or the other program's word
    name: str
    entry: Entry | None = None  # what it is in the document, if it is taken
    notes: tuple[str, ...] = ()
    stood_for: bool = False  # by something else

    @property
    def taken(self) -> bool:
        return self.entry is not None or self.stood_for

    def __str__(self) -> str:
        head = f"{'taken' if self.taken else 'NOT TAKEN'}: {self.kind} {self.name!r}"
        return f"{head}: {'; '.join(self.notes)}" if self.notes else head


class PresentEntry(NamedTuple):
    """Of the service, with the name of one of the file."""

    kind: str
    name: str
    differing: tuple[str, ...]

    @property
    def told(self) -> str:
        differing = ", ".join(self.differing)
        return f"there is one with this name here, which differs in {differing}: delete or rename one of them"


@dataclass
class Estate:
    """Filled by a reader, entry by entry."""

    lines: list[ReportLine] = field(default_factory=list)
    # the names of each kind that are taken, and which number one of this name gets next: counted, not looked for
    _names: dict[type, set[str]] = field(default_factory=lambda: defaultdict(set))
    _numbers: dict[tuple[type, str], int] = field(default_factory=lambda: defaultdict(lambda: 2))

    def entries(self, of: type[Entry]) -> list[ReportLine]:
        """The lines that have an entry of this kind."""
        return [line for line in self.lines if type(line.entry) is of]

    def document(self) -> dict[str, list[dict[str, object]]]:
        told = {kind.name: [_as_code(line.entry) for line in self.entries(of)] for of, kind in KINDS.items()}
        return {kind: entries for kind, entries in told.items() if entries}

    def take(self, entry: MonitorEntry | ChannelAsCode | WindowAsCode, notes: list[str]) -> str:
        """Take an entry; its name here: one whose name is taken gets a number behind it. NotImported of a monitor whose
        address is none for its type."""
        kind = KINDS[type(entry)]
        if isinstance(entry, MonitorEntry) and entry.declared is not None:
            problem = entry.declared.url_problem(entry.url)
            if problem is not None:
                raise NotImported(f"url {problem}")
        names = self._names[type(entry)]
        wanted = name = entry.name[: kind.longest]
        while name in names:
            ending = f" ({self._numbers[type(entry), wanted]})"
            self._numbers[type(entry), wanted] += 1
            name = wanted[: kind.longest - len(ending)] + ending
        names.add(name)
        notes = [*notes]
        taken = replace(entry, name=name)
        if not isinstance(taken, WindowAsCode):
            taken = replace(taken, tags=_cut_tags(taken.tags, notes))
        if entry.name != wanted:
            notes.append(f"its name is cut to {kind.longest} characters")
        if name != wanted:
            notes.append(f"its name was taken: it is {name!r} here")
        self.take_whole(entry.name, taken, notes)
        return name

    def take_whole(self, told: str, entry: Entry, notes: list[str]) -> None:
        """Take what is known by something else than its name, and is called `told` in the report."""
        self.lines.append(ReportLine(KINDS[type(entry)].told, told, entry, tuple(notes)))

    def take_as(self, kind: str, name: str, note: str) -> None:
        """Report what others stand for here, as tags do for a group."""
        self.lines.append(ReportLine(kind, name, notes=(note,), stood_for=True))

    @contextmanager
    def entry(self, kind: str, name: str) -> Iterator[list[str]]:
        """One entry of the file; yields the list for its notes. What cannot be understood is left, and said."""
        try:
            yield []
        except NotImported as reason:
            self.leave(kind, name, str(reason))
        except (AttributeError, KeyError, TypeError, ValueError) as problem:
            self.leave(kind, name, f"it cannot be understood: {type(problem).__name__}: {problem}")

    def leave(self, kind: str, name: str, why: str) -> None:
        self.lines.append(ReportLine(kind, name, notes=(why,)))

    def leave_present(self, present: Iterable[PresentEntry]) -> None:
        """The names of these entries are something else's here: that is not written over."""
        lines: dict[tuple[str, str], ReportLine] = {}
        for line in self.lines:
            if line.entry is not None:
                known = KINDS[type(line.entry)]
                lines[known.name, getattr(line.entry, known.key)] = line
        self._refuse([(lines[entry.kind, entry.name], entry.told) for entry in present])

    def drop(self, wrong: Mapping[str, str]) -> bool:
        """Entries that the service refuses, by their paths in the document (`monitors.3.url`); whether all that is
        wrong is in entries."""
        lines = {kind.name: self.entries(of) for of, kind in KINDS.items()}
        refused = list[tuple[ReportLine, str]]()
        for path, text in wrong.items():
            kind, _, rest = path.removeprefix("document.").partition(".")
            number, _, name = rest.partition(".")
            if not lines.get(kind) or not number.isdigit():
                return False
            refused.append((lines[kind][int(number)], f"{name} {text}"))
        self._refuse(refused)
        return True

    def _refuse(self, refused: list[tuple[ReportLine, str]]) -> None:
        gone: dict[int, Entry | None] = {id(line): line.entry for line, _ in refused}
        told: dict[int, list[str]] = defaultdict(list)
        for line, text in refused:
            told[id(line)].append(text)
        for line, _ in refused:
            line.entry, line.notes = None, tuple(told[id(line)])
        monitors = {entry.name for entry in gone.values() if isinstance(entry, MonitorEntry)}
        if monitors:
            self._forget(monitors)
        for entry in gone.values():
            if isinstance(entry, PageAsCode):
                self._withhold(entry)

    def _forget(self, monitors: Collection[str]) -> None:
        """What names these must not mean what has their names here."""
        empty: list[tuple[ReportLine, str]] = []
        for line in self.lines:
            entry = line.entry
            if isinstance(entry, MonitorEntry):
                continue
            if isinstance(entry, WindowAsCode):
                window: WindowAsCode = entry
                line.entry = window = replace(window, scope=_without(window.scope, monitors))
                if not window.scope:  # which would be: everything
                    empty.append((line, "none of the monitors that it covers is taken"))
            elif isinstance(entry, PageAsCode | OwnPageAsCode):
                left: Any = tuple(replace(group, monitors=_without(group.monitors, monitors)) for group in entry.groups)
                line.entry = replace(entry, groups=left)
            elif isinstance(entry, EarlierDaysAsCode) and entry.monitor in monitors:
                empty.append((line, "its monitor is not taken"))
        if empty:
            self._refuse(empty)

    def _withhold(self, page: PageAsCode) -> None:
        """Without their page, its monitors must not come onto the page that is here."""
        shown = {name for group in page.groups for name in group.monitors}
        for line in self.lines:
            if isinstance(line.entry, MonitorEntry) and line.entry.name in shown:
                line.entry = replace(line.entry, tags=_without(line.entry.tags, (PUBLIC,)))

    def report(self) -> list[str]:
        """Lines for people: what was taken, what differs, what was not taken and why."""
        told = [str(line) for line in sorted(self.lines, key=lambda line: line.taken)]
        taken = sum(line.taken for line in self.lines)
        differing = sum(line.taken and bool(line.notes) for line in self.lines)
        return [*told, f"{taken} taken, {differing} of them with a difference; {len(self.lines) - taken} not taken"]


def _without(names: tuple[str, ...], gone: Collection[str]) -> tuple[str, ...]:
    return tuple(name for name in names if name not in gone)


def _as_code(entry: Any) -> dict[str, object]:
    """What it says; what is as it would be without a word stays out."""
    of = entry.__class__
    unsaid = {part.name for part in parts_of(of) if getattr(entry, part.attribute) in (None, part.default)}
    key = KINDS[of].key
    return {name: value for name, value in settings_of(entry).items() if name not in unsaid - {key}}


def _cut_tags(tags: tuple[str, ...], notes: list[str]) -> tuple[str, ...]:
    """The tags within the limits of number and length. A note says what is cut off."""
    if any(len(tag) > TAG_LENGTH for tag in tags):
        notes.append(f"its tags are cut to {TAG_LENGTH} characters")
    kept = tuple(dict.fromkeys(tag[:TAG_LENGTH] for tag in tags))
    if len(kept) > MOST_TAGS:
        notes.append(f"{MOST_TAGS} of its {len(kept)} tags are taken")
    return kept[:MOST_TAGS]


def seconds(text: object) -> float:
    """`30s`, `1m30s`, or a number of seconds."""
    if isinstance(text, (int, float)):
        return float(text)
    parts = _SPAN.findall(str(text))
    if not parts or "".join(number + unit for number, unit in parts) != str(text):
        raise NotImported(f"{text!r} is no span of time")
    return sum(float(number) * _SECONDS[unit] for number, unit in parts)


def timed(entry: MonitorEntry, interval: float, timeout: float | None, notes: list[str]) -> MonitorEntry:
    """The entry with an interval and time-out that are possible here. A note says which had to change."""
    kept = round(min(max(interval, LOWEST_INTERVAL_S), HIGHEST_INTERVAL_S))
    if kept != interval:
        notes.append(f"looked at every {kept} s instead of {interval:g} s")
    if timeout is None:
        return replace(entry, interval=kept)
    waits = max(1, round(min(timeout, HIGHEST_TIMEOUT_S, kept - 1)))
    if waits != timeout:
        notes.append(f"time-out {waits} s instead of {timeout:g} s")
    return replace(entry, interval=kept, timeout=waits)


def with_user(url: str, user: str, password: str) -> str:
    """The URL with user and password, which are both sealed in the store."""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=f"{quote(user, safe='')}:{quote(password, safe='')}@{parts.netloc}"))


def host_and_port(host: str | None, port: int | str | None) -> str:
    return f"[{host}]:{port}" if host and ":" in host and not host.startswith("[") else f"{host}:{port}"
