"""What a check of each kind looks at: a probe from here, probes from agents, the last call, an agent's reports."""

from __future__ import annotations

from collections.abc import Callable

import gevent

from opsapp.agents.engine import presence, request_probe
from opsapp.lib.durations import roughly
from opsapp.monitoring.engine.connectivity import Connectivity
from opsapp.monitoring.engine.register import Entry
from opsapp.monitoring.engine.watch import Watch
from opsapp.monitoring.logic.quorum import joint
from opsapp.monitoring.logic.settings import MonitoringSettings, agent_of
from opsapp.monitoring.probes.prober import Prober
from opsapp.runtime.node import Node
from opsapp.wire.probes import GENERAL, Outcome, ProbeTarget
from opsapp.wire.records import plain

PUSH_SLACK_S = 1.0
OWN_NETWORK = "the network of this service is down"


class Measuring:
    def __init__(self, watch: Watch, prober: Prober, connectivity: Connectivity, listens_since: float):
        """`listens_since`: in monotonic seconds."""
        self.watch = watch
        self.node = watch.node
        self.prober = prober
        self.connectivity = connectivity
        self._listens_since = listens_since

    def measure(self, entry: Entry) -> Outcome | None:
        if entry.target.type == "push":
            outcome = self._last_call(entry)
        elif entry.target.type == "agent":
            outcome = self._presence(entry)
        elif entry.settings.lookers:
            return entry.judged(self._from_elsewhere(entry))
        else:
            outcome = self.prober.probe(entry.target)
        return None if outcome is None else self.confirmed(entry, outcome)

    def begin(self, entry: Entry, done: Callable[[Outcome], None]) -> bool:
        """A check that needs no greenlet; `done` is called from the hub's loop. False where it needs one."""
        if entry.settings.lookers:
            return False
        return self.prober.begin(entry.target, done)

    def confirmed(self, entry: Entry, outcome: Outcome) -> Outcome:
        """A failure counts only if it is not our own network that is gone. Asks the references, so it may wait."""
        if outcome.ok is False and self.connectivity.gone():
            return Outcome(None, None, OWN_NETWORK)
        return entry.judged(outcome)

    def next_deadline(self, entry: Entry) -> float:
        late = entry.late_at(self._heard(entry), self.node.config.timezone) + PUSH_SLACK_S
        return self.node.clock.monotonic() + max(0.0, late - self.node.clock.now())

    def _heard(self, entry: Entry) -> float:
        """When it was last heard, no earlier than when the monitor was made, and we began to listen."""
        called = self.node.series.live.observed_at(entry.subject, "beat") or 0.0
        listening = entry.standing.since if entry.standing.status == "pending" else 0.0
        told, now = (called, entry.made_at, listening), self.node.clock.now()
        return max(now - self._listened_s(), *(at for at in told if at <= now))  # later: of a clock that was ahead

    def _listened_s(self) -> float:
        """How long calls and reports could reach us, in seconds."""
        return self.node.clock.monotonic() - self._listens_since

    def _last_call(self, entry: Entry) -> Outcome | None:
        now, heard = self.node.clock.now(), self._heard(entry)
        quiet = now - heard
        if now < entry.late_at(heard, self.node.config.timezone) + PUSH_SLACK_S - 0.05:
            return None
        if entry.run_started is not None:
            return Outcome(False, None, f"it began {roughly(now - entry.run_started)} ago and has not ended")
        return Outcome(False, None, f"not called for {quiet:.0f} s")

    def _presence(self, entry: Entry) -> Outcome:
        agent, now = presence(self.node, agent_of(entry.target.url)), self.node.clock.now()
        if agent.online:
            return Outcome(True, None, "online")
        if agent.stopped_at is not None:
            known = None if agent.unheard else False
            return Outcome(known, None, f"its agent was stopped {max(0.0, now - agent.stopped_at):.0f} s ago")
        if agent.unheard or self._listened_s() < 2 * agent.interval:
            return Outcome(None, None, "no report since the service started")
        seen = agent.last_seen
        return Outcome(False, None, "no report" if seen is None else f"no report for {now - seen:.0f} s")

    def _from_elsewhere(self, entry: Entry) -> Outcome:
        """What the agents that look see, and their quorum's verdict."""
        asked = [
            gevent.spawn(probe_from_agent, self.node, agent_id, entry.target) for agent_id in entry.settings.lookers
        ]
        gevent.joinall(asked)
        outcomes = [probe.value or Outcome(None, None, "the agent could not probe") for probe in asked]
        return joint(outcomes, entry.settings.quorum)


def probe_from_agent(node: Node, agent_id: str, target: ProbeTarget) -> Outcome:
    """The agent judges addresses by the networks of this configuration, as the server does."""
    section = node.config[MonitoringSettings]
    asked = {name: getattr(target, name) for name in GENERAL} | plain(target.own)
    asked |= {"accepted_statuses": list(target.accepted_statuses), "body": target.body.decode()}
    asked |= {"allow": list(section.allow_networks), "deny": list(section.deny_networks)}
    seen = request_probe(node, agent_id, asked)
    return Outcome(None, None, _not_reached(node, agent_id)) if seen is None else seen


def _not_reached(node: Node, agent_id: str) -> str:
    return f"the agent of {presence(node, agent_id).host} cannot be asked: it is not connected or does not answer"
