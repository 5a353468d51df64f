"""What a stage can answer (`Next`), and the table of a case's moves. The engine refuses what is not in the table;
docs/guide/healing.md draws it, and `opsapp doctor --trace` reads stores against it."""

from __future__ import annotations

from typing import NamedTuple, TypedDict

from opsapp.wire.causes import LookSubject
from opsapp.wire.harms import Harm

from .case import AwaitingCase, CaseRecord, CommandedCase, Metrics, PlanningCase
from .planning import Plan


class EntryFields(TypedDict, total=False):
    """Learned about an entry under way, or as it ends."""

    state: str
    reason: str
    action_success: int
    executed: bool
    metrics_after: Metrics
    duration_s: float
    rollback_status: str | None
    verdict: str | None
    worse: tuple[Harm, ...]


class Wait(NamedTuple):
    """The case waits until `due`, or for an answer. `ask`: other targets to be measured meanwhile."""

    case: CaseRecord
    due: float
    ask: tuple[str, ...] = ()
    entry: EntryFields | None = None


class Measure(NamedTuple):
    """The answer is of use for `patience` seconds."""

    case: CaseRecord
    heal_id: str
    patience: float
    due: float
    entry: EntryFields | None = None


class AskCause(NamedTuple):
    """Waited for until `due`."""

    case: PlanningCase
    host: str
    subject: LookSubject
    due: float


class PlanNow(NamedTuple):
    """The case is planned in the same transaction."""

    case: PlanningCase


class JoinDeed(NamedTuple):
    """It waits for its turn in its outage. `ready`: it lacks nothing else."""

    case: CaseRecord
    due: float
    ready: bool


class AskApproval(NamedTuple):
    case: AwaitingCase
    plan: Plan
    due: float


class BeginHeal(NamedTuple):
    """The intent is written, and the first command sent."""

    case: CommandedCase
    plan: Plan
    tells: bool = False  # people are told that it runs by itself


class SendCommand(NamedTuple):
    """The next command: the action, the confirmation, or the rollback."""

    case: CommandedCase
    arm_s: float | None = None  # after which the agent undoes the action unless it is confirmed
    entry: EntryFields | None = None


class NextStep(NamedTuple):
    """The step has not resolved the case; the next is planned in the same transaction."""

    case: CaseRecord
    outcome: str
    reason: str
    plan: Plan | None = None  # of a step that could not even begin, and has no entry yet
    entry: EntryFields | None = None


class EndCase(NamedTuple):
    """`notifies`: with a message instead of an action. `root`: the cause that holds it back."""

    case: CaseRecord
    outcome: str
    reason: str
    plan: Plan | None = None
    entry: EntryFields | None = None
    notifies: bool = False
    root: str | None = None


class Recall(NamedTuple):
    """Take the command back: the case ends if nobody has been given it, else it waits on."""

    case: CommandedCase
    end: EndCase
    wait: Wait


class FinishLate(NamedTuple):
    """What came after the close has the case's outcome."""

    case: CaseRecord
    reason: str


Next = (
    Wait | Measure | AskCause | PlanNow | JoinDeed | AskApproval | BeginHeal | SendCommand | NextStep | EndCase
    | Recall
    | FinishLate
)  # fmt: skip


class Move(NamedTuple):
    """One move of a case from place to place, by what a stage has answered."""

    before: str
    by: str
    after: str
    when: str


