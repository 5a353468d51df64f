"""Thousands of cases that wait: what changes something for all of them does so in pieces, and reads no others."""

import pytest

from opsapp.healing.engine.health import health_of
from opsapp.healing.records import RuleSettings
from opsapp.healing.resources import healing_of
from opsapp.healing.resources.cases import Case
from opsapp.healing.resources.rules import put_rule
from opsapp.maintenance.engine import windows
from opsapp.maintenance.interfaces import IWindowEnded
from opsapp.maintenance.resources import windows_of
from opsapp.runtime.node import node_of
from opsapp.wire.records import made
from tests.support.hosts import place
from tests.support.projections import failing_load

DOWN = {"id": "down", "condition": "down == 1", "action": {"type": "clear_cache"}, "waves": "off"}
FREE = {"max_heals_per_hour": {"fleet": 10_000, "site": 10_000, "rule": 10_000}, "max_unhealthy_percent": 100}
MANY, MOST = 500, 300  # what wait; objects that one transaction may write, whatever their number
HOUR = 3600.0


def run(here, seconds=0.0):
    here.clock.advance(seconds)
    while here.engine.look() or here.engine.work():
        pass


def states(here):
    records = here.node.transact(lambda root: [case.record for case in healing_of(root).book.all_open()])
    return [(record.state, record.queued, record.due) for record in records]


def storm(ward, level, window=None):
    here = ward(DOWN, places=[place(f"h{n}", f"a{n}") for n in range(MANY)], brake=FREE).at(level, "down")
    if window:
        told = {"target": "all", "reason": "patching", "duration": "1h", "action": window}
        here.window = here.node.transact(lambda root: windows.open_healing(root, told, "otto").__name__)
    run(here)
    for n in range(MANY):
        here.report(f"agent:a{n}", down=1)
    run(here)
    run(here, 5)
    return here


@pytest.fixture
def asking(ward):
    here = storm(ward, "approve")
    assert [state for state, _, _ in states(here)] == ["awaiting_approval"] * MANY
    return here


@pytest.fixture
def queued(ward):
    here = storm(ward, "execute", "queue")
    assert [is_queued for _, is_queued, _ in states(here)] == [True] * MANY
    return here


def edit(root, **fields):
    settings = made(RuleSettings, {"initial_level": "notify", **DOWN, **fields})
    put_rule(root, "down", settings, source="api", now=node_of(root).clock.now())


def end_window(root, name):
    windows.end_healing(root, windows_of(root).get(name))


def test_an_edit_of_a_rule_touches_what_waits_for_people_in_pieces(asking, written):
    written.clear()
    asking.node.transact(lambda root: edit(root, condition="down == 2"))
    assert max(written) <= MOST, written
    run(asking)
    assert states(asking) == []
    assert {entry["reason"] for entry in asking.ledger} == {"rule_edited"}


def test_health_counts_cases_and_reads_none(asking):
    def counted(root):
        with failing_load(root, 0, Exception()) as loaded:
            health = health_of(root)
        return health.queue_depth, health.active_heals, [item for item in loaded if isinstance(item, Case)]

    assert asking.node.transact(counted) == (MANY, 0, [])


def test_the_end_of_a_window_lets_go_in_pieces_spread_over_time(queued, written):
    until = queued.clock.now() + 700.0
    written.clear()
    queued.node.transact(end_window, queued.window)
    assert max(written) <= MOST, written
    run(queued)
    assert all(due <= until for _, _, due in states(queued))
    assert len({due for _, _, due in states(queued)}) > MANY / 2


def test_a_step_of_the_clock_looks_at_what_waits_once_for_all_windows(service):
    asked = []
    service.node.registry.registerUtility(lambda root, now: asked.append(now), IWindowEnded, "counted")
    told = {"target": "all", "reason": "patching", "duration": "1h", "action": "queue"}

    def open_many(root):
        for _ in range(5):
            windows.open_healing(root, told, "otto")

    service.transact(open_many)
    service.transact(windows.move_healing, HOUR)
    assert len(asked) == 1
