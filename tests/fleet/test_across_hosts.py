"""Two hosts with the agents' own settings: what one failure outside, or the brake, keeps from being healed on both."""

import contextlib
import socket

import pytest

from tests.fleet.care import DEFAULT, Ward
from tests.fleet.healed import promote
from tests.support.process import free_port
from tests.support.receiver import Receiver
from tests.support.waiting import until

pytestmark = pytest.mark.timeout(900)
RULE = "default-service"
DOWN = {
    "id": "down",
    "condition": 'monitor.status == "down"',
    "targets": {"monitors": ["uplink"]},
    "initial_level": "notify",
    "action": {"type": "restart_service", "params": {"service": "nginx"}},
}

UNITS = {  # one step only: the brake counts every step that acts; all at once, so that it alone holds them back
    "id": "units",
    "condition": "service.*.failed == 1",
    "initial_level": "notify",
    "settle_s": 1,
    "waves": "off",
    "action": {"type": "restart_service"},
}


@pytest.fixture
def receiver():
    with contextlib.closing(Receiver()) as made:
        yield made


@pytest.fixture
def wards(lab, tmp_path, receiver):
    """`wards(config)`: two hosts under the care of one service, whose messages the receiver gets."""
    with contextlib.ExitStack() as stack:

        def start(config=None):
            serve = stack.enter_context(lab.serve(tmp_path / "server", config))
            serve.admin.post("/api/notifications/channels", {"name": "on-call", "url": receiver.url()})
            hosts = lab.boot(2)
            stack.callback(lab.remove, *hosts)
            return [Ward(host, serve, **DEFAULT) for host in hosts]

        yield start


def stop(wards, *units):
    for ward in wards:
        ward.host.exec("systemctl", "stop", *units)


def about(receiver, words):
    return [one for one in list(receiver.messages) if words in f"{one['title']} {one['message']}"]


@pytest.mark.nightly("minutes of the agents' own settings")
def test_a_failed_external_target_suppresses_the_heals_of_its_site_and_is_told_once(wards, receiver):
    both = wards()
    promote(both[0].api, RULE)
    api, port = both[0].api, free_port()
    uplink = socket.create_server(("127.0.0.1", port))
    monitor = api.post(
        "/api/monitoring/endpoints",
        {"name": "uplink", "type": "tcp", "url": f"tcp://127.0.0.1:{port}", "interval": 5, "timeout": 2},
    )["id"]
    at_site = [{"target": ward.host.name, "type": "host", "site": "berlin"} for ward in both]
    api.put(
        "/api/healing/dependencies",
        {"dependencies": [{"target": "uplink", "type": "external", "site": "berlin"}, *at_site]},
    )
    api.post("/api/healing/rules", DOWN)
    promote(api, DOWN["id"])
    for ward in both:
        ward.run("till")
    until(lambda: api.get(f"/api/monitoring/endpoints/{monitor}")["status"] == "up", 60, what="the uplink being up")

    uplink.close()
    until(lambda: api.get(f"/api/monitoring/endpoints/{monitor}")["status"] == "down", 120, what="the uplink's failure")
    stop(both, "till")
    for ward in both:
        entry = ward.ended(RULE, f"{ward.host.name}/till", "suppressed", 90)
        assert "uplink" in entry["reason"], entry
        assert ward.commands() == []
        assert ward.host.exec("systemctl", "is-active", "till", check=False).stdout == "inactive\n"
    entries = until(
        lambda: [one for one in api.get(f"/api/healing/ledger?rule_id={DOWN['id']}") if one["state"] == "final"],
        60,
        what="the uplink's own entry",
    )
    assert {one["outcome"] for one in entries} == {"notified"}
    assert len(until(lambda: about(receiver, "uplink"), 30, what="a message")) == 1, receiver.messages
    assert about(receiver, "till") == []

    with contextlib.closing(socket.create_server(("127.0.0.1", port))):
        for ward in both:  # what is still down once the site is reached again is healed
            ward.ended(RULE, f"{ward.host.name}/till", "verified", 300)
            assert ward.host.exec("systemctl", "is-active", "till").stdout == "active\n"
    failures = [one["title"] for one in about(receiver, "uplink") if "up again" not in one["title"]]
    assert len(failures) == 1, failures


def test_the_brake_lets_its_number_of_heals_through_on_all_hosts_together(wards, receiver):
    limit = 2
    brake = {"max_heals_per_hour": {"fleet": limit}}
    both = wards({"healing": {"brake": brake, "default_rules": False, "rules": [UNITS]}})
    api, units = both[0].api, ("till", "scale")
    promote(api, UNITS["id"])
    for ward in both:
        ward.run(*units)
    stop(both, *units)

    def ends():
        entries = [
            one for ward in both for unit in units for one in ward.ledger(UNITS["id"], f"{ward.host.name}/{unit}")
        ]
        settled = {one["target"] for one in entries if one["outcome"] in ("verified", "notified")}
        return entries if len(settled) == len(both) * len(units) else None

    entries = until(ends, 200, what="an end of all four")
    healed = [one["target"] for one in entries if one["outcome"] == "verified"]
    told = [one for one in entries if one["outcome"] == "notified"]
    assert len(healed) == limit, [(one["target"], one["outcome"], one["reason"]) for one in entries]
    assert len({one["target"] for one in told}) == len(both) * len(units) - limit
    words = f"brake: {limit} heals within an hour, the limit for one fleet is {limit}"
    assert {one["reason"] for one in told} == {words}
    health = api.get("/api/healing/health")
    assert (health["status"], words in health["reasons"]) == ("Degraded", True), health
    until(lambda: about(receiver, "the limit for one fleet is"), 30, what="a person being called")
    running = {
        f"{ward.host.name}/{unit}"
        for ward in both
        for unit in units
        if ward.host.exec("systemctl", "is-active", unit, check=False).stdout == "active\n"
    }
    assert running == set(healed)
