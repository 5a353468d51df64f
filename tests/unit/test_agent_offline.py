"""Healing alone: what is signed, when it acts, what it tells, and that it stays within its budget."""

import hashlib
import json
import time
from dataclasses import replace
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opsapp.agent import offline as module
from opsapp.agent.armed import Armed
from opsapp.agent.executor import CommandAnswer
from opsapp.agent.offline import Offline, readings
from opsapp.agent.outcomes import Outcomes
from opsapp.agent.processes import Ran
from opsapp.agent.proof import ProofPace
from opsapp.agent.snapshots import snapshot_of
from opsapp.agent.steady import SteadyClock
from opsapp.wire.fields import WireError, record
from opsapp.wire.harms import Harm
from opsapp.wire.policies import check_bundle, secret_of, sign
from opsapp.wire.records import plain
from opsapp.wire.reports import OUTCOME, HostReport, LocalOutcome, Measurement

KEY = "k" * 64


def policy(**more):
    return {
        "rule_id": "nginx-down",
        "condition": 'service.nginx.state == "failed"',
        "for_s": 0,
        "cooldown_s": 300,
        "settle_s": 0,
        "verify_timeout_s": 0,
        "steps": [{"action": "restart_service", "params": {}}],
        **more,
    }


def bundle(*policies, **more):
    return {
        "agent_id": "a1",
        "version": 1,
        "issued_at": 0,
        "expires_at": time.time() + 3600,
        "offline_after_s": 10,
        "budget": 5,
        "policies": list(policies or [policy()]),
        **more,
    }


def report(nginx="failed", **more):
    told = {"services": {"nginx": nginx}, "disks": {"/var": 91.0}, **more}
    return HostReport("box-1", "Debian", **told)


class Healer:
    """What heals; `after` is the state that the action leaves."""

    def __init__(self):
        self.done = []
        self.ran = Ran("done", 0, b"")
        self.restored = True
        self.data = {}

    def perform(self, task):
        self.done.append((task.params.phase, task.params.action_type, task.params.params))
        if task.params.phase == "rollback":
            return CommandAnswer(Ran("done", 0, b""), {"restored": self.restored})
        return CommandAnswer(self.ran, self.data)


class HostTime:
    """The clock of a host, which somebody sets, and the time since its boot."""

    def __init__(self):
        self.wall, self.running = time.time(), 5000.0

    def go(self, seconds):
        self.wall += seconds
        self.running += seconds

    def clock(self, boot="b1"):
        """As an agent process sees it."""
        return SteadyClock(boot, wall=lambda: self.wall, running=lambda: self.running)


@pytest.fixture
def hosttime():
    return HostTime()


@pytest.fixture
def made(tmp_path):
    def make(*, after="active", silent=60.0, given=None, server_time=time.time, clock=None):
        config = SimpleNamespace(key=KEY, agent_id="a1", state_dir=str(tmp_path), service_check_s=1.0, interval_s=15.0)
        healer, outcomes = Healer(), Outcomes(str(tmp_path), clock)
        offline = Offline(
            config,
            healer,
            outcomes,
            Armed(str(tmp_path), clock),
            measure=lambda: report(after),
            recent=lambda _: report(),
            silent_for=lambda: silent,
            tell=lambda: None,
            server_time=server_time,
        )
        if given is not None:
            offline.take(given, sign(given, secret_of(KEY)))
        return offline, healer, outcomes

    return make


def test_alone_it_heals_and_proves_it(made):
    offline, healer, outcomes = made(given=bundle())
    offline.turn(report())
    assert healer.done == [("execute", "restart_service", {"service": "nginx"})]
    told = outcomes.waiting()[0]
    assert (told.outcome, told.verified, told.action_success) == ("verified", 1, 1)
    assert told.target == "box-1/nginx"
    assert told.metrics_before == {"service.nginx.state": "failed"}
    assert told.metrics_after == {"service.nginx.state": "active"}


def test_policies_expire_by_the_servers_clock_and_not_by_this_hosts(made):
    """This host's clock is a day ahead, or a day behind."""
    day, now = 86400.0, time.time()
    offline, healer, outcomes = made(given=bundle(expires_at=now - day + 3600), server_time=lambda: now - day)
    offline.turn(report())
    assert len(healer.done) == 1
    assert outcomes.waiting()[0].case_id
    late, healer, _ = made(given=bundle(expires_at=now + 3600), server_time=lambda: now + day)
    late.turn(report())
    assert healer.done == []


