"""What a report leaves in the store: who the host is, that it lives, new series, results. Transactions only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from opsapp.agents.logic import by_our_clock, changed_profile, with_silence
from opsapp.agents.resources import POLL, Agent, Manifest, agents_of, keep_index, keep_outcome, rename_host
from opsapp.lib.problems import Conflict
from opsapp.notify import engine as notify
from opsapp.runtime.cluster.fence import store_id
from opsapp.runtime.events import emit
from opsapp.runtime.node import Node, node_of, now_of
from opsapp.runtime.wakes import after_commit, wake_after_commit
from opsapp.tree.root import Root
from opsapp.wire.commands import CommandSent
from opsapp.wire.messages import PollAnswer
from opsapp.wire.reports import HostProfile, HostReport, LocalOutcome

from . import clockmoves, commands, policies
from .directory import lives_elsewhere, touched
from .memory import Memory, Poller, memory_of

ANSWER_LOST_S = 40.0  # a poll may be this old when it is read: what was delivered meanwhile it cannot hold yet
OUTCOMES = "agent-outcomes"
MOST_SERIES = 256
ALONE_PART = 0.8  # of the silence after which an agent acts: it and we did not hear each other at quite the same time


class Clone(Conflict):
    """Another machine uses the same key while its owner is connected."""

    code = "clone"


def take_report(root: Root, agent: Agent, report: HostReport, *, ip: str, session: str | None = "") -> None:
    """Everything but results and commands. Writes what differs and nothing else."""
    node = node_of(root)
    now = node.clock.now()
    if not report.is_spooled:
        note_host(root, agent, report, report.ip or ip)
        note_manifest(root, agent, report.capabilities)
    note_series(root, agent, report)
    for outcome in report.outcomes:
        take_outcome(root, agent.id, outcome, memory_of(node).skew_with(agent.id, report, now))
    become(root, agent, "online", session=session)
    after_commit(root, node.post, memory_of(node).know, agent.id, dict(agent.profile), agent.ip, now)


def take_outcome(root: Root, agent_id: str, outcome: LocalOutcome, skew: float | None) -> None:
    """Store the outcome of a local heal for healing, with its time by our clock."""
    at = by_our_clock(outcome.created_at, skew, now_of(root))
    keep_outcome(root, agent_id, replace(outcome, created_at=at))
    wake_after_commit(root, OUTCOMES)


def note_silence(agent: Agent, now: float) -> None:
    """It is heard: for how long was it not, if it may have healed alone meanwhile?"""
    if agent.policies is None:
        return
    since = memory_of(node_of(agent)).last_seen(agent.id, agent.state.last_seen)
    if since is not None and now - since >= ALONE_PART * agent.policies.bundle["offline_after_s"]:
        agent.state.silences = with_silence(agent.state.silences, since, now)


def silences_of(root: Root, agent_id: str) -> tuple[tuple[float, float], ...]:
    """(since, until) of the times in which an agent that may heal alone was not heard."""
    agent = agents_of(root).get(agent_id)
    return () if agent is None else agent.state.silences


def note_host(root: Root, agent: Agent, profile: HostProfile, ip: str) -> None:
    changed = changed_profile(agent.profile, profile)
    if "hostname" in changed:
        rename_host(root, agent, changed["hostname"])
    if changed:
        agent.profile = {**agent.profile, **changed}
    if ip and ip != agent.ip:
        agent.ip = ip
        changed["ip"] = ip
    if changed:
        touched(root, agent.id)


def note_series(root: Root, agent: Agent, report: HostReport) -> None:
    """Numbers for what is reported for the first time; every node learns them."""
    node, known = node_of(root), agent.series
    kept = memory_of(node).kept(report)
    new = sorted(kept.keys() - known.keys())
    if not new:
        return
    if len(known) + len(new) > MOST_SERIES:  # mounts come and go for ever: only those that are there now go on
        known = {name: number for name, number in known.items() if name in kept}
    agent.series = {**known, **dict(zip(new, node.series.numbers.take(len(new)), strict=True))}
    touched(root, agent.id)
    after_commit(root, node.post, memory_of(node).bind, agent.id, dict(agent.series))


def note_manifest(root: Root, agent: Agent, manifest: Mapping[str, object] | None) -> None:
    if manifest is not None and (agent.manifest is None or agent.manifest.values != manifest):
        agent.manifest = Manifest(dict(manifest), now_of(root))
        touched(root, agent.id)


def become(root: Root, agent: Agent, status: str, *, session: str | None = "") -> None:
    """Written when it changes, and `last_seen` now and then while it lives. `session` None: it is where it was."""
    node, state = node_of(root), agent.state
    now, own_node = node.clock.now(), owner(node)
    rare = 10 * memory_of(node).interval
    if status == "online":
        note_silence(agent, now)
        if state.silent_at is not None:  # which the clock may have been set back behind
            state.silent_at = None
            touched(root, agent.id)
        if state.stopped_at is not None:
            state.stopped_at = None
            tell(root, agent, state.status)
        if session is not None and (state.node, state.session) != (own_node, session):
            state.node, state.session = own_node, session
            touched(root, agent.id)
        if state.last_seen is None or now - state.last_seen > rare or state.status != status:
            state.last_seen = now
    if state.status != status:
        before, state.status, state.changed_at = state.status, status, now
        tell(root, agent, before)
        tell_people(root, agent, before, now)


def note_stop(root: Root, agent: Agent) -> None:
    """Its last word: it is `stopped` from now on, and shown so, until it is heard again."""
    state = agent.state
    state.last_seen = state.stopped_at = now_of(root)
    tell(root, agent, state.status)


def tell(root: Root, agent: Agent, before: str) -> None:
    stopped_at = agent.state.stopped_at
    emit_of(root, agent, before, **({} if stopped_at is None else {"stopped_at": int(stopped_at)}))


def emit_of(root: Root, agent: Agent, before: str, **more: int) -> None:
    """Every node reads the agent again, and clients of /api/stream hear of it."""
    touched(root, agent.id)
    told = {
        "agent_id": agent.id,
        "label": agent.label,
        "hostname": agent.hostname,
        "status": agent.state.status,
        "previous": before,
        "at": int(agent.state.changed_at),
    }
    emit(root, "agent", {**told, **more})


def tell_people(root: Root, agent: Agent, before: str, now: float) -> None:
    """That a host has fallen silent, and that it is back. A first report is no news."""
    name, status = agent.hostname or agent.label, agent.state.status
    if before == "online":  # after an outage of ours it may be `dead` at once
        memory = memory_of(node_of(root))
        seen = memory.last_seen(agent.id, agent.state.last_seen)
        missed = seen is not None and seen < memory.listens_since
        said = "Its agent has not reported since the service is back." if missed else "Its agent has stopped reporting."
        said = said if agent.state.stopped_at is None else "Its agent was stopped, and has not come back."
        status, title, text = "offline", f"{name} is offline", said
    elif status == "online" and before in ("offline", "dead"):
        title, text = f"{name} is online again", f"It was {before}."
    else:
        return
    _tell(root, agent, status, title, text, now)


def tell_of_end(root: Root, agent: Agent, now: float) -> None:
    """An agent that is away is deleted: whoever was told that it fell silent hears that this is over."""
    if agent.state.status in ("offline", "dead"):
        name = agent.hostname or agent.label
        _tell(root, agent, "deleted", f"{name} was deleted", f"It was {agent.state.status}.", now)


def _tell(root: Root, agent: Agent, status: str, title: str, text: str, now: float) -> None:
    notify.tell(
        root,
        now,
        key=f"agent:{agent.id}",
        kind=f"agent.{status}",
        severity="warning",
        title=title,
        text=text,
        tags=agent.tags,
        target=agent.id,
        ids={"agent": agent.id},
        phase="begins" if status == "offline" else "over",
        name=agent.hostname or agent.label,
    )


def owner(node: Node) -> str:
    """This process as state records name it."""
    return f"{node.name}:{node.boot}"


def take_poll(root: Root, agent: Agent, report: HostReport, *, key: policies.ShownKey, ip: str) -> PollAnswer:
    """While a session is open, on whichever node, that one has the commands."""
    node, queue = node_of(root), agent.commands
    now, memory = node.clock.now(), memory_of(node)
    connected = agent.id in memory.connected or lives_elsewhere(node, agent.state)
    machine = report.machine_id or ""
    poller = Poller(machine, key.digest, now)
    refuse_clone(agent, poller, connected, memory)
    if connected and (report.results or report.outcomes):
        raise Conflict("This agent has an open session: send results there.", code="session_open")
    take_report(root, agent, report, ip=ip, session=None if connected else "")
    ended = False
    for result in report.results:
        ended = queue.finish(result, now, machine) or ended
    answered = now - ANSWER_LOST_S
    if report.held is not None and not connected:
        ended = bool(queue.reconcile(report.held, now, delivered_before=answered, machine=machine)) or ended
    clockmoves.settle(root, agent)
    leaves = connected or report.stopped
    sent, cancels = ([], []) if leaves else queue.offer(POLL, now, again=True, store=store_id(root), machine=machine)
    sent = commands.fitting(sent)
    if report.held is None:
        for command in sent:
            queue.acknowledge(command.command_id, now)
    if report.stopped and not connected:
        note_stop(root, agent)
    after_commit(root, node.post, memory.polled, agent.id, poller)
    keep_index(root, agent)
    policies.catch_up(root, agent, report.policy_version)
    if ended:
        wake_after_commit(root, commands.RESULTS)
    reply = answer(node, agent, sent, cancels)
    return reply if report.policy_version is None else further(reply, node, agent, report, key)


def refuse_clone(agent: Agent, poller: Poller, connected: bool, memory: Memory) -> None:
    """While one machine has a session or polls, another is a clone; so is, at any time, one that hides which it is."""
    known = agent.state.machine_id or agent.profile.get("machine_id", "")
    if known and not poller.machine:
        raise Clone("machine_id is missing: this agent has named its machine before.")
    if connected and poller.machine != agent.state.machine_id:
        raise Clone("Another machine is connected with this key.")
    if not connected and memory.is_polled_by_another(agent.id, poller):
        raise Clone("Another machine reports with this key.")


def answer(node: Node, agent: Agent, sent: list[CommandSent], cancels: list[str]) -> PollAnswer:
    return PollAnswer(
        interval=memory_of(node).interval_of(agent.id),
        commands=tuple(sent),
        cancel=tuple(cancels[:100]),
        policy_version=policies.version_of(agent),
    )


def further(reply: PollAnswer, node: Node, agent: Agent, report: HostReport, key: policies.ShownKey) -> PollAnswer:
    """The poll answer with what an agent gets beside, which says the policies it holds."""
    newer = policies.newer_than(agent, report.policy_version, key.secret_for(report.features))
    protected, signed = tuple(memory_of(node).protected), None if newer is None else newer.signed
    return replace(reply, time=node.clock.now(), protected_processes=protected, policies=signed)
