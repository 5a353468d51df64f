"""Schedules, policies and escalations, each declared once; other rooms may import them. Must not: know what is stored
(`resources`), or who is on call (`logic`)."""

from __future__ import annotations

from datetime import date, datetime
from typing import Annotated, ClassVar, Literal

from opsapp.lib.visible import name_kind
from opsapp.lib.zones import zone_problem
from opsapp.wire.dataclass import frozen
from opsapp.wire.kinds import CheckedBy, Choice, Text
from opsapp.wire.records import Between, FormField, Most, Since, Told

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
SEVERITIES = ("info", "warning", "critical")
RUNNING, ANSWERED, OVER, UNANSWERED, ENDED = "running", "answered", "over", "unanswered", "ended"


def _day_problem(text: str) -> str | None:
    try:
        date.fromisoformat(text)
    except ValueError:
        return "is not a day that exists"
    return None


def _moment_problem(text: str) -> str | None:
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return "is not a time that exists"
    return None


TimeOfDay = Annotated[str, Text(5, 5, pattern=r"([01][0-9]|2[0-3]):[0-5][0-9]", example="a time like 09:00")]
Day = Annotated[
    str, Text(10, 10, pattern=r"(19[789]|[2-8]\d\d)\d-\d\d-\d\d", example="2026-01-31"), CheckedBy(_day_problem)
]
Moment = Annotated[
    str, Text(19, 19, r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", "2026-01-31T18:00:00"), CheckedBy(_moment_problem)
]
Username = Annotated[str, Text(1, 64)]
Days = Annotated[tuple[Annotated[str, Choice(*DAYS)], ...], Most(7, unique=True, least=1)]


@frozen
class LayerRecord:
    """Turns begin at `handover` by the schedule's zone, the first on `start`, which sets the weekday."""

    sample: ClassVar[dict[str, object]] = {"users": ["anna", "ben"], "start": "2026-01-05"}

    users: Annotated[
        tuple[Username, ...], Most(50, least=1), FormField("People, in turn", "names", of="user", by="username")
    ]
    start: Annotated[Day, FormField("First turn begins on", "date")]
    handover: Annotated[TimeOfDay, FormField("At", "clock", preset="09:00")] = "09:00"
    every: Annotated[int, Between(1, 366), FormField("A turn lasts", "number", preset="1")] = 1
    unit: Annotated[Literal["days", "weeks"], FormField("Unit", "choice", preset="weeks")] = "weeks"
    name: Annotated[str, Text(0, 100), FormField("Name of the layer", clears=True)] = ""
    days: Annotated[
        Days, FormField("On these days", "picks", preset=", ".join(DAYS), hint="None ticked: every day")
    ] = DAYS
    since: Annotated[TimeOfDay | None, FormField("Only from", "clock", hint="Empty: the whole day", clears=True)] = None
    until: Annotated[TimeOfDay | None, FormField("Only until", "clock", clears=True)] = None

    @staticmethod
    def across(sound: dict[str, object]) -> dict[str, str]:
        if "since" in sound and "until" in sound and (sound["since"] is None) != (sound["until"] is None):
            return {"until": "must be given with since, or both left out"}
        return {}

    @property
    def length_days(self) -> int:
        return self.every * (7 if self.unit == "weeks" else 1)


@frozen
class OverrideRecord:
    """Whatever the layers say."""

    id: str
    schedule_id: str
    user: str
    start: Since
    end: Since
    created_by: str


@frozen
class OverrideAsCode:
    """Times with seconds: the same time is the same text."""

    component: ClassVar[str] = "OverrideAsCode"
    sample: ClassVar[dict[str, str]] = {
        "schedule": "Operations", "user": "anna", "start": "2026-01-31T18:00:00", "end": "2026-02-01T09:00:00",
    }  # fmt: skip

    schedule: Annotated[str, Text(1, 100)]
    user: Username
    start: Moment
    end: Moment


@frozen
class ScheduleRecord:
    """Later layers go before earlier ones, overrides before all."""

    sample: ClassVar[dict[str, str]] = {"name": "Operations", "zone": "Europe/Berlin"}

    name: Annotated[str, name_kind(100), FormField("Name")]
    zone: Annotated[
        str, Text(1, 60), CheckedBy(zone_problem), FormField("Time zone", hint="Like Europe/Berlin", preset="UTC")
    ]
    layers: Annotated[
        tuple[LayerRecord, ...],
        Most(20, least=1),
        FormField("Layers", "rows", hint="A later layer goes before an earlier one"),
    ]

    id: Told[str] = ""
    overrides: Told[tuple[OverrideRecord, ...]] = ()


@frozen
class ShiftRecord:
    """`user` null: nobody. `layer`: `override` or the layer's name. `skipped`: whose turn it would be, if enabled."""

    user: str | None
    start: Since
    end: Since
    layer: str = ""
    skipped: tuple[str, ...] = ()


@frozen
class OnCallRecord:
    """`channels` reach this person. `next` null: nothing changes within two weeks."""

    schedule_id: str
    schedule: str
    now: ShiftRecord
    channels: tuple[str, ...]
    next: ShiftRecord | None


@frozen
class StepRecord:
    sample: ClassVar[dict[str, object]] = {"users": ["anna"], "wait_s": 300}

    schedules: Annotated[
        tuple[Annotated[str, Text(1, 64)], ...],
        Most(10, unique=True),
        FormField("Who is on call by", "names", of="schedule", clears=True),
    ] = ()
    users: Annotated[
        tuple[Username, ...], Most(10, unique=True), FormField("And these people", "names", of="user", by="username")
    ] = ()
    wait_s: Annotated[
        int, Between(1, 86400), FormField("Wait for", "number", hint="Seconds, for an answer", preset="600")
    ] = 600

    @staticmethod
    def across(sound: dict[str, object]) -> dict[str, str]:
        nobody = not (sound.get("schedules", True) or sound.get("users", True))
        return {"users": "a step must call a schedule or a user"} if nobody else {}


@frozen
class PolicyRecord:
    """Whom an unacknowledged incident calls, again `repeat` times."""

    name: Annotated[str, name_kind(100), FormField("Name")]
    steps: Annotated[tuple[StepRecord, ...], Most(20, least=1), FormField("Steps", "rows")]
    enabled: bool = True
    after_s: Annotated[
        int, Between(0, 86400), FormField("Begin after", "duration", hint="Like 5 min. 0: at once", preset="0")
    ] = 0
    repeat: Annotated[int, Between(0, 20), FormField("Repeat", "number", hint="So many times", preset="0")] = 0
    severities: Annotated[
        tuple[Annotated[str, Choice(*SEVERITIES)], ...],
        Most(3, unique=True, least=1),
        FormField("For incidents that are", "picks"),
    ] = ("critical",)
    tags: Annotated[
        tuple[Annotated[str, Text(1, 64)], ...],
        Most(50, unique=True),
        FormField("Only about these tags", "names", "Empty: about all", of="tag", by="name", clears=True),
    ] = ()

    id: Told[str] = ""


@frozen
class CallRecord:
    """`id` stays when it is sent again; it is `ids.call` of the message. A person whom no channel reaches has a call
    without `delivery_id`."""

    id: str
    user: str
    at: Since
    round: int
    step: int
    channel: str
    delivery_id: str


@frozen
class EscalationRecord:
    """`step` and `round` (from 1): of the next call."""

    id: str
    incident_id: str
    policy_id: str
    policy: str
    title: str
    target: str | None
    started: Since
    status: Annotated[str, Choice(RUNNING, ANSWERED, OVER, UNANSWERED, ENDED)] = RUNNING
    why: str = ""
    round: int = 1
    step: int = 1
    next_at: Since | None = None
    ended: Since | None = None
    calls: tuple[CallRecord, ...] = ()
    notes: tuple[str, ...] = ()
