"""The picture of dependencies: roots ringed, held ones labelled, a large graph as a neighbourhood."""

from opsapp.healing.answers import SuggestionRecord
from opsapp.healing.records import DependencyEdge, DependencyGraph, DependencyNode
from opsapp.ui.reader import Answers, Reader
from opsapp.ui.shapes import dependencies
from tests.support.partly import partly


def node(target, *parents, status="ok", held=None):
    why = f"depends on {held}" if held else None
    return DependencyNode(
        target=target, type="service", depends_on=parents, source="api", status=status, suppressed_by=held, why=why
    )


def shaped(nodes, roots=(), suggestions=(), **query):
    edges = [DependencyEdge(each.target, parent) for each in nodes for parent in each.depends_on]
    graph = DependencyGraph(
        dependencies=(), nodes=tuple(nodes), edges=tuple(edges), evidence=(), root_causes=tuple(roots)
    )
    reader = Reader(0.0, "UTC", "ada", "admin", query, lambda api: True)
    return dependencies.shape(Answers({"graph": graph, "suggestions": list(suggestions)}), reader)


def test_the_root_cause_is_ringed_and_the_rest_says_what_holds_it_down():
    shown = shaped([node("db", status="failed"), node("web", "db", status="failed", held="db")], ["db"])
    boxes = {box.name: box for box in shown["picture"].boxes}
    assert (boxes["db"].root, boxes["db"].why) == (True, "root cause")
    assert (boxes["web"].look, boxes["web"].why) == ("hid", "held down by db")
    assert [edge.bad for edge in shown["picture"].edges] == [True]
    assert shown["sub"] == "db is the root cause; 1 of 2 failures depends on it."
    aside = shaped([node("db", status="failed"), node("web", "db", status="failed", held="db")], ["db", "mail/smtp"])
    assert aside["sub"] == shown["sub"], "what has failed elsewhere is not in the picture"
    assert [row.node.target for row in shown["rows"]] == ["db", "web"]
    assert shown["rows"][1].why == "held down by db: it depends on db"


def test_a_large_graph_is_drawn_around_what_failed():
    nodes = [node("n0", status="failed"), *(node(f"n{at}", f"n{at - 1}") for at in range(1, 400))]
    shown = shaped(nodes, ["n0"])
    names = {box.name for box in shown["picture"].boxes}
    assert len(names) == dependencies.MOST_DRAWN
    assert "n0" in names
    assert shown["part_of"] == 400
    assert "n399" in {box.name for box in shaped(nodes, ["n0"], q="n399")["picture"].boxes}


def test_a_suggested_edge_says_how_sure_it_is():
    rows = [{"id": 1, "category": "dependency_candidate", "message": "web may depend on db", "about": {"sure": 0.93}},
            {"id": 2, "category": "other", "message": "no"}]  # fmt: skip
    noted = [partly(SuggestionRecord, row) for row in rows]
    candidates = shaped([], suggestions=noted)["candidates"]
    assert [(row.message, sure) for row, sure in candidates] == [("web may depend on db", "93% sure")]


def test_nothing_is_said_of_nothing():
    shown = shaped([])
    assert (shown["picture"], shown["sub"], shown["rows"]) == (None, "", [])
