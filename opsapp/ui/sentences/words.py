"""Words that may lead somewhere, who is meant by a name, how long something took. Pure. Must not: know a record of the
API (its neighbours do)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import quote

from markupsafe import Markup, escape

from opsapp.ui.markup import markup

MINUTE, HOUR, DAY = 60, 3600, 86_400
# By the kind of a thing, as audited actions name it: the address of its page.
PLACES = {
    "monitor": "/monitors/{}",
    "automation": "/automations/{}",
    "agent": "/agents/{}",
    "agent.command": "/agents/{}",
    "incident": "/incidents/{}",
    "approval": "/approvals/{}",
    "assistant": "/approvals/{}",
    "run": "/automations/runs/{}",
    "healing.case": "/healing/cases/{}",
    "healing.rule": "/healing/rules/{}",
    "healing.trust": "/healing/rules/{}",
    "healing.problem": "/healing/problems#p-{}",
}


def place_of(kind: str, name: str) -> str:
    return PLACES[kind].format(quote(name, safe=""))


class Word(NamedTuple):
    """`strong` names what was done or who did it, `code` is to be typed."""

    text: str
    href: str = ""
    strong: bool = False
    code: bool = False

    def __html__(self) -> str:
        if self.href:
            return markup('<a href="{}">{}</a>', self.href, self.text)
        tag = "code" if self.code else "b" if self.strong else ""
        return markup("<{0}>{1}</{0}>", Markup(tag), self.text) if tag else escape(self.text)


class Sentence(NamedTuple):
    """`look` is a state (a glyph) or the name of an icon with `icon:` before it."""

    at: int
    look: str
    words: tuple[Word, ...]

    @property
    def text(self) -> str:
        return "".join(word.text for word in self.words)

    def __html__(self) -> str:
        return Markup("").join(self.words)


class NameBook(NamedTuple):
    """Who is meant: ids by the names that records use, and names by the ids."""

    monitors: Mapping[str, str] = {}  # name -> id
    hosts: Mapping[str, str] = {}  # hostname or label -> id of the agent
    automations: Mapping[str, str] = {}  # id -> name

    def target(self, target: str) -> tuple[Word, ...]:
        if target in self.monitors:
            return (Word(target, place_of("monitor", self.monitors[target])),)
        host, _, part = target.partition("/")
        if part.strip() and (host in self.hosts or _may_be_host(host)):
            return Word(part, strong=True), Word(" on "), *self.host(host)
        return self.host(target)

    def host(self, name: str) -> tuple[Word, ...]:
        if name in self.hosts:
            return (Word(name, place_of("agent", self.hosts[name])),)
        called = next((known for known, agent_id in self.hosts.items() if agent_id == name), None)
        return self.host(called) if called is not None else (Word(name, strong=True),)


def _may_be_host(name: str) -> bool:
    """Monitors may be called "Shop / Berlin"; no host has a space in its name."""
    return bool(name) and " " not in name


def target_words(target: str) -> str:
    """A target of healing as people call it, where it leads nowhere: "/var on db-1"."""
    return "".join(word.text for word in NameBook().target(target))


def said(at: int | None, look: str, *words: str | Word | tuple[Word, ...]) -> Sentence:
    flat: list[Word] = []
    for word in words:
        if isinstance(word, str):
            flat += [Word(word)] if word else []
        elif isinstance(word, Word):
            flat.append(word)
        else:
            flat += word
    return Sentence(int(at or 0), look, tuple(flat))


def person(name: str | None) -> Word:
    """Who did it; what the service does by itself has no name."""
    return Word(name or "The service", strong=True)


def case(case_id: str | None, text: str = "Why") -> Word | str:
    return Word(text, place_of("healing.case", case_id)) if case_id else ""


def span(seconds: float) -> str:
    """ "6.2 s", "41 s", "17 min", "1 h 5 min", "3 d 4 h"."""
    if seconds < 10:
        return f"{max(0.0, seconds):.1f}".removesuffix(".0") + " s"
    if seconds < 2 * MINUTE:
        return f"{seconds:.0f} s"
    if seconds < HOUR:
        return f"{seconds // MINUTE:.0f} min"
    if seconds < DAY:
        return _two(seconds, HOUR, "h", MINUTE, "min")
    return _two(seconds, DAY, "d", HOUR, "h")


def _two(seconds: float, big: int, big_unit: str, small: int, small_unit: str) -> str:
    whole, rest = divmod(int(seconds), big)
    return f"{whole} {big_unit}" + (f" {rest // small} {small_unit}" if rest // small else "")


def sentence_of(text: str) -> str:
    """Words of the API as a sentence: begun with a capital, ended with a full stop."""
    text = text.strip()
    return text[:1].upper() + text[1:] + ("" if text[-1:] in ("", ".", "!", "?", "…") else ".")


def count(number: int, singular: str, plural: str = "") -> str:
    """ "1 monitor", "3 monitors"."""
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}".replace(",", "\u202f")