NEW = "new"
TAKES_SNAPSHOT, ACTS, ROLLS_BACK = "executing.snapshot", "executing.execute", "executing.rollback"
CONFIRMS = "verifying.confirm"
TABLE = {
    NEW: (
        ("Wait", "correlating", "an event opens a case"),
        ("SendCommand", ROLLS_BACK, "an admin wants an entry undone"),
    ),
    "correlating": (
        ("Wait", "correlating", "a window is on, or what it depends on is measured"),
        ("PlanNow", "planning", "the hold is over"),
        ("EndCase", "closed", "suppressed, or over by itself"),
    ),
    "planning": (
        ("Wait", "planning", "its host is away, or another heal goes first"),
        ("Measure", "planning", "it has waited, and is looked at again"),
        ("AskCause", "planning", "the host is asked for the cause"),
        ("JoinDeed", "planning", "it waits for its wave"),
        ("NextStep", "planning", "the step cannot begin"),
        ("AskApproval", "awaiting_approval", "people have to agree"),
        ("BeginHeal", TAKES_SNAPSHOT, "it acts on a host"),
        ("BeginHeal", ACTS, "the service acts by itself"),
        ("EndCase", "closed", "nothing is to be done, or nothing can be"),
    ),
    "awaiting_approval": (
        ("Wait", "awaiting_approval", "nobody has decided, or another case acts there"),
        ("Measure", "awaiting_approval", "it has waited, and is looked at again"),
        ("JoinDeed", "awaiting_approval", "approved, and it waits for its wave"),
        ("BeginHeal", TAKES_SNAPSHOT, "approved"),
        ("BeginHeal", ACTS, "approved, and the service acts by itself"),
        ("EndCase", "closed", "rejected, expired or withdrawn"),
    ),
    TAKES_SNAPSHOT: (
        ("Wait", TAKES_SNAPSHOT, "no answer yet"),
        ("SendCommand", ACTS, "there is a snapshot, or the action needs none"),
        ("NextStep", "planning", "no snapshot"),
        ("EndCase", "closed", "no snapshot and no further step, or taken back"),
    ),
    ACTS: (
        ("Wait", ACTS, "no answer yet"),
        ("Wait", "settling", "the action is done"),
        ("SendCommand", ROLLS_BACK, "nobody can tell, and it may have cut the host off"),
        ("NextStep", "planning", "the action failed"),
        ("EndCase", "closed", "failed at the chain's end, lost, or taken back"),
    ),
    "settling": (("Measure", "verifying", "the settle time is over"),),
    "verifying": (
        ("Wait", "verifying", "not proved yet, and there is time"),
        ("Measure", "verifying", "it is measured again"),
        ("SendCommand", CONFIRMS, "verified, and the agent would undo it"),
        ("SendCommand", ROLLS_BACK, "it did not help, or made it worse, and can be undone"),
        ("NextStep", "planning", "it did not help, or made it worse"),
        ("EndCase", "closed", "verified, or the chain's end"),
    ),
    CONFIRMS: (
        ("Wait", CONFIRMS, "no answer yet"),
        ("SendCommand", CONFIRMS, "the first confirmation was not heard"),
        ("NextStep", "planning", "not confirmed"),
        ("EndCase", "closed", "confirmed, or the chain's end"),
    ),
    ROLLS_BACK: (
        ("Wait", ROLLS_BACK, "no answer yet"),
        ("NextStep", "planning", "restored, or not; the next step follows"),
        ("EndCase", "closed", "restored, or not, at the chain's end"),
    ),
    "closed": (("FinishLate", "closed", "the absorption window is over"),),
}
MOVES = tuple(Move(before, *move) for before, moves in TABLE.items() for move in moves)
ALLOWED = frozenset((move.before, move.by, move.after) for move in MOVES)
AFTER = {PlanNow: "planning", NextStep: "planning", EndCase: "closed"}  # where these lead, whatever the case was


class IllegalMove(Exception):
    """A fault of the program: the case stops, and nothing is done."""


def check(before: str, following: Next) -> None:
    by = type(following)
    after = AFTER.get(by) or following.case.place
    if (before, by.__name__, after) not in ALLOWED:
        raise IllegalMove(f"{before} -> {after} by {by.__name__}")


def drawn() -> str:
    """The moves as a Mermaid diagram."""
    lines = [f"    {_name(move.before)} --> {_name(move.after)}: {move.by}, {move.when}" for move in MOVES]
    return "\n".join(["stateDiagram-v2", *lines, "    closed --> [*]"])


def _name(place: str) -> str:
    return "[*]" if place == NEW else place.replace(".", "_")
