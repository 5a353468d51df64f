"""Many callers, few commits: each has its own answer, after its own commit, and no one's fault is another's."""

import gevent
import pytest
from gevent.event import Event
from ZODB.POSException import POSKeyError

from opsapp.lib.problems import NotFound, StoreAway
from opsapp.runtime.clocks.clock import Clock
from opsapp.runtime.store.groupcommit import GroupCommit
from tests.support.app import Service

LANE = "test"


@pytest.fixture
def node(tmp_path, monkeypatch):
    monkeypatch.setenv("OPSAPP_ADMIN_PASSWORD", "first admin password")
    service = Service(tmp_path, clock=Clock())
    service.node.hub.enter()
    yield service.node
    service.node.hub.leave()
    service.close()


class Keeping:
    """A transaction function that keeps each value in the store, and how often it was run with which."""

    def __init__(self):
        self.groups = []

    def __call__(self, root, values):
        self.groups.append(list(values))
        return [self.keep(root, value) for value in values]

    def keep(self, root, value):
        root.system.setdefault("kept", []).append(value)
        root.system._p_changed = True
        return value * 2


def kept(node):
    return node.transact(lambda root: list(root.system.get("kept", [])))


def asked(group, values):
    """One greenlet for each value, all at once: what each got, or what was raised there."""

    def ask(value):
        try:
            return group.commit(value)
        except Exception as problem:
            return problem

    asking = [gevent.spawn(ask, value) for value in values]
    gevent.joinall(asking)
    return [greenlet.value for greenlet in asking]


def note_leader(node, monkeypatch, leading):
    """Each greenlet that leads a group is in `leading`."""
    spawn = node.supervisor.spawn

    def noted(fn):
        leading.append(spawn(fn))
        return leading[-1]

    monkeypatch.setattr(node.supervisor, "spawn", noted)


def test_those_that_come_at_once_share_a_commit_and_each_gets_its_own_answer(node):
    keep = Keeping()
    assert asked(GroupCommit(node, LANE, keep, most=250), range(100)) == [2 * n for n in range(100)]
    assert keep.groups == [list(range(100))]
    assert kept(node) == list(range(100))


def test_a_group_has_at_most_its_weight_and_who_weighs_more_is_alone(node):
    keep = Keeping()
    asked(GroupCommit(node, LANE, keep, most=10, weight=lambda value: value), [4, 6, 1, 30, 2])
    assert keep.groups == [[4, 6], [1], [30], [2]]


def test_nobody_is_answered_before_the_commit(node, monkeypatch):
    keep, answers = Keeping(), []
    group = GroupCommit(node, LANE, keep, most=250)
    commit, seen = node.store.transact, []

    def watched(fn, values, *more):
        done = commit(fn, values, *more)
        seen.append(list(answers))
        return done

    monkeypatch.setattr(node.store, "transact", watched)
    gevent.joinall([gevent.spawn(lambda n=n: answers.append(group.commit(n))) for n in range(5)])
    assert seen == [[]]
    assert sorted(answers) == [0, 2, 4, 6, 8]


def test_what_comes_while_a_group_is_stored_is_the_next_one(node):
    keep, late = Keeping(), []

    def fn(root, values):
        if not late:
            late.append(None)
            node.hub.post(lambda: late.append(asked(group, [7, 8])))
        return keep(root, values)

    group = GroupCommit(node, LANE, fn, most=250)
    assert asked(group, [1, 2]) == [2, 4]
    while len(late) < 2:
        gevent.sleep(0)
    assert late[1] == [14, 16]
    assert keep.groups == [[1, 2], [7, 8]]


def test_calls_that_wait_in_the_lane_come_first(node):
    """A request that waits for the lane becomes one of the group: it is done before the group is stored."""
    keep = Keeping()
    group, lane = GroupCommit(node, LANE, keep, most=250), node.lane(LANE, 1)
    asking = [gevent.spawn(lambda n=n: group.commit(lane.run(lambda: n))) for n in range(20)]
    gevent.joinall(asking)
    assert [greenlet.value for greenlet in asking] == [2 * n for n in range(20)]
    assert len(keep.groups) < 10


def test_a_refusal_is_its_callers_alone(node):
    class Refusing(Keeping):
        def keep(self, root, value):
            return NotFound("no such thing") if value == 2 else super().keep(root, value)

    answers = asked(GroupCommit(node, LANE, Refusing(), most=250), [1, 2, 3])
    assert (answers[0], answers[2]) == (2, 6)
    assert isinstance(answers[1], NotFound)
    assert kept(node) == [1, 3]


def test_a_failure_that_nobody_foresaw_costs_none_of_the_others(node):
    class Failing(Keeping):
        def keep(self, root, value):
            if value == 2:
                raise POSKeyError(b"\0" * 8)
            return super().keep(root, value)

    keep = Failing()
    answers = asked(GroupCommit(node, LANE, keep, most=250), [1, 2, 3])
    assert (answers[0], answers[2]) == (2, 6)
    assert isinstance(answers[1], POSKeyError)
    assert kept(node) == [1, 3]
    assert keep.groups == [[1, 2, 3], [1], [2], [3]]


def test_a_store_that_is_away_is_told_to_all_and_asked_once(node, monkeypatch):
    tried = []

    def away(fn, values, *_more):
        tried.append(fn)
        raise StoreAway

    monkeypatch.setattr(node.store, "transact", away)
    answers = asked(GroupCommit(node, LANE, Keeping(), most=250), [1, 2, 3])
    assert [type(answer) for answer in answers] == [StoreAway] * 3
    assert len(tried) == 1


def test_a_caller_that_is_ended_meanwhile_stops_nobody(node):
    keep = Keeping()
    group = GroupCommit(node, LANE, keep, most=250)
    asking = [gevent.spawn(group.commit, n) for n in range(3)]
    gevent.sleep(0)
    asking[0].kill(block=False)
    gevent.joinall(asking)
    assert [greenlet.value for greenlet in asking[1:]] == [2, 4]
    assert asked(group, [9]) == [18]


def test_in_a_thread_a_call_is_a_transaction_by_itself(node):
    keep = Keeping()
    group = GroupCommit(node, LANE, keep, most=250)
    assert node.lane("another", 1).run(group.commit, 4) == 8
    assert keep.groups == [[4]]


def test_who_waits_when_the_node_stops_is_told_so(node, monkeypatch):
    group = GroupCommit(node, LANE, Keeping(), most=250)
    leading = []
    note_leader(node, monkeypatch, leading)
    monkeypatch.setattr(group, "_let_others_come", Event().wait)  # it never comes to its turn
    asking = [gevent.spawn(group.commit, value) for value in range(3)]
    gevent.sleep(0)  # they ask, and the first of them begins to lead
    gevent.sleep(0)  # it leads
    leading[0].kill()
    gevent.joinall(asking)
    assert [type(greenlet.exception) for greenlet in asking] == [StoreAway] * 3
    assert kept(node) == []


def test_who_waits_for_a_leader_that_never_began_is_told_so(node, monkeypatch):
    keep = Keeping()
    group = GroupCommit(node, LANE, keep, most=250)
    leading = []
    note_leader(node, monkeypatch, leading)
    asking = [gevent.spawn(group.commit, value) for value in range(3)]
    gevent.sleep(0)  # they ask
    leading[0].kill(block=False)  # as the node does that stops
    gevent.joinall(asking)
    assert [type(greenlet.exception) for greenlet in asking] == [StoreAway] * 3
    assert (keep.groups, kept(node)) == ([], [])
    monkeypatch.undo()
    assert asked(group, [9]) == [18]
