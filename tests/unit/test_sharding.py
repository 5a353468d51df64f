"""Each monitor has one node; a node that is lost moves only its own."""

from opsapp.monitoring.logic.shards import owns
from tests.support.sharding import owner

KEYS = [f"monitor-{n}" for n in range(3000)]


def test_the_load_is_shared():
    counts = {}
    for key in KEYS:
        node = owner(key, ["a", "b", "c"])
        counts[node] = counts.get(node, 0) + 1
    assert set(counts) == {"a", "b", "c"}
    assert min(counts.values()) > 850


def test_the_order_of_nodes_does_not_matter():
    assert [owner(key, ["a", "b", "c"]) for key in KEYS] == [owner(key, ["c", "a", "b"]) for key in KEYS]


def test_a_lost_node_moves_only_its_own():
    for key in KEYS:
        before, after = owner(key, ["a", "b", "c"]), owner(key, ["a", "c"])
        assert before in (after, "b")


def test_without_nodes_nobody_checks():
    assert owner("x", []) is None


def test_each_node_knows_its_own_without_asking_whose_the_others_are():
    nodes = [f"node-{n}" for n in range(20)]
    for key in KEYS[:500]:
        assert [name for name in [*nodes, "left"] if owns(name, key, nodes)] == [owner(key, nodes)]
