"""What people are told of heals that failed, in windows too; and what they are no longer told once it is over."""

import pytest

from opsapp.agents.engine import reports
from opsapp.agents.engine.lifecycle import create
from opsapp.agents.resources import agents_of
from opsapp.approvals.engine import expire
from opsapp.automations.resources import secrets_of
from opsapp.notify.engine import routes
from opsapp.notify.resources import deliveries_of, inbox
from tests.support.hosts import place

FAILED, ACTIVE = {"service__nginx__state": "failed"}, {"service__nginx__state": "active"}
NGINX = {"id": "nginx", "condition": 'service.nginx.state == "failed"', "severity": "critical",
         "description": "The shop's web server has failed", "action": {"type": "restart_service"}}  # fmt: skip
CHAIN = {**NGINX, "action": None, "escalation_chain": [
    {"action": "restart_service", "params": {"service": "nginx"}},
    {"action": "service_reset_failed", "params": {"service": "nginx"}}]}  # fmt: skip
SAID = """Job for nginx.service failed because the control process exited with error code.
See "systemctl status nginx.service" and "journalctl -xeu nginx.service" for details.
"""


def told(here):
    return [row for row in here.node.transact(inbox.take, 10_000) if row.title]


def kinds(here):
    return [row.kind for row in told(here)]


def fails(here, *, output="", reports=FAILED):
    """The step that waits is done, and does not help."""
    here.hosts.finish("snapshot", snapshot={"kind": "unit", "state": {}})
    here.turn(1)
    here.hosts.finish("execute", "failed" if output else "done", exit_code=1 if output else 0, output=output)
    here.turn(1).turn(6)
    here.clock.advance(0.5)
    return here.report(**reports).turn(0.5).until_judged(**reports)


def window(here, override):
    """A maintenance window on everything, from now on."""
    span = {"start": "2055-01-15T08:10:00", "end": "2055-01-15T12:00:00"}
    body = {"name": "patch", "autonomy_override": override, **span}
    name = here.service.otto.post_json("/api/maintenance", body, status=201).json["id"]
    here.service.otto.post(f"/api/maintenance/{name}/activate")
    return here


# -- windows ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("override", "said"), [("disabled", []), ("notify", ["heal.notified"]), ("approve", ["heal.approval"])]
)
def test_a_window_does_not_silence_what_it_leaves_to_people(ward, override, said):
    here = window(ward(NGINX).at("execute"), override).report(**FAILED).turn().turn(5)
    assert kinds(here) == said
    here.clock.advance(1)
    here.report(**ACTIVE).turn().turn(1).turn(60)
    assert kinds(here) == (["heal.resolved"] if said else [])


def test_a_window_does_not_silence_a_heal_that_acts_and_fails(ward):
    rule = {**NGINX, "action": {"type": "service_dependency_restart", "params": {"service": "nginx"}}}
    here = window(ward(rule).at("execute"), "execute").report(**FAILED).turn().turn(5)
    assert kinds(here) == ["heal.executing"]
    assert kinds(fails(here)) == ["heal.unresolved"]


def test_a_window_does_not_silence_a_request_that_expires(ward):
    here = window(ward(NGINX).at("execute"), "approve").report(**FAILED).turn().turn(5)
    here.clock.advance(4000)
    here.report(**FAILED)
    here.node.transact(expire, here.clock.now())
    here.turn(1)
    asked, expired = told(here)
    assert (asked.kind, expired.kind) == ("heal.approval", "heal.unresolved")
    assert "Tried:" not in expired.text
    assert "Next: see to it by hand. Nobody has decided in time." in expired.text


def test_a_window_that_opens_after_a_failed_step_does_not_silence_it(ward):
    """The chain ends there: something was done, it did not help, and nobody else will see to it."""
    here = ward(CHAIN).at("execute").report(**FAILED).turn().turn(5)
    here.hosts.finish("snapshot", snapshot={"kind": "unit", "state": {}})
    here.turn(1)
    window(here, "disabled")
    here.hosts.finish("execute", "failed", exit_code=1)
    here.turn(1)
    assert [entry["outcome"] for entry in here.ledger] == ["failed", "suppressed"]
    (row,) = told(here)
    assert row.kind == "heal.unresolved"
    assert "restart service on box-1" in row.text


