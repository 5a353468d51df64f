"""Building the world that the stages read, from the store and from what this node sees, in the caller's transaction."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from zope.interface import Interface

from opsapp.healing.logic.brake import HOUR, Load
from opsapp.healing.logic.graph import Graph
from opsapp.healing.logic.windows import Window
from opsapp.healing.resources import Healing, healing_of
from opsapp.healing.stages.world import SERVER, Host, Reading, World
from opsapp.runtime.wakes import node_of
from opsapp.tree.root import Root
from opsapp.wire.conditions import parse

from .deeds import own_tools
from .reach import Places, reach_of
from .settings import settings_of
from .sight import Sight


class ISight(Interface):
    """Utility: what this node sees. Absent on a node without engine: then no reading is known."""


class IWindowSource(Interface):
    """Named utility: windows that are on (`(root, now) -> [Window]`). `engine.windows` brings maintenance's."""


def build(root: Root, now: float, places: Places, failing: Mapping[str, Any]) -> World:
    """The present world. `places` and `failing` come from what the caller sees."""
    healing, node = healing_of(root), node_of(root._p_jar)
    settings, graph = settings_of(node), healing["dependencies"].graph()
    sight: Sight | None = node.registry.queryUtility(ISight)
    return World(
        now=now,
        rules={name: rule.plain() for name, rule in healing["rules"].items()},
        trust={name: state.trust for name, state in healing["trust"].items()},
        settings=settings,
        graph=graph,
        failing=failing_of(healing, graph.nodes, failing, now, settings["absorption_window_s"]),
        windows=_windows(root, now),
        hosts=places.hosts,
        server=Host(SERVER, SERVER, usable=_own_tools(node.config), native=False),
        paused=healing.paused,
        history=healing["ledger"].statistics,
        load=_load(healing, graph.site, len(places), lambda: _sick(failing, graph), now),
        reading=_reader(sight, now),
        known=lambda case: not case.get("subject") or reach_of(root).knows(root, case["subject"]),
    )


def _own_tools(config: Mapping[str, Any]) -> frozenset[str]:
    """The service's own; no shell where programs on the server are switched off."""
    return own_tools() if config["automations"]["server_scripts"] else own_tools() - {"sh"}


def failing_of(
    healing: Healing, named: Mapping[str, Any], seen: Mapping[str, Any], now: float, window: float
) -> set[str]:
    """Targets that have failed, as far as dependants are concerned.

    With an open case, or one that ended without success within the absorption window; and, where somebody declared them
    in the graph, those whose condition is still known true. A host that is not declared does not hold its own services
    back for longer than that: its CPU being high must not keep them from being restarted.
    """
    found = {target for target in seen if target in named}
    found.update(healing.book.open_on.keys())
    found.difference_update(healing.book.queued)
    found.update(healing.book.unhealed_since(now - window))
    return found


def _sick(failing: Collection[str], graph: Graph) -> int:
    """How many places are sick by themselves: five failed services of one host are one sick host, and what hangs on a
    failed target is none. A storm with one root cause must not keep it from being healed."""
    own = failing if not graph.nodes else [name for name in failing if graph.suppressor(name, failing) is None]
    return len({target.partition("/")[0] for target in own})


def _windows(root: Root, now: float) -> list[Window]:
    windows: list[Window] = []
    for _, source in node_of(root._p_jar).registry.getUtilitiesFor(IWindowSource):
        windows.extend(source(root, now))
    return windows


def _load(
    healing: Healing, site_of: Callable[[str], str | None], targets: int, sick: Callable[[], int], now: float
) -> Callable[[str, str], Load]:
    recent = [begun for begun in healing.begun if now - begun[0] < HOUR]

    counted: list[int] = []  # once, and only where a plan asks

    def load(rule_id: str, target: str) -> Load:
        site = site_of(target)
        if not counted:
            counted.append(sick())
        return Load(
            fleet=len(recent),
            site=sum(1 for _, _, at in recent if site is not None and at == site),
            rule=sum(1 for _, rule, _ in recent if rule == rule_id),
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
