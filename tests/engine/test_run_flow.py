"""A run's way on a clock of the test's own: retries, time-outs, parents, approvals, what a dead node leaves behind."""

import pytest

from opsapp.approvals.engine import expire
from opsapp.automations.config import RunsRetention
from opsapp.automations.engine import carrier, request_run, run_state, runretention
from opsapp.automations.engine.approval_requests import accepted
from opsapp.automations.engine.carrier import recover, take_up
from opsapp.automations.engine.flow import moment_come
from opsapp.automations.engine.programs import AttemptEnd
from opsapp.automations.logic.runs import STATUSES
from opsapp.automations.resources import RunBoard, board_of, runs_of
from opsapp.automations.resources.runs import OutputChunk
from opsapp.notify.resources import inbox
from opsapp.runtime.cluster import nodes
from tests.api.test_agents import Polling
from tests.support.stores import Stores

OWNER = "box:test"


class Desk:
    """Hands that carry out what the test says."""

    def __init__(self, service):
        self.service = service

    def make(self, kind="script", params=None, **more):
        body = {"name": more.pop("name", kind), "type": kind, "params": params or {"script": "true"}, **more}
        return self.service.otto.post_json("/api/automations", body).json["id"]

    def run(self, automation, who="otto"):
        return self.service.client(who).post(f"/api/automations/{automation}/run").json

    def take(self):
        return self.service.transact(take_up, OWNER, frozenset(), 100)[0]

    def end(self, status="done", *, reason=None):
        """Every run that waits for hands ends so."""
        jobs = self.take()
        for job in jobs:
            outcome = AttemptEnd(status, 0 if status == "done" else 1, reason)
            self.service.transact(carrier.finish, job.run_id, OWNER, job.attempt, "", outcome)
        return len(jobs)

    def record(self, run):
        return self.service.vera.get(f"/api/automations/runs/{run['run_id']}").json

    def last(self, automation):
        """The newest run of an automation."""
        return self.record(self.service.vera.get(f"/api/automations/{automation}/runs?limit=1").json[0])

    def status(self, run):
        return self.record(run)["status"]

    def idle(self):
        def empty(root):
            board = board_of(root)
            return not (board.queue or board.admitted or board.claimed or board.remote)

        return self.service.read(empty)

    def step(self):
        """What has come due."""
        self.service.transact(moment_come, self.service.clock.now())

    def walk(self):
        """Every run by what is stored of it: id -> (automation, status), the newest first."""
        stored = self.service.read(
            lambda root: {run.id: (run.automation_id, run.status) for run in runs_of(root).values()}
        )
        return dict(sorted(stored.items(), reverse=True))

    def lists_agree(self):
        """Every filtered list is what a walk through all runs finds, page by page, and says how many."""
        runs = self.walk()
        places = {"": runs} | {
            f"/{each}": {run: found for run, found in runs.items() if found[0] == each}
            for each in (row["id"] for row in self.service.vera.get("/api/automations").json)
        }
        for place, mine in places.items():
            for status in (None, *STATUSES):
                wanted = [run for run, (_, stands) in mine.items() if status in (None, stands)]
                query = f"status={status}&" if status else ""
                path = f"/api/automations{place}/runs?{query}"
                found = self.service.vera.get(f"{path}limit=1000")
                assert [row["run_id"] for row in found.json] == wanted, path
                assert found.headers["X-Total-Count"] == str(len(wanted))
                second = self.service.vera.get(f"{path}limit=1&offset=1").json
                assert [row["run_id"] for row in second] == wanted[1:2]


@pytest.fixture
def desk(service):
    """Whatever a test does: the lists show it."""
    desk = Desk(service)
    yield desk
    desk.lists_agree()


def test_another_attempt_after_a_pause(desk):
    run = desk.run(desk.make(retries=2))
    desk.end("failed", reason="exit code 1")
    assert (desk.status(run), desk.end()) == ("running", 0)
    desk.service.clock.advance(5)
    desk.end("timeout")
    desk.service.clock.advance(5)
    desk.end("failed", reason="exit code 9")
    record = desk.record(run)
    assert (record["status"], record["attempt"], record["reason"]) == ("failed", 3, "exit code 9")
    assert "[attempt 1 failed: exit code 1; again in 5 s]" in record["output"]
    assert desk.idle()


