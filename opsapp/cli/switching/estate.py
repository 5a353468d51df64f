"""What another program's file gives: monitors, channels and more to make, and what is said about each of its entries.

Lives here: the values that every reader fills, and what they share: spans, names, ranges. Must not: know any program.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from urllib.parse import quote, urlsplit, urlunsplit

from opsapp.lib.jsontypes import JsonObject

LOWEST_INTERVAL_S, HIGHEST_INTERVAL_S = 5, 86400
HIGHEST_TIMEOUT_S = 60
MOST_RETRIES = 10
NAME_LENGTHS = {"monitor": 200, "channel": 100, "window": 200}
KINDS = {  # as the report calls them, and as the document does; what names monitors comes last
    "monitor": "monitors",
    "channel": "channels",
    "window": "windows",
    "status page": "status_page",
    "status page of its own": "status_pages",
    "history": "earlier_days",
}
KEYS = {
    "status_page": "page",
    "status_pages": "slug",
    "earlier_days": "monitor",
}  # by which an entry is known; the others have a name
MOST_TAGS, TAG_LENGTH = 50, 64
PUBLIC = "public"  # the tag of what the status page shows
_SPAN = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d|w)")
_SECONDS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}


class NotImported(Exception):
    """This entry has no counterpart here; the text says why."""


class ReportLine(NamedTuple):
    """One line of the report. `notes`: what is different here; of an entry that is not taken, the reason."""

    kind: str  # monitor, channel, or the other program's word
    name: str
    entry: JsonObject | None  # what it is in the document, if it is taken
    notes: tuple[str, ...] = ()

    @property
    def taken(self) -> bool:
        return self.entry is not None


@dataclass
class Estate:
    """Filled by a reader, entry by entry."""

    kinds: dict[str, list[JsonObject]] = field(default_factory=lambda: {kind: [] for kind in KINDS.values()})
    lines: list[ReportLine] = field(default_factory=list)

    @property
    def monitors(self) -> list[JsonObject]:
        return self.kinds["monitors"]

    @property
    def channels(self) -> list[JsonObject]:
        return self.kinds["channels"]

    def document(self) -> JsonObject:
        """As `opsapp apply` takes it."""
        return {kind: entries for kind, entries in self.kinds.items() if entries}

    def take(self, kind: str, settings: JsonObject, notes: list[str]) -> JsonObject:
        """Something that has a name; one whose name is taken already gets a number behind it."""
        entries = self.kinds[KINDS[kind]]
        told, length = settings["name"], NAME_LENGTHS[kind]
        names = {entry["name"] for entry in entries}
        wanted = settings["name"] = told[:length]
        number = 2
        while settings["name"] in names:
            ending = f" ({number})"
            settings["name"] = wanted[: length - len(ending)] + ending
            number += 1
        notes = [*notes, *(_cut_tags(settings) if "tags" in settings else [])]
        if told != wanted:
            notes.append(f"its name is cut to {length} characters")
        if settings["name"] != wanted:
            notes.append(f"its name was taken: it is {settings['name']!r} here")
        return self.take_whole(kind, told, settings, notes)

    def take_whole(self, kind: str, told: str, settings: JsonObject, notes: list[str]) -> JsonObject:
        """Something that is known by something else than its name, and is called `told` in the report."""
        self.kinds[KINDS[kind]].append(settings)
        self.lines.append(ReportLine(kind, told, settings, tuple(notes)))
        return settings

    def take_as(self, kind: str, name: str, stands_for_it: JsonObject, note: str) -> None:
        """Something that others stand for here, as tags do for a group."""
        self.lines.append(ReportLine(kind, name, stands_for_it, (note,)))

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
        self.lines.append(ReportLine(kind, name, None, (why,)))

    def leave_present(self, kind: str, name: str, differing: list[str]) -> None:
        """Leave the entry of the document's kind whose name is something else's here: it is not written over."""
        why = f"there is one with this name here, which differs in {', '.join(differing)}: delete or rename one of them"
        key = KEYS.get(kind, "name")
        (entry,) = [entry for entry in self.kinds[kind] if entry[key] == name]
        self._refuse([(entry, why)])

    def drop(self, wrong: Mapping[str, str]) -> bool:
        """Leave the entries that the service refuses, by their paths in the document (`monitors.3.url`); whether all
        that is wrong is in entries."""
        document, refused = self.document(), list[tuple[JsonObject, str]]()
        for path, text in wrong.items():
            kind, _, rest = path.removeprefix("document.").partition(".")
            number, _, name = rest.partition(".")
            if kind not in document or not number.isdigit():
                return False
            refused.append((document[kind][int(number)], f"{name} {text}"))
        self._refuse(refused)
        return True

    def _refuse(self, refused: list[tuple[JsonObject, str]]) -> None:
        for entry, _ in refused:
            why = tuple(text for other, text in refused if other is entry)
            self.lines = [line._replace(entry=None, notes=why) if line.entry is entry else line for line in self.lines]
        gone = {id(entry) for entry, _ in refused}
        monitors = {entry["name"] for entry in self.monitors if id(entry) in gone}
        pages = [entry for entry in self.kinds["status_page"] if id(entry) in gone]
        for entries in self.kinds.values():
            entries[:] = [entry for entry in entries if id(entry) not in gone]
        if monitors:
            self._forget(monitors)
        for page in pages:
            self._withhold(page)

    def _forget(self, monitors: set[str]) -> None:
        """What names these must not mean what has their names here."""
        empty: list[tuple[JsonObject, str]] = []
        for window in self.kinds["windows"]:
            window["scope"] = [name for name in window["scope"] if name not in monitors]
            if not window["scope"]:  # which would be: everything
                empty.append((window, "none of the monitors that it covers is taken"))
        for page in [*self.kinds["status_page"], *self.kinds["status_pages"]]:
            for group in page["groups"]:
                group["monitors"] = [name for name in group["monitors"] if name not in monitors]
        for history in self.kinds["earlier_days"]:
            if history["monitor"] in monitors:
                empty.append((history, "its monitor is not taken"))
        if empty:
            self._refuse(empty)

    def _withhold(self, page: JsonObject) -> None:
        """Without their page, its monitors must not come onto the page that is here."""
        named = {name for group in page["groups"] for name in group["monitors"]}
        for monitor in self.monitors:
            if monitor["name"] in named:
                monitor["tags"] = [tag for tag in monitor["tags"] if tag != PUBLIC]

    def report(self) -> list[str]:
        """For people: what was taken, what differs, what was not taken and why."""
        told = [_told(line) for line in sorted(self.lines, key=lambda line: line.taken)]
        taken = sum(line.taken for line in self.lines)
        differing = sum(line.taken and bool(line.notes) for line in self.lines)
        return [*told, f"{taken} taken, {differing} of them with a difference; {len(self.lines) - taken} not taken"]


def _told(line: ReportLine) -> str:
    head = f"{'taken' if line.taken else 'NOT TAKEN'}: {line.kind} {line.name!r}"
    return f"{head}: {'; '.join(line.notes)}" if line.notes else head


def _cut_tags(settings: JsonObject) -> list[str]:
    """As many tags, and as long ones, as there may be; a note for what is cut off."""
    tags, notes = settings.get("tags") or [], list[str]()
    if any(len(tag) > TAG_LENGTH for tag in tags):
        notes.append(f"its tags are cut to {TAG_LENGTH} characters")
    kept = list(dict.fromkeys(tag[:TAG_LENGTH] for tag in tags))
    if len(kept) > MOST_TAGS:
        notes.append(f"{MOST_TAGS} of its {len(kept)} tags are taken")
    settings["tags"] = kept[:MOST_TAGS]
    return notes


def named(entry: Any) -> str:
    """What the report calls an entry."""
    name = entry.get("name") if isinstance(entry, dict) else entry
    return str(name or "without a name")


def others(entry: JsonObject, known: Iterable[str]) -> list[str]:
    """The settings of an entry, by name, that nobody here reads and that say something."""
    return sorted(str(key) for key, value in entry.items() if key not in known and value not in (None, "", [], {}))


def note_others(entry: JsonObject, known: Iterable[str], notes: list[str]) -> None:
    names = others(entry, known)
    if names:
        notes.append(f"not taken of it: {', '.join(names)}")


def seconds(text: Any) -> float:
    """`30s`, `1m30s`, or a number of seconds."""
    if isinstance(text, (int, float)):
        return float(text)
    parts = _SPAN.findall(str(text))
    if not parts or "".join(number + unit for number, unit in parts) != str(text):
        raise NotImported(f"{text!r} is no span of time")
    return sum(float(number) * _SECONDS[unit] for number, unit in parts)


def times(interval: float, timeout: float | None, notes: list[str]) -> JsonObject:
    """Interval and time-out within what is possible here; a note for each that had to move."""
    kept: JsonObject = {"interval": round(min(max(interval, LOWEST_INTERVAL_S), HIGHEST_INTERVAL_S))}
    if kept["interval"] != interval:
        notes.append(f"looked at every {kept['interval']} s instead of {interval:g} s")
    if timeout is not None:
        kept["timeout"] = max(1, round(min(timeout, HIGHEST_TIMEOUT_S, kept["interval"] - 1)))
        if kept["timeout"] != timeout:
            notes.append(f"time-out {kept['timeout']} s instead of {timeout:g} s")
    return kept


def with_user(url: str, user: str, password: str) -> str:
    """The address with the user's name and password; both are sealed in the store."""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=f"{quote(user, safe='')}:{quote(password, safe='')}@{parts.netloc}"))


def host_and_port(host: str, port: Any) -> str:
    return f"[{host}]:{port}" if ":" in host and not host.startswith("[") else f"{host}:{port}"


def json_value(text: Any) -> Any:
    """`200` and `true` as JSON has them, any other text as it is."""
    try:
        return json.loads(text) if isinstance(text, str) else text
    except ValueError:
        return text


def tag(text: str) -> str:
    """As a tag may be written."""
    return str(text).strip()
