"""Days of monitors before this service began to look, as another program measured them: what is written as code, and
what is stored under /api/monitoring/earlier, by monitor.

A day measured here is never told by these. Only imports write them.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from typing import Annotated

from opsapp.tree.folder import Folder, Record
from opsapp.tree.places import ApiPlace
from opsapp.tree.root import Root
from opsapp.wire.dataclass import frozen
from opsapp.wire.kinds import CheckedBy, Text
from opsapp.wire.records import Most

KIND = "days of another program"
DAY_S, MOST_DAYS = 86_400, 366
EPOCH = date(1970, 1, 1).toordinal()
_FORM = r"\d{4}-\d\d-\d\d \d{1,5} \d{1,5}"

Days = dict[int, tuple[int, int]]
"""Day number -> ms up, ms down."""


def day_of(text: str) -> tuple[int, tuple[int, int]]:
    """Reads `2026-01-31 86100 300`: a UTC day, seconds up, seconds down."""
    day, up, down = text.split(" ")
    return date.fromisoformat(day).toordinal() - EPOCH, (int(up) * 1000, int(down) * 1000)


def days_problem(days: Iterable[str]) -> str | None:
    numbers: list[int] = []
    for text in days:
        try:
            number, (up, down) = day_of(text)
        except ValueError:
            return f"{text} is no date that exists"
        if not 0 < up + down <= DAY_S * 1000:
            return f"{text} has more seconds than a day, or none"
        numbers.append(number)
    return None if numbers == sorted(set(numbers)) else "must be in order, and each day once"


@frozen
class EarlierDaysAsCode:
    monitor: Annotated[str, Text(1, 255)]
    days: Annotated[
        tuple[Annotated[str, Text(14, 22, _FORM, "2026-01-31 86100 300: a day, seconds up, seconds down")], ...],
        Most(MOST_DAYS, least=1),
        CheckedBy(days_problem),
    ]


class EarlierDays(Record):
    """/api/monitoring/earlier/{monitor_id}"""

    def __init__(self, days: tuple[str, ...]):
        self.days = days


class AllEarlierDays(Folder):
    """/api/monitoring/earlier"""

    holds = KIND


earlier_place = ApiPlace[AllEarlierDays]("monitoring", "earlier")


def set_up(root: Root) -> None:
    """Evolve step."""
    if not earlier_place.is_there(root):
        earlier_place.put(root, AllEarlierDays())


def earlier_of(root: Root) -> AllEarlierDays | None:
    """None in the past of a store that had none yet."""
    return earlier_place(root) if earlier_place.is_there(root) else None


def days_before(root: Root, monitor_id: str) -> Days:
    """What is known of the days before; nothing, of most monitors."""
    folder = earlier_of(root)
    kept = None if not folder else folder.find(monitor_id)
    return {} if kept is None else dict(map(day_of, kept.days))


def forget(root: Root, monitor_id: str) -> None:
    folder = earlier_of(root)
    if folder is not None and monitor_id in folder:
        del folder[monitor_id]
