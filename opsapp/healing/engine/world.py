"""Building the world that the stages read, from the store and from what this node sees, in the caller's transaction.

How long it pays to wait a rule that knows little borrows of others: only ended cases, and of no rule more than of
another.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Literal, NamedTuple

from BTrees.OOBTree import difference
from zope.interface import Interface

from opsapp.automations.config import AutomationSettings
from opsapp.healing.config import HealingSettings
from opsapp.healing.logic.brake import Load
from opsapp.healing.logic.graph import Graph
from opsapp.healing.logic.rules import readings_of
from opsapp.healing.logic.stakes import BudgetLeft, RuleBudget
from opsapp.healing.logic.survival import ITS_OWN, BestWait, Duration, LeftAlone, best_wait
from opsapp.healing.logic.windows import ActiveWindow, effect_of
from opsapp.healing.records import RuleRecord
from opsapp.healing.resources import Healing, healing_of
from opsapp.healing.resources.trials import TrialBook
from opsapp.healing.stages.case import About, ActingCase, ClosedCase
from opsapp.healing.stages.correlation import spread
from opsapp.healing.stages.world import SERVER, Host, Reading, World
from opsapp.maintenance.engine import Active, WindowPlan, active, active_windows
from opsapp.monitoring.engine import budgets_left
from opsapp.monitoring.resources import incidents_of
from opsapp.runtime.config import Configuration
from opsapp.runtime.node import Node, node_of
from opsapp.runtime.secrets.chainkey import chain_key, keyed_draw
from opsapp.runtime.wakes import wake_after_commit
from opsapp.tree.root import Root
from opsapp.wire.conditions import reread

from . import trusted
from .inventory import IFleetAccess, Inventory, fleet_access
from .measurements import Measurements
from .readings import LiveReadings
from .server_actions import own_tools

Holding = Mapping[str, frozenset[str]]  # targets of which a condition is known true: the rules that say so


def failing_of(
    root: Root, inventory: Inventory | None, named: Collection[str], seen: Collection[str], now: float, window: float
) -> set[str]:
    """Return the targets that have failed, as far as dependants are concerned.

    These have an open case, or one that ended without success within the window, or are hosts that are away; of what
    the graph declares also those whose condition is known true, and monitors that are down. A host that is not declared
    and not away holds its own services back no longer than that: its high CPU must not keep them from being restarted.
    """
    book = healing_of(root).book
    failed = {target for target in seen if target in named}
    failed.update(book.open_on.keys())
    failed.difference_update(book.queued)
    failed.update(book.unhealed_since(now - window))
    if inventory is not None:  # what was deleted has not failed, whatever its last case came to
        failed = {target for target in failed if inventory.holds(target)} | inventory.hosts_away
        failed.update(name for name in inventory.away if name in named)
    if named:
        failed.update(name for names in down(root) for name in names if name in named)
    return failed


def down(root: Root) -> list[tuple[str, str]]:
    """(name, id) of each monitor with an open incident. Thousands may be open, and these never change: each incident
    is read once per process."""
    incidents, db = incidents_of(root), root._p_jar.db()
    known = getattr(db, "opsapp_open_incidents", {})
    of_monitors = difference(incidents.open, incidents.open_of_none)
    fresh = [incident_id for incident_id in of_monitors if incident_id not in known]
    names = {incident_id: known[incident_id] for incident_id in of_monitors if incident_id in known}
    for incident_id, incident in incidents.some_items(fresh):
        names[incident_id] = incident.monitor_name, incident.monitor_id
    db.opsapp_open_incidents = names
    return list(names.values())


def sick_hosts(failing: Collection[str], graph: Graph) -> int:
    """Five failed services of one host are one sick host; what depends on a failed target does not count: a storm
    with one root cause must not stop its own heal."""
    own = failing if not graph.nodes else [name for name in failing if graph.suppressor(name, failing) is None]
    return len({target.partition("/")[0] for target in own})


UNKNOWN = (BudgetLeft("", None),)  # nothing measures it, or nobody knows what was measured then


class MeasuringMonitors(NamedTuple):
    inventory: Inventory
    graph: Graph

    def of(self, subject: str | None, names: frozenset[str]) -> dict[str, str]:
        """Map ids to names: the monitor that the rule reads, or all that run or act on a host, or depend on it."""
        if (subject or "").startswith("monitor:"):
            member = self.inventory.by_subject.get(subject or "")
            members = [] if member is None else [member]
        else:
            members = self.inventory.monitors_of(names, self.graph.hanging_on(names))
        return {member.item_id: member.name for member in members}


class ErrorBudgets:
    """Thousands may fail at once: from the second question on all monitors' are reckoned together, which costs about
    as much as ten alone."""

    def __init__(self, root: Root, measuring: MeasuringMonitors):
        self.root, self.measuring = root, measuring
        self._asked = set[RuleBudget]()
        self._of_all: dict[RuleBudget, dict[str, float | None]] = {}

    def left(self, budget: RuleBudget, subject: str | None, names: frozenset[str]) -> Sequence[BudgetLeft]:
        monitors = self.measuring.of(subject, names)
        known = self._known(budget, monitors) if monitors else {}
        return [BudgetLeft(name, known.get(monitor_id)) for monitor_id, name in monitors.items()] or UNKNOWN

    def _known(self, budget: RuleBudget, monitors: Collection[str]) -> dict[str, float | None]:
        if budget not in self._asked:
            self._asked.add(budget)
            return self._reckoned(budget, monitors)
        if budget not in self._of_all:
            every = [member.item_id for member in self.measuring.inventory if not member.is_agent]
            self._of_all[budget] = self._reckoned(budget, every)
        return self._of_all[budget]

    def _reckoned(self, budget: RuleBudget, monitors: Collection[str]) -> dict[str, float | None]:
        return budgets_left(node_of(self.root), self.root, monitors, budget.slo, budget.window_s)


class ILiveReadings(Interface):
    """Utility: what this node sees. A node without engine has none: then no reading is known."""


class IWindowSource(Interface):
    """Named utility: windows that are on (`(root, now) -> [ActiveWindow]`)."""


def live_readings(node: Node) -> LiveReadings | None:
    readings: LiveReadings | None = node.registry.queryUtility(ILiveReadings)
    return readings


def windows_now(root: Root, now: float) -> list[ActiveWindow]:
    """An `IWindowSource`: what maintenance windows mean for healing."""
    return _of_healing(active_windows(root, now))


def windows_at(plans: Iterable[WindowPlan], at: float) -> list[ActiveWindow]:
    return _of_healing(active(plans, at))


def _of_healing(windows: Iterable[Active]) -> list[ActiveWindow]:
    return [
        ActiveWindow(plan.id, plan.scope, effect_of(plan.effect), span.end, plan.name, plan.by, plan.zone)
        for plan, span in windows
    ]


def window_ended(root: Root, now: float, after: str = "") -> None:
    """An `IWindowEnded`: what was queued is looked at again, spread over time; another window may hold it still."""
    over_s = node_of(root).config[HealingSettings].queue_spread_s
    healing_of(root).book.release(root, lambda case_id: now + spread(case_id, over_s), after)
    wake_after_commit(root, "healing")


def build(root: Root, now: float, inventory: Inventory, failing: Holding) -> World:
    """`inventory` and `failing` come from what the caller sees."""
    healing, node = healing_of(root), node_of(root)
    settings, graph = node.config[HealingSettings], healing.dependencies.graph()
    failing = {target: rules for target, rules in failing.items() if inventory.holds(target)}
    trust, edited = trusted.held(root)  # no rule acts without its own
    readings = live_readings(node)
    rules = {name: rule.record for name, rule in healing.rules.items() if name in trust}
    knowledge = None if readings is None else Measurements(readings, inventory, rules.values(), now)
    return World(
        now=now,
        rules=rules,
        trust=trust,
        edited=edited,
        settings=settings,
        graph=graph,
        holding=failing,
        failing=failing_of(root, inventory, graph.nodes, failing, now, settings.absorption_window_s),
        windows=_windows(root, now),
        hosts=inventory.hosts,
        server=Host(SERVER, SERVER, usable=_own_tools(node.config), native=False),
        paused=healing.paused,
        pause_ends=healing.pause.ends(node.config.timezone),
        budget=ErrorBudgets(root, MeasuringMonitors(inventory, graph)).left,
        history=healing.ledger.history,
        load=_load(healing, graph.site, len(inventory), lambda: sick_hosts(failing, graph), now),
        reading=_reader(readings, now),
        well_since=lambda target: _well_since(root, target, inventory.monitors.get(target)),
        acted_at=lambda target: _acted_at(root, target),
        doubtful=lambda target: _doubtful(node, inventory.monitors.get(target)),
        unmeasured=_nothing if knowledge is None else knowledge.unmeasured,
        well=_nothing if knowledge is None else knowledge.well,
        coin=lambda case_id: _coin(root, case_id),
        arm_of_outage=healing.trials.arm_of_outage,
        learned_wait=lambda rule_id: learned(healing.trials, rules, rule_id),
        heal_takes=healing.trials.heal_takes,
        overdue=healing.problems.overdue(now),
        known=lambda about: not about.subject or fleet_access(root).knows(root, about.subject),
    )


def _coin(root: Root, case_id: str) -> float | None:
    return keyed_draw(chain_key(root), f"trial {case_id}")


def _own_tools(config: Configuration) -> frozenset[str]:
    """No shell where programs on the server are switched off."""
    return own_tools() if config[AutomationSettings].server_scripts else own_tools() - {"sh"}


def _well_since(root: Root, target: str, subject: str | None) -> float | None:
    """Its last case ended verified, or the last incident of its monitor was over: the later one."""
    book, incidents, ends = healing_of(root).book, incidents_of(root), []
    case_id = book.last_on.get(target)
    last = None if case_id is None else book.record_of(case_id)
    if isinstance(last, ClosedCase) and last.outcome == "verified":
        ends.append(last.closed_at)
    ids = incidents.by_monitor.get(subject.partition(":")[2]) if subject else None
    if ids:
        incident = incidents.find(ids.maxKey())
        ends.append(None if incident is None else incident.resolved)
    return max((at for at in ends if at is not None), default=None)


def _acted_at(root: Root, target: str) -> float | None:
    """Return when the target was last acted on, or when that was asked for, where nobody knows yet."""
    acted = []
    for case in healing_of(root).book.on_target(target):
        if isinstance(case, ActingCase):
            acted.append(case.sent_at)
        elif case.heal is not None:
            acted.append(case.heal.acted_at)
    return max((at for at in acted if at is not None), default=None)


def _doubtful(node: Node, subject: str | None) -> bool:
    return subject is not None and node.registry.getUtility(IFleetAccess).doubtful(node, subject)


def _nothing(*_: Any) -> bool:
    return False


def _windows(root: Root, now: float) -> list[ActiveWindow]:
    windows: list[ActiveWindow] = []
    for _, source in node_of(root).registry.getUtilitiesFor(IWindowSource):
        windows.extend(source(root, now))
    return windows


def _load(
    healing: Healing, site_of: Callable[[str], str | None], targets: int, sick: Callable[[], int], now: float
) -> Callable[[str, str], Load]:
    """Heals that the transaction itself begins count too: the limit is theirs together."""
    rules: Counter[str] = Counter()
    sites: Counter[str | None] = Counter()
    on: Counter[str] = Counter()
    counted: list[int] = []  # the sick: once, and only where a plan asks

    def load(rule_id: str, target: str) -> Load:
        for heal in healing.recent(now)[rules.total() :]:
            rules[heal.rule_id] += 1
            sites[heal.site] += 1
            on[heal.target] += 1
        if not counted:
            counted.append(sick())
        own = site_of(target)
        return Load(
            fleet=rules.total(),
            site=0 if own is None else sites[own],
            rule=rules[rule_id],
            target=on[target],
            sick=counted[0],
            targets=targets,
        )

    return load


def _reader(readings: LiveReadings | None, now: float) -> Callable[[About], Reading]:
    def reading(about: About) -> Reading:
        condition = reread(about.condition)
        if readings is None or not about.subject or condition is None:
            return Reading(None, {}, None)
        return readings.look(about.subject, condition, now)

    return reading


MOST_BORROWED = 300
Lenders = Literal["same_readings", "all_rules"]
Rules = Mapping[str, RuleRecord]


class Borrowed(NamedTuple):
    """`lenders` None: nobody has any cases, or none are needed."""

    durations: Sequence[Duration] = ()
    lenders: Lenders | None = None


def borrowed(book: TrialBook, rules: Rules, rule_id: str, own: int) -> Borrowed:
    """Borrow durations of the rules whose conditions read the same, or of all others where those have none."""
    if own >= ITS_OWN:
        return Borrowed()
    others = [other for other in rules if other != rule_id and book.ended(other)]
    about = readings_of(rules[rule_id].condition)
    same = [other for other in others if readings_of(rules[other].condition) == about]
    lenders = same or others
    durations = tuple(islice(_lent(book, lenders), MOST_BORROWED))
    return Borrowed(durations, ("same_readings" if same else "all_rules") if lenders else None)


def _lent(book: TrialBook, lenders: Sequence[str]) -> Iterator[Duration]:
    for lender in lenders:
        yield from book.ended(lender)[-max(1, min(ITS_OWN, MOST_BORROWED // len(lenders))) :]


def heal_s(book: TrialBook, rule_id: str) -> float | None:
    """None where none is known."""
    healed = book.healed(rule_id)
    return sum(case.heal_s for case in healed) / len(healed) if healed else None


def best(known: LeftAlone, takes_s: float | None) -> BestWait | None:
    return None if takes_s is None else best_wait(known, takes_s)


def learned(book: TrialBook, rules: Rules, rule_id: str) -> float:
    """0 while too little is known: of cases left alone, or of heals."""
    own = book.ended(rule_id)
    wait = best(LeftAlone(own, borrowed(book, rules, rule_id, len(own)).durations), heal_s(book, rule_id))
    return 0.0 if wait is None else wait.wait_s
