"""Bodies, queries and answers of both families, and the YAML section `maintenance`."""

from __future__ import annotations

from opsapp.lib import cron
from opsapp.lib.durations import seconds
from opsapp.lib.jsontypes import JsonObject
from opsapp.web.fields import Body, Paging, choice, flag, list_of, name_text, text, whole, with_settings

from . import logic

ID = text(1, 64)
NAME = text(1, 255)
LONGEST_SPAN_S = 366 * 86400


def _span_problem(value: str) -> str | None:
    try:
        span = seconds(value)
    except ValueError as problem:
        return str(problem)
    return None if 0 < span <= LONGEST_SPAN_S else "must be more than nothing and at most a year"


def _wrong_end(sound: JsonObject) -> dict[str, str]:
    """By the clock on the wall; what a change of the clock makes of it, the service's zone says."""
    both = "start" in sound and "end" in sound
    length = logic.length_of(sound["start"], sound["end"]) if both else None
    message = logic.wrong_span(length, sound.get("recurring")) if length is not None else None
    return {"end": message} if message else {}


class NewWindow(Body):
    sample = {"name": "Upgrade", "start": "2026-01-31T22:00:00", "end": "2026-01-31T23:00:00"}
    across = staticmethod(_wrong_end)
    name = name_text()
    start = text(1, 40, check=logic.wall_problem)
    end = text(1, 40, check=logic.wall_problem)
    recurring = text(1, 200, default=None, check=lambda text: text and cron.problem(text), null=True)
    scope = list_of(ID, 5000, unique=True, default=())
    autonomy_override = choice(*logic.OVERRIDES, default="disabled")
    enabled = flag(default=True)


class DeclaredWindow(NewWindow):
    """As code: the scope may name what it covers."""

    scope = list_of(NAME, 5000, unique=True, default=())


@with_settings(NewWindow)
class WindowRecord(Body):
    id = text()
    start = text()  # of one that cannot be read: nothing
    end = text()
    active = flag()
    next_start = whole(null=True)
    next_end = whole(null=True)
    created_by = text()
    created_at = whole(0)
    source = choice("api", "yaml")
    unreadable = text(optional=True)


class WindowDone(WindowRecord):
    status = choice("created", "updated", "activated", "deactivated")


class WindowEnded(Body):
    status = choice("deleted", "ended")


class WindowQuery(Paging):
    active = flag(default=None)


class CalendarQuery(Paging):
    since = whole(0, 10**10, default=None)
    until = whole(0, 10**10, default=None)


class OccurrenceShown(Body):
    start = whole(0)
    end = whole(0)


@with_settings(NewWindow, *logic.IN_CALENDAR)
class CalendarEntry(OccurrenceShown):
    window_id = text()


class PreviewOfWindow(Body):
    occurrences = list_of(OccurrenceShown, 5)


class NewHealingWindow(Body):
    sample = {"target": "web-1", "duration": "1h30m"}
    target = text(1, 1000)
    duration = text(1, 40, check=_span_problem)
    reason = text(0, 1000, default="")
    action = choice(*logic.ACTIONS)


class HealingWindowRecord(NewHealingWindow):
    id = text()
    created_by = text()
    created_at = whole(0)
    expires_at = whole(0)
    active = flag()
