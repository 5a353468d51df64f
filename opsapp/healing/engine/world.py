"""Building the world that the stages read, from the store and from what this node sees, in the caller's transaction."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any

from zope.interface import Interface

from opsapp.healing.logic.brake import Load
from opsapp.healing.logic.graph import Graph
from opsapp.healing.logic.thresholds import thresholds_of
from opsapp.healing.logic.windows import Window
from opsapp.healing.resources import Healing, healing_of
from opsapp.healing.resources.rules import TRUST
from opsapp.healing.stages.world import SERVER, Host, Reading, World
from opsapp.monitoring.resources import Incident, incidents_of
from opsapp.runtime.projection import readable
from opsapp.runtime.wakes import node_of
from opsapp.tree.root import Root
from opsapp.wire.conditions import parse

from .deeds import own_tools
from .knowing import Knowledge
from .reach import IReach, Places, reach_of
from .settings import settings_of
from .sight import Sight

if TYPE_CHECKING:
    from opsapp.runtime.node import Node


class ISight(Interface):
    """Utility: what this node sees. Absent on a node without engine: then no reading is known."""


class IWindowSource(Interface):
    """Named utility: windows that are on (`(root, now) -> [Window]`). `engine.windows` brings maintenance's."""


def build(root: Root, now: float, places: Places, failing: Mapping[str, Any]) -> World:
    """The present world. `places` and `failing` come from what the caller sees."""
    healing, node = healing_of(root), node_of(root)
    settings, graph = settings_of(node), healing["dependencies"].graph()
    failing = {target: rules for target, rules in failing.items() if places.holds(target)}
    trust = {name: state.trust for name, state in readable(healing["trust"], TRUST)}  # no rule acts without its own
    sight: Sight | None = node.registry.queryUtility(ISight)
    rules = {name: rule.plain() for name, rule in readable(healing["rules"], "rule") if name in trust}
    knowledge = None if sight is None else Knowledge(sight, places, rules, now)
    return World(
        now=now,
        rules=rules,
        trust=trust,
        settings=settings,
        thresholds=thresholds_of(settings),
        graph=graph,
        failing=failing_of(root, places, graph.nodes, failing, now, settings["absorption_window_s"]),
        windows=_windows(root, now),
        hosts=places.hosts,
        server=Host(SERVER, SERVER, usable=_own_tools(node.config), native=False),
        paused=healing.paused,
        history=healing["ledger"].history,
        load=_load(healing, graph.site, len(places), lambda: _sick(failing, graph), now),
        reading=_reader(sight, now),
        well_since=lambda target: _well_since(root, target, places.monitors.get(target)),
        doubtful=lambda target: _doubtful(node, places.monitors.get(target)),
        unmeasured=_nothing if knowledge is None else knowledge.unmeasured,
        well=_nothing if knowledge is None else knowledge.well,
        known=lambda case: not case.get("subject") or reach_of(root).knows(root, case["subject"]),
    )


def _own_tools(config: Mapping[str, Any]) -> frozenset[str]:
    """The service's own; no shell where programs on the server are switched off."""
    return own_tools() if config["automations"]["server_scripts"] else own_tools() - {"sh"}


def failing_of(
    root: Root, places: Places | None, named: Mapping[str, Any], seen: Mapping[str, Any], now: float, window: float
) -> set[str]:
    """Targets that have failed, as far as dependants are concerned.

    With an open case, or one that ended without success within the absorption window; and, where somebody declared them
    in the graph, those whose condition is still known true, and monitors that are down, whether a rule looks at them or
    not. A host that is not declared does not hold its own services back for longer than that: its CPU being high must
    not keep them from being restarted.
    """
    book = healing_of(root).book
    found = {target for target in seen if target in named}
    found.update(book.open_on.keys())
    found.difference_update(book.queued)
    found.update(book.unhealed_since(now - window))
    if places is not None:  # what was deleted has not failed, whatever its last case came to
        found = {target for target in found if places.holds(target)}
    if named:
        found.update(name for names in down(root) for name in names if name in named)
    return found


def down(root: Root) -> list[tuple[str, str]]:
    """(name, id) of each monitor with an open incident. That never changes of one, and thousands may be open while
    transactions follow each other: each is read once per process."""
    incidents, db = incidents_of(root), root._p_jar.db()
    known = getattr(db, "opsapp_open_incidents", {})
    found = {each: known.get(each) or _about(incidents[each]) for each in incidents.open}
    db.opsapp_open_incidents = found
    return list(found.values())


def _about(incident: Incident) -> tuple[str, str]:
    return incident.monitor_name, incident.monitor_id


def _well_since(root: Root, target: str, subject: str | None) -> float | None:
    """When the last case of a target ended verified, or the last incident of its monitor was over: the later one."""
    book, incidents, found = healing_of(root).book, incidents_of(root), []
    case_id = book.last_on.get(target)
    if case_id is not None and book.cases[case_id].fields["outcome"] == "verified":
        found.append(book.cases[case_id].fields["closed_at"])
    ids = incidents.by_monitor.get(subject.partition(":")[2]) if subject else None
    if ids:
        found.append(incidents[ids.maxKey()].resolved)
    return max((at for at in found if at is not None), default=None)


def _doubtful(node: Node, subject: str | None) -> bool:
    return subject is not None and node.registry.getUtility(IReach).doubtful(node, subject)


def _nothing(*_: Any) -> bool:
    """A node without engine knows of no measurement."""
    return False


def _sick(failing: Collection[str], graph: Graph) -> int:
    """How many places are sick by themselves: five failed services of one host are one sick host, and what hangs on a
    failed target is none. A storm with one root cause must not keep it from being healed."""
    own = failing if not graph.nodes else [name for name in failing if graph.suppressor(name, failing) is None]
    return len({target.partition("/")[0] for target in own})


def _windows(root: Root, now: float) -> list[Window]:
    windows: list[Window] = []
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


def _reader(sight: Sight | None, now: float) -> Callable[[Mapping[str, Any]], Reading]:
    def reading(case: Mapping[str, Any]) -> Reading:
        if sight is None or not case.get("subject"):
            return Reading(None, {}, None)
        return sight.look(case["subject"], parse(case["condition"]), now)

    return reading
