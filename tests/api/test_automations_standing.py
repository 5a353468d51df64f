"""How automations stand, many of them in one stored object: kept apart, in order, merged, and taken over from older
stores."""

import pytest
from BTrees.OOBTree import OOTreeSet

from opsapp.automations.engine.carrier import take_up
from opsapp.automations.resources import automations_of, gather_standings, standing_of
from opsapp.automations.resources.automations import AutomationState
from opsapp.automations.resources.standing import RECENT, Standings

IDS = [f"{n:020x}" for n in range(3 * RECENT + 3)]


@pytest.fixture
def two(service):
    """Two automations, whose neighbours in the store they are."""
    body = {"type": "notification", "params": {"title": "x"}, "schedule": "0 4 * * *"}
    return [
        service.otto.post_json("/api/automations", {**body, "name": name}).json["id"] for name in ("first", "second")
    ]


def test_the_history_is_in_order_however_long(service, two):
    one, other = two
    waited = IDS[2::5]

    def fill(root):
        state = standing_of(root, one)
        for n, each in enumerate(IDS):
            assert (len(state.history), state.history.last) == (n, IDS[n - 1] if n else "")
            if each in waited:
                state.history.add(each)
                state.waiting.add(each)
            else:
                state.begin(each, 1.0, known=False)
        state.begin(waited[0], 1.0, known=True)
        standing_of(root, other).begin("f" * 20, 1.0, known=False)

    def check(root):
        history = standing_of(root, one).history
        assert (list(history), list(standing_of(root, one).waiting)) == (IDS, waited)
        counts = (0, 1, RECENT + 1, 1000)
        assert [history.newest(count) for count in counts] == [IDS[::-1][:count] for count in counts]
        for gone in (IDS[0], IDS[-1], IDS[-2], "0" * 19 + "x"):
            history.discard(gone)
        assert list(history) == IDS[1:-2]
        for each in IDS[1:-3]:
            history.discard(each)
            standing_of(root, one).waiting.discard(each)
        assert (history.last, list(history)) == (IDS[-3], [IDS[-3]])
        history.discard(IDS[-3])
        assert (history.last, list(history), len(history)) == ("", [], 0)
        assert list(standing_of(root, other).history) == ["f" * 20]

    service.transact(fill)
    service.transact(check)


def test_what_happens_to_neighbours_at_once_merges(service, two):
    """Both begin a run: neither transaction has to be repeated, though they write the same stored object."""
    one, other = two
    tries = []

    def begin(root, mine, meanwhile):
        tries.append(mine)
        standing_of(root, mine).begin(IDS[0], 12.5, known=False)
        automations_of(root)[mine].redefine({**automations_of(root)[mine].definition.settings, "retries": 3}, 1.0)
        if meanwhile:
            service.transact(begin, meanwhile, None)

    service.transact(begin, one, other)
    assert tries == [one, other]
    rows = [service.vera.get(f"/api/automations/{each}").json for each in two]
    assert [(row["running"], row["last_status"], row["last_run"], row["retries"]) for row in rows] == [
        (IDS[0], "running", 12, 3)
    ] * 2


def test_nothing_stays_of_what_was_deleted(service, two):
    one, other = two

    def fill(root):
        for each in two:
            for run_id in IDS:
                standing_of(root, each).history.add(run_id)
                standing_of(root, each).waiting.add(run_id)

    def left(root):
        kept = automations_of(root).standings
        return {each[:16] for each in (*kept.rows, *kept.past, *kept.waiting, *automations_of(root).plans)}

    service.transact(fill)
    service.transact(lambda root: automations_of(root).__delitem__(one))
    assert service.transact(left) == {other}


def test_runs_that_waited_in_a_store_of_the_older_layout_are_listed_once(service, two):
    one, runs = two[0], f"/api/automations/{two[0]}/runs"
    for _ in range(3):
        service.otto.post_json(f"/api/automations/{one}/run")
    before = [row["run_id"] for row in service.vera.get(runs).json]

    def as_it_was(root):
        folder = automations_of(root)
        was = {each.id: (each.state.current, [*each.history], [*each.waiting]) for each in folder.values()}
        starting = list(folder.standings.starting)
        for each in folder.values():
            current, history, waiting = was[each.id]
            each.__dict__.update(state=AutomationState(), history=OOTreeSet(history), waiting=OOTreeSet(waiting))
            each.__dict__["state"].__dict__.update(current=current, last_run=None, last_status=None)
            each._p_changed = True
        del folder.standings, folder.plans
        gather_standings(root)
        folder.standings.starting.update(starting)

    service.transact(as_it_was)
    while service.transact(take_up, "box:test", frozenset(), 0)[1]:
        pass
    after = service.vera.get(runs).json
    assert [row["run_id"] for row in after] == before
    assert {row["status"] for row in after} == {"done"}


def test_a_store_of_the_older_layout_is_taken_over(service, two):
    one = two[0]

    def as_it_was(root):
        folder = automations_of(root)
        del folder.standings, folder.plans
        for each in folder.values():
            each._p_activate()
            each.__dict__.update(state=AutomationState(), history=OOTreeSet(IDS), waiting=OOTreeSet(IDS[-2:]))
            each.__dict__["state"].__dict__.update(current=None, last_run=None, last_status=None)
            each._p_changed = True
        folder[one].__dict__["state"].__dict__.update(current=IDS[3], last_run=99.5, last_status="running", full=True)

    def taken(root):
        assert isinstance(automations_of(root).standings, Standings)
        assert set(automations_of(root)[one].__dict__).isdisjoint({"state", "history", "waiting"})
        found = [standing_of(root, each) for each in two]
        return [(*state.row[:4], list(state.history), list(state.waiting)) for state in found]

    service.transact(as_it_was)
    service.transact(gather_standings)
    service.transact(gather_standings)
    assert service.transact(taken) == [
        (IDS[3], 99.5, "running", True, IDS, IDS[-2:]),
        ("", -1.0, "", False, IDS, IDS[-2:]),
    ]
    rows = service.vera.get("/api/automations").json
    assert all(row["next_run"] for row in rows)
    assert [(row["last_run"], row["last_status"]) for row in rows] == [(99, "running"), (None, None)]
