"""What people are told of heals: one message per root cause."""

import pytest

from opsapp.healing.engine.warroom import causes_of
from opsapp.healing.resources import healing_of
from opsapp.notify.engine import routes
from opsapp.notify.resources import deliveries_of, inbox
from opsapp.ui.leading import path_of
from tests.support.hosts import place

FAILED, ACTIVE = {"service__nginx__state": "failed"}, {"service__nginx__state": "active"}
NGINX = {"id": "nginx", "condition": 'service.nginx.state == "failed"', "severity": "critical",
         "action": {"type": "restart_service"}}  # fmt: skip


def told(here):
    return [(row.kind, row.key, row.severity) for row in here.node.transact(inbox.take, 10_000) if row.title]


def broken(here, level):
    return here.at(level).report(**FAILED).turn().turn(5)


def test_at_notify_people_are_told(ward):
    assert told(broken(ward(NGINX), "notify")) == [("heal.notified", "heal:box-1/nginx", "critical")]


NO_HEALS = {"max_heals_per_hour": {"fleet": 0, "site": 9, "rule": 9}, "max_unhealthy_percent": 100}


@pytest.mark.parametrize("again", [False, True], ids=["same process", "after a restart"])
def test_an_outage_that_lasts_is_told_once(ward, again):
    """It fires again after each cooldown, and each firing has its entry."""
    here = broken(ward(NGINX), "notify")
    if again:
        here.restart().turn(1)
    here.pass_time(1300, step=10, **FAILED)
    assert told(here) == [("heal.notified", "heal:box-1/nginx", "critical")]
    assert [entry["outcome"] for entry in here.ledger] == ["notified"] * 5


def test_an_outage_of_a_monitor_is_told_once(ward):
    rule = {"id": "nginx", "condition": 'monitor.status == "down"', "action": {"type": "clear_cache"}}
    shop = place("shop", "a1", subject="monitor:m1", names=("shop", "m1"))
    here = ward(rule, places=[place(), shop]).at("notify").turn()
    for _ in range(70):
        here.clock.advance(10)
        here.report("monitor:m1", status="down").turn()
    assert [kind for kind, _, _ in told(here)] == ["heal.notified"]
    assert len(here.ledger) == 3


def test_the_next_outage_is_told_again(ward):
    here = broken(ward(NGINX), "notify").pass_time(400, step=10, **FAILED)
    here.pass_time(10, step=10, **ACTIVE).pass_time(400, step=10, **FAILED)
    assert [kind for kind, _, _ in told(here)] == ["heal.notified", "heal.resolved", "heal.notified"]


def test_another_reason_why_nothing_was_done_is_told(ward):
    here = broken(ward(NGINX), "notify")
    here.configure(brake=NO_HEALS)
    here.at("execute").pass_time(700, step=10, **FAILED)
    assert [kind for kind, _, _ in told(here)].count("heal.notified") == 2


@pytest.mark.parametrize("level", ["observation", "dry-run"])
def test_below_nobody_is_told(ward, level):
    assert told(broken(ward(NGINX), level)) == []


def test_a_low_risk_that_helps_is_not_worth_a_message(ward):
    assert told(broken(ward(NGINX), "execute").heal(**ACTIVE)) == []


def test_what_did_not_help_is(ward):
    here = broken(ward(NGINX), "execute").heal(**FAILED)
    assert told(here) == [("heal.unresolved", "unhealed:nginx:box-1/nginx", "critical")]


def test_a_medium_risk_that_runs_is_told_before_it_runs(ward):
    rule = {**NGINX, "action": {"type": "service_dependency_restart"}}
    assert told(broken(ward(rule), "execute")) == [("heal.executing", "heal:box-1/nginx", "warning")]


def test_an_approval_is_asked_for_aloud(ward):
    assert told(broken(ward(NGINX), "approve")) == [("heal.approval", "heal:box-1/nginx", "warning")]


@pytest.mark.parametrize(
    ("level", "kind", "start"),
    [("notify", "heal.notified", "/healing/cases/"), ("approve", "heal.approval", "/approvals/"),
     ("execute", "heal.unresolved", "/healing/cases/")],
)  # fmt: skip
def test_each_message_leads_to_a_page_that_there_is(ward, level, kind, start):
    here = broken(ward(NGINX), level)
    here = here.heal(**FAILED) if level == "execute" else here
    (row,) = [row for row in here.node.transact(inbox.take, 10_000) if row.title]
    place = path_of(row.kind, row.ids)
    assert (row.kind, row.ids["rule"], place.startswith(start)) == (kind, "nginx", True)
    assert here.service.browser("vera").get(place).status_int == 200


