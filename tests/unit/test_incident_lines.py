"""Which incidents are one line, and where a page of lines may end."""

import itertools
import random

from opsapp.monitoring.alike import alike, page_end
from opsapp.monitoring.records import IncidentRecord


def row(at, cause="No answer", **more):
    told = {"monitor_id": "m", "status": "resolved", "acknowledged_by": None, "duration_minutes": 1.0} | more
    return IncidentRecord(id=f"{at:08d}", monitor_name="Shop", started=at, cause=cause, **told)


def rows(*told):
    return [row(*each) if isinstance(each, tuple) else row(each, str(each)) for each in told]


def test_a_page_ends_after_so_many_lines():
    assert page_end(rows(900, 700, 500, 300), 3, goes_on=False) == (3, 3, 3)
    assert page_end(rows(900, 700, 500), 3, goes_on=False) == (3, 3, 3)


def test_a_line_is_not_cut_where_another_stands_between_its_members():
    mixed = rows(990, (980, "a"), 970, (960, "a"), (950, "a"), 300)
    assert page_end(mixed, 2, goes_on=False) == (2, 1, 1)
    assert page_end(mixed, 3, goes_on=False) == (5, 5, 3)


def test_what_may_go_on_after_the_last_row_is_not_known_to_be_whole():
    assert page_end(rows((990, "a"), (980, "a")), 5, goes_on=True) == (2, 0, 0)
    assert page_end(rows((990, "a"), (980, "a"), 500), 5, goes_on=True).whole == 2
    assert page_end(rows((990, "a"), (980, "a")), 5, goes_on=False).whole == 2


def test_no_page_cuts_a_line_that_fits_whatever_comes():
    chance = random.Random(7)
    for _ in range(300):
        times = sorted((chance.randrange(4000) for _ in range(40)), reverse=True)
        told = [row(at, chance.choice("abc")) for at in times]
        whole = {tuple(line) for line in alike(told)}
        end = page_end(told[:30], 8, goes_on=True)
        assert {tuple(line) for line in alike(told[: end.whole])} <= whole
        assert end.whole <= end.most


def test_what_people_wrote_about_stands_alone():
    taken = [row(990 - at, "a", acknowledged_by=who) for at, who in enumerate(["ada", None, None, None])]
    assert [len(line) for line in alike(taken)] == [1, 3]
    assert list(itertools.chain(*alike(taken))) == taken
