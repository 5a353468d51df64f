"""An open incident calls people until somebody takes it. The clock is the test's; the receiver is real."""

import pytest

from opsapp.maintenance.engine import silent
from opsapp.oncall.engine import escalations
from tests.support.monitoring import DOWN, UP, Lookout

from .test_clock_steps import step
from .test_notify import CHANNELS, Office

DAY = 86400


class Watch(Office):
    """An office with people, a channel for each, and incidents."""

    PEOPLE = ("otto", "ada")

    def __init__(self, service, receiver):
        super().__init__(service, receiver)
        self.node.leases.want("oncall")
        self.node.leases.step()
        self.lookout = Lookout(service)
        for who in self.PEOPLE:
            service.client(who)  # a user from now on
            self.channel(name=who, answers_as=who, url=receiver.url(who), tags=["calls-only"])

    def schedule(self, *users, **more):
        layer = {"users": users, "start": "2055-01-11", "handover": "00:00"}
        body = {"name": "Ops", "zone": "UTC", "layers": [layer]} | more
        return self.service.ada.post_json("/api/oncall/schedules", body, status=201).json["id"]

    def policy(self, *steps, **more):
        body = {"name": "Standard", "steps": steps} | more
        return self.service.ada.post_json("/api/oncall/policies", body, status=201).json["id"]

    def fail(self, name="Shop", **settings):
        return self.go_down(self.lookout.add(name=name, retries=0, **settings))

    def go_down(self, monitor):
        self.lookout.sees[monitor] = DOWN
        self.lookout.run(1)
        return monitor

    def incident(self):
        return self.service.vera.get("/api/monitoring/incidents?status=open").json[0]["id"]

    def work(self):
        while escalations.step(self.node):
            pass
        super().work()

    @property
    def called(self):
        """Whom the calls reached, in turn."""
        messages = list(zip(self.receiver.paths, self.receiver.messages, strict=True))
        return [path.strip("/") for path, message in messages if message["kind"] == "incident.call"]

    @property
    def told(self):
        return [(message["kind"], message["title"]) for message in self.receiver.messages]

    def escalation(self):
        self.service.tokens.clear()  # a day may have passed
        return self.service.vera.get("/api/oncall/escalations").json[0]


@pytest.fixture
def watch(service, receiver):
    return Watch(service, receiver)


def test_who_is_on_call_is_called_then_the_next_and_again_until_it_is_told_that_nobody_answers(watch):
    watch.channel(name="all")
    schedule = watch.schedule("otto")
    watch.policy({"schedules": [schedule], "wait_s": 300}, {"users": ["ada"], "wait_s": 600}, repeat=1)
    watch.fail()
    watch.after(1)
    assert watch.called == ["otto"]
    watch.after(298)
    assert watch.called == ["otto"]
    watch.after(2)
    assert watch.called == ["otto", "ada"]
    watch.after(600)
    watch.after(300)
    assert watch.called == ["otto", "ada", "otto", "ada"]
    calls = [message for message in watch.receiver.messages if message["kind"] == "incident.call"]
    incident = watch.incident()
    assert [message["ids"]["call"] for message in calls] == [
        f"{incident}-1.{turn}" for turn in ("1.1.otto", "1.2.ada", "2.1.otto", "2.2.ada")]  # fmt: skip
    assert {(message["title"], message["severity"], message["ids"]["incident"]) for message in calls} == {
        ("[critical] Shop is down", "critical", incident)}  # fmt: skip
    watch.after(600)
    watch.after(10)
    assert watch.told[-1] == ("incident.unanswered", "[critical] Nobody has acknowledged: Shop is down")
    told = watch.escalation()
    assert (told["status"], told["next_at"], len(told["calls"])) == ("unanswered", None, 4)
    watch.after(DAY)
    assert len(watch.called) == 4


