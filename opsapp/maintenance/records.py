"""Windows of both families, each declared once; other rooms may import them. Must not: know what is stored
(`resources`), or when a window is on (`logic`)."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from opsapp.lib import cron
from opsapp.lib.durations import seconds
from opsapp.lib.visible import name_kind
from opsapp.wire.dataclass import frozen
from opsapp.wire.kinds import CheckedBy, Choice, Text
from opsapp.wire.records import AT_TIMES, Between, FormField, InAnswers, Most, Since, Told

from .logic import ACTIONS, OVERRIDES, length_of, wall_problem, wrong_span

LONGEST_SPAN_S = 366 * 86400
COVERED = Most(5000, unique=True)


def _span_problem(value: str) -> str | None:
    try:
        span = seconds(value)
    except ValueError as problem:
        return str(problem)
    return None if 0 < span <= LONGEST_SPAN_S else "must be more than nothing and at most a year"


Wall = Annotated[str, Text(1, 40), CheckedBy(wall_problem), InAnswers(Text())]  # nothing, of one that cannot be read
REPEATS = "By the service's clock. An expression has minute, hour, day, month and weekday: 0 3 * * 0"
WINDOW_STATES = ("active", "planned", "off", "past")
FORM_OF_REPEATS = FormField("Repeats", "schedule", hint=REPEATS, clears=True, unsaid="Once")


Scope = Annotated[
    tuple[Annotated[str, Text(1, 64)], ...],
    COVERED,
    FormField("Covers", "names", of="target", ticks=True, whole="Everything"),
]
Repeats = Annotated[str | None, Text(1, 200), CheckedBy(cron.problem), FORM_OF_REPEATS]
Override = Annotated[str, Choice(*OVERRIDES), FormField("Healing in this time", "choice")]


@frozen
class WindowRecord:
    """A maintenance window."""

    sample: ClassVar[dict[str, str]] = {"name": "Upgrade", "start": "2026-01-31T22:00:00", "end": "2026-01-31T23:00:00"}

    name: Annotated[str, name_kind(), FormField("Name", hint="What people read on the status page and in messages")]
    start: Annotated[Wall, FormField("Start", "moment")]
    end: Annotated[Wall, FormField("End", "moment")]
    recurring: Repeats = None
    scope: Scope = ()
    autonomy_override: Override = "disabled"
    enabled: bool = True

    id: Told[str] = ""
    active: Told[bool] = False
    next_start: Told[Since | None] = None
    next_end: Told[Since | None] = None
    created_by: Told[str] = ""
    created_at: Told[Since] = 0
    source: Told[Literal["api", "yaml"]] = "api"
    unreadable: Annotated[str, AT_TIMES] = ""

    @property
    def state(self) -> str:
        """One of `WINDOW_STATES`."""
        if self.active or not self.enabled:
            return "active" if self.active else "off"
        return "past" if self.next_start is None else "planned"

    @staticmethod
    def across(sound: dict[str, Any]) -> dict[str, str]:
        """Checks the window's length by the clock on the wall; what a clock change makes of it, the zone says."""
        both = "start" in sound and "end" in sound
        length = length_of(sound["start"], sound["end"]) if both else None
        message = wrong_span(length, sound.get("recurring")) if length is not None else None
        return {"end": message} if message else {}


@frozen
class WindowDone(WindowRecord):
    status: Told[Literal["created", "updated", "activated", "deactivated"]] = "created"


@frozen
class WindowAsCode(WindowRecord):
    """The scope may have names."""

    scope: Annotated[tuple[Annotated[str, Text(1, 255)], ...], COVERED] = ()


@frozen
class WindowCoverage:
    """`down`: some names."""

    monitors: int
    monitors_down: int
    hosts: int
    hosts_down: int
    down: tuple[str, ...]


@frozen
class OccurrenceShown:
    start: Annotated[int, Between(0)]
    end: Annotated[int, Between(0)]


@frozen
class CalendarEntry(OccurrenceShown):
    window_id: str
    name: Annotated[str, name_kind()]
    recurring: Repeats
    scope: Scope
    autonomy_override: Override


@frozen
class PreviewOfWindow:
    occurrences: Annotated[tuple[OccurrenceShown, ...], Most(5)]
    covers: WindowCoverage


@frozen
class HealingWindowRecord:
    """Healing of a target is held, from now on."""

    sample: ClassVar[dict[str, str]] = {"target": "web-1", "duration": "1h30m"}

    target: Annotated[str, Text(1), FormField("Target", hint="A host, host/service, a monitor's name, or all")]
    duration: Annotated[
        str,
        Text(1, 40),
        CheckedBy(_span_problem),
        FormField("For", "span", preset="2 h", hint="Like 30 min, 2 h or 1 d"),
    ]
    action: Annotated[
        str,
        Choice(*ACTIONS),
        FormField(
            "What happens meanwhile",
            "choice",
            "Suppress: nothing is healed, nobody is notified. Queue: events wait until it ends. Notify only: people are"
            " notified. Release: rules act one level lower",
        ),
    ]
    reason: Annotated[str, FormField("Reason")] = ""

    id: Told[str] = ""
    created_by: Told[str] = ""
    created_at: Told[Since] = 0
    expires_at: Told[Since] = 0
    active: Told[bool] = False
