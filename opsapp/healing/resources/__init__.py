"""Persistent healing: /api/healing and what hangs below it. One file per kind of thing.

Lives here: Healing itself, and how a new store gets one. Must not: HTTP, gevent, decisions (stages make them).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from BTrees.IOBTree import IOBTree
from BTrees.OOBTree import OOBTree, OOTreeSet

from opsapp.agents.resources import agents_called
from opsapp.healing.logic.brake import HOUR
from opsapp.maintenance.resources import HealingWindows
from opsapp.tree.folder import Facet, Folder, add_facet
from opsapp.tree.root import Root, root_above

from .cases import CaseBook
from .dependencies import Dependencies
from .edges import EdgeBook
from .foresight import ForesightBook
from .injections import Injections
from .inlets import EventAddresses, Inlets, ToldEvents
from .ledger import Ledger
from .problems import Problems
from .rules import Rules, TrustBook
from .server_actions import ServerActions
from .shares import Shares
from .suggestions import Suggestions
from .trials import TrialBook


class RecentHeal(NamedTuple):
    at: float
    rule_id: str
    site: str | None
    target: str = ""


Begun = RecentHeal  # its name in older stores


class Healing(Folder):
    """/api/healing. `book` holds the cases; `paused` is the kill switch."""

    url = "/api/healing"
    brake_told_at = 0.0  # when people were told last that the brake is on
    further: tuple[RecentHeal, ...] = ()  # steps of the last hour that followed another one of their case
    shares: Shares | None = None  # what hosts may do alone; stores of an older version have none

    def __init__(self) -> None:
        super().__init__()
        self["rules"] = Rules()
        self["trust"] = TrustBook()
        self["ledger"] = Ledger()
        self["suggestions"] = Suggestions()
        self["dependencies"] = Dependencies()
        self["problems"] = Problems()
        self["inlets"] = Inlets()
        self.book = CaseBook()
        self.switch: dict[str, object] = {"paused": False, "by": None, "at": None}
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
        """Those of the last hour. Stores of an older version have no target in theirs."""
        return tuple(RecentHeal(*heal) for heal in self.begun if now - heal[0] < HOUR)

    def acts(self, now: float) -> tuple[RecentHeal, ...]:
        """Whatever was begun within the last hour: further steps of a case too."""
        return (*self.recent(now), *(heal for heal in self.further if now - heal.at < HOUR))

    def begin(self, now: float, heal: RecentHeal) -> None:
        """Count a case whose first step begins against the limits of an hour."""
        self.begun = (*self.recent(now), heal)

    def go_on(self, now: float, heal: RecentHeal) -> None:
        """A further step of such a case begins."""
        self.further = (*(other for other in self.further if now - other.at < HOUR), heal)

    def move(self, by: float, now: float) -> None:
        """The clock was set by so many seconds: the limits of an hour count the same heals, and cases go on."""
        self.begun = tuple(heal._replace(at=heal.at + by) for heal in (RecentHeal(*row) for row in self.begun))
        self.book.move(by, now)

    @property
    def paused(self) -> bool:
        return bool(self.switch["paused"])


class Numbered(Facet):
    """/api/healing/rollback: below it, the ledger's numbers."""

    def __getitem__(self, name: str) -> RollbackOf:
        ledger_id = int(name) if name.isascii() and name.isdigit() and len(name) < 10 else 0
        if self.__parent__["ledger"].record(ledger_id) is None:
            raise KeyError(name)
        return RollbackOf(self, name)


class RollbackOf(Facet):
    """/api/healing/rollback/{ledger_id}."""

    url = "/api/healing/rollback/{ledger_id}"

    @property
    def ledger_id(self) -> int:
        return int(self.__name__)


class Cases(Facet):
    """/api/healing/cases: below it, the cases by id."""

    def __getitem__(self, name: str) -> CaseView:
        if name not in self.__parent__.book.cases:
            raise KeyError(name)
        return CaseView(self, name)


class CaseView(Facet):
    """/api/healing/cases/{id}: what was decided about one target, and why."""

    url = "/api/healing/cases/{case_id}"