def test_a_window_that_stops_what_was_not_begun_tells_nobody(ward):
    here = ward(NGINX).at("execute").report(**FAILED).turn()
    window(here, "disabled").turn(6)
    assert ([entry["outcome"] for entry in here.ledger], told(here)) == (["suppressed"], [])


# -- words ------------------------------------------------------------------------------------------------------------


def test_a_failed_heal_says_what_was_tried_what_it_answered_and_what_to_do_next(ward):
    here = ward(CHAIN).at("execute").report(**FAILED).turn().turn(5)
    here.hosts.finish("snapshot", snapshot={"kind": "unit", "state": {}})
    here.turn(1)
    here.hosts.finish("execute", "failed", exit_code=1, output=SAID)
    here.turn(1)
    fails(here)
    (row,) = told(here)
    assert row.title == "box-1/nginx: The shop's web server has failed, not healed (failed)"
    assert row.text.splitlines() == [
        "The shop's web server has failed: box-1/nginx (rule nginx).",
        "Tried: restart service on box-1: Job for nginx.service failed because the control process exited with error "
        "code. (the action ended failed, exit code 1)",
        "Tried: service reset failed on box-1: the condition still holds",
        "Next: see to it by hand. The rule has no further step. Ledger entry 2 has the whole story.",
    ]


def test_what_a_command_said_hides_secrets(ward):
    here = ward(NGINX).at("execute")

    def keep(root):
        secrets_of(root).add(root, "db", "tr0ub4dor", "ada", here.clock.now())

    here.node.transact(keep)
    here.report(**FAILED).turn().turn(5)
    fails(here, output="error: no access to postgres://shop:hunter2@db/shop with tr0ub4dor\n")
    (row,) = told(here)
    assert "no access to postgres://***@db/shop with [secret]" in row.text
    stored = str(here.ledger) + str(here.cases)
    assert not [secret for secret in ("tr0ub4dor", "hunter2") if secret in stored + row.text]


@pytest.mark.parametrize("level", ["notify", "approve"])
def test_the_rules_own_sentence_comes_before_its_condition(ward, level):
    here = ward(NGINX).at(level).report(**FAILED).turn().turn(5)
    (row,) = told(here)
    assert "state ==" not in row.title + row.text
    assert row.text.startswith("The shop's web server has failed: box-1/nginx (rule nginx).")
    troubles = here.service.vera.get("/api/overview").json["troubles"]
    assert {row["cause"] for row in troubles if row["kind"] == "alert"} <= {"The shop's web server has failed"}
    here.clock.advance(1)
    here.report(**ACTIVE).turn().turn(1).turn(60)
    (over,) = told(here)
    assert over.text == "No longer true: The shop's web server has failed: box-1/nginx (rule nginx)."


def test_of_a_rule_without_a_sentence_its_condition_is_put_into_words(ward):
    here = ward({**NGINX, "description": ""}).at("notify").report(**FAILED).turn().turn(5)
    (row,) = told(here)
    assert row.title == "box-1/nginx: service state is failed"
    assert row.text.startswith("service state is failed: box-1/nginx (rule nginx).")


@pytest.mark.parametrize(("level", "end"), [("approve", "waits for an approval"), ("execute", "runs")])
def test_what_is_asked_and_what_runs_is_told_in_words(ward, level, end):
    rule = {**NGINX, "description": "", "action": {"type": "service_dependency_restart"}}
    here = ward(rule).at(level).report(**FAILED).turn().turn(5)
    (row,) = told(here)
    assert row.title == f"box-1/nginx: service dependency restart {end}"
    assert not [raw for raw in ("==", "_restart") if raw in row.title + row.text]


def test_the_root_of_a_host_is_told_as_a_path_on_it(ward):
    full = {"id": "full", "condition": "disk.*.percent >= 90", "action": {"type": "disk_cleanup"}}
    here = ward(full).at("notify", "full").report(**{"disk./.percent": 97.0}).turn().turn(5)
    (row,) = told(here)
    assert row.title == "/ on box-1: disk in use is at least 90 %"
    assert (row.target, "box-1//" in row.text) == ("box-1//", False)


# -- from being told to being sent ------------------------------------------------------------------------------------


