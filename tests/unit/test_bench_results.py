"""What `make bench` keeps of a run, and what it says became worse."""

import json

import pytest

from tests.bench import Row, results


@pytest.mark.parametrize(
    ("row", "more_is_better"),
    [
        (Row("posts", 1, "/s", "at least 500"), True),
        (Row("posts", 1, "/s"), True),
        (Row("a page", 1, "ms"), False),
        (Row("its share", 1, "times", "at most 1.5"), False),
        (Row("ranges that hold", 1, "%", "90 to 98"), None),
        (Row("cases", 1, "cases"), None),
    ],
)
def test_which_way_is_worse_is_said_by_the_bound_or_the_unit(row, more_is_better):
    assert row.more_is_better is more_is_better


def test_what_is_worse_than_last_time_by_more_than_5_percent_is_told(tmp_path):
    def run(milliseconds, rate, machine="this one"):
        rows = [Row("a page", milliseconds, "ms"), Row("posts", rate, "/s"), Row("cases", 3, "cases")]
        changes = results.beside_last("inlets", machine, rows, tmp_path)
        return {each.what: round(each.times, 2) for each in changes if each.is_worse}

    assert run(100, 1000) == {}, "there is no last time"
    assert run(104, 960) == {}
    assert run(120, 500) == {"a page": 1.15, "posts": 1.92}, "beside the last run, and not the first"
    assert run(60, 2000) == {}
    assert run(600, 200, "another one") == {}, "figures of two machines say nothing"
    assert json.loads((tmp_path / "inlets.json").read_text())["rows"]["a page"] == 600


def test_rows_of_one_name_are_told_apart():
    rows = [Row("memory", 1, "MB"), Row("memory", 2, "MB"), Row("memory", 3, "MB")]
    assert {name: row.figure for name, row in results.by_name(rows).items()} == {
        "memory": 1,
        "memory (2)": 2,
        "memory (3)": 3,
    }


def test_two_trees_take_turns_and_the_median_of_the_pairs_counts(tmp_path):
    """The machine does other work: within a pair both are slowed alike, so the pair's ratio is what counts."""
    asked, figures = [], {tmp_path: iter([100, 300, 100]), results.ROOT: iter([80, 240, 200])}

    def measured(tree, _name):
        asked.append(tree)
        return [Row("a page", next(figures[tree]), "ms")]

    [change] = results.in_pairs("pages", tmp_path, 3, measured)
    assert asked == [tmp_path, results.ROOT, results.ROOT, tmp_path, tmp_path, results.ROOT]
    assert (change.before, change.now, change.times) == (100, 200, 0.8)
    assert not change.is_worse


def test_another_tree_is_measured_by_its_own_code(tmp_path):
    bench = tmp_path / "tests" / "bench"
    bench.mkdir(parents=True)
    (tmp_path / "tests" / "__init__.py").touch()
    (bench / "__init__.py").touch()
    (bench / "pages.py").write_text("def measure():\n    print('words')\n    yield 'a page', 7, 'ms', ''\n")
    assert results.measured_in(tmp_path, "pages") == [Row("a page", 7, "ms")]
