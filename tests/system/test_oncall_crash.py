"""kill -9 of the server while incidents call people: nobody is skipped, and what is sent again is the same call."""

import random
from collections import defaultdict

import pytest

from tests.support.process import PASSWORD, Serve
from tests.support.receiver import Receiver
from tests.support.waiting import SOON_S, until

pytestmark = pytest.mark.system
NIGHTLY = pytest.mark.nightly("50 points in all; the core list has two, one of them between a call and its answer")
PEOPLE = ("anna", "ben", "cleo")
STEPS = [{"users": ["anna"], "wait_s": 1}, {"users": ["ben", "cleo"], "wait_s": 1}]
ROUNDS = 2
CALLS = len(PEOPLE) * ROUNDS


class Alarm:
    """A server whose incidents call three people, and what each of them got."""

    def __init__(self, server, receiver):
        self.server, self.receiver, self.incidents = server, receiver, []
        for who in PEOPLE:
            user = {"username": who, "password": PASSWORD, "role": "operator"}
            server.admin.post("/api/users", user, expect=201)
            channel = {"name": who, "url": receiver.url(who), "answers_as": who, "tags": ["calls-only"]}
            server.admin.post("/api/notifications/channels", channel, expect=201)
        policy = {"name": "all", "steps": STEPS, "repeat": ROUNDS - 1}
        server.admin.post("/api/oncall/policies", policy, expect=201)

    def open(self):
        about = {"name": f"Outage {len(self.incidents)}", "severity": "critical", "description": "x", "target": "t"}
        self.incidents.append(self.server.admin.post("/api/monitoring/incidents", about, expect=201)["id"])

    def begun_again(self):
        self.server.kill()
        self.receiver.open.set()
        self.server.start()

    def arrived(self):
        """call id -> delivery ids with which it came, one for each time."""
        calls = defaultdict(list)
        for message in list(self.receiver.messages):
            calls[message["ids"]["call"]].append(message["delivery_id"])
        return calls

    def is_quiet(self):
        """All have called whom they have to, and nothing is under way."""
        running = self.server.admin.get("/api/oncall/escalations?status=running")
        left = [self.server.admin.get(f"/api/notifications/deliveries?status={way}") for way in ("queued", "sending")]
        return not running and not any(left)

    def whole(self, kills):
        until(self.is_quiet, 90, what="the end of all calls")
        calls = self.arrived()
        turns = [f"{turn}.{step}.{who}" for turn in range(1, ROUNDS + 1)
                 for step, taken in enumerate(STEPS, 1) for who in taken["users"]]  # fmt: skip
        wanted = {f"{incident}-1.{turn}" for incident in self.incidents for turn in turns}
        assert set(calls) == wanted, "somebody was skipped, or called for nothing"
        assert {call: len(set(ids)) for call, ids in calls.items() if len(set(ids)) > 1} == {}
        attempts = {row["id"]: row["attempts"] for row in self.deliveries()}
        assert {ids[0]: len(ids) for ids in calls.values() if len(ids) > attempts[ids[0]]} == {}
        assert sum(attempts[ids[0]] - 1 for ids in calls.values()) <= kills * len(PEOPLE), "one in flight to each"

    def deliveries(self):
        return self.server.admin.get("/api/notifications/deliveries?limit=1000")


@pytest.mark.crash
@pytest.mark.timeout(900)
@pytest.mark.parametrize(("seed", "kills"), [(5, 2), *(pytest.param(seed, 10, marks=NIGHTLY) for seed in range(5))])
def test_killed_at_points_of_an_escalation(tmp_path, seed, kills):
    dice = random.Random(seed)
    with Serve(tmp_path, {"notifications": {"burst": 1000}}) as server, Receiver() as receiver:
        alarm = Alarm(server, receiver)
        for kill in range(kills):
            before = receiver.asked
            if kill % 2 == 0:
                receiver.open.clear()  # it has the call, and answers nobody
                alarm.open()
                until(lambda: receiver.asked > before, 40, SOON_S, what="a call on its way")  # noqa: B023
            else:
                alarm.open()
                point = before + dice.randrange(CALLS)
                until(lambda: receiver.asked >= point, 40, SOON_S, what="the point")  # noqa: B023
            alarm.begun_again()
        alarm.whole(kills)
        again = sum(len(ids) - 1 for ids in alarm.arrived().values())
        assert again >= 1, "a call whose answer was not heard is sent again"
        alarm.open()
        alarm.whole(kills)
        assert sum(len(ids) - 1 for ids in alarm.arrived().values()) == again, "with nobody killed none comes twice"