@pytest.mark.parametrize(
    ("why", "how"),
    [
        ("the server answers", {"silent": 5.0}),
        ("nothing is wrong", {"seen": report("active")}),
        ("nothing is known", {"seen": HostReport("box-1", "Debian")}),
        ("the policies are too old", {"given": bundle(expires_at=time.time() - 1)}),
        ("there is no budget", {"given": bundle(budget=0)}),
        ("it has not held for long", {"given": bundle(policy(for_s=60))}),
        ("there are no policies", {"given": None}),
    ],
)
def test_it_does_nothing_when(made, why, how):
    offline, healer, outcomes = made(silent=how.get("silent", 60.0), given=how.get("given", bundle()))
    offline.turn(how.get("seen", report()))
    assert healer.done == []
    assert outcomes.waiting() == []


def test_it_waits_for_as_long_as_the_condition_must_hold_and_starts_anew_after_a_gap(made, hosttime):
    offline, healer, _ = made(given=bundle(policy(for_s=30)), clock=hosttime.clock())
    for seconds, seen in ((0, report()), (20, report()), (5, report("active")), (15, report()), (20, report())):
        hosttime.go(seconds)
        offline.turn(seen)
    assert healer.done == []
    hosttime.go(11)
    offline.turn(report())
    assert len(healer.done) == 1


def test_a_full_disk_keeps_it_from_acting_and_loses_no_outcome(made, monkeypatch):
    monkeypatch.setattr(module, "DISK_RETRY_S", 0.01)
    offline, healer, outcomes = made(given=bundle(policy(cooldown_s=0)))
    full = ["begin", "finish", "finish"]  # what finds no room, in this order

    def roomless(name, note):
        def noted(outcome):
            if full and full[0] == name:
                full.pop(0)
                raise OSError(28, "No space left on device")
            return note(outcome)

        return noted

    monkeypatch.setattr(outcomes, "begin", roomless("begin", outcomes.begin))
    monkeypatch.setattr(outcomes, "finish", roomless("finish", outcomes.finish))
    offline.turn(report())
    assert healer.done == []
    offline.turn(report())
    assert (len(healer.done), full) == (1, [])
    assert [one.outcome for one in outcomes.waiting()] == ["verified"]


def test_cooldown_and_budget_hold_it_back(made, hosttime):
    given = bundle(policy(cooldown_s=100), budget=2)
    offline, healer, outcomes = made(after="failed", given=given, clock=hosttime.clock())
    for seconds in (0, 50, 51, 101):
        hosttime.go(seconds)
        offline.turn(report())
    assert len(healer.done) == 2
    assert [one.outcome for one in outcomes.waiting()] == ["failed", "failed"]


@pytest.mark.parametrize("again", [False, True], ids=["goes on", "started again"])
@pytest.mark.parametrize("jump", [-86_400, 86_400])
def test_a_clock_that_is_set_neither_gives_nor_takes_budget_or_cooldown(made, hosttime, jump, again):
    given = bundle(policy(for_s=60, cooldown_s=100), budget=2, expires_at=time.time() + 2 * 86_400)
    offline, healer, outcomes = made(after="failed", given=given, clock=hosttime.clock())
    done = healer.done

    def turn(seconds):
        hosttime.go(seconds)
        offline.turn(report())
        return len(done)

    assert [turn(0), turn(59), turn(1)] == [0, 0, 1]
    hosttime.wall += jump
    if again:
        offline, healer, outcomes = made(after="failed", clock=hosttime.clock())
        done += healer.done
        healer.done = done
    assert [turn(39), turn(60), turn(1)] == [1, 1, 2], "its cooldown is over 100 s after the first"
    hosttime.wall += jump
    assert [turn(200), turn(3000)] == [2, 2], "the budget of the hour is used up"
    assert [turn(400), turn(200)] == [3, 4], "an hour after each it is not"
    begun = [row.created_at for row in outcomes.waiting()]
    assert [round(hosttime.wall - at) for at in begun] == [3900, 3800, 200, 0], (
        "they are told by the clock as it is now"
    )


