"""Chaos rehearsed: the twelve scenarios pass on a sound pipeline, and a broken one fails them."""

from dataclasses import replace

import pytest

from opsapp.healing.engine import chaos, clocks, world
from opsapp.healing.engine.chaos import faults
from opsapp.healing.engine.chaos.scenarios import SCENARIOS
from opsapp.healing.logic import brake, chain, effectiveness, windows
from opsapp.healing.logic.graph import Graph
from opsapp.healing.resources import healing_of
from opsapp.healing.stages import correlation, planning, trust, verification
from opsapp.healing.stages.world import Reading
from opsapp.lib.problems import Conflict
from opsapp.wire import alerts, verdicts
from tests.support.hosts import place

from .test_clock_steps import step

HOUR = 3600


def failures(found):
    return [one for one in found.expectations if not one.passed]


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_sound_pipeline_passes(ward, name):
    found = chaos.rehearse(ward().node, name)
    assert (found.status, failures(found)) == ("passed", [])
    assert found.name == name


def test_there_are_the_twelve_of_the_contract():
    assert [one.name for one in chaos.listed()] == [
        "container_crash_recovery", "dependency_cascade_suppression", "escalation_chain_walk",
        "site_connectivity_isolation", "heal_storm_circuit_breaker", "stale_metrics_guard", "capability_mismatch",
        "maintenance_window_suppression", "approval_timeout", "rollback_on_failure", "power_flicker_debounce",
        "manual_fix_race",
    ]  # fmt: skip
    assert all(one.description and one.inject for one in chaos.listed())


def test_a_rehearsal_leaves_the_store_as_it_was(ward, tmp_path):
    here = ward().at("execute").report(service__nginx__state="failed").turn().turn(5)
    store = tmp_path / "main.fs"
    before = store.read_bytes()
    assert chaos.rehearse(here.node, "container_crash_recovery").status == "passed"
    assert store.read_bytes() == before
    assert here.heal(service__nginx__state="active").ledger[0]["outcome"] == "verified"


# -- a pipeline that is broken fails ----------------------------------------------------------------------------------


def always(answer):
    return lambda *_, **__: answer


def absorbs_nothing(event, world, cases, real=correlation.receive):
    return real(event, world, ())


def counts_no_heals(load, limits, real=brake.pulled):
    return real(load._replace(fleet=0, site=0, rule=0, target=0), limits)


def counts_nobody_sick(load, limits, real=brake.pulled):
    return real(load._replace(sick=0), limits)


BROKEN = [
    ("container_crash_recovery", verification, "judge", always(
        verdicts.HealJudgement("failed", "broken", verdicts.LooksSeen()))),
    ("dependency_cascade_suppression", Graph, "suppressor", always(None)),
    ("site_connectivity_isolation", Graph, "is_external", always(False)),
    ("escalation_chain_walk", planning, "choose", lambda case, rule, world, real=planning.choose: (
        real(replace(case, step=0), rule, world))),
    ("heal_storm_circuit_breaker", trust, "tripped", always(False)),
    ("stale_metrics_guard", verification, "judge", always(
        verdicts.HealJudgement("verified", "trusts what is old", verdicts.LooksSeen()))),
    ("capability_mismatch", planning, "preflight", always(())),
    ("maintenance_window_suppression", windows, "permitted", lambda *_: windows.WindowEffect("", "execute", None, ())),
    ("approval_timeout", planning, "behaviour", always("execute")),
    ("rollback_on_failure", verification, "afterwards", always("escalate")),
    ("power_flicker_debounce", alerts, "look", lambda *given, hold, real=alerts.look, **more: (
        real(*given, hold=0, **more))),
    ("manual_fix_race", world, "_reader", lambda readings, now: lambda case: Reading(True, {}, now)),
    ("heal_storm_circuit_breaker", brake, "pulled", always(None)),
    ("heal_storm_circuit_breaker", brake, "pulled", counts_no_heals),
    ("heal_storm_circuit_breaker", brake, "pulled", counts_nobody_sick),
    ("escalation_chain_walk", effectiveness, "against", always("")),  # no step is ever skipped
    ("container_crash_recovery", correlation, "receive", absorbs_nothing),
    ("manual_fix_race", chain, "link", always("0" * 64)),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "where", "what", "broken"), BROKEN, ids=[f"{name}-{what}" for name, _, what, _ in BROKEN]
)
def test_a_broken_pipeline_fails(ward, monkeypatch, name, where, what, broken):
    """By what it does or leaves out, and by no mistake in the row; whole, it passes (above)."""
    node = ward().node
    monkeypatch.setattr(where, what, broken)
    found = chaos.rehearse(node, name)
    assert found.status == "failed"
    errors = [one.actual for one in failures(found) if one.check == "the pipeline goes on"]
    assert all("a case is still under way" in error for error in errors), errors


