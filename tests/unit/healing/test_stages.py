"""Correlation, planning, execution, verification, ledger: each gate, and what it leads to."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opsapp.healing.config import ProtectedSettings
from opsapp.healing.logic import chain
from opsapp.healing.logic.brake import Load
from opsapp.healing.logic.effectiveness import NOTHING
from opsapp.healing.logic.graph import Graph, GraphNode
from opsapp.healing.logic.soundness import incomplete, wrong_params
from opsapp.healing.logic.windows import ActiveWindow
from opsapp.healing.stages import correlation, ledger, planning, verification
from opsapp.healing.stages.world import Host, Reading
from opsapp.wire.actions import ACTIONS

from .world import BOX, NOW, RULE, SETTINGS, case, event, rule, tally, world

# -- correlation ------------------------------------------------------------------------------------------------------


def window(effect, targets=("box-1",), ends=NOW + 600):
    return ActiveWindow("w", frozenset(targets), effect, ends)


@pytest.mark.parametrize(
    ("changes", "kind", "outcome"),
    [
        ({}, "open", None),
        ({"paused": True}, "end", "suppressed"),
        ({"rules": {}}, "end", "suppressed"),
        ({"trust": {}}, "end", "suppressed"),
        ({"rules": {"nginx-down": rule(enabled=False)}}, "end", "suppressed"),
        ({"windows": [window("suppress")]}, "end", "suppressed"),
        ({"windows": [window("suppress", ("web",))]}, "end", "suppressed"),
        ({"windows": [window("queue")]}, "open", None),
        ({"windows": [window("notify")]}, "open", None),
    ],
)
def test_an_event_arrives(changes, kind, outcome):
    found = correlation.receive(event(), world(**changes), [])
    assert (found.kind, found.outcome) == (kind, outcome)
    assert found.reason or kind == "open"
    assert found.due == (NOW + 5 if kind == "open" else 0)


def test_observation_only_counts():
    found = correlation.receive(event(), world(levels={"nginx-down": "observation"}), [case()])
    assert (found.kind, found.outcome) == ("end", "observed")


@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        ({"state": "executing"}, "absorb"),
        ({"state": "closed", "outcome": "failed"}, "absorb"),
        ({"state": "closed", "outcome": "notified", "level": "execute"}, "absorb"),
        ({"state": "closed", "outcome": "notified", "level": "notify"}, "open"),  # the event may act, the case did not
        ({"state": "closed", "outcome": "verified"}, "open"),  # a new failure
        ({"state": "closed", "outcome": "withdrawn"}, "open"),
        ({"state": "closed", "outcome": "failed", "opened_at": NOW - 60}, "open"),
    ],
)
def test_rapid_alerts_of_one_target_are_one_case(changes, kind):
    found = correlation.receive(event(), world(), [case(**changes)])
    assert (found.kind, found.case_id) == (kind, "00ff" if kind == "absorb" else None)


@pytest.mark.parametrize(
    ("changes", "kind", "outcome"),
    [
        ({}, "plan", None),
        ({"verdict": None}, "plan", None),
        ({"verdict": False}, "end", "withdrawn"),
        ({"paused": True}, "end", "suppressed"),
        ({"rules": {}}, "end", "suppressed"),
        ({"windows": [window("suppress")]}, "end", "suppressed"),
        ({"windows": [window("queue")]}, "wait", None),
        ({"failing": {"box-1", "box-1/nginx"}}, "end", "suppressed"),
        ({"failing": {"box-1/nginx"}}, "plan", None),
    ],
)
def test_the_hold_is_over(changes, kind, outcome):
    found = correlation.correlate(case(), world(**changes))
    assert (found.kind, found.outcome, found.rule_id) == (kind, outcome, "nginx-down")


def test_a_queued_case_waits_for_the_end_of_its_window_spread_over_time():
    found = correlation.correlate(case(), world(windows=[window("queue")]))
    assert NOW + 600 < found.due < NOW + 630
    assert found.due != correlation.correlate(case(id="0100"), world(windows=[window("queue")])).due
    forever = correlation.correlate(case(), world(windows=[window("queue", ends=None)]))
    assert NOW + 60 < forever.due < NOW + 90


def test_the_root_cause_is_named():
    graph = Graph([GraphNode("web", depends_on=("db",))])
    found = correlation.correlate(case(target="web"), world(graph=graph, failing={"web", "db"}))
    assert (found.root, found.outcome, found.reason) == ("db", "suppressed", "root cause db: depends on db")


# -- what a target hangs on -------------------------------------------------------------------------------------------

LINE = Graph([GraphNode("isp"), GraphNode("db", depends_on=("isp",)), GraphNode("web", depends_on=("db",))])


def unmeasured_reading(_about):
    return Reading(None, {}, None)


def named(*names):
    return lambda name, *_: name in names


@pytest.mark.parametrize(
    ("changes", "kind", "reason", "ask"),
    [
        ({}, "open", "", ()),
        ({"failing": {"isp"}}, "end", "root cause isp: depends on db → isp", ()),
        ({"failing": {"isp"}, "unmeasured": named("db")}, "open", "", ("db",)),  # db may be well: then it is no cause
        ({"failing": {"db"}, "unmeasured": named("isp")}, "open", "", ("isp",)),  # isp may be the root
        ({"failing": {"db"}, "doubtful": named("isp")}, "open", "", ()),
        ({"unmeasured": named("db", "isp")}, "open", "", ("db", "isp")),
        ({"well": named("db"), "failing": {"isp"}, "unmeasured": named("isp")}, "open", "", ()),
        ({"windows": [window("queue", ("web",))], "failing": {"isp"}, "unmeasured": named("db")}, "open", "", ()),
    ],
)
def test_an_event_arrives_whose_target_hangs_on_others(changes, kind, reason, ask):
    found = correlation.receive(event(target="web"), world(graph=LINE, **changes), [])
    assert (found.kind, found.reason, found.ask) == (kind, reason, ask)
    assert (found.root is not None) == ("failing" in changes and not {"well", "windows"} & changes.keys())


@pytest.mark.parametrize(
    ("changes", "waited", "kind", "reason"),
    [
        ({}, 5, "plan", ""),
        ({"unmeasured": named("isp")}, 5, "hold", "isp is being measured"),
        ({"unmeasured": named("isp"), "failing": {"db"}}, 14, "hold", "isp is being measured"),
        ({"unmeasured": named("isp"), "failing": {"db"}}, 15, "end", "root cause db: depends on db"),
        ({"unmeasured": named("isp")}, 15, "plan", ""),
        ({"doubtful": named("db"), "well": named("db")}, 15, "hold", "db may have failed"),
        ({"doubtful": named("db")}, 60, "plan", ""),
        ({"failing": {"isp"}, "well": named("db")}, 5, "plan", ""),
        ({"failing": {"isp", "db"}, "well": named("db")}, 5, "end", "root cause isp: depends on db → isp"),
    ],
)
def test_the_hold_is_over_and_what_the_target_hangs_on_is_known_or_not(changes, waited, kind, reason):
    here = case(target="web", opened_at=NOW - waited)
    found = correlation.correlate(here, world(graph=LINE, **changes))
    assert (found.kind, found.reason) == (kind, reason)
    assert found.ask == (("isp",) if "being measured" in reason else ())


@pytest.mark.parametrize(
    ("measured", "failing", "reason"),
    [
        (NOW - 1, set(), "root cause isp: it is over, not measured afterwards"),
        (NOW - 1, {"db"}, "root cause isp: it is over, not measured afterwards"),  # it fails for the sake of isp
        (NOW + 2, set(), ""),  # measured after it had had time to come up
        (None, set(), ""),
    ],
)
def test_what_hung_on_a_root_cause_that_is_over_is_measured_again(measured, failing, reason):
    back = {"isp": NOW - 4}.get
    here = world(graph=LINE, failing=failing, well_since=back, verdict=None, reading=unmeasured_reading)
    assert correlation.correlate(case(target="web", measured_at=measured), here).reason == reason
    assert correlation.receive(event(target="web", measured_at=measured), here, []).reason == reason


def test_of_several_that_are_over_the_one_above_all_others_is_the_root_cause():
    """Both are as far away; `isp` has taken `db` down, too."""
    fork = Graph([GraphNode("isp"), GraphNode("db", depends_on=("isp",)), GraphNode("web", depends_on=("isp", "db"))])
    here = world(graph=fork, well_since={"isp": NOW - 5, "db": NOW - 2}.get, verdict=None, reading=unmeasured_reading)
    found = correlation.correlate(case(target="web", measured_at=NOW - 1), here)
    assert found.reason == "root cause isp: it is over, not measured afterwards"


def test_what_is_over_but_hangs_on_a_failed_target_is_no_root_cause():
    """The host of `isp` is well, and its heal is not verified yet; `db` has been measured before it."""
    back = {"db": NOW - 4}.get
    more = {"failing": {"isp"}, "well": named("db"), "well_since": back, "verdict": None}
    here = world(graph=LINE, **more, reading=unmeasured_reading)
    found = correlation.correlate(case(target="web", measured_at=NOW - 1), here)
    assert found.reason == "root cause isp: db depends on it and is over, not measured afterwards"


@pytest.mark.parametrize("order", [["quiet", "loud", "worse"], ["worse", "loud", "quiet"]])
def test_the_rule_that_may_do_most_leads_then_the_most_severe(order):
    rules = [
        rule(id="quiet"),
        rule(id="loud", severity="warning"),
        rule(id="worse", severity="critical"),
        rule(id="off", enabled=False),
    ]
    here = world(*rules, levels={"quiet": "notify", "loud": "approve", "worse": "approve"})
    events = {name: 1 for name in [*order, "off", "gone"]}
    assert correlation.leading(case(events=events), here) == "worse"
    assert correlation.leading(case(events={"quiet": 1, "loud": 1}), here) == "loud"
    odd = world(rule(id="odd", severity="purple"), rule(id="info", severity="info"))
    assert correlation.leading(case(events={"odd": 1, "info": 1}), odd) == "odd"


@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        ({"load": Load(rule=10)}, "absorb"),  # the brake holds the event down as it held the case
        ({"windows": [window("notify")]}, "absorb"),
        ({"hosts": []}, "absorb"),
        ({}, "open"),  # nothing holds it down any more: it may act
    ],
)
def test_what_a_cap_holds_down_is_absorbed_like_anything_else(changes, kind):
    closed = case(state="closed", outcome="notified", level="notify")
    assert correlation.receive(event(), world(**changes), [closed]).kind == kind
    waiting = case(state="awaiting_approval", level="notify", events={"other": 1})
    assert correlation.receive(event(), world(**changes), [waiting]).kind == kind


# -- planning ---------------------------------------------------------------------------------------------------------


def planned(given_case=None, **changes):
    return planning.plan(given_case or case(), world(**changes))


def test_the_straight_way():
    found = planned()
    assert (found.would, found.outcome, found.tell) == ("execute", None, False)
    assert found.choice.params == {"service": "nginx"}
    assert found.host == BOX
    assert found.passed
    assert [check.check for check in found.checks] == ["host_online", "capability"]
    assert found.why[-1] == "would execute"


@pytest.mark.parametrize(
    ("level", "action", "would", "outcome", "tell"),
    [
        ("observation", "restart_service", "observe", "observed", False),
        ("dry-run", "restart_service", "simulate", "simulated", False),
        ("notify", "restart_service", "notify", "notified", True),
        ("approve", "restart_service", "request_approval", None, False),
        ("execute", "agent_command", "execute", None, True),
        ("execute", "run", "request_approval", None, False),
        ("notify", "run", "notify", "notified", True),
    ],
)
def test_level_and_risk(level, action, would, outcome, tell):
    hosts = [BOX._replace(usable=frozenset({"sh", "systemctl"}))]
    params = {"command": "true"} if action in ("run", "agent_command") else {}
    one = rule(action={"type": action, "params": params})
    found = planned(rules={"nginx-down": one}, levels={"nginx-down": level}, hosts=hosts)
    assert (found.would, found.outcome, found.tell) == (would, outcome, tell)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"graph": Graph([GraphNode("box-1/nginx", "external")])}, "external"),
        ({"load": Load(rule=10)}, "brake: 10 heals"),
        ({"windows": [window("notify")]}, "window w: notify"),
        ({"hosts": []}, "no_host"),
    ],
)
def test_what_caps_at_notify(changes, reason):
    found = planned(**changes)
    assert (found.would, found.outcome, found.effective.level, found.tell) == ("notify", "notified", "notify", True)
    assert found.reason.startswith(reason)
    assert any(line.startswith(reason) for line in found.why)


@pytest.mark.parametrize(
    ("action", "agent_id", "hosts", "host", "why"),
    [
        ({"type": "x"}, "a1", [BOX], "a1", ""),
        ({"type": "x"}, None, [BOX], None, "no_host"),
        ({"type": "x"}, "gone", [BOX], None, "no_host"),
        ({"type": "x", "target": "box-1"}, None, [BOX], "a1", ""),
        ({"type": "x", "target": "web"}, None, [BOX], "a1", ""),
        ({"type": "x", "target": "a1"}, "a2", [BOX], "a1", ""),
        ({"type": "x", "target": "server"}, "a1", [BOX], "server", ""),
        ({"type": "x", "target": "box-1"}, None, [BOX, BOX._replace(agent_id="a2")], None, "ambiguous_host"),
        ({"type": "x", "target": "box-1"}, None, [BOX._replace(ambiguous=True)], None, "ambiguous_host"),
        ({"type": "x", "target": "a1"}, None, [BOX._replace(ambiguous=True)], "a1", ""),
        (None, "a1", [BOX._replace(ambiguous=True)], "a1", ""),
    ],
)
def test_where_a_heal_runs(action, agent_id, hosts, host, why):
    found, reason = planning.whereto(case(agent_id=agent_id), rule(action=action), world(hosts=hosts))
    assert (found and found.agent_id, reason) == (host, why)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"hosts": [BOX._replace(online=False)]}, "host_offline: box-1"),
        (
            {"hosts": [BOX._replace(usable=frozenset({"docker"}))]},
            "no_capable_handler: looked for systemctl, service, rc-service, sv",
        ),
        (
            {"rules": {"nginx-down": rule(action={"type": "clear_cache", "target": "server"})}},
            "no_capable_handler: looked for the agent's own code, which the service itself does not have: "
            "run an agent on this machine",
        ),
        ({"rules": {"nginx-down": rule(action={"type": "sfc_scan"})}}, "no_capable_handler: looked for sfc.exe"),
        (
            {
                "rules": {
                    "nginx-down": rule(
                        action={"type": "nice_adjust", "params": {"pid": 7, "priority": 5}, "target": "server"}
                    )
                }
            },
            "no_capable_handler: looked for the agent's own code, which the service itself does not have: "
            "run an agent on this machine",
        ),
    ],
)
def test_preflight_fails(changes, reason):
    found = planned(**changes)
    assert (found.would, found.outcome, found.reason) == ("nothing", "failed", reason)
    assert not found.passed


def test_an_agent_that_did_not_say_its_tools_looks_for_them_itself():
    assert planned(hosts=[BOX._replace(usable=None)]).would == "execute"


CHAIN = rule(action=None, escalation_chain=[{"action": "service_reset_failed"}, {"action": "restart_service"}])


def test_a_step_with_a_bad_history_is_passed_over():
    history = {"service_reset_failed": tally(0, 5), "restart_service": tally(9, 9)}
    found = planned(rules={"nginx-down": CHAIN}, history=lambda action, condition, target: (history[action], NOTHING))
    assert found.choice.step.position == 1
    [skipped] = found.skipped
    assert (skipped.step, skipped.action) == (0, "service_reset_failed")
    assert skipped.reason == (
        "low_effectiveness: 0% verified on this host, the limit is 30% (outcomes weigh 5.0, each half after 30 days); "
        "tried again in 7.0 days"
    )


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"history": tally(1, 5)}, "low_effectiveness: 20% verified on this host, the limit is 30%"),
        (
            {"rules": {"nginx-down": rule(action={"type": "process_kill"})}},
            "parameters: process_kill: pid or top is required",
        ),
    ],
)
def test_no_step_is_left(changes, reason):
    found = planned(**changes)
    assert (found.would, found.outcome, found.choice) == ("nothing", "skipped", None)
    assert found.reason.startswith(reason)


@pytest.mark.parametrize("source", ["prediction", "anomaly"])
@pytest.mark.parametrize(
    ("level", "would", "outcome"),
    [
        ("observation", "observe", "observed"),
        ("dry-run", "observe", "observed"),
        ("notify", "notify", "notified"),
        ("approve", "notify", "notified"),
        ("execute", "request_approval", None),
    ],
)
def test_what_is_predicted_is_told_at_the_rules_own_level_and_acted_upon_one_below(source, level, would, outcome):
    found = planned(case(source=source), levels={"nginx-down": level})
    assert (found.would, found.outcome, found.tell) == (would, outcome, would == "notify")


def test_why_nothing_was_done_is_always_said():
    assert planned(levels={"nginx-down": "notify"}).reason == "level notify"
    assert planned(levels={"nginx-down": "dry-run"}).reason == "level dry-run"
    assert planned(case(source="anomaly"), levels={"nginx-down": "notify"}).reason == "anomaly: one level below notify"


def test_past_the_last_step():
    found = planned(case(step=1))
    assert (found.outcome, found.reason) == ("skipped", "chain_exhausted")
    assert planned(case(step=1), levels={"nginx-down": "notify"}).outcome == "notified"


@pytest.mark.parametrize(
    ("targets", "processes", "reason"),
    [
        (["box-1"], [], "protected: target box-1"),
        (["box-1/nginx"], [], "protected: target box-1/nginx"),
        ([], ["nginx"], "protected: service nginx"),
        (["nginx"], [], "protected: service nginx"),
        ([], ["other"], None),
    ],
)
def test_protected_things_are_never_acted_upon(targets, processes, reason):
    found = planned(settings=replace(SETTINGS, protected=ProtectedSettings(tuple(targets), tuple(processes))))
    assert found.reason == (reason or "")
    assert (found.would == "execute") is (reason is None)


def test_what_is_only_predicted_gets_low_risk_and_one_level_less():
    one = rule(action=None, escalation_chain=[{"action": "service_dependency_restart"}, {"action": "restart_service"}])
    found = planned(case(source="prediction"), rules={"nginx-down": one})
    assert (found.would, found.choice.step.position, found.effective.level) == ("request_approval", 1, "approve")


@given(
    st.sampled_from(["observation", "dry-run", "notify", "approve", "execute"]),
    st.sampled_from(sorted(ACTIONS)),
    st.sampled_from(["alert", "prediction"]),
    st.booleans(),
    st.booleans(),
    st.sampled_from([None, "notify", "approve", "execute"]),
)
def test_nothing_runs_by_itself_unless_everything_permits_it(level, action, source, online, braked, cap):
    windows = [window(cap)] if cap else []
    found = planned(
        case(source=source),
        rules={"nginx-down": rule(action={"type": action})},
        levels={"nginx-down": level},
        hosts=[BOX._replace(online=online, usable=None)],
        load=Load(rule=10 if braked else 0),
        windows=windows,
    )
    if found.would == "execute":
        assert (level, source, online, braked) == ("execute", "alert", True, False)
        assert cap in (None, "execute")
        assert ACTIONS[action].risk in ("low", "medium")
    if found.would == "request_approval":
        assert level in ("approve", "execute")
        assert online
        assert not braked
        assert cap != "notify"
    assert (found.outcome is None) is (found.would in ("execute", "request_approval"))


REVERSIBLE, PLAIN = ACTIONS["container_pause"], ACTIONS["restart_service"]


# -- verification -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("outcome", "action", "snapshot", "then"),
    [
        ("verified", REVERSIBLE, {}, "close"),
        ("failed", REVERSIBLE, {}, "rollback"),
        ("failed", REVERSIBLE, None, "escalate"),
        ("failed", PLAIN, {}, "escalate"),
        ("inconclusive", REVERSIBLE, {}, "escalate"),
        ("inconclusive", ACTIONS["vpn_reconnect"], {}, "rollback"),
        ("inconclusive", ACTIONS["vpn_reconnect"], None, "escalate"),
    ],
)
def test_what_follows_verification(outcome, action, snapshot, then):
    assert verification.afterwards(outcome, action, snapshot is not None) == then


# -- ledger -----------------------------------------------------------------------------------------------------------


def test_a_record_from_intent_to_its_link_in_the_chain():
    params = ledger.params_text({"service": "nginx", "left_out": None})
    entry = ledger.opened(
        case(),
        entry_id=7,
        rule_id="nginx-down",
        created_at=NOW + 0.9,
        action_type="restart_service",
        action_params=params,
    )
    assert (entry.state, entry.outcome, entry.created_at) == ("planned", None, int(NOW))
    assert json.loads(entry.action_params) == {"service": "nginx"}
    done = ledger.final(entry, outcome="verified", reason="ok", now=NOW + 9, previous=chain.GENESIS, events=2)
    assert (done.verified, done.state, done.events, done.finished_at) == (1, "final", 2, int(NOW + 9))
    assert chain.verify([done.stored()]).valid


def test_a_stored_record_is_read_as_it_was_and_with_defaults_where_it_is_older():
    done = ledger.opened(case(), entry_id=7, rule_id="nginx-down", created_at=NOW)._replace(verdict="lost")
    assert ledger.LedgerRecord.read(done.stored()) == done
    assert "verdict" not in done._replace(verdict=None).stored()
    older = {name: value for name, value in done.stored().items() if name not in ("rolls_back", "metrics_after")}
    assert ledger.LedgerRecord.read({**older, "of_a_later_version": 1}) == done


@pytest.mark.parametrize(
    ("outcome", "executed", "counted"),
    [
        ("verified", True, (1, 1)),
        ("failed", True, (0, 1)),
        ("rolled_back", True, (0, 1)),
        ("failed", False, (0, 0)),
        ("inconclusive", True, (0, 0)),
        ("lost", True, (0, 0)),
        ("notified", False, (0, 0)),
    ],
)
def test_what_counts_for_effectiveness(outcome, executed, counted):
    entry = ledger.opened(case(), entry_id=7, rule_id="nginx-down", created_at=NOW, executed=executed)
    assert ledger.counts(entry._replace(outcome=outcome, verified=int(outcome == "verified"))) == counted


def test_effectiveness_without_data_is_null_and_never_a_number():
    assert ledger.effectiveness("run", "a > 1", 0, 0) == ledger.Effectiveness("run", "a > 1", 0, 0, 0, None, None)
    assert ledger.effectiveness("run", "a > 1", 9, 10).success_rate == 90.0


def test_hosts_are_found_by_id_hostname_and_label():
    here = world(hosts=[BOX, Host("a2", "box-2", label="box-1")])
    assert [host.agent_id for host in here.find_hosts("a1") + here.find_hosts("box-1") + here.find_hosts("web")] == [
        "a1",
        "a1",
        "a1",
    ]
    assert here.find_hosts("nobody") == []
    bare = type(here)(NOW, {}, {}, {})
    assert (bare.history("x", "y", "z"), bare.load("r", "t"), bare.reading({}).verdict) == (
        (NOTHING, NOTHING), Load(), None)  # fmt: skip
    assert RULE.id == "nginx-down"


def test_what_does_not_fit_an_action_is_named():
    given = {"service": "nginx", "colour": "red"}
    assert wrong_params("restart_service", given) == {"params.colour": "restart_service has no such parameter"}
    assert list(wrong_params("restart_service", {"service": 7})) == ["params.service"]
    assert list(wrong_params("process_kill", {"pid": 7, "top": "cpu"})) == ["params.pid", "params.top"]
    assert wrong_params("process_kill", {"pid": None, "top": "cpu"}) == {}  # null is the same as left out


@pytest.mark.parametrize("place", ["{{event:target}}", "{{ input:name }}", "{{secret:token}}"])
def test_a_placeholder_that_nothing_fills_in_is_refused(place):
    """A rule would run it as it stands, or send it."""
    for name, param, value in (
        ("run", "command", f"logger {place}"),
        ("run", "command", f"logger '{place}'"),
        ("agent_command", "command", f"cat <<E\n{place}\nE"),
        ("webhook", "url", f"https://hooks.example.org/{place}"),
        ("webhook", "body", {"text": place}),
    ):
        assert "has no value in a rule" in wrong_params(name, {param: value})[f"params.{param}"]
    assert "params.command" not in wrong_params("run", {"command": "docker ps --format '{{.Names}}'"})


@pytest.mark.parametrize(("made", "wrong"), [
    ({"action": {"type": "run"}}, ["action.params.command"]),
    ({"action": {"type": "run", "params": {"command": None}}, "escalation_chain": []}, ["action.params.command"]),
    ({"action": {"type": "run"}, "escalation_chain": [{"action": "clear_cache"}]}, []),  # it only names the target
    ({"action": None, "escalation_chain": [{"action": "clear_cache"}, {"action": "failover_dns", "params": {}}]},
     ["escalation_chain.1.params.secondary"]),  # the primary may be the event's target
    ({"action": {"type": "restart_service"}}, []),  # so may the service
    ({"action": {"type": "process_kill", "params": {"top": "cpu"}}}, []),
    ({"action": {"type": "process_kill", "params": {"top": "cpu", "pid": None}}}, []),
    ({"action": {"type": "process_kill"}}, ["action.params.pid", "action.params.top"]),
    ({"action": {"type": "nice_adjust", "params": {"priority": 5, "top": None}}},
     ["action.params.pid", "action.params.top"]),
    ({"escalation_chain": [{"action": "clear_cache"}, {"action": "scale_container", "params": {"container": "web"}}]},
     ["escalation_chain.1.params.cpu_limit", "escalation_chain.1.params.mem_limit"]),
    ({"action": {"type": "scale_container", "params": {"cpu_limit": 2}}}, []),  # the container may be the target
    ({"action": None, "escalation_chain": []}, ["action"]),
    ({"escalation_chain": []}, []),  # the action was wrong in itself
])  # fmt: skip
def test_what_nothing_can_fill_in_is_missed_when_the_rule_is_written(made, wrong):
    assert list(incomplete(made)) == wrong