def test_the_clock_before_a_boot_counts_from_when_it_is_read(made, hosttime):
    """Nothing else is left of that time; what lies ahead by the clock keeps nobody from healing for so long."""
    given = bundle(policy(cooldown_s=100), budget=2)
    offline, healer, _ = made(after="failed", given=given, clock=hosttime.clock())
    offline.turn(report())
    assert len(healer.done) == 1
    hosttime.wall, hosttime.running = hosttime.wall - 86_400, 30.0
    offline, healer, _ = made(after="failed", clock=hosttime.clock("b2"))
    for seconds, heals in ((0, 0), (99, 0), (1, 1)):
        hosttime.go(seconds)
        hosttime.wall += 7200
        offline.turn(report())
        assert len(healer.done) == heals


def test_an_older_agent_reads_what_this_one_has_written_and_the_other_way_round(tmp_path, hosttime):
    outcomes = Outcomes(str(tmp_path), hosttime.clock())
    begun = outcome("o1", hosttime.wall)
    outcomes.begin(begun)
    outcomes.finish(begun)
    outcomes.thank("o1")
    outcomes.close()
    path = tmp_path / "outcomes.jsonl"
    [past] = map(json.loads, path.read_text().splitlines())
    assert (past["begun"], past["cases"]) == ([[hosttime.wall, "r", ""]], [hosttime.wall])
    path.write_text(json.dumps({name: past[name] for name in ("did", "begun", "cases", "case")}) + "\n")
    hosttime.go(50)
    again = Outcomes(str(tmp_path), hosttime.clock())
    assert (again.within(51), again.within(49), round(again.last("r", ""))) == (1, 0, 50)


def test_it_goes_on_to_the_next_step_until_one_resolves_it(made):
    steps = [
        {"action": "service_reset_failed", "params": {}},
        {"action": "restart_service", "params": {}},
        {"action": "service_dependency_restart", "params": {}},
    ]
    offline, _, outcomes = made(given=bundle(policy(steps=steps)))
    answers = iter([report(), report("active")])
    offline._measure = lambda: next(answers)
    offline.turn(report())
    assert [(one.action_type, one.escalation_step, one.outcome) for one in outcomes.waiting()] == [
        ("service_reset_failed", 0, "failed"),
        ("restart_service", 1, "verified"),
    ]
    assert [one.escalated for one in outcomes.waiting()] == [True, False]


def test_the_last_step_of_a_chain_stands_for_its_event_whatever_came_of_it(made):
    steps = [{"action": "service_reset_failed", "params": {}}, {"action": "restart_service", "params": {}}]
    offline, _, outcomes = made(after="failed", given=bundle(policy(steps=steps)))
    offline.turn(report())
    assert [(one.outcome, one.escalated) for one in outcomes.waiting()] == [("failed", True), ("failed", False)]


def test_what_is_not_known_afterwards_is_inconclusive_and_not_rolled_back(made):
    offline, healer, outcomes = made(given=bundle())
    offline._measure = lambda: HostReport("box-1", "Debian")
    offline.turn(report())
    assert (outcomes.waiting()[0].outcome, outcomes.waiting()[0].verified) == ("inconclusive", 0)
    assert [phase for phase, _, _ in healer.done] == ["execute"]


@pytest.mark.parametrize(
    ("restored", "outcome", "verdict"), [(True, "rolled_back", "inconclusive"), (False, "inconclusive", None)]
)
def test_what_may_have_cut_the_host_off_is_not_kept_on_a_guess(made, restored, outcome, verdict):
    tunnel = policy(condition="vpn.wg0.up == 0", steps=[{"action": "vpn_reconnect", "params": {"interface": "wg0"}}])
    offline, healer, outcomes = made(given=bundle(tunnel))
    healer.restored = restored
    offline._measure = report
    offline.turn(report(metrics={"vpn.wg0.up": 0}))
    assert [phase for phase, _, _ in healer.done] == ["execute", "rollback"]
    told = outcomes.waiting()[0]
    assert (told.outcome, told.verdict, told.verified) == (outcome, verdict, 0)


WG0 = {"interface": "wg0"}
TUNNEL = policy(condition="vpn.wg0.up == 0", steps=[{"action": "vpn_reconnect", "params": WG0}])


@pytest.mark.parametrize("is_undone", [False, True])
def test_what_nobody_confirmed_is_not_done_again_until_the_server_was_heard(made, tmp_path, is_undone):
    """The server asked for it and was not heard since: done again alone it would be kept, and the host cut off for
    good."""
    armed = Armed(str(tmp_path))
    armed.arm("case.0", snapshot_of({"action_type": "vpn_reconnect", "params": WG0}), 0.0 if is_undone else 60.0)
    if is_undone:
        armed.undo = lambda record: True
        armed.turn()
    offline, healer, outcomes = made(given=bundle(TUNNEL))
    offline.turn(report(metrics={"vpn.wg0.up": 0}))
    assert (healer.done, outcomes.waiting()) == ([], [])