def test_a_cancelled_run_is_not_tried_again(desk):
    run = desk.run(desk.make(retries=5))
    desk.end("failed")
    desk.service.otto.post(f"/api/automations/runs/{run['run_id']}/cancel")
    desk.service.clock.advance(60)
    assert (desk.status(run), desk.end()) == ("cancelled", 0)


def test_what_a_dead_node_had_is_lost_and_the_next_in_the_queue_goes_on(desk, monkeypatch):
    monkeypatch.setattr(desk.service.node, "exclusive", False)  # the store is one that others may use
    name, boot = OWNER.split(":")
    desk.service.transact(nodes.beat, name, nodes.Beat(boot, 0, ("engine",), ""), [], [])
    automation = desk.make(retries=3)
    first, second = desk.run(automation), desk.run(automation)
    desk.take()
    assert desk.service.transact(recover) == 0, "not seen yet, and there"
    desk.service.transact(nodes.leave, name, boot)
    assert desk.service.transact(recover) == 1
    assert (desk.status(first), desk.record(first)["reason"]) == ("lost", "the server ended while it ran")
    desk.end()
    assert desk.status(second) == "done"
    assert desk.idle()


def test_a_late_end_from_a_node_that_was_given_up_changes_nothing(desk):
    run = desk.run(desk.make())
    (job,) = desk.take()
    desk.service.transact(recover)
    desk.service.transact(carrier.finish, job.run_id, OWNER, 1, "late", AttemptEnd("done", 0, None))
    assert (desk.status(run), desk.record(run)["output"]) == ("lost", "")


def test_only_so_many_at_once(desk):
    runs = [desk.run(desk.make()) for _ in range(25)]
    assert [run["status"] for run in runs].count("running") == 20
    assert [run["status"] for run in runs[20:]] == ["queued"] * 5
    assert (desk.end(), desk.end()) == (20, 5)
    assert {desk.status(run) for run in runs} == {"done"}


def test_a_parent_goes_on_with_its_parts_and_stops_with_a_cancel(desk):
    parts = [desk.make(name=f"part {n}") for n in range(3)]
    whole = desk.make("composite", {"automations": parts})
    run = desk.run(whole)
    assert desk.end() == 1
    assert len(desk.take()) == 1
    desk.service.otto.post(f"/api/automations/runs/{run['run_id']}/cancel")
    record = desk.record(run)
    assert record["status"] == "running"  # its part is carried out by a node, which has been told
    desk.end("cancelled")
    record = desk.record(run)
    assert (record["status"], [part["status"] for part in record["parts"]]) == ("cancelled", ["done", "cancelled"])
    assert desk.idle()


def test_a_part_gets_the_inputs_of_its_parent_that_it_declares(desk):
    one = desk.make(name="one", inputs=[{"name": "where", "required": True}, {"name": "depth", "default": "1"}])
    two = desk.make(name="two", inputs=[{"name": "n", "type": "integer", "default": 3}])
    inner = desk.make("composite", {"automations": [one, two]}, inputs=[{"name": "where", "default": "/"}])
    declared = [{"name": "where"}, {"name": "n", "type": "integer"}, {"name": "other"}]
    outer = desk.make("workflow", {"steps": [{"id": "a", "automation_id": inner}]}, inputs=declared)
    given = {"where": "/srv", "n": 7}
    run = desk.service.otto.post_json(f"/api/automations/{outer}/run", given).json
    assert (desk.end(), desk.end()) == (1, 1)
    assert desk.status(run) == "done"
    inputs = {name: desk.last(part)["inputs"] for name, part in (("one", one), ("two", two), ("inner", inner))}
    assert inputs == {"one": {"where": "/srv", "depth": "1"}, "two": {"n": 3}, "inner": {"where": "/srv"}}


def test_an_input_that_its_parent_was_not_given_is_the_parts_default(desk):
    part = desk.make(inputs=[{"name": "where", "default": "/"}])
    whole = desk.make("composite", {"automations": [part]}, inputs=[{"name": "where"}])
    desk.run(whole)
    assert desk.last(part)["inputs"] == {"where": "/"}


