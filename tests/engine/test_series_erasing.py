"""Of a deleted agent nothing that was measured stays; what lies in the same shards stays as it is."""

import pytest

from opsapp.agents.engine import lifecycle
from opsapp.agents.resources import agents_of
from opsapp.runtime import serieswork
from opsapp.series import codec, erasure
from opsapp.series.history import Blob, history_root, open_history
from opsapp.series.observations import UP
from tests.engine.test_measuring import lead

HOUR_S = 3600


@pytest.fixture
def house(service):
    lead(service.node)
    return House(service)


class House:
    """Two agents whose series share a shard."""

    def __init__(self, service):
        self.service, self.node = service, service.node
        self.gone, self.kept = (self.agent(name) for name in ("gone", "kept"))

    def agent(self, label):
        made = self.service.ada.post_json("/api/agents", {"label": label}).json
        report = {"hostname": label, "os": "linux", "cpu_percent": 1.0, "mem_percent": 2.0}
        path = f"/api/agents/{made['agent_id']}/report"
        self.service.anonymous.post_json(path, report, headers={"X-Agent-Key": made["key"]})
        return made["agent_id"]

    def numbers(self, agent_id):
        return self.service.read(lambda root: set(root["api"]["agents"][agent_id].series.values()))

    def observe(self, numbers):
        for number in numbers:
            self.node.series.journal.add(number, serieswork.now_ms(self.node), 5.0, UP, 90)
        serieswork.flush(self.node)

    def delete(self):
        self.node.transact(lambda root: lifecycle.delete(root, agents_of(root)[self.gone]))

    def work(self, fold=True):
        if fold:
            serieswork.fold(self.node)
        while serieswork.merge(self.node):
            pass

    def held(self):
        """Every series that anything packed still names."""
        return self.service.read(lambda root: _held(open_history(history_root(root))))

    def rows(self, number):
        now = serieswork.now_ms(self.node)
        return self.node.transact(
            lambda root: (
                self.node.series.reading(root).rows(number, 0, now),
                self.node.series.reading(root).buckets(number, now - 10 * 86_400_000, now, HOUR_S * 1000),
            )
        )


def _held(history):
    found = set()
    for day in history.days.values():
        for span in (day, *day.hours.values()):
            shelves = [shelf for shelf in (span.raw, span.fine, span.hourly, *span.pieces) if shelf is not None]
            found.update(number for shelf in shelves for blob in shelf.blobs.values() for number in blob.data)
            summaries = [span.summary] if span.summary else []
            summaries += list(span.totals.blobs.values()) if span.totals else []
            found.update(entry[0] for blob in summaries for entry in codec.decode_summary(blob.data))
    return found


def test_nothing_stays_of_a_deleted_agent_wherever_it_lay(house):
    gone, kept = house.numbers(house.gone), house.numbers(house.kept)
    for _ in range(60):  # sealed days, merged hours, and pieces
        house.observe(gone | kept)
        house.service.clock.advance(HOUR_S)
        house.work()
    house.observe(gone | kept)
    serieswork.fold(house.node)
    house.observe(gone | kept)  # in the journal alone
    assert house.held() >= gone | kept
    house.delete()
    before = {number: house.rows(number) for number in kept}
    house.work(fold=False)
    assert house.held() >= gone  # others may be folding them just now
    house.service.clock.advance(erasure.SETTLED_MS / 1000)
    serieswork.fold(house.node)
    for _ in range(5):
        house.work()
    assert house.held() & gone == set()
    assert house.held() >= kept
    house.service.clock.advance(-erasure.SETTLED_MS / 1000)
    assert {number: house.rows(number) for number in kept} == before
    house.service.clock.advance(2 * 86_400)
    for _ in range(5):
        house.work()
    assert house.service.read(erasure.gone) == frozenset()
    assert house.held() & gone == set()


def test_what_cannot_be_read_is_left_as_it_is(house):
    gone = house.numbers(house.gone)
    house.observe(gone | house.numbers(house.kept))
    house.service.clock.advance(3 * 86_400)
    house.work()

    def damage(root):
        day = next(iter(open_history(history_root(root)).days.values()))
        day.summary = Blob(day.summary.data[:-3] + b"xxx")
        return day.summary.data

    damaged = house.node.transact(damage)
    house.delete()
    house.service.clock.advance(HOUR_S)
    for _ in range(5):
        house.work()
    days = lambda root: next(iter(open_history(history_root(root)).days.values()))  # noqa: E731
    assert house.service.read(lambda root: days(root).summary.data) == damaged
    assert house.service.read(lambda root: set(days(root).hourly.blobs[min(gone) // 64].data)) & gone == set()


def test_what_is_being_put_together_just_then_is_gone_through_too(house):
    gone, others = house.numbers(house.gone), {n * 64 for n in range(1, 200)}
    house.observe(gone | house.numbers(house.kept) | others)
    house.service.clock.advance(2 * HOUR_S)
    serieswork.fold(house.node)
    assert serieswork.merge(house.node)  # some of its shards

    def compacting(root):
        days = open_history(history_root(root)).days.values()
        return [span for day in days for span in day.hours.values() if span.totals is not None]

    assert house.service.read(lambda root: len(compacting(root))) == 1
    assert house.held() >= gone
    house.delete()
    house.service.clock.advance(erasure.SETTLED_MS / 1000)
    now = serieswork.now_ms(house.node)
    while house.node.transact(lambda root: erasure.erase(root, history_root(root), now)):
        pass
    assert house.held() & gone == set()
    assert house.held() >= house.numbers(house.kept) | others