@pytest.mark.parametrize("why", ["heard since", "confirmed", "another interface", "done alone"])
def test_it_is_done_alone_when(made, tmp_path, why):
    armed = Armed(str(tmp_path))
    params = {"interface": "wg7"} if why == "another interface" else WG0
    seconds = -120.0 if why == "heard since" else 60.0  # the server was heard a minute ago
    armed.arm(
        "alone.1" if why == "done alone" else "case.0",
        snapshot_of({"action_type": "vpn_reconnect", "params": params}),
        seconds,
    )
    if why == "confirmed":
        armed.confirm("case.0")
    offline, healer, _ = made(given=bundle(TUNNEL))
    offline._measure = lambda: report(metrics={"vpn.wg0.up": 1})
    offline.turn(report(metrics={"vpn.wg0.up": 0}))
    assert healer.done[0] == ("execute", "vpn_reconnect", WG0)


def test_the_other_steps_of_a_chain_are_done(made, tmp_path):
    Armed(str(tmp_path)).arm("case.0", snapshot_of({"action_type": "vpn_reconnect", "params": WG0}), 60.0)
    chain = [*TUNNEL["steps"], {"action": "flush_dns", "params": {}}]
    offline, healer, outcomes = made(given=bundle({**TUNNEL, "steps": chain}))
    offline._measure = lambda: report(metrics={"vpn.wg0.up": 1})
    offline.turn(report(metrics={"vpn.wg0.up": 0}))
    assert [action for _, action, _ in healer.done] == ["flush_dns"]
    assert [row.escalated for row in outcomes.waiting()] == [False]


def test_the_cause_that_a_failed_act_has_found_is_told(made):
    offline, healer, outcomes = made(given=bundle())
    healer.ran = Ran("failed", 1, b"", "exit code 1")
    healer.data = {"cause": {"id": "masked", "fields": {"service": "nginx"}}}
    offline.turn(report())
    (told,) = outcomes.waiting()
    assert told.reason == "nginx is masked: nothing can start it until somebody unmasks it (exit code 1)"


def test_what_failed_half_way_and_was_undone_at_once_is_rolled_back(made):
    offline, healer, outcomes = made(given=bundle(TUNNEL))
    healer.ran, healer.data = Ran("failed", 1, b"", "no such device"), {"undone": True}
    offline.turn(report(metrics={"vpn.wg0.up": 0}))
    told = outcomes.waiting()[0]
    assert (told.outcome, told.reason) == ("rolled_back", "no such device; undone")


@pytest.mark.parametrize(("restored", "outcome"), [(True, "rolled_back"), (False, "failed")])
def test_what_did_not_help_and_can_be_undone_is_undone(made, restored, outcome):
    given = bundle(policy(condition="mem_percent > 5", steps=[{"action": "nice_adjust", "params": {"top": "memory"}}]))
    offline, healer, outcomes = made(given=given)
    healer.restored = restored
    offline._measure = lambda: report(mem_percent=50)
    offline.turn(report(mem_percent=50))
    assert [phase for phase, _, _ in healer.done] == ["execute", "rollback"]
    assert outcomes.waiting()[0].outcome == outcome
    assert outcomes.waiting()[0].target == "box-1"


# -- the proof: as the server has it ----------------------------------------------------------------------------------


class Days:
    """Time that passes as the agent waits; `says` is what the host reports, from each second after the act on."""

    def __init__(self, offline, says, heard_at=None, stops_at=None):
        self.now, self.says, self.looks = 1000.0, says, []
        self.heard_at, self.stops_at = heard_at, stops_at
        offline._silent_for = self.silent_for
        offline._pace = ProofPace(lambda: self.now, self.wait, self.silent_for)
        offline._measure = self.measure

    def wait(self, seconds):
        self.now += seconds
        return self.stops_at is not None and self.now >= 1000 + self.stops_at

    def silent_for(self):
        """The server was never heard, or was heard some seconds after the act."""
        heard = self.heard_at is not None and self.now >= 1000 + self.heard_at
        return 0.0 if heard else 1e6

    def measure(self):
        second = self.now - 1000
        self.looks.append(second)
        return self.says[max(at for at in self.says if at <= second)]


