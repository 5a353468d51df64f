"""The same history of readings means the same to the stages of the server and to an agent that is alone."""

from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opsapp.agent.armed import Armed
from opsapp.agent.executor import CommandAnswer
from opsapp.agent.offline import Offline, readings
from opsapp.agent.outcomes import Outcomes
from opsapp.agent.processes import Ran
from opsapp.agent.proof import ProofPace
from opsapp.agent.steady import SteadyClock
from opsapp.healing.config import HealingSettings
from opsapp.healing.engine.alerts import Alerts, WatchedRule
from opsapp.healing.engine.inventory import Member
from opsapp.healing.engine.readings import LiveReadings
from opsapp.healing.stages.case import RuleEvent
from opsapp.healing.stages.stepping import Facts, following
from opsapp.healing.stages.verification import Surroundings
from opsapp.healing.stages.world import Reading
from opsapp.series import Live
from opsapp.wire.conditions import parse
from opsapp.wire.harms import Harm
from opsapp.wire.heals import HostAnswer
from opsapp.wire.policies import secret_of, sign
from opsapp.wire.reports import HostReport

from .world import NOW, case, rule, world

KEY = "k" * 64
CONDITION = "vpn.wg0.up == 0"
PARAMS = {
    "restart_service": {"service": "nginx"},
    "container_pause": {"container": "web"},
    "vpn_reconnect": {"interface": "wg0"},
}
FULL = "disk./var.percent > 95"
EVERY_S = 5.0  # between two looks of an agent


class Host:
    """A host whose time passes as its agent waits: each reading of the history holds for five seconds."""

    def __init__(self, history, answer=None, restored=True):
        self.history, self.answer, self.restored = history, answer or HostAnswer("done"), restored
        self.now, self.looks, self.phases = 0.0, [], []

    def wait(self, seconds):
        self.now += seconds
        return False

    def report(self):
        up, full = self.history[min(int(self.now / EVERY_S), len(self.history) - 1)]
        metrics = {} if up is None else {"vpn.wg0.up": up}
        return HostReport("box-1", "Debian", metrics=metrics, disks={"/var": 99.0 if full else 10.0})

    def measure(self):
        self.looks.append(self.now)
        return self.report()

    def perform(self, task):
        phase = task.params.phase
        self.phases.append(phase)
        if phase == "execute":
            ran = Ran(self.answer.status, self.answer.exit_code, b"", self.answer.reason)
            return CommandAnswer(ran, {} if self.answer.undone is None else {"undone": self.answer.undone})
        return CommandAnswer(Ran("done", 0, b""), {"restored": self.restored})


def alone(directory, host, action, settle_s, patience_s, for_s=0.0, cooldown_s=300):
    config = SimpleNamespace(key=KEY, agent_id="a1", state_dir=str(directory), service_check_s=1.0, interval_s=15.0)
    clock = SteadyClock("b1", wall=lambda: NOW + host.now, running=lambda: host.now)
    before = HostReport("box-1", "Debian", metrics={"vpn.wg0.up": 0}, disks={"/var": 10.0})
    offline = Offline(
        config, host, Outcomes(str(directory), clock), Armed(str(directory), clock), measure=host.measure,
        recent=lambda _: before, silent_for=lambda: 1e6, tell=lambda: None, server_time=lambda: NOW,
    )  # fmt: skip
    offline._pace = ProofPace(lambda: host.now, host.wait, lambda: 1e6)
    own = {"rule_id": "r", "condition": CONDITION, "settle_s": settle_s, "verify_timeout_s": patience_s, "for_s": for_s,
           "cooldown_s": cooldown_s, "steps": [{"action": action, "params": PARAMS[action]}]}  # fmt: skip
    disk = {"rule_id": "disk", "condition": FULL, "steps": [{"action": "flush_dns", "params": {}}]}
    terms = {"agent_id": "a1", "version": 1, "issued_at": 0, "expires_at": NOW + 1, "offline_after_s": 10,
             "budget": 50, "policies": [own, disk]}  # fmt: skip
    offline.take(terms, sign(terms, secret_of(KEY)))
    return offline


def told_alone(directory, host, action, settle_s, patience_s):
    offline = alone(directory, host, action, settle_s, patience_s)
    offline.turn(HostReport("box-1", "Debian", metrics={"vpn.wg0.up": 0}, disks={"/var": 10.0}))
    told = offline._outcomes.waiting()[0]
    reason = told.reason or "the condition is known false"
    return told.outcome, reason, told.verdict, bool(told.worse)