class Post:
    """What of all this becomes messages."""

    def __init__(self, here, **channel):
        self.here, self.node = here, here.node
        body = {"name": "on-call", "type": "webhook", "address": {"address": "http://192.0.2.1/"}} | channel
        here.service.ada.post_json("/api/notifications/channels", body, status=201)
        self.node.leases.want("notify")
        self.node.leases.step()

    def route(self):
        while routes.step(self.node):
            pass
        return self

    def after(self, seconds):
        self.here.clock.advance(seconds)
        self.node.leases.step()
        return self.route()

    @property
    def messages(self):
        def read(root):
            stored = [message.fields for message in deliveries_of(root).messages.values()]
            return [(fields["kind"], fields["titles"]) for fields in stored]

        return self.node.transact(read)

    @property
    def deliveries(self):
        return self.node.transact(
            lambda root: [
                (delivery.status, [message.kind for message in delivery.contents()])
                for delivery in deliveries_of(root).values()
            ]
        )


def failed_heal(ward, **channel):
    here = ward(NGINX).at("execute")
    post = Post(here, **channel)
    return fails(here.report(**FAILED).turn().turn(5)), post


def well_again(here):
    here.clock.advance(1)
    here.report(**ACTIVE).turn()


def test_a_failed_heal_that_is_over_before_it_is_told_is_not_told(ward):
    here, post = failed_heal(ward)
    post.route()
    well_again(here)
    assert post.route().after(10).after(100).messages == []


def test_nor_where_both_are_routed_together(ward):
    here, post = failed_heal(ward)
    well_again(here)
    assert post.route().after(10).after(100).messages == []


def test_a_failed_heal_that_is_over_before_it_is_sent_is_withdrawn_from_the_queue(ward):
    """The channel is quiet until the morning."""
    quiet = {"start": "07:00", "end": "20:00", "timezone": "UTC", "severities": ["info", "warning", "critical"]}
    here, post = failed_heal(ward, quiet_hours=quiet)
    post.route().after(10)
    assert post.deliveries == [("queued", ["heal.unresolved"])]
    well_again(here)
    post.route().after(10)
    assert post.deliveries[0] == ("dropped", ["heal.unresolved"])


def test_a_failed_heal_that_was_sent_has_its_end_told(ward):
    here, post = failed_heal(ward)
    post.route().after(10)
    well_again(here)
    assert [kind for kind, _ in post.route().after(70).messages] == ["heal.unresolved", "heal.resolved"]
    assert all("not healed" not in str(titles) for kind, titles in post.messages if kind == "heal.resolved")


def test_a_failed_heal_of_a_monitor_is_withdrawn_when_its_monitor_is_up(ward):
    rule = {"id": "nginx", "condition": 'monitor.status == "down"', "severity": "critical",
            "action": {"type": "restart_service", "params": {"service": "nginx"}}}  # fmt: skip
    shop = place("shop", "a1", subject="monitor:m1", names=("shop", "m1"))
    here = ward(rule, places=[place(), shop]).at("execute")
    post = Post(here)
    here.report("monitor:m1", status="down").turn().turn(5)
    here.hosts.finish("snapshot", snapshot={"kind": "unit", "state": {}})
    here.turn(1)
    here.hosts.finish("execute", "failed", exit_code=1)
    here.turn(1)
    post.route()
    here.clock.advance(1)
    here.report("monitor:m1", status="up").turn()
    assert post.route().after(10).messages == []


def test_a_failed_heal_is_not_told_in_the_green_message_of_its_host(ward):
    """The host falls silent and comes back: that is another message, before and after."""
    here, post = failed_heal(ward)

    def become(status):
        def change(root):
            reports.become(root, agents_of(root)[agent_id], status)

        here.node.transact(change)

    agent_id, _ = here.node.transact(create, "box-1", [])
    become("online")
    become("offline")
    here.hosts.here = [place(online=False), place("box-1", agent_id, online=False)]
    post.route().after(10)
    become("online")
    post.route().after(70)
    told = dict(post.messages)
    assert set(told) == {"heal.unresolved", "agent.offline", "agent.online"}
    assert not any("not healed" in title for kind in ("agent.offline", "agent.online") for title in told[kind])