class Chaos(Facet):
    """/api/healing/chaos: below it, scenarios and run."""

    url = "/api/healing/chaos"


class CapabilitiesFacet(Facet):
    """/api/healing/capabilities: below it, hosts by hostname, label or id."""

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
    root["api"]["healing"] = Healing()


def _adds(attribute: str, kind: type) -> Callable[[Root], None]:
    """An evolve step for stores of older versions, which lack this attribute of healing."""

    def step(root: Root) -> None:
        healing = healing_of(root)
        if attribute not in vars(healing):
            setattr(healing, attribute, kind())

    return step


add_deeds = _adds("deeds", ServerActions)
add_injections = _adds("injections", Injections)
add_given = _adds("given", OOBTree)
add_alone = _adds("alone", OOBTree)
add_trials = _adds("trials", TrialBook)
add_edges = _adds("edges", EdgeBook)


def add_problems(root: Root) -> None:
    """Evolve step: heals are counted from now on."""
    healing = healing_of(root)
    if "problems" not in healing:
        healing["problems"] = Problems()


def add_inlets(root: Root) -> None:
    """Evolve step: other systems may send events."""
    healing = healing_of(root)
    if "inlets" not in healing:
        healing["inlets"] = Inlets()
        healing.told = ToldEvents()


def part_events(root: Root) -> None:
    """Evolve step: each inlet has its own share of the events."""
    healing = healing_of(root)
    healing.told.part(healing["inlets"])


def add_foresight(root: Root) -> None:
    """Evolve step: forecasts are kept by agent. The old ones say too little; the next look makes new ones. What people
    were told of is remembered."""
    healing = healing_of(root)
    if "foresight" in vars(healing):
        return
    healing.foresight = ForesightBook()
    healing.foresight.told = dict(vars(healing).get("foretold", {}))
    for old in ("forecasts", "foretold"):
        if old in vars(healing):
            delattr(healing, old)


def add_line(root: Root) -> None:
    """Evolve step: which case acts on which host is remembered."""
    book = healing_of(root).book
    if "line" not in book.__dict__:
        book.line = OOBTree()


def index_failures(root: Root) -> None:
    """Evolve step: what has failed is kept as it changes, instead of being looked for in every case."""
    book = healing_of(root).book
    if "unhealed" in book.__dict__:
        return
    book.queued, book.unhealed, book.unhealed_on = OOTreeSet(), OOTreeSet(), OOBTree()
    for case_id in book.open_on.values():
        case = book.cases[case_id]
        book.hold_back(case.record)
    for case_id in book.last_on.values():
        book.note_end(book.cases[case_id].record, book.cases[case_id].plain()["outcome"])


def index_closed(root: Root) -> None:
    """Evolve step: closed cases by the time at which they were closed, so that a purge reads only old ones."""
    book = healing_of(root).book
    if "closed" not in book.__dict__:
        ends = ((case_id, case.plain()["closed_at"]) for case_id, case in book.cases.items())
        book.closed = OOTreeSet((closed_at, case_id) for case_id, closed_at in ends if closed_at is not None)


def index_queues(root: Root) -> None:
    """Evolve step: events and faults wait in the queues of `runtime.queue`, as everything else that has to be done."""
    healing = healing_of(root)
    if "taken" not in vars(healing.book):
        healing.book.taken = OOBTree()
    if "open" not in vars(healing.injections):
        healing.injections.index()


def withdraw_unsure(root: Root) -> None:
    """Evolve step: open suggestions of dependencies that do not say how sure they are may point the wrong way. They are
    withdrawn; what holds is suggested anew."""
    suggestions = healing_of(root)["suggestions"]
    suggestions.withdraw(
        {
            suggested["id"]
            for suggested in suggestions.active()
            if suggested["category"] == "dependency_candidate" and "sure" not in suggested.get("about", {})
        }
    )


def sign_ledger(root: Root, key: bytes) -> None:
    """The store has got the key of its chains."""
    healing_of(root)["ledger"].sign(key)


def healing_of(root: Root) -> Healing:
    return root["api"]["healing"]