def told_by_stages(host, action, settle_s, patience_s, looks):
    """The stages look when the agent has looked: how often is up to each."""
    history = Host(host.history)

    def at(second):
        history.now = second
        values = readings(history.report(), set())
        seen = Reading(parse(CONDITION).evaluate(values), {}, NOW + second)
        return world(own, now=NOW + second, reading=lambda _: seen), values

    chain = [{"action": action, "params": {}}]
    own = rule(id="r", settle_s=settle_s, verify_timeout_s=patience_s, escalation_chain=chain)
    fields = {"rule_id": "r", "condition": CONDITION, "host": "a1", "action": action, "heal_id": "00ff.0",
              "began_at": NOW, "params": PARAMS[action], "entry_id": 7, "sent_at": NOW, "command_id": "c1",
              "snapshot": {"kind": "x"}}  # fmt: skip
    begun = case(state="executing", phase="execute", **fields)
    then = following(begun, at(0)[0], Facts(answer=host.answer))
    second, looks = 0.0, list(looks)
    while getattr(then, "outcome", None) is None:
        if then.case.place == "settling":
            second = max(looks[0], 0.0) if looks else settle_s
            then = following(then.case, at(second)[0], Facts())
        elif then.case.place == "verifying":
            second = looks.pop(0)
            now, values = at(second)
            harms = (Harm("disk", "box-1//var", FULL),) if values["disk./var.percent"] > 95 else ()
            then = following(then.case, now, Facts(around=Surroundings(harms)))
        else:
            is_back = then.case.place == "executing.rollback"
            answer = HostAnswer("done", restored=host.restored) if is_back else HostAnswer("done", kept=True)
            then = following(then.case, at(second)[0], Facts(answer=answer))
    entry = then.entry or {}
    reason = then.reason.replace(", and confirmed", "")
    return then.outcome, reason, entry.get("verdict"), "worse: " in reason


LOOKS = st.lists(st.tuples(st.sampled_from([0, 0, 1, 1, None]), st.sampled_from([False] * 9 + [True])), min_size=1,
                 max_size=16)  # fmt: skip


@pytest.mark.parametrize("action", PARAMS)
@given(LOOKS, st.sampled_from([0, 5, 12]), st.sampled_from([1, 10, 30]), st.booleans())
def test_looks_mean_the_same(tmp_path_factory, action, history, settle_s, patience_s, restored):
    host = Host(history, restored=restored)
    alone_says = told_alone(tmp_path_factory.mktemp("host"), host, action, settle_s, patience_s)
    assert told_by_stages(host, action, settle_s, patience_s, host.looks) == alone_says


@pytest.mark.parametrize(
    "answer",
    [
        HostAnswer("failed", "no such device", 1),
        HostAnswer("failed", "no such device", 1, undone=True),
        HostAnswer("failed", "no such device", 1, undone=False),
        HostAnswer("timeout"),
        HostAnswer("failed", "no_capable_handler"),
        HostAnswer("done", exit_code=3),
    ],
)
def test_a_host_that_fails_means_the_same(tmp_path, answer):
    host = Host([(0, False)], answer)
    alone_says = told_alone(tmp_path, host, "vpn_reconnect", 0, 0)
    assert told_by_stages(host, "vpn_reconnect", 0, 0, ()) == alone_says


@given(st.lists(st.sampled_from([0, 0, 0, 1, None]), min_size=1, max_size=30), st.sampled_from([0, 4, 15, 31]))
def test_they_begin_at_the_same_reading(tmp_path_factory, history, for_s):
    host = Host([(up, False) for up in history], HostAnswer("failed", "no"))
    offline = alone(tmp_path_factory.mktemp("host"), host, "restart_service", 0, 0, for_s=for_s, cooldown_s=86_400)
    acted = []
    live, member = Live(), Member("agent:a1", "box-1", "a1", ("box-1",), interval=EVERY_S)
    seen = LiveReadings(live)
    seen.members = {member.subject: member}
    alerts, fired = Alerts(seen, HealingSettings()), []
    alerts.use([WatchedRule("r", parse(CONDITION), "critical", float(for_s), 86_400.0, None)])
    for at, up in enumerate(history):
        host.now = at * EVERY_S
        offline.turn(host.report())
        acted += [host.now] * (len(host.phases) > len(acted))
        live.update(member.subject, {"vpn.wg0.up": up}, NOW + host.now)
        alerts.dirty.add(member.subject)
        fired += [event.at - NOW for event in alerts.step(NOW + host.now, 1e9) if isinstance(event, RuleEvent)]
    assert acted[:1] == fired[:1]
