"""The audit record's shape: whatever is folded, a page is what a plain walk over all entries would give."""

import gc
import json
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opsapp.audit.logic import AuditFilter
from opsapp.audit.resources import log as logs
from opsapp.audit.resources import recordpages
from opsapp.audit.resources.log import Block, Kept, Log

NOTHING = AuditFilter()


def entry(number, time, user="ada", action="user.create", target="x"):
    return {"id": str(number), "time": time, "username": user, "action": action, "target": target}


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(logs, "FOLD", 3)
    monkeypatch.setattr(logs, "SHELF", 2)


ENTRIES = st.lists(
    st.tuples(
        st.integers(0, 2),  # the writer
        st.integers(0, 5),  # seconds since the last one
        st.sampled_from([None, "ada", "otto"]),
        st.sampled_from(["user.create", "user.delete", "login", "users"]),
        st.sampled_from(["a", "b"]),
    ),
    max_size=60,
)
QUERIES = st.fixed_dictionaries(
    {
        "user": st.sampled_from([None, "ada", "otto", "vera"]),
        "action": st.sampled_from([None, "user", "login", "user.delete"]),
        "target": st.sampled_from([None, "a"]),
        "since": st.sampled_from([None, 0, 20, 50, 1000]),
        "limit": st.integers(1, 20),
        "offset": st.integers(0, 40),
    }
).map(lambda query: AuditFilter(**query))


@settings(deadline=None)
@given(ENTRIES, QUERIES)
def test_a_page_is_what_a_plain_walk_gives(rows, wanted):
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(logs, "FOLD", 3)
        patched.setattr(logs, "SHELF", 2)
        writers, time, plain = [Log(), Log(), Log()], 0, []
        for n, (writer, pause, user, action, target) in enumerate(rows):
            time += pause
            made = entry(n, time, user, action, target)
            writers[writer].append(made)
            plain.append(made)
        found = [each for each in plain if each["time"] >= (wanted.since or 0) and wanted.matches(each)]
        page, total = recordpages.read(writers, wanted)
    assert total == len(found)
    times = sorted((each["time"] for each in found), reverse=True)
    assert [each["time"] for each in page] == times[wanted.offset :][: wanted.limit]
    assert len({each["id"] for each in page}) == len(page)
    assert all(each in found for each in page)


def test_pages_cover_everything_once(small):
    writers = [Log(), Log()]
    for n in range(50):
        writers[n % 2].append(entry(n, n // 4))
    pages = [recordpages.read(writers, NOTHING._replace(limit=7, offset=at))[0] for at in range(0, 50, 7)]
    assert sorted(int(each["id"]) for page in pages for each in page) == list(range(50))


def test_of_one_writer_the_last_comes_first_though_the_clock_stood_still(small):
    log = Log()
    for n in range(20):
        log.append(entry(n, 7.0))
    assert [each["id"] for each in recordpages.read([log], NOTHING)[0]] == [str(n) for n in reversed(range(20))]


@pytest.mark.parametrize(
    ("query", "most"),
    [
        ({}, 1),
        ({"offset": 19_000}, 3),
        ({"user": "rare"}, 3),
        ({"user": "rare", "action": "login", "target": "t3"}, 3),
        ({"user": "ada", "offset": 9_000}, 3),
        ({"user": "nobody"}, 0),
        ({"since": 15_000, "target": "t9"}, 12),
    ],
)
def test_only_blocks_that_hold_the_answer_are_unpacked(monkeypatch, query, most):
    """Whatever is asked: a page's worth of blocks, and the one that the time asked for cuts through."""
    log, unpacked = Log(), []
    for n in range(20_000):
        user = "rare" if n % 9_000 == 0 else ("ada", "otto")[n % 2]
        log.append(entry(n, n, user, "login", f"t{n % 10}" if n % 1000 else "t3"))
    entries = Block.entries

    def counted(block):
        unpacked.append(block)
        return entries(block)

    monkeypatch.setattr(Block, "entries", counted)
    recordpages.read([log], NOTHING._replace(**query))
    assert len(unpacked) <= most


def test_the_oldest_go_shelf_by_shelf(small):
    log = Log()
    for n in range(20):
        log.append(entry(n, n))
    while log.retire(before=10):
        pass
    left = [int(each["id"]) for each in recordpages.read([log], NOTHING)[0]]
    assert left == list(reversed(range(6, 20)))  # a shelf with one young entry stays
    while log.retire(before=100):
        pass
    assert recordpages.read([log], NOTHING) == ([], 0)
    log.append(entry(20, 20))
    assert recordpages.read([log], NOTHING)[1] == 1


def test_an_entry_is_small_in_memory_and_in_the_store_as_ever():
    """Connections keep thousands that nobody reads: as values, each key and value is an object of its own."""
    values = {"id": "1", "time": 1.5, "before": None, "after": {f"setting {n}": f"value {n}" for n in range(40)}}
    kept = Kept(values)
    objects = [part for part in gc.get_referents(kept.__dict__) if not isinstance(part, type)]
    assert sum(map(sys.getsizeof, objects)) < 2 * len(json.dumps(values))
    assert kept.__getstate__() == {"values": values}
    read = Kept.__new__(Kept)
    read.__setstate__(kept.__getstate__())
    assert (read.values, read.__dict__) == (values, kept.__dict__)
