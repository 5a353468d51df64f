"""Places a graph in layers: what others depend on is to the left. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

BOX_WIDTH, BOX_HEIGHT = 208, 40
ACROSS, DOWN, MARGIN = 72, 16, 8
SWEEPS = 4

Edge = tuple[str, str]  # (who depends, on what)
Cell = tuple[str, ...]  # (name,) of a box, or (child, parent, layer) of the place where a long line passes a layer


class Box(NamedTuple):
    name: str
    x: float
    y: float


class GraphLine(NamedTuple):
    """From what is depended on to who depends: an SVG path's `d`."""

    child: str
    parent: str
    path: str


class Drawing(NamedTuple):
    width: float
    height: float
    boxes: tuple[Box, ...]
    lines: tuple[GraphLine, ...]


def lay_out(edges: Iterable[Edge]) -> Drawing:
    """All that has an edge; the same edges always give the same picture."""
    edges = sorted(set(edges))
    above = _parents(edges)
    layer_of = _layers(above)
    layers, hops = _cells(layer_of, [edge for edge in edges if layer_of[edge[1]] < layer_of[edge[0]]])
    _untangle(layers, hops)
    heights = _heights(layers, hops)
    boxes = [
        Box(cell[0], _left(number), heights[cell])
        for number, cells in enumerate(layers)
        for cell in cells
        if len(cell) == 1
    ]
    lines = [_line(child, parent, layer_of, heights) for child, parent in edges if child != parent]
    width = max((box.x + BOX_WIDTH for box in boxes), default=0) + MARGIN
    height = max((y + BOX_HEIGHT for y in heights.values()), default=0) + MARGIN
    return Drawing(width, height, tuple(boxes), tuple(lines))


def around(edges: Iterable[Edge], centre: Collection[str], most: int) -> set[str]:
    """Names near these, nearest first, up to `most`."""
    beside: dict[str, set[str]] = {}
    for child, parent in edges:
        beside.setdefault(child, set()).add(parent)
        beside.setdefault(parent, set()).add(child)
    chosen = dict.fromkeys(name for name in sorted(centre) if name in beside)
    for name in _growing(chosen):
        for near in sorted(beside[name]):
            if len(chosen) >= most:
                return set(chosen)
            chosen.setdefault(near)
    return set(chosen)


def _growing(chosen: Mapping[str, None]) -> Iterable[str]:
    """Each name once, those that are added on the way too."""
    at = 0
    while at < len(chosen):
        yield list(chosen)[at]
        at += 1


def _parents(edges: Iterable[Edge]) -> dict[str, list[str]]:
    above: dict[str, list[str]] = {}
    for child, parent in edges:
        above.setdefault(child, []).append(parent)
        above.setdefault(parent, [])
    return above


def _layers(above: Mapping[str, Sequence[str]]) -> dict[str, int]:
    """How far each is from what depends on nothing; an edge that closes a circle does not count."""
    layer_of: dict[str, int] = {}
    under_way: set[str] = set()
    for start in sorted(above):
        stack = [start]
        while stack:
            name = stack[-1]
            waiting = [
                parent
                for parent in above[name]
                if parent not in layer_of and parent not in under_way and parent != name
            ]
            if name in layer_of or (name in under_way and not waiting):
                stack.pop()
                under_way.discard(name)
                layer_of.setdefault(
                    name, 1 + max((layer_of[parent] for parent in above[name] if parent in layer_of), default=-1)
                )
            else:
                under_way.add(name)
                stack += waiting
    return layer_of


def _cells(layer_of: Mapping[str, int], edges: Iterable[Edge]) -> tuple[list[list[Cell]], dict[Cell, list[Cell]]]:
    """The cells by layer, with those that each is joined to in the layer before."""
    layers: list[list[Cell]] = [[] for _ in range(max(layer_of.values(), default=-1) + 1)]
    for name in sorted(layer_of):
        layers[layer_of[name]].append((name,))
    hops: dict[Cell, list[Cell]] = {}
    for child, parent in edges:
        before: Cell = (parent,)
        for number in range(layer_of[parent] + 1, layer_of[child]):
            bend: Cell = (child, parent, str(number))
            layers[number].append(bend)
            hops.setdefault(bend, []).append(before)
            before = bend
        hops.setdefault((child,), []).append(before)
    return layers, hops


def _backwards(hops: Mapping[Cell, Sequence[Cell]]) -> dict[Cell, list[Cell]]:
    after: dict[Cell, list[Cell]] = {}
    for cell, before in hops.items():
        for neighbour in before:
            after.setdefault(neighbour, []).append(cell)
    return after


def _untangle(layers: list[list[Cell]], hops: Mapping[Cell, Sequence[Cell]]) -> None:
    """Sort cells by the middle of what they are joined to, from the left and from the right in turn."""
    after = _backwards(hops)
    for sweep in range(SWEEPS):
        joined, order = (after, layers[::-1]) if sweep % 2 else (hops, layers)
        for fixed, free in pairwise(order):
            place = {cell: number for number, cell in enumerate(fixed)}
            middle = {}
            for number, cell in enumerate(free):
                places = [place[neighbour] for neighbour in joined.get(cell, ()) if neighbour in place]
                middle[cell] = _middle(places or [number])
            free.sort(key=lambda cell: (middle[cell], cell))


def _heights(layers: list[list[Cell]], hops: Mapping[Cell, Sequence[Cell]]) -> dict[Cell, float]:
    step = BOX_HEIGHT + DOWN
    heights = {cell: float(number * step) for cells in layers for number, cell in enumerate(cells)}
    after = _backwards(hops)
    for sweep in range(SWEEPS):
        joined = after if sweep % 2 else hops
        for cells in layers[::-1] if sweep % 2 else layers:
            wanted = [
                _middle([heights[neighbour] for neighbour in joined.get(cell, ())] or [heights[cell]]) for cell in cells
            ]
            heights.update(zip(cells, _spread(wanted, step), strict=True))
    top = min(heights.values(), default=0.0)
    return {cell: round(MARGIN + y - top, 1) for cell, y in heights.items()}


def _middle(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _spread(wanted: Sequence[float], step: float) -> list[float]:
    """Places as near to the wanted ones as can be, a step apart: the mean of pushing down and of pushing up."""
    down: list[float] = []
    for y in wanted:
        down.append(max(y, down[-1] + step) if down else y)
    up: list[float] = []
    for y in reversed(wanted):
        up.append(min(y, up[-1] - step) if up else y)
    return [(low + high) / 2 for low, high in zip(down, reversed(up), strict=True)]


def _left(layer: int) -> float:
    return MARGIN + layer * (BOX_WIDTH + ACROSS)


def _line(child: str, parent: str, layer_of: Mapping[str, int], heights: Mapping[Cell, float]) -> GraphLine:
    """The line goes from the right edge of one box to the left edge of the other, through its bends."""
    first, last = layer_of[parent], layer_of[child]
    middle = BOX_HEIGHT / 2
    cells: list[Cell] = [(parent,), *((child, parent, str(number)) for number in range(first + 1, last)), (child,)]
    x, y = _left(first) + BOX_WIDTH, heights[cells[0]] + middle
    path = f"M{x:g} {y:g}"
    for number, cell in enumerate(cells[1:], first + 1):
        into, below = _left(number if last > first else last), heights[cell] + middle
        bend = (into - x) / 2 if into > x else ACROSS
        path += f"C{x + bend:g} {y:g} {into - bend:g} {below:g} {into:g} {below:g}"
        x, y = into, below
        if len(cell) > 1:
            x += BOX_WIDTH
            path += f"H{x:g}"
    return GraphLine(child, parent, path)
