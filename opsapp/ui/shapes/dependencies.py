"""What depends on what: a picture with the root causes ringed, and a table. A large graph is drawn around what somebody
looks for, or what has failed."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence, Set
from dataclasses import replace
from typing import NamedTuple
from urllib.parse import urlencode

from opsapp.healing.answers import SuggestionRecord
from opsapp.healing.records import DependencyEvidence, DependencyNode
from opsapp.lib.visible import clip
from opsapp.ui import layers
from opsapp.ui.parts import GRAPH, SUGGESTIONS
from opsapp.ui.reader import Answers, Reader, TemplateValues
from opsapp.ui.sentences import listed
from opsapp.wire.dataclass import frozen

Edges = Mapping[tuple[str, str], DependencyEvidence]  # (child, parent) -> what heals have shown
MOST_DRAWN, MOST_ROWS, MOST_NAMES = 150, 100, 300
LETTERS = 22
BOX = (layers.BOX_WIDTH, layers.BOX_HEIGHT)
STATES = {"failed": ("bad", "Failed"), "ok": ("ok", "Works"), "unknown": ("off", "Unknown")}


class GraphBox(NamedTuple):
    """A box of the picture, which leads to its editor; `why` says what holds it down."""

    name: str
    short: str
    x: float
    y: float
    look: str
    root: bool
    why: str
    words: str
    href: str
    chosen: bool


class GraphEdge(NamedTuple):
    path: str
    bad: bool


class GraphPicture(NamedTuple):
    width: int
    height: int
    label: str
    boxes: tuple[GraphBox, ...]
    edges: tuple[GraphEdge, ...]


@frozen
class EdgeRow:
    """An edge for the act that takes it out, with `id` to show; `sure`: what heals of the parent have shown."""

    id: str
    target: str
    depends_on: str
    sure: str


class DependencyLine(NamedTuple):
    node: DependencyNode
    kind: str
    word: str
    root: bool
    why: str
    parents: tuple[EdgeRow, ...]


class ChosenTarget(NamedTuple):
    """The target that is edited. `fixed`: the file declares it."""

    name: str
    kind: str
    word: str
    why: str
    needs: tuple[EdgeRow, ...]
    needed_by: tuple[EdgeRow, ...]
    fixed: frozenset[str]


def shape(answers: Answers, reader: Reader) -> TemplateValues:
    graph = answers[GRAPH]
    nodes = {node.target: node for node in graph.nodes}
    edges = [(edge.child, edge.parent) for edge in graph.edges]
    roots = nodes.keys() & graph.root_causes  # others stand alone: the picture has no place for them
    wanted = reader.asked("q").strip()
    near = neighbourhood(nodes, edges, roots, wanted)
    drawn = [edge for edge in edges if edge[0] in near and edge[1] in near]
    joined = {name for edge in edges for name in edge}
    known = {(edge.child, edge.parent): edge for edge in graph.evidence}
    rows = [
        row_of(node, roots, known) for node in nodes.values() if not wanted or wanted.lower() in node.target.lower()
    ]
    rows.sort(key=lambda row: (not row.root, row.kind != "bad", row.node.target))
    about_edges = ("dependency_candidate", "dependency_doubt")
    candidates = [row for row in answers[SUGGESTIONS] if row.category in about_edges]
    return {
        "sub": sentence(nodes, roots),
        "picture": picture_of(nodes, drawn, roots, reader.query) if drawn else None,
        "box": BOX,
        "chosen": chosen_of(reader.asked("target"), nodes, known, roots),
        "wanted": wanted,
        "part_of": len(joined) if len(near) < len(joined) else 0,
        "rows": rows[:MOST_ROWS],
        "row_count": len(rows),
        "names": sorted({*nodes, *joined})[:MOST_NAMES],
        "candidates": [(row, sure_of(row)) for row in candidates],
        "asked": {"target": reader.asked("target"), "depends_on": reader.asked("depends_on")},
    }


def neighbourhood(
    nodes: Mapping[str, DependencyNode], edges: Sequence[tuple[str, str]], roots: Set[str], wanted: str
) -> set[str]:
    """All of a small graph; of a large one, what is near to what is looked for or has failed."""
    joined = {name for edge in edges for name in edge}
    centre = {name for name in joined if wanted and wanted.lower() in name.lower()}
    if wanted and not centre:
        return set()
    if not wanted and len(joined) <= MOST_DRAWN:
        return joined
    failed = {name for name, node in nodes.items() if node.status == "failed"}
    return layers.around(edges, centre or roots & joined or failed & joined or sorted(joined)[:1], MOST_DRAWN)


def chosen_of(name: str, nodes: Mapping[str, DependencyNode], known: Edges, roots: Set[str]) -> ChosenTarget | None:
    if name not in nodes:
        return None
    line = row_of(nodes[name], roots, known)
    below = sorted(child for child, parent in known if parent == name)
    return ChosenTarget(
        name,
        line.kind,
        line.word,
        "root cause" if line.root else line.why,
        line.parents,
        tuple(replace(depends_on(child, name, known), id=child) for child in below),
        frozenset(target for target in (name, *below) if target in nodes and nodes[target].source == "yaml"),
    )


def picture_of(
    nodes: Mapping[str, DependencyNode],
    edges: Sequence[tuple[str, str]],
    roots: Collection[str],
    query: Mapping[str, str],
) -> GraphPicture:
    drawing = layers.lay_out(edges)
    boxes = tuple(box_of(box, nodes.get(box.name), box.name in roots, query) for box in drawing.boxes)
    looks = {box.name: box.look for box in boxes}
    lines = tuple(
        GraphEdge(line.path, looks[line.parent] == "bad" and looks[line.child] in ("bad", "hid"))
        for line in drawing.lines
    )
    told = [f"{name} is a root cause" for name in sorted(roots)]
    label = f"{len(boxes)} targets and {len(lines)} dependencies. " + ("; ".join(told) or "No root cause now") + "."
    return GraphPicture(round(drawing.width), round(drawing.height), label, boxes, lines)


def box_of(box: layers.Box, node: DependencyNode | None, root: bool, query: Mapping[str, str]) -> GraphBox:
    status = node.status if node else "unknown"
    held = node.suppressed_by if node else None
    look = "hid" if held else {"failed": "bad", "ok": "ok"}.get(status, "off")
    short = clip(box.name, LETTERS)
    why = "root cause" if root else f"held down by {held}" if held else ""
    words = f"{box.name}: {STATES[status][1].lower()}" + (f", {why}" if why else "")
    why = clip(why, LETTERS + 5)
    near = {"q": query["q"]} if query.get("q") else {}
    href = f"?{urlencode({**near, 'target': box.name})}#add"
    return GraphBox(box.name, short, box.x, box.y, look, root, why, words, href, query.get("target") == box.name)


def row_of(node: DependencyNode, roots: Collection[str], known: Edges) -> DependencyLine:
    kind, word = STATES[node.status]
    root, held = node.target in roots, node.suppressed_by
    return DependencyLine(
        node,
        kind,
        word,
        root,
        f"held down by {held}: it {node.why}" if held else "",
        tuple(depends_on(node.target, parent, known) for parent in node.depends_on),
    )


def depends_on(target: str, parent: str, known: Edges) -> EdgeRow:
    edge = known.get((target, parent)) or DependencyEvidence(target, parent)
    tried = edge.came_back + edge.stayed
    sure = f"{edge.confidence:.0%} sure: came back with it {edge.came_back} of {tried} times" if tried else ""
    notes = ", ".join(word for word in ("learned" if edge.learned else "", sure) if word)
    return EdgeRow(parent, target, parent, notes)


def sure_of(suggestion: SuggestionRecord) -> str:
    sure = suggestion.about.sure if suggestion.about else None
    return "" if sure is None else f"{sure:.0%} sure"


def sentence(nodes: Mapping[str, DependencyNode], roots: Collection[str]) -> str:
    failed = [name for name, node in nodes.items() if node.status == "failed"]
    if not nodes:
        return ""
    if not failed:
        return "Nothing in it has failed."
    held = sum(nodes[name].suppressed_by is not None for name in failed)
    causes = listed(sorted(roots), most=3)
    words = f"{causes} {'is the root cause' if len(roots) == 1 else 'are root causes'}" if roots else "No root cause"
    on = "it" if len(roots) == 1 else "them"
    depends = "depends" if held == 1 else "depend"
    return f"{words}; {held} of {len(failed)} failures {depends} on {on}." if held else f"{words}."