@pytest.mark.parametrize("how", ["acknowledge", "assign", "end", "delete"])
def test_whoever_takes_the_incident_or_its_end_stops_the_calls(watch, how):
    watch.policy({"users": ["otto"], "wait_s": 300}, {"users": ["ada"], "wait_s": 300})
    monitor = watch.fail()
    watch.after(1)
    incident, service = watch.incident(), watch.service
    if how == "acknowledge":
        service.otto.post_json(f"/api/monitoring/incidents/{incident}/acknowledge", {})
    elif how == "assign":
        service.ada.post_json(f"/api/monitoring/incidents/{incident}/assign", {"username": "otto"})
    elif how == "end":
        watch.lookout.sees[monitor] = UP
        watch.lookout.run(61)
    else:
        service.ada.delete(f"/api/monitoring/endpoints/{monitor}")
    watch.after(DAY)
    assert watch.called == ["otto"]
    told = watch.escalation()
    taken = how in ("acknowledge", "assign")
    assert (told["status"], told["why"]) == (
        ("answered", "otto has the incident.") if taken else ("over", "The incident is over."))  # fmt: skip


def test_a_call_that_has_not_left_when_somebody_takes_the_incident_does_not_leave(watch):
    watch.policy({"users": ["otto"], "wait_s": 300})
    watch.receiver.status = 500
    watch.fail()
    watch.after(1)
    watch.service.ada.post_json(f"/api/monitoring/incidents/{watch.incident()}/acknowledge", {})
    watch.receiver.status = 200
    watch.after(DAY)
    assert watch.called == []
    assert [row["status"] for row in watch.log()] == ["dropped"]


@pytest.mark.parametrize("how", ["deleted", "disabled"])
def test_an_incident_whose_owner_is_gone_calls_anew_with_other_ids(watch, how):
    watch.policy({"users": ["ada"], "wait_s": 300})
    watch.fail()
    watch.after(1)
    watch.service.otto.post_json(f"/api/monitoring/incidents/{watch.incident()}/acknowledge", {})
    if how == "deleted":
        watch.service.ada.delete("/api/users/otto")
    else:
        watch.service.ada.put_json("/api/users/otto", {"disabled": True})
    watch.after(1)
    assert watch.called == ["ada", "ada"]
    assert len({message["ids"]["call"] for message in watch.receiver.messages}) == 2


def test_a_maintenance_window_holds_calls_and_skips_nobody(watch):
    watch.policy({"users": ["otto"], "wait_s": 300}, {"users": ["ada"], "wait_s": 300})
    watch.fail()
    watch.after(1)
    over = {"name": "Work", "start": "2055-01-15T07:00:00", "end": "2055-01-15T08:20:00"}
    watch.service.otto.post_json("/api/maintenance", over, status=201)
    watch.after(600)
    assert watch.service.transact(silent, "Shop", watch.clock.now())
    assert watch.called == ["otto"]
    for _ in range(30):
        watch.after(60)
    assert watch.called == ["otto", "ada"]


def test_nobody_on_call_is_told_and_the_next_step_does_not_wait(watch):
    watch.channel(name="all")
    later = watch.schedule(layers=[{"users": ["otto"], "start": "2056-01-03"}])
    watch.policy({"schedules": [later], "wait_s": 3600}, {"users": ["ada"], "wait_s": 3600})
    watch.fail()
    watch.after(1)
    assert watch.called == ["ada"]
    watch.after(10)
    assert ("incident.unreached", "[critical] Nobody could be called: Shop is down") in watch.told
    assert watch.escalation()["notes"] == ["Round 1, step 1: Nobody is on call by Ops."]


def test_who_has_no_channel_or_is_disabled_is_said(watch):
    watch.service.client("vera")
    schedule = watch.schedule("otto", "ada")
    watch.policy({"schedules": [schedule], "users": ["vera"], "wait_s": 3600})
    monitor = watch.lookout.add(retries=0)
    watch.service.ada.put_json("/api/users/otto", {"disabled": True})
    watch.go_down(monitor)
    watch.after(1)
    assert watch.called == ["ada"]
    assert watch.escalation()["notes"] == [
        "Round 1, step 1: otto is no user any more, or is disabled.",
        "Round 1, step 1: No channel reaches vera.",
    ]


def test_a_policy_is_for_its_tags_and_severities(watch):
    watch.policy({"users": ["otto"]}, tags=["web"], name="web")
    watch.policy({"users": ["ada"]}, severities=["warning"], name="mild")
    watch.fail(tags=["db"])
    watch.after(1)
    assert watch.called == []
    watch.fail("Site", tags=["web"])
    watch.after(1)
    assert watch.called == ["otto"]
    told = {"name": "Tape is full", "severity": "warning", "description": "swap", "target": "tape-1"}
    watch.service.otto.post_json("/api/monitoring/incidents", told, status=201)
    watch.after(1)
    assert watch.called == ["otto", "ada"]