def test_what_a_part_cannot_take_of_its_parent_is_named(desk):
    part = desk.make(name="count", inputs=[{"name": "n", "type": "integer"}])
    whole = desk.make("composite", {"automations": [part]}, inputs=[{"name": "n"}])
    run = desk.service.otto.post_json(f"/api/automations/{whole}/run", {"n": "many"}).json
    record = desk.record(run)
    assert record["status"] == "failed"
    assert record["output"] == "[1: count: not run: n must be an integer]\n"


def test_a_parent_without_stop_on_failure_does_all(desk):
    parts = [desk.make(name=f"part {n}") for n in range(3)]
    run = desk.run(desk.make("composite", {"automations": parts, "stop_on_failure": False}))
    desk.end()
    desk.end("failed")
    desk.end()
    assert (desk.status(run), desk.record(run)["reason"]) == ("failed", "failed steps: 2")


def test_a_parent_runs_into_its_time_out(desk):
    run = desk.run(desk.make("composite", {"automations": [desk.make()]}, timeout=10))
    desk.take()
    desk.service.clock.advance(11)
    desk.take()
    assert desk.status(run) == "timeout"


def test_a_refused_part_fails_its_parent(desk):
    part = desk.make(concurrency="skip")
    desk.run(part)
    run = desk.run(desk.make("composite", {"automations": [part]}))
    assert (desk.status(run), desk.record(run)["reason"]) == ("failed", "step 1 ended failed")
    assert "not run: A run of this automation is under way." in desk.record(run)["output"]
    assert sorted(status for _, status in desk.walk().values()) == ["failed", "running"]  # nothing waits for ever


# -- approvals


def pending(desk):
    return desk.service.vera.get("/api/approvals").json


def decide(desk, request_id, vote="approve", who="ada", status=200, **body):
    return desk.service.client(who).post_json(f"/api/approvals/{request_id}/{vote}", body, status=status).json


def test_an_approved_run_runs(desk):
    automation = desk.make(requires_approval=True)
    run = desk.run(automation)
    assert (run["status"], desk.end()) == ("pending_approval", 0)
    (asked,) = pending(desk)
    assert (asked["request_id"], asked["run_id"], asked["kind"]) == (run["request_id"], run["run_id"], "run")
    assert asked["plan"]["params"] == {"script": "true"}
    assert decide(desk, run["request_id"], who="otto", status=403)["code"] == "forbidden"
    answer = decide(desk, run["request_id"], comment="go")
    assert answer == {"request_id": run["request_id"], "status": "approved", "run_id": run["run_id"]}
    decide(desk, run["request_id"], status=409)
    desk.end()
    assert desk.status(run) == "done"


def test_a_quorum_of_named_people(desk):
    automation = desk.make(requires_approval=True, approvers=["otto", "olga"], quorum=2)
    desk.service.transact(accepted, automation)  # its author decides too: somebody else has agreed to it before
    run = desk.run(automation, who="ada")
    assert decide(desk, run["request_id"], who="otto")["status"] == "pending"
    assert decide(desk, run["request_id"], who="otto", status=409)["code"] == "already_voted"
    assert desk.status(run) == "pending_approval"
    assert decide(desk, run["request_id"])["status"] == "approved"
    assert desk.status(run) == "running"


def test_a_rejection_and_an_expiry_end_the_run(desk):
    automation = desk.make(requires_approval=True)
    one, two = desk.run(automation), desk.run(automation)
    decide(desk, one["request_id"], "reject", who="otto", comment="not today")
    assert desk.record(one)["reason"] == "rejected by otto: not today"
    desk.service.clock.advance(3601)
    decide(desk, two["request_id"], status=409)
    assert desk.service.vera.get("/api/approvals?status=expired").json[0]["request_id"] == two["request_id"]
    assert (desk.status(one), desk.status(two)) == ("rejected", "rejected")
    desk.service.transact(expire, desk.service.clock.now())
    assert desk.idle()


def test_an_automation_edited_after_the_request_never_runs_under_it(desk):
    part = desk.make(name="part")
    whole = desk.make("composite", {"automations": [part]}, requires_approval=True)
    one = desk.run(whole)
    desk.service.otto.put_json(f"/api/automations/{part}", {"params": {"script": "rm -rf /"}})
    refused = decide(desk, one["request_id"], status=409)
    assert refused["code"] == "withdrawn"
    assert (desk.status(one), desk.end()) == ("cancelled", 0)
    two = desk.run(whole)
    desk.service.otto.put_json(f"/api/automations/{whole}", {"timeout": 7})
    decide(desk, two["request_id"], status=409)
    assert desk.service.vera.get(f"/api/approvals/{two['request_id']}").json["status"] == "withdrawn"


