"""A case as the stages see it: one frozen class per state. `read` and `stored` keep the flat form that the store has
always held, so older versions can read it, and be read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, fields, replace
from typing import Any, ClassVar, NamedTuple, TypeVar

from opsapp.healing.logic.rules import names_of
from opsapp.healing.logic.stakes import Lowered
from opsapp.lib.jsontypes import JsonObject
from opsapp.wire.conditions import without_event
from opsapp.wire.dataclass import frozen
from opsapp.wire.records import made, plain
from opsapp.wire.verdicts import LooksSeen, ProofWindow

from .attempt import FoundCause, Tried

WHY_LINES = 200
Metrics = Mapping[str, float | str | bool | None]  # readings, by the names that conditions use


class About(NamedTuple):
    """What a rule has found."""

    source: str
    condition: str
    target: str
    severity: str = "info"
    metrics: Metrics = {}
    agent_id: str | None = None
    subject: str | None = None
    names: tuple[str, ...] = ()
    note: str | None = None
    measured_at: float | None = None

    @classmethod
    def read(cls, values: Mapping[str, Any]) -> About:
        """What is absent has its default."""
        known = {name: values[name] for name in cls._fields if values.get(name) is not None}
        return cls(**{**known, "names": tuple(known.get("names", ()))})

    @property
    def rule_condition(self) -> str:
        """The condition as people wrote it, without the name that an event from elsewhere has here."""
        return without_event(self.condition)

    def moved(self, by: float) -> About:
        return self if self.measured_at is None else self._replace(measured_at=self.measured_at + by)

    @property
    def called(self) -> tuple[str, ...]:
        """The names by which windows and protected targets call what this is about."""
        return (*names_of(self.target), *self.names)


class RuleEvent(NamedTuple):
    """`early`: before its cooldown has passed. `first_at`: when it came first, if it comes again because another case
    had taken it in. `lasts`: its condition has held since it fired last."""

    rule_id: str
    about: About
    at: float
    early: bool = False
    first_at: float | None = None
    lasts: bool = False

    @classmethod
    def read(cls, values: Mapping[str, Any]) -> RuleEvent:
        early, first_at, lasts = bool(values.get("early")), values.get("first_at"), bool(values.get("lasts"))
        return cls(values["rule_id"], About.read(values), values["at"], early, first_at, lasts)

    def stored(self) -> Mapping[str, object]:
        """The event as the inbox holds it."""
        said = {name: value for name, value in self.about._asdict().items() if value is not None}
        again = {} if self.first_at is None else {"first_at": self.first_at}
        lasts = {"lasts": True} if self.lasts else {}
        return {"rule_id": self.rule_id, "at": self.at, "early": self.early, **again, **lasts, **said}


class Heal(NamedTuple):
    """One step of the chain. `definition`: of the rule when it began."""

    host: str
    action: str
    heal_id: str
    began_at: float
    params: JsonObject = {}
    definition: str | None = None
    snapshot: JsonObject | None = None
    armed: bool = False
    acted_at: float | None = None


class PendingLook(NamedTuple):
    """A host is asked for the cause."""

    host: str
    command_id: str
    until: float


State = TypeVar("State", bound="CaseRecord")


@frozen(kw_only=True)
class CaseRecord:
    """`events`: by rule, how many it stands for."""

    state: ClassVar[str]
    phase: ClassVar[str | None] = None  # which command's answer it waits for

    id: str = ""
    about: About
    rule_id: str
    events: Mapping[str, int]
    abouts: Mapping[str, About]
    opened_at: float
    due: float = 0.0
    beside: str | None = None  # an older case of the same target that is open too
    level: str = "observation"
    lowered: Lowered | None = None  # why its level is lower than its rule's
    step: int = 0
    entry_id: int | None = None
    approval_id: str | None = None
    heal: Heal | None = None
    tried: tuple[Tried, ...] = ()
    attempts: tuple[str, ...] = ()  # each step that was taken or could not be, and what came of it, for people
    said: str = ""  # what the present step's action said last
    why: tuple[str, ...] = ()  # one line for every gate that the case met
    counted: bool = False  # against the limits of an hour
    queued: bool = False  # waits for the end of a window
    held: bool = False  # was stopped by a pause or a window
    manual: bool = False  # a rollback that a person asked for
    waits_since: float | None = None  # for a host that is away
    waits_from: float | None = None  # for anything
    looks_from: float | None = None  # when it was measured again before it acts
    left_until: float | None = None  # it was left alone until then, to see whether it recovers by itself
    urged_at: float | None = None  # when a person did not want to wait for that any longer
    arm: str | None = None  # what its coin says: "treated" or "control"
    share: float | None = None  # the chance of being left alone; None where it shares the coin of its outage
    deed: str | None = None  # what its rule does about its outage, as far as it waits for its wave or has had it
    wave: int = 0  # in which its turn has come
    compared: bool = False  # whether that wave is a trial: then no other coin falls for it
    harmed: bool = False  # a step of it has made something worse, and people were told
    told_reason: str = ""  # why nothing was done, as people were told when this outage fired last
    recovered_at: float | None = None  # when its condition was known false, whatever was done
    cause: FoundCause | None = None  # what the last look has found
    look: PendingLook | None = None
    looked: int | None = None  # the step before which the host was asked last

    @property
    def target(self) -> str:
        return self.about.target

    @property
    def place(self) -> str:
        """The case's place in the table of moves: its state, and the phase where there are several."""
        return self.state if self.phase is None else f"{self.state}.{self.phase}"

    @property
    def acts(self) -> bool:
        return self.state in ("executing", "settling", "verifying")

    def saying(self: State, *lines: str) -> State:
        """A line that repeats the last one is left out."""
        fresh = tuple(line for at, line in enumerate(lines) if at or self.why[-1:] != (line,))
        return replace(self, why=(*self.why, *fresh)[-WHY_LINES:])

    def becomes(self, state: type[State], **known: Any) -> State:
        return state(**{**{name: getattr(self, name) for name in SHARED}, **known})


