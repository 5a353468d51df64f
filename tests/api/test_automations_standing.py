"""How automations stand, many of them in one stored object: kept apart, in order, merged, and taken over from older
stores."""

from dataclasses import replace

import pytest

from opsapp.automations.resources import automations_of, standing_of
from opsapp.automations.resources.standing import RECENT

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
            assert (len(list(state.history)), state.history.last) == (n, IDS[n - 1] if n else "")
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
        assert (history.last, list(history)) == ("", [])
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
        automations_of(root)[mine].redefine(replace(automations_of(root)[mine].settings, retries=3), 1.0)
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
