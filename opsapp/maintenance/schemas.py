"""Bodies, queries and answers of both families, and the YAML section `maintenance`."""

from __future__ import annotations

from typing import Any

import colander

from opsapp.lib import cron
from opsapp.lib.durations import seconds
from opsapp.web.fields import Body, Choice, Flag, ListOf, Nullable, Number, Paging, Text, Whole, check, name_text

from . import logic

ID = Text(1, 64)
NAME = Text(1, 255)
LONGEST_SPAN_S = 366 * 86400


def _wall_problem(value: str) -> str | None:
    try:
        logic.read_wall(value)
    except ValueError as problem:
        return str(problem)
    return None


def _span_problem(value: str) -> str | None:
    try:
        span = seconds(value)
    except ValueError as problem:
        return str(problem)
    return None if 0 < span <= LONGEST_SPAN_S else "must be more than nothing and at most a year"


def _wrong_end(sound: dict[str, Any]) -> dict[str, str]:
    """By the clock on the wall; what a change of the clock makes of it, the service's zone says."""
    both = "start" in sound and "end" in sound
    said = logic.wrong_span(logic.length_of(sound["start"], sound["end"])) if both else None
    return {"end": said} if said else {}


class NewWindow(Body):
    across = staticmethod(_wrong_end)
    name = colander.SchemaNode(name_text())
    start = colander.SchemaNode(Text(1, 40), validator=check(_wall_problem))
    end = colander.SchemaNode(Text(1, 40), validator=check(_wall_problem))
    recurring = colander.SchemaNode(
        Nullable(Text(1, 200)), missing=None, validator=check(lambda text: text and cron.problem(text))
    )
    scope = colander.SchemaNode(ListOf(ID, 5000, unique=True), missing=())
    autonomy_override = colander.SchemaNode(Choice(*logic.OVERRIDES), missing="disabled")
    enabled = colander.SchemaNode(Flag(), missing=True)


class DeclaredWindow(NewWindow):
    """As code: the scope may name what it covers."""

    scope = colander.SchemaNode(ListOf(NAME, 5000, unique=True), missing=())


class WindowRecord(Body):
    id = colander.SchemaNode(Text())
    name = colander.SchemaNode(Text())
    start = colander.SchemaNode(Text())
    end = colander.SchemaNode(Text())
    recurring = colander.SchemaNode(Nullable(Text()))
    scope = colander.SchemaNode(ListOf(Text(), 5000))
    autonomy_override = colander.SchemaNode(Choice(*logic.OVERRIDES))
    enabled = colander.SchemaNode(Flag())
    active = colander.SchemaNode(Flag())
    next_start = colander.SchemaNode(Nullable(Whole()))
    next_end = colander.SchemaNode(Nullable(Whole()))
    created_by = colander.SchemaNode(Text())
    created_at = colander.SchemaNode(Whole(0))
    source = colander.SchemaNode(Choice("api", "yaml"))
    unreadable = colander.SchemaNode(Text(), missing=colander.drop)


READ_ONLY = ("id", "active", "next_start", "next_end", "created_by", "created_at", "source", "status")


class WindowDone(WindowRecord):
    status = colander.SchemaNode(Choice("created", "updated", "activated", "deactivated"))


class Status(Body):
    status = colander.SchemaNode(Choice("deleted", "ended"))


class WindowQuery(Paging):
    active = colander.SchemaNode(Flag(), missing=None)


class NewHealingWindow(Body):
    target = colander.SchemaNode(Text(1, 1000))
    duration = colander.SchemaNode(Text(1, 40), validator=check(_span_problem))
    reason = colander.SchemaNode(Text(0, 1000), missing="")
    action = colander.SchemaNode(Choice(*logic.ACTIONS))


class HealingWindowRecord(NewHealingWindow):
    id = colander.SchemaNode(Text())
    created_by = colander.SchemaNode(Text())
    created_at = colander.SchemaNode(Whole(0))
    expires_at = colander.SchemaNode(Whole(0))
    active = colander.SchemaNode(Flag())


class MaintenanceSection(Body):
    """`maintenance` of the YAML file."""

    windows = colander.SchemaNode(ListOf(NewWindow(), 1000), missing=())
    announce_days = colander.SchemaNode(Number(0, 365), missing=30)
