"""Building the world that the stages read, from the store and from what this node sees, in the caller's transaction."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from zope.interface import Interface

from opsapp.automations.config import AutomationSettings
from opsapp.healing.config import HealingSettings
from opsapp.healing.logic.brake import Load
from opsapp.healing.logic.windows import ActiveWindow
from opsapp.healing.resources import Healing, healing_of
from opsapp.healing.stages.case import About, ActingCase, ClosedCase
from opsapp.healing.stages.world import SERVER, Host, Reading, World
from opsapp.monitoring.resources import incidents_of
from opsapp.runtime.chainkey import chain_key, keyed_draw
from opsapp.runtime.config import Configuration
from opsapp.runtime.node import node_of
from opsapp.runtime.projection import child_of, readable
from opsapp.tree.root import Root
from opsapp.wire.conditions import parse

from . import trusted, waits
from .errorbudgets import ErrorBudgets
from .failures import Holding, failing_of, sick_hosts
from .fleet_access import IFleetAccess, fleet_access
from .inventory import Inventory
from .measurements import Measurements
from .readings import LiveReadings
from .server_actions import own_tools

if TYPE_CHECKING:
    from opsapp.runtime.node import Node


class ILiveReadings(Interface):
    """Utility: what this node sees. Absent on a node without engine: then no reading is known."""


class IWindowSource(Interface):
    """Named utility: windows that are on (`(root, now) -> [ActiveWindow]`). `engine.windows` brings maintenance's."""


def build(root: Root, now: float, inventory: Inventory, failing: Holding) -> World:
    """The present world. `inventory` and `failing` come from what the caller sees."""
    healing, node = healing_of(root), node_of(root)
    settings, graph = node.config[HealingSettings], healing["dependencies"].graph()
    failing = {target: rules for target, rules in failing.items() if inventory.holds(target)}
    trust, edited = trusted.held(root)  # no rule acts without its own
    readings: LiveReadings | None = node.registry.queryUtility(ILiveReadings)
    rules = {name: rule.record for name, rule in readable(healing["rules"], "rule") if name in trust}
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
        budget=ErrorBudgets(root, inventory, graph).left,
        history=healing["ledger"].history,
        load=_load(healing, graph.site, len(inventory), lambda: sick_hosts(failing, graph), now),
        reading=_reader(readings, now),
        well_since=lambda target: _well_since(root, target, inventory.monitors.get(target)),
        acted_at=lambda target: _acted_at(root, target),
        doubtful=lambda target: _doubtful(node, inventory.monitors.get(target)),
        unmeasured=_nothing if knowledge is None else knowledge.unmeasured,
        well=_nothing if knowledge is None else knowledge.well,
        coin=lambda case_id: _coin(root, case_id),
        arm_of_outage=healing.trials.arm_of_outage,
        learned_wait=lambda rule_id: waits.learned(healing.trials, rules, rule_id),
        heal_takes=healing.trials.heal_takes,
        overdue=healing["problems"].overdue(now),
        known=lambda about: not about.subject or fleet_access(root).knows(root, about.subject),
    )


def _coin(root: Root, case_id: str) -> float:
    return keyed_draw(chain_key(root), f"trial {case_id}")


def _own_tools(config: Configuration) -> frozenset[str]:
    """The service's own; no shell where programs on the server are switched off."""
    return own_tools() if config[AutomationSettings].server_scripts else own_tools() - {"sh"}


def _well_since(root: Root, target: str, subject: str | None) -> float | None:
    """When the last case of a target ended verified, or the last incident of its monitor was over: the later one."""
    book, incidents, ends = healing_of(root).book, incidents_of(root), []
    case_id = book.last_on.get(target)
    last = None if case_id is None else book.record_of(case_id)
    if isinstance(last, ClosedCase) and last.outcome == "verified":
        ends.append(last.closed_at)
    ids = incidents.by_monitor.get(subject.partition(":")[2]) if subject else None
    if ids:
        incident = child_of(incidents, "incident", ids.maxKey())
        ends.append(None if incident is None else incident.resolved)
    return max((at for at in ends if at is not None), default=None)


def _acted_at(root: Root, target: str) -> float | None:
    """When the action of a heal of this target was done, or was asked for where nobody knows yet."""
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
    """A node without engine knows of no measurement."""
    return False


def _windows(root: Root, now: float) -> list[ActiveWindow]:
    windows: list[ActiveWindow] = []
    for _, source in node_of(root).registry.getUtilitiesFor(IWindowSource):
        windows.extend(source(root, now))
    return windows


def _load(
    healing: Healing, site_of: Callable[[str], str | None], targets: int, sick: Callable[[], int], now: float
) -> Callable[[str, str], Load]:
    """Heals that the transaction itself begins count too: it works many cases, and the limit is theirs together."""
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
        if readings is None or not about.subject:
            return Reading(None, {}, None)
        return readings.look(about.subject, parse(about.condition), now)

    return reading