def test_a_call_waits_for_no_quiet_hours_and_for_no_digest(watch):
    (channel,) = (row for row in watch.service.ada.get(CHANNELS).json if row["name"] == "otto")
    every = {"start": "00:00", "end": "00:00", "severities": ["info", "warning", "critical"]}
    held = {"quiet_hours": every, "digest_s": 3600}
    watch.service.ada.put_json(f"{CHANNELS}/{channel['id']}", held)
    watch.policy({"users": ["otto"]})
    watch.fail()
    watch.after(1)
    assert watch.called == ["otto"]


@pytest.mark.parametrize("by", [-3600.0, 3600.0])
def test_a_clock_that_is_set_calls_nobody_sooner_or_later(watch, by):
    watch.policy({"users": ["otto"], "wait_s": 300}, {"users": ["ada"], "wait_s": 300})
    watch.fail()
    watch.after(1)
    escalations.start(watch.node)
    step(watch.service, by)
    watch.after(298)
    assert watch.called == ["otto"]
    watch.after(3)
    assert watch.called == ["otto", "ada"]


def test_a_policy_that_is_switched_off_or_deleted_calls_nobody_more_and_says_so(watch):
    policy = watch.policy({"users": ["otto"], "wait_s": 300}, {"users": ["ada"], "wait_s": 300})
    watch.fail()
    watch.after(1)
    watch.service.ada.delete(f"/api/oncall/policies/{policy}")
    watch.after(600)
    assert watch.called == ["otto"]
    assert watch.escalation()["status"] == "ended"


def test_what_is_over_is_forgotten_after_three_months_and_what_runs_is_not(watch):
    watch.policy({"users": ["otto"], "wait_s": 300})
    first = watch.fail()
    watch.after(1)
    watch.lookout.sees[first] = UP
    watch.lookout.run(61)
    watch.fail("Site")
    watch.clock.advance(91 * DAY)
    watch.node.leases.step()
    assert escalations.purge(watch.node) is False
    assert [row["title"] for row in watch.read(_escalations)] == ["Site is down"]


def test_an_escalation_is_kept_for_three_months_after_its_end_however_old_its_incident_is(watch):
    watch.policy({"users": ["otto"], "wait_s": 300})
    watch.fail()
    watch.after(1)
    watch.clock.advance(91 * DAY)
    watch.node.leases.step()
    watch.service.tokens.clear()
    watch.service.ada.post_json(f"/api/monitoring/incidents/{watch.incident()}/acknowledge", {})
    escalations.purge(watch.node)
    assert [row["status"] for row in watch.read(_escalations)] == ["answered"]


def test_a_new_escalation_takes_no_id_of_one_that_is_left(watch):
    """The first of an incident may be forgotten before the second."""
    watch.policy({"users": ["otto"], "wait_s": 300}, name="First")
    watch.policy({"users": ["ada"], "wait_s": 300}, name="Second")
    watch.fail()
    watch.after(1)
    incident = watch.incident()

    def forget_first(root):
        del root["api"]["oncall"]["escalations"][f"{incident}-1"]

    watch.node.transact(forget_first)
    watch.service.otto.post_json(f"/api/monitoring/incidents/{incident}/acknowledge", {})
    watch.service.ada.delete("/api/users/otto")
    ids = [row["id"] for row in watch.read(_escalations)]
    assert ids == [f"{incident}-2", f"{incident}-3", f"{incident}-4"]


def _escalations(root):
    return [child.fields for child in root["api"]["oncall"]["escalations"].values()]


def test_only_who_holds_the_lease_takes_steps(watch):
    watch.policy({"users": ["otto"]})
    watch.fail()
    before = watch.read(_escalations)

    def lose(root):
        root.system["leases"]["oncall"].owner = "another"

    watch.service.transact(lose)
    with pytest.raises(Exception, match="lease"):
        escalations.step(watch.node)
    assert watch.read(_escalations) == before