SLOW = {"settle_s": 5, "verify_timeout_s": 60}


def proved(made, says, *others, heard_at=None, stops_at=None, **more):
    """The outcomes of one heal, the seconds at which it was looked at, and what was done."""
    offline, healer, outcomes = made(given=bundle(policy(**{**SLOW, **more}), *others))
    days = Days(offline, says, heard_at, stops_at)
    offline.turn(report())
    return outcomes.waiting(), days.looks, [phase for phase, _, _ in healer.done]


STARTS, RUNS = report("failed"), report("active")


def test_a_service_that_needs_20_s_is_verified_alone_at_the_first_look_that_finds_it_well(made):
    steps = [{"action": "restart_service", "params": {}}, {"action": "service_dependency_restart", "params": {}}]
    [told], looks, done = proved(made, {0: STARTS, 20: RUNS}, steps=steps)
    assert (told.outcome, done) == ("verified", ["execute"])
    assert looks == [5, 10, 15, 20]


def test_what_does_not_help_has_failed_alone_at_the_deadline_and_the_next_step_begins_then(made):
    steps = [{"action": "restart_service", "params": {}}, {"action": "service_dependency_restart", "params": {}}]
    told, looks, _ = proved(made, {0: STARTS, 75: RUNS}, steps=steps)
    assert [(row.outcome, row.reason) for row in told] == [("failed", "the condition still holds"), ("verified", None)]
    assert looks[12:14] == [65, 70]


def test_unknown_stays_unknown_alone(made):
    [told], looks, _ = proved(made, {0: HostReport("box-1", "Debian")})
    assert (told.outcome, told.reason, looks[-1]) == ("inconclusive", "the condition is unknown", 65)


def test_what_comes_back_after_a_heal_alone_has_to_stay_well(made):
    offline, _, outcomes = made(given=bundle(policy(**SLOW, cooldown_s=0)))
    days = Days(offline, {0: RUNS})
    offline.turn(report())
    days.now, days.looks = 1000.0, []
    offline.turn(report())
    assert [row.outcome for row in outcomes.waiting()] == ["verified", "verified"]
    assert days.looks == [5, 10]


DISK = policy(rule_id="disk", condition="disk./var.percent > 95")


def test_a_heal_alone_that_makes_something_else_worse_is_undone_and_says_so(made):
    pause = [{"action": "container_pause", "params": {"container": "web"}}]
    full = report("active", disks={"/var": 99.0})
    [told], looks, done = proved(made, {0: full}, DISK, steps=pause)
    harm = {"rule_id": "disk", "target": "box-1//var", "condition": "disk./var.percent > 95"}
    assert (told.outcome, told.verified, told.worse) == ("rolled_back", 0, (Harm(**harm),))
    assert told.reason == "worse: /var on box-1: disk in use is above 95 % (rule disk); restored"
    assert (looks, done) == ([5], ["execute", "rollback"])
    assert record(plain(told), OUTCOME)["worse"] == [harm]


@pytest.mark.parametrize("other", [
    policy(rule_id="disk", condition="disk./var.percent > 90"),  # so it was before
    policy(rule_id="swap", condition="swap_percent > 90"),  # nobody knows what it was before
    {**DISK, "for_s": 600},
])  # fmt: skip
def test_alone_what_was_not_known_to_be_well_is_not_worse(made, other):
    told, _, _ = proved(made, {0: report("active", disks={"/var": 99.0}, swap_percent=99)}, other)
    assert [row.outcome for row in told if row.rule_id == "nginx-down"] == ["verified"]


def test_once_the_server_is_heard_again_it_decides(made):
    steps = [{"action": "restart_service", "params": {}}, {"action": "service_dependency_restart", "params": {}}]
    [told], looks, done = proved(made, {0: STARTS}, steps=steps, heard_at=12)
    assert (told.outcome, told.escalated) == ("inconclusive", False)
    assert told.reason == "the service is heard again: it decides from here on"
    assert (looks, done) == ([5, 10, 15], ["execute"])


def test_an_agent_that_is_stopped_does_not_know(made):
    [told], looks, _ = proved(made, {0: STARTS}, stops_at=10)
    assert (told.outcome, looks) == ("inconclusive", [5, 10])
    assert told.reason == "the agent was stopped before it was known"