MOVING = (
    "opened_at", "waits_since", "waits_from", "looks_from", "left_until", "urged_at", "recovered_at", "sent_at",
    "settled_at", "deadline", "asked_at", "seen_at", "well_since", "closed_at",
)  # fmt: skip
SHARED = tuple(field.name for field in fields(CaseRecord))


@frozen(kw_only=True)
class CorrelatingCase(CaseRecord):
    """Held for the alert of what it depends on; or waits for the end of a window."""

    state = "correlating"


@frozen(kw_only=True)
class PlanningCase(CaseRecord):
    """A case before a step of its chain, or one that waits for its host or its turn."""

    state = "planning"


@frozen(kw_only=True)
class AwaitingCase(CaseRecord):
    """People decide."""

    state = "awaiting_approval"


BeforeAct = TypeVar("BeforeAct", PlanningCase, AwaitingCase)


@frozen(kw_only=True)
class CommandedCase(CaseRecord):
    """Waits for the answer to a command."""

    heal: Heal
    command_id: str = ""
    sent_at: float | None = None


@frozen(kw_only=True)
class SnapshotCase(CommandedCase):
    """The host takes a snapshot."""

    state = "executing"
    phase = "snapshot"


@frozen(kw_only=True)
class ActingCase(CommandedCase):
    """The action runs."""

    state = "executing"
    phase = "execute"


@frozen(kw_only=True)
class RollingBackCase(CommandedCase):
    """`verdict`: what is known of the action by then, and `doubt` why."""

    state = "executing"
    phase = "rollback"
    verdict: str | None = None
    doubt: str | None = None


@frozen(kw_only=True)
class ConfirmingCase(CommandedCase):
    """Verified; the agent is told to keep what it would undo."""

    state = "verifying"
    phase = "confirm"
    asked_twice: bool = False


@frozen(kw_only=True)
class SettlingCase(CaseRecord):
    state = "settling"
    heal: Heal


@frozen(kw_only=True)
class VerifyingCase(CaseRecord):
    """`asked_under`: the fence token of who asked for a measurement; the last four: what the looks have seen."""

    state = "verifying"
    heal: Heal
    settled_at: float = 0.0
    deadline: float = 0.0
    asked_at: float = 0.0
    asked_under: int | None = None
    seen_at: float | None = None
    well_since: float | None = None
    well_looks: int = 0
    flaps: bool = False

    @property
    def window(self) -> ProofWindow:
        return ProofWindow(self.settled_at, self.deadline)

    @property
    def seen(self) -> LooksSeen:
        return LooksSeen(self.seen_at, self.well_since, self.well_looks, self.flaps)

    def having(self, seen: LooksSeen) -> VerifyingCase:
        return replace(self, seen_at=seen.newest, well_since=seen.well_since, well_looks=seen.well, flaps=seen.flaps)