def tagged(desk, *labels):
    """Hosts that were heard, by their labels."""
    hosts = {label: Polling(desk.service, label, tags=["web"]) for label in labels}
    for label, host in hosts.items():
        host.report(hostname=f"{label}.test")
    return {label: host.id for label, host in hosts.items()}


def retag(desk, agent_id, *tags, **more):
    path = f"/api/agents/{agent_id}"
    desk.service.ada.put_json(path, {**desk.service.ada.get(path).json, "tags": list(tags), **more})


def asked_of(desk, hosts):
    """The hosts that were asked to run something."""
    get = desk.service.otto.get
    return {label for label, agent_id in hosts.items() if get(f"/api/agents/{agent_id}/commands").json}


@pytest.mark.parametrize("is_part", [False, True])
def test_an_approved_run_runs_on_the_hosts_that_were_shown(desk, is_part):
    hosts = tagged(desk, "one", "two", "three")
    retag(desk, hosts["three"], "db")
    params = {"command": "true", "tag": "web"}
    if is_part:
        inner = desk.make("composite", {"automations": [desk.make("agent_command", params)]}, name="inner")
        automation = desk.make("composite", {"automations": [inner]}, requires_approval=True)
    else:
        automation = desk.make("agent_command", params, requires_approval=True)
    run = desk.run(automation)
    [request] = pending(desk)
    assert {(row["host"], row["agent_id"]) for row in request["plan"]["hosts"]} == {
        (label, hosts[label]) for label in ("one", "two")
    }
    page = desk.service.vera.get(f"/approvals/{request['request_id']}").text
    assert all(f"/agents/{hosts[label]}" in page for label in ("one", "two"))
    retag(desk, hosts["one"], "gone", label="renamed")
    retag(desk, hosts["three"], "web")
    decide(desk, run["request_id"])
    desk.step()
    assert asked_of(desk, hosts) == {"one", "two"}


def test_an_approved_run_does_not_go_on_without_one_of_its_hosts(desk):
    hosts = tagged(desk, "one", "two")
    run = desk.run(desk.make("agent_command", {"command": "true", "tag": "web"}, requires_approval=True))
    desk.service.ada.delete(f"/api/agents/{hosts.pop('two')}")
    decide(desk, run["request_id"])
    desk.step()
    assert (desk.status(run), asked_of(desk, hosts)) == ("failed", set())
    assert "two was approved and is there no more" in desk.record(run)["reason"]


def test_a_part_of_a_part_edited_after_the_approval_is_not_run(desk):
    first, second = desk.make(name="first"), desk.make(name="second")
    inner = desk.make("composite", {"automations": [first, second]}, name="inner")
    run = desk.run(desk.make("composite", {"automations": [inner]}, requires_approval=True))
    decide(desk, run["request_id"])
    desk.service.otto.put_json(f"/api/automations/{second}", {"params": {"script": "echo other"}})
    assert (desk.end(), desk.end()) == (1, 0)
    assert desk.status(run) == "failed"


def test_a_part_edited_after_the_approval_is_not_run(desk):
    first, second = desk.make(name="first"), desk.make(name="second")
    run = desk.run(desk.make("composite", {"automations": [first, second]}, requires_approval=True))
    decide(desk, run["request_id"])
    desk.service.otto.put_json(f"/api/automations/{second}", {"params": {"script": "echo other"}})
    assert (desk.end(), desk.end()) == (1, 0)
    assert "it was edited after the approval" in desk.record(run)["output"]
    assert desk.status(run) == "failed"


def test_a_cancel_withdraws_the_request(desk):
    run = desk.run(desk.make(requires_approval=True))
    desk.service.otto.post(f"/api/automations/runs/{run['run_id']}/cancel")
    assert (desk.status(run), pending(desk)) == ("cancelled", [])


# -- what other rooms call


def test_other_rooms_ask_in_their_transaction(desk):
    automation, now = desk.make(inputs=[{"name": "a"}]), desk.service.clock.now()
    found = desk.service.transact(
        lambda root: request_run(root, now, automation, inputs={"a": "1"}, by="healing", origin="heal:7")
    )
    assert found["status"] == "running"
    desk.end("failed", reason="exit code 1")
    state = desk.service.transact(run_state, found["run_id"])
    assert (state.status, state.reason, state.origin) == ("failed", "exit code 1", "heal:7")
    assert desk.service.transact(run_state, "nothing") is None