def test_a_star_is_every_one_of_them(made):
    given = bundle(policy(condition="service.*.failed == 1"))
    offline, healer, _ = made(given=given)
    offline.turn(report(services={"nginx": "failed", "cron": "failed", "ssh": "active", "boot": "activating"}))
    assert sorted(params["service"] for _, _, params in healer.done) == ["cron", "nginx"]


def test_policies_survive_a_restart_and_a_foreign_one_does_not_get_in(made, tmp_path):
    offline, _, _ = made(given=bundle(version=3))
    again, _, _ = made()
    assert (offline.version, again.version) == (3, 3)
    older = bundle(version=2)
    with pytest.raises(WireError, match="newer"):
        again.take(older, sign(older, secret_of(KEY)))
    foreign = bundle(version=9, agent_id="a2")
    with pytest.raises(WireError):
        again.take(foreign, sign(foreign, secret_of(KEY)))
    kept = (tmp_path / "policies.json").read_text()
    (tmp_path / "policies.json").write_text(kept.replace('"budget":5', '"budget":500'))
    assert made()[0].bundle is None


@pytest.mark.attack
def test_who_knows_what_the_service_stores_of_the_key_signs_nothing(made, tmp_path):
    stored = hashlib.sha256(KEY.encode()).hexdigest()
    forged = bundle(version=9)
    offline, _, _ = made(given=bundle())
    with pytest.raises(WireError, match="not signed"):
        offline.take(forged, sign(forged, stored))
    assert offline.version == 1
    (tmp_path / "policies.json").write_text(json.dumps({"bundle": forged, "signature": sign(forged, stored)}))
    assert made()[0].bundle is None


@given(
    st.dictionaries(
        st.sampled_from(["agent_id", "version", "budget", "policies", "expires_at"]),
        st.none() | st.integers() | st.text() | st.lists(st.integers()),
    )
)
def test_only_the_signed_bundle_passes(changes):
    whole = bundle(expires_at=10)
    signature = sign(whole, secret_of(KEY))
    assert check_bundle(whole, signature, secret_of(KEY), "a1").version == 1
    changed = {**whole, **changes}
    if changed != whole:
        with pytest.raises(WireError):
            check_bundle(changed, signature, secret_of(KEY), "a1")


@pytest.mark.parametrize(
    "wrong",
    [
        policy(steps=[{"action": "host_reboot"}]),
        policy(steps=[{"action": "webhook", "params": {}}]),
        policy(condition="1 +"),
        policy(condition=""),
        policy(rule_id="../x"),
        policy(for_s=-1),
    ],
)
def test_what_an_agent_must_not_do_alone_is_refused_even_when_signed(wrong):
    whole = bundle(wrong)
    with pytest.raises(WireError):
        check_bundle(whole, sign(whole, secret_of(KEY)), secret_of(KEY), "a1")


def outcome(name, at=1.0):
    return LocalOutcome(name, "r", "verified", at, target="box-1")


def test_outcomes_wait_in_order_over_restarts_and_a_begun_one_is_lost(tmp_path):
    first = Outcomes(str(tmp_path))
    for name in ("o1", "o2", "o3"):
        first.begin(outcome(name))
    first.finish(outcome("o2"))
    assert first.waiting() == []  # o1 is still under way: the order stays
    first.finish(outcome("o1"))
    assert [one.outcome_id for one in first.waiting()] == ["o1", "o2"]
    first.thank("o1")
    again = Outcomes(str(tmp_path))
    assert [(one.outcome_id, one.outcome) for one in again.waiting()] == [("o2", "verified"), ("o3", "lost")]
    again.thank("o2")
    again.thank("o3")
    again.thank("never")
    assert Outcomes(str(tmp_path)).waiting() == []
    assert len((tmp_path / "outcomes.jsonl").read_text().splitlines()) == 1


def test_what_was_told_to_the_server_counts_against_budget_and_cooldown_all_the_same(made, hosttime):
    """A link that comes and goes has every outcome told in between; nor does a restart of the agent start anew."""
    given = bundle(policy(cooldown_s=100), budget=2)
    offline, healer, outcomes = made(after="failed", given=given, clock=hosttime.clock())
    for seconds, heals in ((0, 1), (50, 1), (51, 2), (99, 2)):
        hosttime.go(seconds)
        offline.turn(report())
        for told in outcomes.waiting():
            outcomes.thank(told.outcome_id)
        assert (outcomes.waiting(), len(healer.done)) == ([], heals)
    given = bundle(policy(cooldown_s=100), budget=9, version=2)
    again, healer, outcomes = made(given=given, clock=hosttime.clock())
    again.turn(report())
    assert healer.done == []  # the cooldown of a heal that an earlier process began
    assert [outcomes.within(seconds) for seconds in (201, 100, 99)] == [2, 1, 0]
    hosttime.go(1)
    again.turn(report())
    assert len(healer.done) == 1


