"""One host, one cause: heals of a host stand in line, and what has waited is looked at again before it acts."""

import pytest

from opsapp.healing.resources import healing_of
from tests.engine.healing import NGINX
from tests.support.hosts import place

FAILED, ACTIVE = {"service__nginx__state": "failed"}, {"service__nginx__state": "active"}
STARTING = {"service__nginx__state": "activating"}
SERVICE = {**NGINX, "condition": "service.nginx.failed == 1"}
SITE = {
    "id": "site",
    "condition": 'monitor.status == "down"',
    "initial_level": "notify",
    "action": {"type": "restart_service", "params": {"service": "nginx"}},
}
MONITOR = place("site", agent_id="a1", subject="monitor:m1", names=("site", "m1"), usable=None, interval=10.0)


@pytest.fixture
def both(ward):
    """One cause that two rules see: nginx has failed, and its site is down. The service's case acts first."""
    here = ward(SERVICE, SITE, places=(place(), MONITOR)).at("execute").at("execute", "site")
    here.report(**ACTIVE).report("monitor:m1", status="up").turn(1)
    here.report(**FAILED).turn(1)
    here.report("monitor:m1", status="down").turn(1)
    here.pass_time(5)
    assert (here.hosts.phases(), here.hosts.waiting("snapshot")["params"]["heal_id"][:-2]) == (
        ["snapshot"],
        here.node.transact(lambda root: healing_of(root).book.open_on["box-1/nginx"]),
    )
    return here


def restart(here, seconds):
    """The host is asked for a restart, which takes so long; the site stays down meanwhile."""
    here.hosts.finish("snapshot", snapshot={"kind": "unit", "state": {}})
    here.turn(1)
    here.report(**STARTING)
    for _ in range(seconds):
        here.report("monitor:m1", status="down").turn(1)
    here.hosts.finish("execute", handler="systemctl")


def executed(here):
    return [one for one in here.hosts.sent if one["params"].get("phase") == "execute"]


def check(here, status):
    """The checks that were asked for end with this."""
    asked, here.hosts.rechecked = here.hosts.rechecked, []
    for subject, done in asked:
        here.report(subject, status=status)
        done(here.clock.now())


def test_one_cause_that_two_rules_see_is_acted_on_once(both):
    restart(both, 15)
    for _ in range(12):
        both.report(**ACTIVE).turn(1)
    check(both, "up")
    both.turn(1)
    outcomes = {entry["rule_id"]: (entry["outcome"], entry["reason"]) for entry in both.ledger}
    assert outcomes["nginx"][0] == "verified"
    assert outcomes["site"] == ("withdrawn", "condition_gone")
    assert len(executed(both)) == 1


def test_what_is_not_known_after_the_wait_is_withdrawn_and_not_done(both):
    restart(both, 15)
    for _ in range(90):
        both.report(**ACTIVE).turn(1)
    [site] = [entry for entry in both.ledger if entry["rule_id"] == "site"]
    assert (site["outcome"], site["executed"]) == ("withdrawn", False)
    assert site["reason"] == "condition_unknown: nothing fresh was reported"
    assert len(executed(both)) == 1


def test_what_still_holds_after_the_wait_is_acted_on(both):
    """The first heal was of another cause."""
    restart(both, 15)
    for _ in range(12):
        both.report(**ACTIVE).report("monitor:m1", status="down").turn(1)
    check(both, "down")
    both.turn(1)
    assert both.hosts.waiting("snapshot")["params"]["params"]["service"] == "nginx"


def test_the_same_restart_for_another_rule_gets_the_time_that_this_rule_gives(ward):
    """The site needs 30 s after a restart, as its rule says; the service counts as active at once."""
    slow = {**SITE, "settle_s": 30}
    here = ward(SERVICE, slow, places=(place(), MONITOR)).at("execute").at("execute", "site")
    here.report(**ACTIVE).report("monitor:m1", status="up").turn(1)
    here.report(**FAILED).turn(1)
    here.turn(5)
    here.heal(**ACTIVE)
    assert [entry["outcome"] for entry in here.ledger] == ["verified"]
    here.report("monitor:m1", status="down").turn()
    here.pass_time(15, **ACTIVE)
    assert len(executed(here)) == 1
    here.pass_time(16, **ACTIVE)
    check(here, "up")
    here.turn(1)
    assert [entry["outcome"] for entry in here.ledger] == ["verified", "withdrawn"]
    assert len(executed(here)) == 1


def test_different_services_of_a_host_are_healed_one_after_the_other(ward):
    rule = {**NGINX, "condition": "service.*.failed == 1"}
    here = ward(rule).at("execute").report(service__a__state="active", service__b__state="active").turn(1)
    failed = {"service__a__state": "failed", "service__b__state": "failed"}
    here.report(**failed).turn(1).turn(5)
    assert here.hosts.phases() == ["snapshot"]
    first = here.hosts.waiting("snapshot")["params"]["params"]["service"]
    here.heal(**{**failed, f"service__{first}__state": "active"})
    here.turn(1).turn(1)
    assert here.hosts.phases().count("snapshot") == 2
    here.heal(service__a__state="active", service__b__state="active")
    assert [entry["outcome"] for entry in here.ledger] == ["verified", "verified"]
