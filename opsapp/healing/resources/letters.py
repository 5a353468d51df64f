"""Stores the morning letter."""

from __future__ import annotations

from persistent import Persistent

from opsapp.healing.letters import Letter, LetterSettings
from opsapp.healing.logic.letter import HandledDay
from opsapp.lib.jsontypes import JsonObject
from opsapp.wire.records import made, plain


class LetterBook(Persistent):
    """Letters have told up to `links` of the chain, and `until`; None: there was none."""

    def __init__(self) -> None:
        self.fields: JsonObject = {}
        self.days: tuple[tuple[str, float], ...] = ()
        self.links: int | None = None
        self.until = 0.0
        self.kept: JsonObject | None = None

    @property
    def settings(self) -> LetterSettings:
        return made(LetterSettings, self.fields)

    @property
    def handled(self) -> tuple[HandledDay, ...]:
        return tuple(HandledDay(*day) for day in self.days)

    def handle(self, days: tuple[HandledDay, ...]) -> None:
        self.days = tuple((day.day, day.at) for day in days)

    @property
    def last(self) -> Letter | None:
        return None if self.kept is None else made(Letter, self.kept)

    def keep(self, letter: Letter, links: int) -> None:
        self.kept = plain(letter)
        self.told(letter.until, links)

    def told(self, until: float, links: int) -> None:
        self.links, self.until = links, until