def test_the_steps_of_a_case_count_once_through_a_restart_and_a_receipt(tmp_path, hosttime):
    outcomes = Outcomes(str(tmp_path), hosttime.clock())
    steps = [("o1", "c1"), ("o2", "c1"), ("o3", "c2"), ("o4", "c2")]
    for name, case_id in steps:
        hosttime.go(1)
        begun = replace(outcome(name, hosttime.wall), case_id=case_id)
        outcomes.begin(begun)
        outcomes.finish(begun)
    assert [outcomes.within(seconds) for seconds in (4, 3, 1)] == [2, 1, 0]
    assert Outcomes(str(tmp_path), hosttime.clock()).within(9) == 2
    for name, _ in steps:
        outcomes.thank(name)
    again = Outcomes(str(tmp_path), hosttime.clock())
    assert (again.within(9), again.last("r", "")) == (2, 0.0)


def test_heals_of_long_ago_are_forgotten_once_all_are_told(tmp_path, hosttime):
    outcomes = Outcomes(str(tmp_path), hosttime.clock())
    for name in ("o1", "o2"):
        hosttime.go(9 * 86400.0)
        outcomes.begin(outcome(name, hosttime.wall))
        outcomes.finish(outcome(name, hosttime.wall))
        outcomes.thank(name)
    known = [kept.within(1e9) for kept in (outcomes, Outcomes(str(tmp_path), hosttime.clock()))]
    assert known == [1, 1]


def test_readings_are_named_as_conditions_name_them():
    found = readings(
        Measurement(
            cpu_percent=3.0,
            metrics={"zombies": 2.0},
            disks={"/var": 9.0},
            containers={"web": "exited"},
            services={"nginx": "failed", "boot": "activating"},
        ),
        set(),
    )
    assert found == {
        "cpu_percent": 3.0,
        "zombies": 2.0,
        "disk./var.percent": 9.0,
        "container.web.state": "exited",
        "service.nginx.state": "failed",
        "service.nginx.failed": 1,
        "service.nginx.masked": 0,
        "service.boot.state": "activating",
        "service.boot.masked": 0,
    }


def test_a_service_that_ran_and_stands_still_has_failed(made):
    """As the service sees it, and not where it never ran."""
    given = bundle(policy(condition="service.nginx.failed == 1"))
    offline, healer, _ = made(given=given)
    offline.turn(report("inactive"))
    assert healer.done == []
    offline.turn(report("active"))
    offline.turn(report("inactive"))
    assert [phase for phase, _, _ in healer.done] == ["execute"]


def test_units_that_start_again_and_again_are_known_to_a_host_alone():
    report = Measurement(services={"web": "activating", "db": "active"}, starts={"web": 6}, starts_counted_s=300)
    found = readings(report, set())
    assert [found[f"service.{name}.{what}"] for name in ("web", "db") for what in ("restarts_5m", "crash_looping")] == [
        6,
        1,
        0,
        0,
    ]


def test_what_the_agent_refused_to_begin_is_told_as_not_executed(made):
    offline, healer, outcomes = made(given=bundle())
    healer.ran = Ran("failed", None, b"", "protected: service nginx")
    offline.turn(report())
    [told] = outcomes.waiting()
    assert (told.outcome, told.executed) == ("failed", False)
    assert record(plain(told), OUTCOME)["executed"] is False


def test_what_was_over_shortly_before_comes_and_goes_however_long_ago_the_heal_began(made, hosttime):
    """As the service has it: what counts is when the condition was known to be over last."""
    offline, _, outcomes = made(given=bundle(policy(**SLOW)), clock=hosttime.clock())
    days = Days(offline, {0: RUNS})
    offline.turn(report())
    for seconds, seen in ((200, report("active")), (150, report())):
        hosttime.go(seconds)
        days.now, days.looks = 1000.0, []
        offline.turn(seen)
    assert [row.outcome for row in outcomes.waiting()] == ["verified", "verified"]
    assert days.looks == [5, 10]
