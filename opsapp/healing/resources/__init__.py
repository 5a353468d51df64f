"""Persistent healing: /api/healing and what hangs below it. Must not: HTTP, gevent, decisions (stages make them)."""

from __future__ import annotations

from typing import NamedTuple

from BTrees.IOBTree import IOBTree
from BTrees.OOBTree import OOBTree

from opsapp.agents.resources import agents_called
from opsapp.healing.logic.brake import HOUR
from opsapp.healing.places import healing_of
from opsapp.healing.stages.reported import BelievedStep
from opsapp.lib.zones import wall
from opsapp.maintenance.resources import HealingWindows
from opsapp.tree.folder import Child, Facet, Folder, add_children, add_facet
from opsapp.tree.root import Root, root_above

from . import clockmoves
from .cases import CaseBook
from .dependencies import Dependencies
from .edges import EdgeBook
from .foresight import ForesightBook
from .injections import Injections
from .inlets import EventAddresses, Inlets, ToldEvents
from .ledger import Ledger
from .letters import LetterBook
from .problems import Problems
from .rules import Rules, TrustBook
from .server_actions import ServerActions
from .shares import Shares
from .suggestions import Suggestions
from .trials import TrialBook
from .waves import WaveBook


class RecentHeal(NamedTuple):
    at: float
    rule_id: str
    site: str | None
    target: str = ""


class Pause(NamedTuple):
    """The kill switch. `until`: it ends by itself."""

    paused: bool = False
    by: str | None = None
    at: float | None = None
    until: float | None = None
    reason: str = ""

    def ends(self, zone: str) -> str:
        """ "" where nothing ends by itself."""
        if not self.paused or self.until is None:
            return ""
        return f"by {self.by} until {wall(self.until, zone)}" + (f" ({self.reason})" if self.reason else "")


class Healing(Folder):
    """/api/healing. `pause` is the typed view of `switch`."""

    url = "/api/healing"
    rules = Child(Rules)
    trust = Child(TrustBook)
    ledger = Child(Ledger)
    suggestions = Child(Suggestions)
    dependencies = Child(Dependencies)
    problems = Child(Problems)
    inlets = Child(Inlets)
    brake_told_at = 0.0  # when people were told last that the brake is on
    further: tuple[RecentHeal, ...] = ()  # steps of the last hour that followed another one of their case
    shares: Shares | None = None  # what hosts may do alone; stores of an older version have none
    deeds_of_outages: WaveBook | None = None  # of an older version there is none
    letters: LetterBook | None = None  # the same; made with the first setting of a letter
    hands_off: tuple[str, ...] = ()  # ids of the windows whose end has not been told yet

    def __init__(self) -> None:
        super().__init__()
        add_children(self)
        self.book = CaseBook()
        self.pause = Pause()
        self.snapshots = IOBTree()  # ledger id -> what the host looked like before, for a rollback
        self.reported = OOBTree()  # outcomes that agents have reported: agent:id -> when
        self.answers = OOBTree()  # id of a rollback request -> the ledger id that it became, or None
        self.deeds = ServerActions()
        self.injections = Injections()
        self.alone = OOBTree()  # agent -> the steps that it has taken alone, against its budget
        self.given = OOBTree()  # agent -> the rules that it was ever given to heal alone
        self.edges = EdgeBook()  # how sure dependencies are
        self.foresight = ForesightBook()
        self.trials = TrialBook()  # what is learned of how cases end by themselves
        self.told = ToldEvents()  # what other systems say of hosts and monitors
        self.begun: tuple[RecentHeal, ...] = ()  # heals of the last hour, one for each case

    def recent(self, now: float) -> tuple[RecentHeal, ...]:
        """Oldest first. Older stores have no target in theirs."""
        if not self.begun or (now - self.begun[0][0] < HOUR and isinstance(self.begun[0], RecentHeal)):
            return self.begun  # thousands of heals each ask for them
        return tuple(RecentHeal(*heal) for heal in self.begun if now - heal[0] < HOUR)

    def acts(self, now: float) -> tuple[RecentHeal, ...]:
        """Further steps of a case too."""
        return (*self.recent(now), *(heal for heal in self.further if now - heal.at < HOUR))

    def begin(self, now: float, heal: RecentHeal) -> None:
        """Count a case against the limits of an hour."""
        self.begun = (*self.recent(now), heal)

    def go_on(self, now: float, heal: RecentHeal) -> None:
        self.further = (*(other for other in self.further if now - other.at < HOUR), heal)

    def move(self, by: float, now: float) -> None:
        """The limits of an hour count the same heals, and cases go on. What there may be thousands of is moved in
        pieces (`clockmoves`)."""
        self.begun = tuple(heal._replace(at=heal.at + by) for heal in (RecentHeal(*row) for row in self.begun))
        self.further = tuple(heal._replace(at=heal.at + by) for heal in self.further)
        for agent_id, steps in list(self.alone.items()):
            believed = (BelievedStep(*step) for step in steps)
            self.alone[agent_id] = tuple(step._replace(at=step.at + by) for step in believed)
        if self.pause.until is not None:
            self.pause = self.pause._replace(until=self.pause.until + by)
        clockmoves.begin(self.book, by, now)
        self.trials.move_waves(by)

    @property
    def waves(self) -> WaveBook:
        if self.deeds_of_outages is None:
            self.deeds_of_outages = WaveBook()
        return self.deeds_of_outages

    @property
    def pause(self) -> Pause:
        return Pause(**self.switch)

    @pause.setter
    def pause(self, pause: Pause) -> None:
        self.switch = pause._asdict()

    @property
    def paused(self) -> bool:
        return self.pause.paused

    def pause_is_over(self, now: float) -> bool:
        return self.pause.paused and self.pause.until is not None and self.pause.until <= now


