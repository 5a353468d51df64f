"""What a stage can answer (`Next`), and the table of a case's moves. The engine refuses what is not in the table;
docs/guide/healing.md draws it, and `opsapp doctor --trace` reads stores against it."""

from __future__ import annotations

from typing import NamedTuple, TypedDict

from opsapp.wire.causes import LookSubject
from opsapp.wire.verdicts import Harm

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
MOVES = (
    Move(NEW, "Wait", "correlating", "an event opens a case"),
    Move(NEW, "SendCommand", ROLLS_BACK, "an admin wants an entry undone"),
    Move("correlating", "Wait", "correlating", "a window is on, or what it depends on is measured"),
    Move("correlating", "PlanNow", "planning", "the hold is over"),
    Move("correlating", "EndCase", "closed", "suppressed, or over by itself"),
    Move("planning", "Wait", "planning", "its host is away, or another heal goes first"),
    Move("planning", "Measure", "planning", "it has waited, and is looked at again"),
    Move("planning", "AskCause", "planning", "the host is asked for the cause"),
    Move("planning", "JoinDeed", "planning", "it waits for its wave"),
    Move("planning", "NextStep", "planning", "the step cannot begin"),
    Move("planning", "AskApproval", "awaiting_approval", "people have to agree"),
    Move("planning", "BeginHeal", TAKES_SNAPSHOT, "it acts on a host"),
    Move("planning", "BeginHeal", ACTS, "the service acts by itself"),
    Move("planning", "EndCase", "closed", "nothing is to be done, or nothing can be"),
    Move("awaiting_approval", "Wait", "awaiting_approval", "nobody has decided, or another case acts there"),
    Move("awaiting_approval", "Measure", "awaiting_approval", "it has waited, and is looked at again"),
    Move("awaiting_approval", "JoinDeed", "awaiting_approval", "approved, and it waits for its wave"),
    Move("awaiting_approval", "BeginHeal", TAKES_SNAPSHOT, "approved"),
    Move("awaiting_approval", "BeginHeal", ACTS, "approved, and the service acts by itself"),
    Move("awaiting_approval", "EndCase", "closed", "rejected, expired or withdrawn"),
    Move(TAKES_SNAPSHOT, "Wait", TAKES_SNAPSHOT, "no answer yet"),
    Move(TAKES_SNAPSHOT, "SendCommand", ACTS, "there is a snapshot, or the action needs none"),
    Move(TAKES_SNAPSHOT, "NextStep", "planning", "no snapshot"),
    Move(TAKES_SNAPSHOT, "EndCase", "closed", "no snapshot and no further step, or taken back"),
    Move(ACTS, "Wait", ACTS, "no answer yet"),
    Move(ACTS, "Wait", "settling", "the action is done"),
    Move(ACTS, "SendCommand", ROLLS_BACK, "nobody can tell, and it may have cut the host off"),
    Move(ACTS, "NextStep", "planning", "the action failed"),
    Move(ACTS, "EndCase", "closed", "failed at the chain's end, lost, or taken back"),
    Move("settling", "Measure", "verifying", "the settle time is over"),
    Move("verifying", "Wait", "verifying", "not proved yet, and there is time"),
    Move("verifying", "Measure", "verifying", "it is measured again"),
    Move("verifying", "SendCommand", CONFIRMS, "verified, and the agent would undo it"),
    Move("verifying", "SendCommand", ROLLS_BACK, "it did not help, or made it worse, and can be undone"),
    Move("verifying", "NextStep", "planning", "it did not help, or made it worse"),
    Move("verifying", "EndCase", "closed", "verified, or the chain's end"),
    Move(CONFIRMS, "Wait", CONFIRMS, "no answer yet"),
    Move(CONFIRMS, "SendCommand", CONFIRMS, "the first confirmation was not heard"),
    Move(CONFIRMS, "NextStep", "planning", "not confirmed"),
    Move(CONFIRMS, "EndCase", "closed", "confirmed, or the chain's end"),
    Move(ROLLS_BACK, "Wait", ROLLS_BACK, "no answer yet"),
    Move(ROLLS_BACK, "NextStep", "planning", "restored, or not; the next step follows"),
    Move(ROLLS_BACK, "EndCase", "closed", "restored, or not, at the chain's end"),
    Move("closed", "FinishLate", "closed", "the absorption window is over"),
)
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