def test_a_pipeline_that_breaks_altogether_fails(ward, monkeypatch):
    node = ward().node

    def burst(*_):
        raise RuntimeError("burst")

    monkeypatch.setattr("opsapp.healing.engine.arrivals.receive", burst)
    found = chaos.rehearse(node, "container_crash_recovery")
    assert found.status == "failed"


# -- on real hosts ----------------------------------------------------------------------------------------------------


def guinea_pig():
    return place(tags=("chaos",))


def answer_shell(here, output="done"):
    for command in [one for one in here.hosts.sent if one["type"] == "shell" and one["answer"] is None]:
        here.hosts.finish(None, among=command, status=output)


def test_no_agent_that_is_not_tagged_is_touched(ward):
    here = ward()
    with pytest.raises(Conflict):
        chaos.provoke(here.node, "container_crash_recovery")
    assert here.hosts.sent == []


def test_where_there_is_nothing_to_break_it_fails_and_breaks_nothing(ward):
    here = ward(places=[guinea_pig()]).report(service__nginx__state="active")
    found = chaos.provoke(here.node, "capability_mismatch")
    assert (found.status, here.hosts.sent) == ("failed", [])
    assert found.expectations[0].actual == ["box-1"]


def test_a_fault_that_was_injected_is_ended_after_a_crash(ward):
    """Killed after the injection: the row is there, and whoever comes next ends the fault in time."""
    here = ward(places=[guinea_pig()]).report(service__chaos_web__state="active").turn()
    values = {"agent:a1": dict(here.node.series.live.get("agent:a1"))}
    _, [name], missing = here.node.transact(faults.inject, "capability_mismatch", "unit", values, 120)
    assert missing == []
    [command] = here.hosts.sent
    assert command["params"]["command"].splitlines()[-1] == "systemctl stop chaos_web"
    assert "sleep 120; systemctl start chaos_web" in command["params"]["command"]
    here.restart()
    assert not here.node.transact(faults.revert_due)
    answer_shell(here)
    here.clock.advance(121)
    assert here.node.transact(faults.revert_due)
    assert [one["params"]["command"] for one in here.hosts.sent][1:] == ["systemctl start chaos_web"]
    assert not here.node.transact(faults.revert_due)
    assert here.node.transact(faults.unmended, [name]) == ["box-1"]
    answer_shell(here)
    assert here.node.transact(faults.mended, [name])


def test_what_the_pipeline_made_of_it_is_told(ward):
    rule = {"id": "web", "condition": "service.chaos_web.failed == 1", "action": {"type": "restart_service"}}
    here = ward(rule, places=[guinea_pig()]).report(service__chaos_web__state="active").turn()
    values = {"agent:a1": dict(here.node.series.live.get("agent:a1"))}
    last, names, _ = here.node.transact(faults.inject, "capability_mismatch", "unit", values, 120)
    assert [seen.passed for seen in here.node.transact(faults.outcomes, names, last)] == [False, False, True]
    answer_shell(here)
    here.report(service__chaos_web__state="inactive").turn().turn(5)
    assert here.node.transact(faults.settled, names, last)
    assert [seen.passed for seen in here.node.transact(faults.outcomes, names, last)] == [True] * 3


def test_a_fault_is_waited_for_whose_injection_is_still_under_way(ward):
    """Its heal may be over before the command that broke it: stopping a container takes its time."""
    rule = {"id": "web", "condition": "service.chaos_web.failed == 1", "action": {"type": "restart_service"}}
    here = ward(rule, places=[guinea_pig()]).report(service__chaos_web__state="active").turn()
    last, name = injected(here)
    here.report(service__chaos_web__state="inactive").turn().turn(5)
    assert {entry["state"] for entry in here.ledger} == {"final"}
    assert not here.node.transact(faults.settled, [name], last)
    answer_shell(here)
    assert here.node.transact(faults.settled, [name], last)


def injected(here, fault="unit"):
    values = {"agent:a1": dict(here.node.series.live.get("agent:a1"))}
    last, [name], _ = here.node.transact(faults.inject, "capability_mismatch", fault, values, 120)
    return last, name


def mendings(here):
    return [one["params"]["command"] for one in here.hosts.sent if one["params"].get("command", "").count("\n") == 0]


