"""Escalations: what an open incident calls, step by step, until somebody takes it.

One is stored with its incident. A step is one transaction: calls in the delivery queue and the wait for the next step,
both or none. So a dying process skips nobody and calls nobody twice. Whoever takes the incident ends what waits in the
same transaction.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial

from opsapp.auth.resources import is_enabled
from opsapp.monitoring.engine import severity_of
from opsapp.monitoring.records import IncidentNote
from opsapp.monitoring.resources import Incident, incidents_of
from opsapp.notify.engine import call, channels_answering, is_silent, tell, withdraw
from opsapp.oncall import logic
from opsapp.oncall.records import (
    ANSWERED,
    ENDED,
    OVER,
    UNANSWERED,
    CallRecord,
    EscalationRecord,
    PolicyRecord,
    StepRecord,
)
from opsapp.oncall.resources import Escalation, Escalations, oncall_of
from opsapp.runtime.clocks.pieces import ClockPieces, WaitingKind
from opsapp.runtime.cluster import leases
from opsapp.runtime.looks import QueueLook
from opsapp.runtime.node import Node
from opsapp.runtime.wakes import wake_after_commit
from opsapp.tree.root import Root

from . import known_in

LEASE = QUEUE = "oncall"
EVERY_S = 1.0
AT_ONCE = 50
LOOK_AGAIN_S = 30.0  # at an incident that a maintenance window keeps silent
KEEP_S = 90 * 86400.0


def start(node: Node) -> None:
    PIECES.carry(node, "escalations")
    look = QueueLook(node, anything)
    node.supervisor.add("oncall", partial(step, node), every=EVERY_S, wake=(QUEUE,), lease=LEASE, look=look)
    node.supervisor.add("oncall-purge", partial(purge, node), every=3600.0, lease="housekeeping", cleans=True)


def step(node: Node) -> bool:
    """Whether anybody was to be called."""
    now = node.clock.now()
    return bool(node.transact(anything, now)) and bool(node.transact(advance, now))


def anything(root: Root, now: float) -> bool:
    """Costs nothing."""
    return PIECES.is_left(root) or bool(oncall_of(root).escalations.due(now, 1))


PIECES = ClockPieces(
    LEASE,
    QUEUE,
    {
        "escalations": WaitingKind(
            lambda root, _: [name for _, name in oncall_of(root).escalations.agenda],
            lambda root, name, by: oncall_of(root).escalations.shift(name, by),
        )
    },
)


def purge(node: Node) -> bool:
    before = node.clock.now() - KEEP_S
    return bool(node.transact(lambda root: oncall_of(root).escalations.forget(before, 500)))


# -- an incident begins, is taken, ends ------------------------------------------------------------------------------


def heard(root: Root, incident: Incident, change: str, now: float, _note: IncidentNote | None) -> None:
    """An `IIncidentTold`. With its owner disabled or deleted it calls anew."""
    if change in ("opened", "given_back") and incident.resolved is None:
        _begin(root, incident, now)
    elif change in ("acknowledged", "assigned"):
        _stop(root, incident, ANSWERED, f"{incident.acknowledged_by} has the incident.", now)
    elif change == "resolved":
        _stop(root, incident, OVER, "The incident is over.", now)


def _begin(root: Root, incident: Incident, now: float) -> None:
    escalations = oncall_of(root).escalations
    policies = filter(partial(_takes, incident), oncall_of(root).policies.records())
    for number, policy in enumerate(policies, escalations.next_number(incident.id)):
        record = EscalationRecord(
            f"{incident.id}-{number}",
            incident.id,
            policy.id,
            policy.name,
            f"{incident.monitor_name} is down" if incident.monitor_id else incident.monitor_name,
            incident.monitor_id or None,
            now,
        )
        escalations.begin(record, now + policy.after_s)
        wake_after_commit(root, QUEUE)


def _takes(incident: Incident, policy: PolicyRecord) -> bool:
    """Whether a policy takes an incident, as a channel takes a message."""
    if not policy.enabled or severity_of(incident) not in policy.severities:
        return False
    return not policy.tags or not set(policy.tags).isdisjoint(incident.tags)


def _stop(root: Root, incident: Incident, status: str, why: str, now: float) -> None:
    escalations = oncall_of(root).escalations
    for escalation in escalations.of_incident(incident.id):
        _end(root, escalations, escalation, status, why, now)


def _end(root: Root, escalations: Escalations, escalation: Escalation, status: str, why: str, now: float) -> None:
    """Calls that have not left do not leave."""
    escalations.end(escalation, status, why, now)
    for call_id in {made.id for made in escalation.record.calls} if status in (ANSWERED, OVER) else ():
        withdraw(root, now, _key(call_id))


# -- steps -----------------------------------------------------------------------------------------------------------


def advance(root: Root, now: float) -> bool:
    """Every one that is due takes its step. Whether there was one."""
    leases.check(root, LEASE)
    if PIECES.goes_on(root):  # a node was killed while it moved them with the clock: nobody is called too early
        return True
    escalations = oncall_of(root).escalations
    due = escalations.due(now, AT_ONCE)
    for escalation in due:
        _go_on(root, escalations, escalation, now)
    return bool(due)


def _go_on(root: Root, escalations: Escalations, escalation: Escalation, now: float) -> None:
    record = escalation.record
    incident = incidents_of(root).find(record.incident_id)
    policy = oncall_of(root).policies.find(record.policy_id)
    if incident is None or incident.resolved is not None:
        _end(root, escalations, escalation, OVER, "The incident is over.", now)
    elif policy is None or not policy.record.enabled:
        _end(root, escalations, escalation, ENDED, "The policy was deleted or disabled.", now)
    elif record.target is not None and is_silent(root, record.target, now):
        escalations.wait(escalation, now + LOOK_AGAIN_S)
    elif record.step > len(policy.record.steps) and record.round > policy.record.repeat:
        _give_up(root, escalations, escalation, now)
    else:
        if record.step > len(policy.record.steps):
            record = replace(record, round=record.round + 1, step=1)
        _take(root, escalations, escalation, record, policy.record, incident, now)


def _take(
    root: Root,
    escalations: Escalations,
    escalation: Escalation,
    record: EscalationRecord,
    policy: PolicyRecord,
    incident: Incident,
    now: float,
) -> None:
    """A step that reaches nobody says so, and the next does not wait; the last does: somebody may be on call by
    then."""
    taken = policy.steps[record.step - 1]
    people, notes = _people(root, taken, now)
    calls = [made for person in people for made in _calls(root, record, incident, person, now)]
    unreached = [made.user for made in calls if not made.delivery_id]
    notes += [f"No channel reaches {user}." for user in unreached]
    where = f"Round {record.round}, step {record.step}: "
    escalation.record = replace(
        record,
        step=record.step + 1,
        calls=(*record.calls, *calls),
        notes=(*record.notes, *(where + note for note in notes)),
    )
    reached = len(calls) > len(unreached)
    if not reached:
        _say(root, record, "unreached", "Nobody could be called", f"{where}{' '.join(notes)}", now)
    waits = reached or record.step == len(policy.steps)
    escalations.wait(escalation, now + (taken.wait_s if waits else 0.0))


def _people(root: Root, taken: StepRecord, now: float) -> tuple[list[str], list[str]]:
    """The people whom a step calls, and what is to be said about it."""
    people, notes, known = list[str](), list[str](), known_in(root)
    for schedule_id in taken.schedules:
        schedule = oncall_of(root).schedules.find(schedule_id)
        if schedule is None:
            notes.append("A schedule of this step cannot be read.")
            continue
        on = logic.duty(schedule.record, now, known)
        people += [on.user] if on.user is not None else []
        notes += [f"Nobody is on call by {schedule.record.name}."] if on.user is None else []
        notes += [f"{gone} is no user any more, or is disabled." for gone in on.skipped]
    for username in taken.users:
        if not is_enabled(root, username):
            notes.append(f"{username} is no user any more, or is disabled.")
        else:
            people.append(username)
    return list(dict.fromkeys(people)), notes


def _calls(root: Root, record: EscalationRecord, incident: Incident, person: str, now: float) -> Iterable[CallRecord]:
    """One by each channel; one without where there is none."""
    call_id = f"{record.id}.{record.round}.{record.step}.{person}"
    about = call_id, person, now, record.round, record.step
    ids = {"incident": record.incident_id, "call": call_id, **({"monitor": record.target} if record.target else {})}
    text = f"{incident.cause}\nThe policy {record.policy} calls you. Acknowledge the incident, or it goes on to call."
    channels = channels_answering(root, person)
    for channel in channels:
        delivery_id = call(
            root,
            now,
            channel,
            key=_key(call_id),
            kind="incident.call",
            title=record.title,
            text=text.strip(),
            target=record.target,
            ids=ids,
        )
        yield CallRecord(*about, channel.record.name, delivery_id)
    if not channels:
        yield CallRecord(*about, "", "")


def _give_up(root: Root, escalations: Escalations, escalation: Escalation, now: float) -> None:
    """Everybody hears of it."""
    record = escalation.record
    _end(root, escalations, escalation, UNANSWERED, "Nobody has acknowledged the incident.", now)
    called = ", ".join(dict.fromkeys(made.user for made in record.calls)) or "nobody"
    _say(root, record, "unanswered", "Nobody has acknowledged", f"Called were: {called}.", now)


def _say(root: Root, record: EscalationRecord, what: str, begins: str, text: str, now: float) -> None:
    tell(
        root,
        now,
        key=f"oncall:{record.id}:{what}",
        kind=f"incident.{what}",
        severity="critical",
        title=f"{begins}: {record.title}",
        text=f"{text} The policy is {record.policy}.",
        ids={"incident": record.incident_id},
        phase="apart",
    )


def _key(call_id: str) -> str:
    return f"call:{call_id}"
