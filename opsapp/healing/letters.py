"""The morning letter, declared once: bodies, answers, code and form follow. Must not: know what is stored
(`resources`), or what happened (`engine`)."""

from __future__ import annotations

from typing import Annotated, Literal

from opsapp.lib.zones import zone_problem
from opsapp.wire.dataclass import frozen
from opsapp.wire.kinds import CheckedBy, Text
from opsapp.wire.records import FormField, Since, Told

from .records import Count

HOUR = Text(5, 5, pattern=r"([01][0-9]|2[0-3]):[0-5][0-9]", example="a time like 07:00")


@frozen
class LetterSettings:
    """Without a channel there is no letter."""

    at: Annotated[str, HOUR, FormField("Each day at", "clock")] = "07:00"
    zone: Annotated[
        str | None,
        Text(1, 60),
        CheckedBy(zone_problem),
        FormField("By the clock of", hint="Like Europe/Berlin. Empty: the time zone of the service", clears=True),
    ] = None
    channel: Annotated[
        str | None,
        Text(1, 100),
        FormField("To the channel", "name", of="channel", hint="Empty: no letter is sent", clears=True),
    ] = None


@frozen
class LetterSchedule(LetterSettings):
    """`lacking`: why none can be sent, in words."""

    next_at: Told[Since | None] = None
    lacking: Told[str | None] = None


@frozen
class ScheduleUpdated(LetterSchedule):
    status: Told[Literal["updated"]] = "updated"


@frozen
class LetterAsCode(LetterSettings):
    """`channel` is a name here."""

    letter: Literal["healing"] = "healing"


@frozen
class Letter:
    """Minutes are None where nobody knows what was saved; `head`: the signed end of the ledger up to which it tells."""

    since: Since
    until: Since
    title: str
    text: str
    head: str
    healed: Count = 0
    not_healed: Count = 0
    left_alone: Count = 0
    held_back: Count = 0
    asks: Count = 0
    saved_minutes: float | None = None
    saved_low: float | None = None
    saved_high: float | None = None
    sent: bool = False

    @property
    def has_news(self) -> bool:
        return bool(self.healed or self.not_healed or self.left_alone or self.held_back or self.asks)


@frozen
class LettersShown:
    """`next`: what a letter would say now."""

    next: Letter
    last: Letter | None
