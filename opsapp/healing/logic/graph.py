"""Dependencies between targets: the graph, its mistakes, root causes. The order of arrival plays no part."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cached_property
from itertools import islice
from typing import Annotated

from opsapp.wire.dataclass import frozen
from opsapp.wire.kinds import Choice, Text
from opsapp.wire.records import Most, Told

MOST_TARGETS = 5000  # that a list of dependencies declares
MOST_CYCLES, MOST_NAMED = 50, 20  # that are told, and names of each
TYPES = ("service", "external", "host", "container", "monitor")
BAD_TYPE = f"bad type: must be one of {', '.join(TYPES)}"


@frozen
class Dependency:
    """As people declare it."""

    target: Annotated[str, Text(1, 1000)]
    type: Annotated[str, Choice(*TYPES)] = "service"
    site: Annotated[str | None, Text(1, 255)] = None
    depends_on: Annotated[tuple[Annotated[str, Text(1, 1000)], ...], Most(1000, unique=True)] = ()


@frozen
class GraphNode(Dependency):
    source: Told[str] = "api"


@frozen
class GraphMistake:
    target: str
    error: str


def nobody(_: str) -> bool:
    return False


def own_host(target: str) -> str:
    """The host of a target that is a part of a host; "" of any other target."""
    host, slash, _ = target.partition("/")
    return host if slash else ""


class Graph:
    """`hostname/NAME` depends on its host without a declaration."""

    def __init__(self, nodes: Iterable[GraphNode] = ()) -> None:
        self.nodes = {node.target: node for node in nodes}

    def parents(self, target: str) -> tuple[str, ...]:
        node = self.nodes.get(target)
        named = node.depends_on if node else ()
        host = own_host(target)
        return (*named, host) if host and host not in named else named

    def ancestors(self, target: str, well: Callable[[str], bool] = nobody) -> dict[str, tuple[str, ...]]:
        """Nearest first, each with its path. A failure does not pass through what is `well`, but for a part's own host:
        that says nothing of what lies between it and, say, its storage."""
        paths: dict[str, tuple[str, ...]] = {}
        queue: list[tuple[str, tuple[str, ...]]] = [(parent, (target, parent)) for parent in self.parents(target)]
        while queue:
            name, path = queue.pop(0)
            if name == target or name in paths or (name != own_host(path[-2]) and well(name)):
                continue
            paths[name] = path
            queue.extend((parent, (*path, parent)) for parent in self.parents(name))
        return paths

    def declared_above(self, target: str, well: Callable[[str], bool] = nobody) -> list[str]:
        """The declared targets above this one, as far as a failure would pass, nearest first."""
        return [name for name in self.ancestors(target, well) if name in self.nodes]

    @cached_property
    def _children(self) -> dict[str, list[str]]:
        """A graph never changes."""
        children: dict[str, list[str]] = {}
        for name in self.nodes:
            for parent in self.parents(name):
                children.setdefault(parent, []).append(name)
                host = own_host(parent)
                if host and parent not in self.nodes:
                    children.setdefault(host, []).append(name)
        return children

    def hanging_on(self, targets: Collection[str]) -> list[str]:
        """Declared ones, nearest first; through what is on a host too."""
        children = self._children
        reached = dict.fromkeys(targets)
        queue = list(reached)
        while queue:
            below = [child for child in children.get(queue.pop(0), ()) if child not in reached]
            reached.update(dict.fromkeys(below))
            queue.extend(dict.fromkeys(below))
        return [name for name in reached if name in self.nodes and name not in targets]

    def site(self, target: str) -> str | None:
        """Its own (or its host's), else that of the external target above it."""
        own = (target, target.partition("/")[0])
        for name in (*own, *self.ancestors(target)):
            node = self.nodes.get(name)
            if node and node.site and (name in own or node.type == "external"):
                return node.site
        return None

    def is_external(self, target: str) -> bool:
        return target in self.nodes and self.nodes[target].type == "external"

    def suppressor(
        self, target: str, failing: Collection[str], well: Callable[[str], bool] = nobody
    ) -> tuple[str, str] | None:
        """(root cause, why) where something above it, or its whole site, has failed."""
        if target not in self.nodes and "/" not in target:
            return None  # as most targets: nothing stands in the graph that they could depend on
        paths = {
            name: path
            for name, path in self.ancestors(target, lambda name: name not in failing and well(name)).items()
            if name in failing
        }
        if paths:
            name = self.root_of(paths)
            return name, "depends on " + " → ".join(paths[name][1:])
        site = self.site(target)
        if site is not None:
            lost = next((name for name in self._externals.get(site, ()) if name != target and name in failing), None)
            if lost is not None:
                return lost, f"everything at site {site} depends on it"
        return None

    @cached_property
    def _externals(self) -> dict[str, list[str]]:
        """The external targets by site, because thousands of a site's targets may fail at once."""
        externals: dict[str, list[str]] = {}
        for name in sorted(filter(self.is_external, self.nodes)):
            site = self.site(name)
            if site is not None:
                externals.setdefault(site, []).append(name)
        return externals

    def root_of(self, paths: Mapping[str, tuple[str, ...]]) -> str:
        """The one that none of the others stands above; of several, or in a cycle, the farthest."""
        roots = [name for name in paths if paths.keys().isdisjoint(self.ancestors(name))]
        return max(roots or paths, key=lambda name: (len(paths[name]), name))

    def root_causes(self, failing: Collection[str]) -> list[str]:
        return sorted(target for target in failing if self.suppressor(target, failing) is None)


def mistakes(entries: Iterable[Dependency], known: Collection[str] | None = None) -> list[GraphMistake]:
    """`known`: targets outside of the list."""
    errors: list[GraphMistake] = []
    graph: dict[str, tuple[str, ...]] = {}
    for entry in entries:
        target = entry.target
        if target in graph:
            errors.append(GraphMistake(target, "duplicate: it is listed more than once"))
        if entry.type not in TYPES:
            errors.append(GraphMistake(target, BAD_TYPE))
        graph[target] = graph.get(target, ()) + entry.depends_on
    for target, parents in graph.items():
        for parent in parents:
            if parent not in graph and known is not None and parent not in known:
                errors.append(GraphMistake(target, f"unknown reference: {parent}"))
    errors.extend(GraphMistake(cycle[0], "cycle: " + _in_words(cycle)) for cycle in islice(_cycles(graph), MOST_CYCLES))
    return errors


def _in_words(cycle: tuple[str, ...]) -> str:
    left_out = len(cycle) - MOST_NAMED
    named = cycle if left_out <= 0 else (*cycle[:MOST_NAMED], f"{left_out} more")
    return " → ".join((*named, cycle[0]))


def _cycles(graph: Mapping[str, tuple[str, ...]]) -> Iterator[tuple[str, ...]]:
    """Each once, from its smallest name on: each is closed by another dependency, which is looked at once. Without
    recursion, for a chain may be long; lazily, for there may be thousands."""
    done: set[str] = set()
    for start in sorted(graph):
        path: dict[str, int] = {}  # each name on it, and its place
        stack: list[tuple[str, bool]] = [(start, False)]
        while stack:
            name, leaving = stack.pop()
            if leaving:
                del path[name]
                done.add(name)
            elif name in path:
                cycle = tuple(path)[path[name] :]
                turn = cycle.index(min(cycle))
                yield (*cycle[turn:], *cycle[:turn])
            elif name not in done:
                path[name] = len(path)
                stack.append((name, True))
                stack.extend((parent, False) for parent in sorted(set(graph.get(name, ())), reverse=True))