def test_runs_are_listed_by_status_while_they_wait_run_and_end(desk):
    desk.make()
    first, held = desk.make(retries=1), desk.make(requires_approval=True)
    parent = desk.make("composite", {"automations": [first]})
    desk.run(first)
    desk.run(first)  # waits for the first
    desk.run(held, "ada")
    desk.lists_agree()
    desk.take()
    desk.lists_agree()
    desk.service.transact(recover)
    desk.lists_agree()
    desk.end("failed")
    desk.lists_agree()  # one waits for its second attempt
    desk.run(parent)
    desk.lists_agree()
    assert {"queued", "pending_approval"} < {status for _, status in desk.walk().values()}


def test_a_clock_that_was_set_back_takes_no_id_twice(desk):
    automation = desk.make()
    desk.run(automation)
    desk.service.clock.advance(-5)
    for _ in range(4):  # the first waits and begins later, so that the one that began at once stays the last known
        desk.run(automation)
        desk.end()
        desk.end()
    assert [status for _, status in desk.walk().values()] == ["done"] * 5


def test_old_runs_are_forgotten(desk):
    automation = desk.make()
    for _ in range(3):
        desk.run(automation)
        desk.end()
    desk.service.clock.advance(91 * 86_400)
    desk.service.tokens.clear()
    kept = desk.run(automation)
    runretention.step(desk.service.node)
    assert [row["run_id"] for row in desk.service.vera.get("/api/automations/runs").json] == [kept["run_id"]]


def test_of_each_automation_so_many_runs_are_kept(desk, monkeypatch):
    """However few automations and runs one transaction looks at."""
    monkeypatch.setattr(runretention, "PAGE", 2)
    desk.service.configure(RunsRetention, per_automation=1)
    kept = set()
    for _ in range(3):
        automation = desk.make()
        for _ in range(4):
            last = desk.run(automation)
            desk.end()
        kept.add(last["run_id"])
    runretention.step(desk.service.node)
    assert {row["run_id"] for row in desk.service.vera.get("/api/automations/runs").json} == kept


def test_a_script_from_before_the_rule_about_placeholders_fails_and_is_not_executed(desk):
    """Stores of earlier versions hold scripts that are refused today: their runs end with the reason."""
    inputs = [{"name": "who"}]
    automation = desk.make(params={"script": "echo {{input:who}}"}, inputs=inputs)

    def rewrite(root):
        definition = root["api"]["automations"][automation].definition
        definition.settings = {**definition.settings, "params": {"script": "echo 'hello {{input:who}}'"}}

    desk.service.transact(rewrite)
    run = desk.run(automation)
    assert desk.take() == []
    record = desk.record(run)
    assert record["status"] == "failed"
    assert "{{input:who}} stands inside single quotes" in record["reason"]


@pytest.mark.parametrize(("kind", "before"), [(OutputChunk, "Chunk"), (RunBoard, "Board")])
def test_what_an_older_store_calls_by_another_name_still_loads(tmp_path, kind, before):
    made, now = kind("text", 1.0) if kind is OutputChunk else kind(), kind.__name__
    stores = Stores(tmp_path)
    kind.__name__ = kind.__qualname__ = before
    try:
        stores.transact(lambda root: root.update(made=made))
    finally:
        kind.__name__ = kind.__qualname__ = now
        stores.close()
    assert b"%s\n" % before.encode() in (tmp_path / "main.fs").read_bytes()
    stores = Stores(tmp_path)
    try:
        assert stores.transact(lambda root: type(root["made"])) is kind
    finally:
        stores.close()


def test_people_read_first_what_a_run_that_failed_said(service, desk):
    desk.run(desk.make())
    (job,) = desk.take()
    said = "copying\nrsync: No space left on device (28)\nsent 10 bytes\n"
    service.transact(carrier.finish, job.run_id, OWNER, job.attempt, said, AttemptEnd("failed", 11, None))
    (row,) = [row for row in service.transact(inbox.take, 100) if row.kind == "run.failed"]
    assert row.text.splitlines()[0] == "rsync: No space left on device (28)"
