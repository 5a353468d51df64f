"""The layered picture of a graph: order, room, bends, circles, neighbourhoods."""

import itertools
import random

import pytest

from opsapp.ui import layers
from tests.support.counting import CountedCalls

CHAIN = [("web", "db"), ("db", "disk"), ("web", "disk")]


def places(drawing):
    return {box.name: (box.x, box.y) for box in drawing.boxes}


def test_what_is_depended_on_stands_to_the_left():
    drawing = layers.lay_out(CHAIN)
    at = places(drawing)
    assert at["disk"][0] < at["db"][0] < at["web"][0]
    assert {(line.child, line.parent) for line in drawing.lines} == set(CHAIN)
    assert drawing.width >= at["web"][0] + layers.BOX_WIDTH
    assert drawing.height >= max(y for _, y in at.values()) + layers.BOX_HEIGHT


def test_a_long_line_passes_beside_the_box_between():
    drawing = layers.lay_out(CHAIN)
    long = next(line for line in drawing.lines if (line.child, line.parent) == ("web", "disk"))
    flat = float(long.path.partition("H")[0].split()[-1])
    box = places(drawing)["db"][1]
    assert not box <= flat <= box + layers.BOX_HEIGHT


def test_boxes_never_lie_on_each_other():
    pick = random.Random(4)
    names = [f"n{number}" for number in range(60)]
    edges = [(child, names[pick.randrange(at)]) for at, child in enumerate(names) if at for _ in range(2)]
    drawing = layers.lay_out(edges)
    assert {box.name for box in drawing.boxes} == set(names)
    for one, other in itertools.combinations(drawing.boxes, 2):
        assert one.x != other.x or abs(one.y - other.y) >= layers.BOX_HEIGHT
    assert all(box.x >= 0 and box.y >= 0 for box in drawing.boxes)
    assert drawing == layers.lay_out(reversed(edges))


def test_lines_of_two_pairs_do_not_cross():
    at = places(layers.lay_out([("a", "z"), ("b", "y")]))
    assert (at["a"][1] < at["b"][1]) == (at["z"][1] < at["y"][1])


def test_a_circle_is_drawn_too():
    drawing = layers.lay_out([("a", "b"), ("b", "c"), ("c", "a"), ("d", "d")])
    assert {box.name for box in drawing.boxes} == {"a", "b", "c", "d"}
    assert len(drawing.lines) == 3


def test_nothing_is_a_picture_of_nothing():
    assert layers.lay_out([]).boxes == ()


@pytest.mark.parametrize(("most", "found"), [(1, {"db"}), (2, {"db", "disk"}), (9, {"db", "disk", "web"})])
def test_the_neighbourhood_grows_from_the_centre(most, found):
    edges = [*CHAIN, ("far", "away")]
    assert layers.around(edges, {"db", "unknown"}, most) == found


def test_twice_as_many_boxes_are_little_more_than_twice_the_work():
    small, large = calls_to_lay_out(200), calls_to_lay_out(400)
    assert small < 300_000
    assert large < 3 * small


def calls_to_lay_out(boxes):
    pick = random.Random(1)
    edges = [(f"n{at}", f"n{pick.randrange(at)}") for at in range(1, boxes) for _ in range(2)]
    with CountedCalls() as counted:
        layers.lay_out(edges)
    return counted.calls
