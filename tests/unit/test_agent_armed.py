"""Armed records: the timer and a confirmation cannot both win, and a new agent goes on with what it finds."""

import json

import pytest

from opsapp.agent.armed import ATTEMPTS, Armed
from opsapp.agent.snapshots import snapshot_of
from opsapp.agent.steady import SteadyClock


class Time:
    def __init__(self):
        self.wall, self.mono, self.boot = 1000.0, 50.0, "b1"

    def go(self, seconds):
        self.wall += seconds
        self.mono += seconds


@pytest.fixture
def time():
    return Time()


def before(action, more=None):
    return snapshot_of({"action_type": action, **(more or {})})


def armed(directory, time, undo=lambda record: True):
    made = Armed(str(directory), SteadyClock(time.boot, wall=lambda: time.wall, running=lambda: time.mono))
    made.undone = []

    def note(record):
        made.undone.append(record.heal_id)
        return undo(record)

    made.undo = note
    return made


def test_it_is_undone_when_nobody_confirms_and_once(tmp_path, time):
    here = armed(tmp_path, time)
    here.arm("h1", before("firewall_rule_add", {"state": {}}), 10)
    assert here.turn() == 10
    time.go(9)
    assert here.turn() == 1
    time.go(1)
    assert here.turn() is None
    assert here.undone == ["h1"]
    assert here.confirm("h1") == "undone"
    assert armed(tmp_path, time).turn() is None


def test_it_stays_when_it_is_confirmed_over_a_restart_too(tmp_path, time):
    here = armed(tmp_path, time)
    here.arm("h1", before("firewall_rule_add"), 10)
    assert here.waiting()[0].undo_at == 1010
    assert here.confirm("h1") == "confirmed"
    time.go(60)
    assert here.turn() is None
    again = armed(tmp_path, time)
    assert (again.turn(), again.undone, again.confirm("h1")) == (None, [], "confirmed")


def test_what_was_never_armed_cannot_be_confirmed(tmp_path, time):
    assert armed(tmp_path, time).confirm("h1") is None


def test_the_time_begins_when_the_action_is_done(tmp_path, time):
    here = armed(tmp_path, time)
    here.arm("h1", before("failover_dns"), 100)
    time.go(20)
    here.postpone("h1", 30)
    assert here.turn() == 30
    here.confirm("h1")
    here.postpone("h1", 30)
    assert here.turn() is None


@pytest.mark.parametrize("jump", [0, 5, 3600, -3600])
def test_a_clock_that_was_set_changes_nothing_over_a_restart_of_the_agent(tmp_path, time, jump):
    here = armed(tmp_path, time)
    here.arm("h1", before("failover_dns"), 10)
    time.go(3)
    time.wall += jump
    assert armed(tmp_path, time).turn() == 7


@pytest.mark.parametrize("jump", [0, 7200, -7200])
def test_whether_the_server_was_heard_since_goes_by_no_clock_that_is_set(tmp_path, time, jump):
    here = armed(tmp_path, time)
    here.arm("h1", before("vpn_reconnect", {"params": {"interface": "wg0"}}), 10)
    time.go(60)
    time.wall += jump
    for known in (here, armed(tmp_path, time)):
        found = [known.unconfirmed("vpn_reconnect", {"interface": "wg0"}, silent) for silent in (49, 51)]
        assert found == [False, True], "it was undone 50 s ago"


@pytest.mark.parametrize(("jump", "left"), [(0, 7), (5, 2), (3600, 0), (-3600, 10)])
def test_a_clock_that_was_set_before_a_boot_postpones_nothing_for_ever(tmp_path, time, jump, left):
    here = armed(tmp_path, time)
    here.arm("h1", before("failover_dns"), 10)
    time.go(3)
    assert here.turn() == 7
    time.wall += jump
    time.mono, time.boot = 1.0, "b2"
    again = armed(tmp_path, time)
    assert again.turn() == (left or None)


def test_an_undoing_that_was_cut_off_is_done_again(tmp_path, time):
    here = armed(tmp_path, time)
    here.arm("h1", before("failover_dns"), 1)
    path = tmp_path / "armed/a-h1.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "state": "undoing"}))
    time.go(2)
    again = armed(tmp_path, time)
    assert again.confirm("h1") == "undoing"
    assert again.turn() is None
    assert again.undone == ["h1"]


def test_an_undoing_that_fails_is_tried_again_and_given_up_at_last(tmp_path, time):
    here = armed(tmp_path, time, undo=lambda record: False)
    here.arm("h1", before("failover_dns"), 1)
    for _ in range(ATTEMPTS + 5):
        time.go(10)
        here.turn()
    assert len(here.undone) == ATTEMPTS
    assert here.confirm("h1") == "undo_failed"


def test_one_that_breaks_does_not_keep_the_next_from_its_turn(tmp_path, time):
    def undo(record):
        if record.heal_id == "bad":
            raise RuntimeError("boom")
        return True

    here = armed(tmp_path, time, undo)
    here.arm("bad", before("failover_dns"), 1)
    here.arm("good", before("failover_dns"), 1)
    time.go(1)
    assert here.turn() == 10
    assert here.confirm("good") == "undone"


def test_what_cannot_be_read_is_left_out(tmp_path, time):
    (tmp_path / "armed").mkdir()
    (tmp_path / "armed/a-x.json").write_text("{")
    assert armed(tmp_path, time).waiting() == []


def test_old_ones_are_forgotten_and_open_ones_never(tmp_path, time):
    here = armed(tmp_path, time)
    here.arm("open", before("failover_dns"), 5000)
    for number in range(205):
        here.arm(f"n{number}", before("failover_dns"), 5)
        here.confirm(f"n{number}")
    assert here.confirm("n0") is None
    assert here.confirm("n204") == "confirmed"
    assert [one.heal_id for one in here.waiting()] == ["open"]
    assert len(list((tmp_path / "armed").iterdir())) == 201