class Numbered(Facet):
    """/api/healing/rollback"""

    def __getitem__(self, name: str) -> RollbackOf:
        ledger_id = int(name) if name.isascii() and name.isdigit() and len(name) < 10 else 0
        if self.__parent__.ledger.record(ledger_id) is None:
            raise KeyError(name)
        return RollbackOf(self, name)


class RollbackOf(Facet):
    """/api/healing/rollback/{ledger_id}."""

    url = "/api/healing/rollback/{ledger_id}"

    @property
    def ledger_id(self) -> int:
        return int(self.__name__)


class Cases(Facet):
    """/api/healing/cases"""

    def __getitem__(self, name: str) -> CaseView:
        if name not in self.__parent__.book.cases:
            raise KeyError(name)
        return CaseView(self, name)


class CaseView(Facet):
    """/api/healing/cases/{id}"""

    url = "/api/healing/cases/{case_id}"


class Chaos(Facet):
    """/api/healing/chaos"""

    url = "/api/healing/chaos"


class CapabilitiesFacet(Facet):
    """/api/healing/capabilities: by hostname, label or id."""

    def __getitem__(self, name: str) -> CapabilitiesOf:
        if not agents_called(root_above(self), name):
            raise KeyError(name)
        return CapabilitiesOf(self, name)


class CapabilitiesOf(Facet):
    """/api/healing/capabilities/{hostname}."""

    url = "/api/healing/capabilities/{hostname}"


add_facet(Healing, "events", EventAddresses)
add_facet(Healing, "rollback", Numbered)
add_facet(Healing, "capabilities", CapabilitiesFacet)
add_facet(Healing, "cases", Cases)
add_facet(Healing, "maintenance", HealingWindows)
add_facet(Healing, "chaos", Chaos)


def set_up(root: Root) -> None:
    healing_of.put(root, Healing())


def sign_ledger(root: Root, key: bytes) -> None:
    healing_of(root).ledger.sign(key)