@frozen(kw_only=True)
class ClosedCase(CaseRecord):
    """`late`: entries of what came afterwards and belongs to it: rule -> ledger id."""

    state = "closed"
    outcome: str | None = None
    closed_at: float | None = None
    late: Mapping[str, int] = field(default_factory=dict)

    def outcome_for(self, rule_id: str) -> str:
        """Only the leading rule has its outcome."""
        return self.outcome or "" if rule_id == self.rule_id else "absorbed"


STATES: tuple[type[CaseRecord], ...] = (
    CorrelatingCase,
    PlanningCase,
    AwaitingCase,
    SnapshotCase,
    ActingCase,
    SettlingCase,
    VerifyingCase,
    ConfirmingCase,
    RollingBackCase,
    ClosedCase,
)
OWN = {state: tuple(field.name for field in fields(state) if field.name not in SHARED) for state in STATES}
PLAIN = tuple(name for name in SHARED if name not in ("about", "abouts", "heal", "tried", "look", "lowered", "cause"))
# What an older version expects of every case.
EMPTY: JsonObject = {name: None for name in (
    "closed_at", "outcome", "phase", "command_id", "snapshot", "began_at", "settled_at", "deadline",
    "acted_at",
)} | {"late": {}}  # fmt: skip


def opened(event: RuleEvent) -> CorrelatingCase:
    return CorrelatingCase(
        about=event.about,
        rule_id=event.rule_id,
        events={event.rule_id: 1},
        abouts={event.rule_id: event.about},
        opened_at=event.at,
    )


def moved(case: CaseRecord, by: float) -> CaseRecord:
    """Everything is as long ago, and has as long to go. What waits for people or a window waits for a time that they
    have named."""
    times = {name: at + by for name in MOVING if (at := getattr(case, name, None))}
    heal = case.heal
    if heal is not None:
        acted = None if heal.acted_at is None else heal.acted_at + by
        heal = heal._replace(began_at=heal.began_at + by, acted_at=acted)
    look = None if case.look is None else case.look._replace(until=case.look.until + by)
    abouts = {rule_id: about.moved(by) for rule_id, about in case.abouts.items()}
    due = case.due if case.queued or case.state == AwaitingCase.state else case.due + by
    return replace(case, about=case.about.moved(by), abouts=abouts, heal=heal, due=due, look=look, **times)


def stored(case: CaseRecord) -> JsonObject:
    return {
        **EMPTY,
        **case.about._asdict(),
        **({} if case.heal is None else case.heal._asdict()),
        **{name: getattr(case, name) for name in (*PLAIN, *OWN[type(case)])},
        "correlation_key": names_of(case.target)[0],
        "abouts": {rule_id: about._asdict() for rule_id, about in case.abouts.items()},
        "tried": tuple(tuple(step) for step in case.tried),
        "look": None if case.look is None else tuple(case.look),
        "lowered": case.lowered and plain(case.lowered),
        "cause": case.cause and plain(case.cause),
        "state": case.state,
        "phase": case.phase,
    }


def read(values: Mapping[str, Any]) -> CaseRecord:
    """Older versions wrote fewer fields, and kept those of former states."""
    state = _state(values)
    known = {name: values[name] for name in (*PLAIN, *OWN[state]) if values.get(name) is not None}
    heal = None
    if values.get("action") is not None:
        heal = Heal(**{name: values[name] for name in Heal._fields if values.get(name) is not None})
    return state(
        **known,
        about=About.read(values),
        abouts={rule_id: About.read(about) for rule_id, about in values["abouts"].items()},
        heal=heal,
        tried=tuple(Tried(*step) for step in values.get("tried") or ()),
        look=PendingLook(*values["look"]) if values.get("look") else None,
        lowered=made(Lowered, values["lowered"]) if values.get("lowered") else None,
        cause=made(FoundCause, values["cause"]) if values.get("cause") else None,
    )


def _state(values: Mapping[str, Any]) -> type[CaseRecord]:
    alike = [state for state in STATES if state.state == values["state"]]
    return next((state for state in alike if state.phase == values.get("phase")), alike[0])
