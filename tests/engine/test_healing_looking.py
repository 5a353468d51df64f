"""Rules over a host with many services: the hub waits for no look, and nothing is lost between two pieces of one."""

import itertools
from types import SimpleNamespace

import pytest

from opsapp.healing.engine import alerts
from opsapp.healing.engine.pipeline import submit
from opsapp.healing.records import RuleRecord
from opsapp.wire.records import made

SERVICES = 200
RULES = [
    {"id": "state", "condition": 'service.*.state == "failed"', "cooldown_s": 3600, "action": {"type": "clear_cache"}},
    {"id": "failed", "condition": "service.*.failed == 1", "cooldown_s": 3600, "action": {"type": "clear_cache"}},
]


@pytest.fixture
def counted(ward, monkeypatch):
    """A ward in which every look at the clock takes a millisecond, so that a step has four."""
    ticks = itertools.count()
    monkeypatch.setattr(alerts, "time", SimpleNamespace(monotonic=lambda: next(ticks) / 1000))
    here = ward(*RULES)
    here.turn()
    return here


def says(here, state="failed"):
    here.clock.advance(1)
    here.report(**{f"service__s{n}__state": state for n in range(SERVICES)})


def step(here):
    """What fires, and how many conditions one step has looked at."""
    before = here.engine.alerts.looks
    fired = here.engine.alerts.step(here.clock.now())
    return fired, here.engine.alerts.looks - before


def test_a_step_stops_within_a_host_and_the_next_one_goes_on_there(counted):
    says(counted)
    steps = [step(counted)]
    while counted.engine.alerts.is_behind():
        assert counted.engine.alerts.unseen() == {"agent:a1"}  # as long as a part of it was not looked at
        steps.append(step(counted))
    assert max(looks for _, looks in steps) <= 4
    fired = [(event.rule_id, event.about.target) for events, _ in steps for event in events]
    assert len(fired) == len(set(fired)) == 2 * SERVICES
    assert step(counted) == ([], 0)


def test_the_pipeline_does_not_take_a_host_as_seen_that_was_looked_at_in_part(counted):
    says(counted)
    fired = []
    while not fired:
        fired = step(counted)[0]
    counted.node.transact(submit, fired)
    counted.engine.work()
    assert counted.engine.readings.unseen == {"agent:a1"}


def test_what_arrives_during_a_look_is_looked_at_after_it(counted):
    says(counted)
    step(counted)
    says(counted, "active")
    while counted.engine.alerts.is_behind():
        step(counted)
    assert counted.engine.alerts.watching.failing() == {}


def test_other_rules_and_other_places_begin_the_look_anew(counted):
    says(counted)
    step(counted)
    counted.engine.alerts.use(alerts.watched_rules([]))
    while counted.engine.alerts.is_behind():
        assert step(counted) == ([], 0)
    assert counted.engine.alerts.watching.failing() == {}
    counted.engine.alerts.use(alerts.watched_rules([made(RuleRecord, RULES[0])]))
    fired = step(counted)[0]
    [place] = counted.hosts.here
    counted.engine.readings.members = {place.subject: place._replace(tags=("new",))}
    while counted.engine.alerts.is_behind():
        fired += step(counted)[0]
    assert len(fired) == SERVICES
    says(counted)
    step(counted)
    counted.engine.readings.members = {}
    while counted.engine.alerts.is_behind():
        assert step(counted)[0] == []
    assert counted.engine.alerts.watching.failing() == {}