def test_the_breaker(ward):
    here = ward(NGINX).at("execute")
    for _ in range(3):
        here.report(**FAILED).turn().turn(5).heal(**FAILED)
        here.report(**ACTIVE).turn(1).turn(60)
    assert ("heal.breaker", "breaker:nginx", "critical") in told(here)


def test_the_brake_calls_somebody_once(ward):
    here = broken(ward(NGINX, brake=NO_HEALS), "execute")
    here.pass_time(400, step=10, **FAILED)
    assert len(here.ledger) == 2
    kinds = [kind for kind, _, _ in told(here)]
    assert (kinds.count("heal.brake"), kinds.count("heal.notified")) == (1, 1)


def test_what_a_root_cause_suppresses_tells_nobody_and_has_a_cause(ward):
    rule = {"id": "nginx", "condition": "down == 1", "action": {"type": "clear_cache"}}
    names = [("db", "d"), ("web", "w"), ("shop", "s")]
    here = ward(
        rule,
        places=[place(*name) for name in names],
        dependencies=[{"target": "db"}, {"target": "web", "depends_on": ["db"]},
                      {"target": "shop", "depends_on": ["web"]}],
    )  # fmt: skip
    for agent in "swd":
        here.report(f"agent:{agent}", down=1)
    here.turn().turn(5)
    assert told(here) == [("heal.notified", "heal:db", "warning")]
    now = here.clock.now()
    found = here.node.transact(causes_of, ("shop", "w", "db", "unheard-of"), now)
    assert found == {"shop": "db", "w": "db"}


# -- what people were told of is over -----------------------------------------------------------------

BUSY = {"id": "nginx", "condition": "cpu_percent > 90", "severity": "error", "action": {"type": "clear_cache"}}
OVER = ("heal.resolved", "heal:box-1", "critical")


def busy(here, level):
    here.at(level).report(cpu_percent=95).turn().turn(5)
    return told(here)


@pytest.mark.parametrize("again", [False, True], ids=["same process", "after a restart"])
def test_people_who_were_told_of_a_hosts_condition_are_told_that_it_is_over_once(ward, again):
    here = ward(BUSY)
    assert busy(here, "notify") == [("heal.notified", "heal:box-1", "critical")]
    if again:
        here.restart().turn(1)
    for value in (96, 20, 30):
        here.clock.advance(1)
        here.report(cpu_percent=value).turn()
    assert told(here) == [OVER]
    assert here.node.transact(lambda root: list(healing_of(root).book.told)) == []


def test_a_question_that_is_not_needed_any_more_is_over(ward):
    here = ward(BUSY)
    assert busy(here, "approve") == [("heal.approval", "heal:box-1", "warning")]
    here.clock.advance(1)
    here.report(cpu_percent=20).turn().turn(1).turn(30).turn(30)
    assert told(here) == [("heal.resolved", "heal:box-1", "warning")]


def test_what_a_heal_has_verified_is_not_told_as_over_and_what_it_has_not_is(ward):
    here = ward({**BUSY, "action": {"type": "service_dependency_restart", "params": {"service": "nginx"}}})
    busy(here, "execute")
    here.heal(cpu_percent=20)
    assert here.ledger[-1]["outcome"] == "verified"
    assert told(here) == []
    here.turn(700)
    busy(here, "execute")
    here.heal(cpu_percent=95)
    assert told(here) == [("heal.unresolved", "unhealed:nginx:box-1", "critical")]
    here.clock.advance(1)
    here.report(cpu_percent=20).turn()
    assert told(here) == [OVER]


def test_nobody_is_told_the_end_of_what_nobody_was_told(ward):
    here = ward(BUSY)
    assert busy(here, "observation") == []
    here.clock.advance(1)
    here.report(cpu_percent=20).turn()
    assert told(here) == []


def test_a_second_rule_that_fails_soon_after_the_first_is_told_too(ward):
    """They are of one kind and one host: the first message names one, and a minute later one names the other."""
    full = {"id": "full", "condition": "memory_percent > 90", "severity": "error", "action": {"type": "clear_cache"}}
    here = ward(BUSY, full).at("notify").at("notify", "full")
    node = here.node
    node.leases.want("notify")
    for second in range(140):
        here.clock.advance(1)
        here.report(cpu_percent=95, memory_percent=95 if second > 20 else 10).turn()
        node.leases.step()
        routes.step(node)
    titles = node.transact(lambda root: [message.fields["title"] for message in deliveries_of(root).messages.values()])
    assert titles == ["box-1: CPU in use is above 90 %", "box-1: memory percent is above 90"]