@pytest.mark.parametrize("became", ["expired", "lost", "failed", "timeout", "cancelled"])
def test_what_did_not_end_a_fault_is_sent_again_until_the_host_says_that_it_is_done(ward, became):
    """The host was away for longer than a command waits, or died with its watchdog, or the mending itself broke."""
    here = ward(places=[guinea_pig()]).report(service__chaos_web__state="active").turn()
    _, name = injected(here)
    answer_shell(here)
    here.clock.advance(121)
    assert here.node.transact(faults.revert_due)
    answer_shell(here, became)
    assert not here.node.transact(faults.revert_due)
    assert here.node.transact(faults.unmended, [name]) == ["box-1"]
    here.clock.advance(faults.AGAIN_S)
    assert here.node.transact(faults.revert_due)
    answer_shell(here)
    assert here.node.transact(faults.mended, [name])
    here.clock.advance(faults.AGAIN_MOST_S)
    assert not here.node.transact(faults.revert_due)
    assert mendings(here) == ["systemctl start chaos_web"] * 2
    here.clock.advance(faults.KEEP_S + 1)
    here.node.transact(faults.revert_due)
    assert not here.node.transact(lambda root: list(healing_of(root).injections.rows))


@pytest.mark.parametrize("seconds", [HOUR, -HOUR])
def test_a_fault_lasts_as_long_as_it_would_have_whatever_the_clock_says(ward, seconds):
    here = ward(places=[guinea_pig()]).report(service__chaos_web__state="active").turn()
    injected(here)
    answer_shell(here)
    step(here.service, seconds)
    here.clock.advance(119)
    assert not here.node.transact(faults.revert_due)
    here.clock.advance(2)
    assert here.node.transact(faults.revert_due)


def test_no_fault_is_undone_before_all_that_waits_has_moved_with_the_clock(ward):
    here = ward(places=[guinea_pig()]).report(service__chaos_web__state="active").turn()
    injected(here)
    answer_shell(here)
    here.clock.advance(121)
    here.node.transact(clocks.move, 0.0)
    assert not here.node.transact(faults.revert_due)
    while here.node.transact(clocks.move_on):
        pass
    assert here.node.transact(faults.revert_due)


def test_nothing_is_sent_to_a_host_that_is_away_however_long(ward):
    here = ward(places=[guinea_pig()]).report(service__chaos_web__state="active").turn()
    injected(here)
    answer_shell(here)
    shop = place("shop", subject="monitor:m1", names=("shop",))  # runs on it
    here.hosts.here = [guinea_pig()._replace(online=False), shop]
    for _ in range(3):
        here.clock.advance(2 * faults.KEEP_S)
        assert not here.node.transact(faults.revert_due)
    here.hosts.here = [guinea_pig(), shop._replace(online=False)]
    assert here.node.transact(faults.revert_due)
    assert mendings(here) == ["systemctl start chaos_web"]


def test_a_fault_that_may_still_begin_is_not_ended_before(ward):
    """Both sent at once would be done in any order, and the fault might come out on top."""
    here = ward(places=[guinea_pig()]).report(service__chaos_web__state="active").turn()
    _, name = injected(here)
    here.node.transact(faults.end, [name])
    assert not here.node.transact(faults.revert_due)
    answer_shell(here, "expired")
    assert here.node.transact(faults.revert_due)


def test_an_agent_that_is_deleted_meanwhile_leaves_a_fault_that_nobody_knows_to_have_ended(ward):
    here = ward(places=[guinea_pig()]).report(service__chaos_web__state="active").turn()
    last, name = injected(here)
    answer_shell(here)
    here.hosts.here = []
    here.clock.advance(121)
    assert not here.node.transact(faults.revert_due)
    here.node.transact(faults.end, [name])
    assert not here.node.transact(faults.settled, [name], last)
    assert len(here.node.transact(faults.outcomes, [name], last)) == 3
    assert here.node.transact(faults.unmended, [name]) == ["box-1"]


def test_what_else_happens_on_the_host_is_no_answer_to_the_fault(ward):
    here = ward(places=[guinea_pig()]).report(service__chaos_web__state="active", service__nginx__state="active").turn()
    last, name = injected(here)
    answer_shell(here)
    here.report(service__nginx__state="failed").turn().turn(5)
    assert [entry["target"] for entry in here.ledger] == ["box-1/nginx"]
    assert [seen.passed for seen in here.node.transact(faults.outcomes, [name], last)] == [True, False, True]
    assert not here.node.transact(faults.settled, [name], last)
