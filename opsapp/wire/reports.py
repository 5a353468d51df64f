"""What a host reports, declared once (`records`). From it follow the checks of the messages, the typed values on the
service, and the API's answers.

A number that is None is unknown; so is what an older agent does not say. Must not: measure, or know what follows.
"""

from __future__ import annotations

from dataclasses import field
from typing import Annotated, ClassVar, Dict, Literal, Optional, Tuple

from .checks import OnWire, checks_of
from .dataclass import frozen
from .fields import json_object, listing, text
from .frames import OUTPUT_LIMIT
from .harms import MOST_HARMS, Harm, Id
from .kinds import Anything, Choice, DeclaredField, JsonKind, ListOf, MapOf, Number, Scalar, Text, Whole
from .records import Between, Most

RESULT_STATES = ("done", "failed", "timeout", "cancelled", "lost")  # what an agent may say
Reason = Literal["interval", "change", "stream", "measure", "start", "spooled"]
NAMES = Text(1, 255)


def named(kind: JsonKind, most: int) -> MapOf:
    return MapOf(DeclaredField("", kind), most, NAMES)


Percent = Annotated[Optional[float], Between(0, 1e6)]
Count = Annotated[Optional[float], Between(0)]
Whole0 = Annotated[int, Between(0)]
Bit = Annotated[int, Between(0, 1)]
Short = Annotated[Optional[str], Text(0, 255)]
States = Annotated[Dict[str, str], named(Text(0, 64), 4000)]
Passed = Annotated[Dict[str, object], MapOf(DeclaredField("", Anything()))]  # JSON that is passed on
SmallObject = Annotated[Passed, OnWire(json_object(65536))]
Rates = Annotated[Dict[str, Dict[str, float]], named(named(Number(0), 20), 200)]
Processes = Annotated[
    Tuple[Dict[str, object], ...],
    ListOf(DeclaredField("", MapOf(DeclaredField("", Scalar())))),
    OnWire(listing(json_object(4096), 50)),
]


@frozen
class AgentMetrics:
    """Numbers that are not known are left out."""

    leaves_out_null: ClassVar[bool] = True

    cpu_percent: Percent = None
    mem_percent: Percent = None
    disk_percent: Percent = None
    swap_percent: Percent = None
    load1: Count = None
    load5: Count = None
    load15: Count = None
    uptime_s: Annotated[Optional[int], Between(0)] = None
    disks: Annotated[Dict[str, float], named(Number(0, 1e6), 500)] = field(default_factory=dict)
    services: States = field(default_factory=dict)
    starts: Annotated[Dict[str, int], named(Whole(0), 4000)] = field(default_factory=dict)  # in the last 5 minutes
    containers: Annotated[Dict[str, str], named(Text(0, 64), 2000)] = field(default_factory=dict)
    metrics: Annotated[Dict[str, float], named(Number(), 2000)] = field(default_factory=dict)
    network: Rates = field(default_factory=dict)
    temperatures: Annotated[Dict[str, float], named(Number(), 500)] = field(default_factory=dict)
    failed_units: Annotated[Tuple[Annotated[str, Text(0, 255)], ...], Most(1000)] = ()
    top_processes: Processes = ()


@frozen
class Measurement(AgentMetrics):
    """What is remembered of a report, and what one node tells another of it."""

    starts_counted_s: Count = None  # for how long starts have been counted; None: nobody counts them
    time: Count = None  # when it began, by the clock of the host


@frozen
class HostProfile:
    """What a host is, as told in a report and in the hello of a session."""

    hostname: Annotated[str, Text(1, 253)]
    os: Annotated[str, Text(1, 255)]
    version: Short = None
    ip: Short = None
    kernel: Short = None
    arch: Short = None
    machine_id: Short = None
    boot_id: Short = None


@frozen
class CommandResult:
    """The service's own word on it has a status and a reason."""

    command_id: Id
    status: Annotated[str, Choice(*RESULT_STATES)]
    exit_code: Annotated[Optional[int], Between(-(2**31), 2**31)] = None
    output: Annotated[str, Text(0, OUTPUT_LIMIT), OnWire(text(OUTPUT_LIMIT, nul=True))] = ""
    truncated: bool = False
    reason: Annotated[Optional[str], Text(0, 2000)] = None
    started_at: Count = None
    finished_at: Count = None
    data: Annotated[Optional[Passed], OnWire(json_object(524288))] = None


@frozen
class HeldCommand:
    command_id: Id
    state: Literal["running", "finished"]


@frozen
class LocalOutcome:
    """One step of a heal that an agent did alone."""

    outcome_id: Id
    rule_id: Id
    outcome: Annotated[str, Text(1, 64)]
    created_at: Annotated[float, Between(0)]
    case_id: Optional[Id] = None  # the steps of one heal have the same
    condition: Annotated[str, Text(0, 4096)] = ""
    target: Annotated[str, Text(0, 512)] = ""
    action_type: Annotated[Optional[str], Text(0, 64)] = None
    action_params: SmallObject = field(default_factory=dict)
    escalation_step: Annotated[int, Between(0, 1000)] = 0
    escalated: bool = False  # a further step of the same heal followed, and stands for the event
    executed: bool = True  # the action was begun, and not refused before anything was done
    action_success: Bit = 0
    verified: Bit = 0
    verdict: Optional[Literal["inconclusive"]] = None  # rolled back without anybody knowing whether it had helped
    reason: Annotated[Optional[str], Text(0, 2000)] = None
    worse: Annotated[Tuple[Harm, ...], Most(MOST_HARMS)] = ()  # what it has made worse
    duration_s: Annotated[float, Between(0)] = 0
    policy_version: Whole0 = 0
    metrics_before: SmallObject = field(default_factory=dict)
    metrics_after: SmallObject = field(default_factory=dict)


@frozen
class AgentOutcome(LocalOutcome):
    """A local outcome as it waits for healing."""

    agent_id: str = ""


@frozen
class HostReport(Measurement, HostProfile):
    component: ClassVar[str] = "Report"

    reason: Optional[Reason] = None
    # of agents that only poll:
    results: Annotated[Tuple[CommandResult, ...], Most(200)] = ()
    outcomes: Annotated[Tuple[LocalOutcome, ...], Most(200)] = ()
    held: Annotated[Optional[Tuple[HeldCommand, ...]], Most(5000)] = None
    capabilities: Annotated[Optional[Passed], OnWire(json_object(131072))] = None
    policy_version: Annotated[Optional[int], Between(0)] = None  # of the policies that the agent holds
    features: Annotated[Tuple[Annotated[str, Text(0, 32)], ...], Most(50)] = ()  # beyond the first protocol
    stopped: bool = False  # its last word: somebody has stopped it

    @property
    def is_spooled(self) -> bool:
        """It is history alone: who the host was then is not who it is."""
        return self.reason == "spooled"


RESULT, HELD, OUTCOME = checks_of(CommandResult), checks_of(HeldCommand), checks_of(LocalOutcome)
REPORT = checks_of(HostReport)
