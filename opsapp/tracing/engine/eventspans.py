"""Spans of what the store knows: runs, commands, and heals from the alert to the verdict. In a transaction.

A span is made when its work is over, from its records: a kill in the middle loses nothing, and any node may make it.
Its place follows from ids alone: `logic.ids`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any, NamedTuple

from opsapp.agents.resources import agents_of
from opsapp.approvals.resources import approvals_of
from opsapp.automations.resources import healed_by, outermost, run_of
from opsapp.healing.answers import LedgerEntryShown
from opsapp.healing.interfaces import healing_of
from opsapp.runtime.events import Event
from opsapp.tracing.logic.ids import SpanPlace, asked_for, span_of, trace_of
from opsapp.tracing.logic.spans import CLIENT, SERVER, Facts, SpanMoment, TraceSpan
from opsapp.tree.root import Root
from opsapp.wire.records import made

from .checkspans import MonitorTold, check_spans

REMEMBERED = 10_000  # acts whose verification is not over
BY_SCHEDULE, BY_HEALING = "schedule", "healing"
WELL = ("done", "verified", "notified", "suppressed", "absorbed", "simulated", "withdrawn", "skipped")
STEPS = 20  # among so many of the newest entries are those of one heal
ALONE: Facts = {"opsapp.heal.alone": True}

NOT_TOLD = dict.fromkeys(field.name for field in fields(LedgerEntryShown))  # an older version tells less
Acted = dict[SpanPlace, float]  # the step of a case -> when its act was done


class RunTold(NamedTuple):
    run_id: str
    finished: int | None


class CommandsTold(NamedTuple):
    agent_id: str
    label: str
    ended: list[str]


def spans_of(root: Root, event: Event, acted: Acted) -> Iterator[TraceSpan]:
    """What is over with this event."""
    if event.kind == "run":
        told = _told(RunTold, event.data)
        if told.finished is not None:
            yield from _run(root, told.run_id)
    elif event.kind == "command":
        commands = _told(CommandsTold, event.data)
        for command_id in commands.ended or ():
            yield from _command(root, commands, command_id)
    elif event.kind == "monitor":
        yield from check_spans(root, _told(MonitorTold, event.data), event)
    elif event.kind == "heal":
        yield from _heal(root, made(LedgerEntryShown, NOT_TOLD | event.data), event.at, acted)


def _told(kind: Any, data: Mapping[str, object]) -> Any:
    return kind(*(data.get(name) for name in kind._fields))


# -- where things stand


def place_of_case(case_id: str) -> SpanPlace:
    return SpanPlace(trace_of("case", case_id), span_of("case", case_id))


def place_of_step(heal_id: str) -> SpanPlace:
    """`heal_id`: a case's and the step's number, with more behind it for what else is asked of a host."""
    case_id, _, step = heal_id.partition(".")
    return SpanPlace(trace_of("case", case_id), span_of("step", f"{case_id}.{step.partition('.')[0]}"))


def place_of_run(root: Root, run: Any) -> tuple[SpanPlace, bytes]:
    """The run's place, and its parent: what it is a part of, the heal that wants it, or the request that asked."""
    trace, parent, first = b"", b"", outermost(root, run)
    heal_id = healed_by(first)
    if heal_id is not None:
        trace, parent = place_of_step(heal_id)
    elif first.requested_by != BY_SCHEDULE:
        trace, parent = asked_for("run", first.id)
    if first is not run:
        parent = span_of("run", run.parent)
    return SpanPlace(trace or trace_of("run", first.id), span_of("run", run.id)), parent


def _place_of_command(root: Root, command: Any) -> tuple[SpanPlace, bytes]:
    command_id, own = command.__name__, span_of("command", command.__name__)
    heal_id, by = command.params.get("heal_id"), command.requested_by
    if by == BY_HEALING and heal_id:
        step = place_of_step(str(heal_id))
        return SpanPlace(step.trace, own), step.span
    run = run_of(root, by.removeprefix("run:")) if by.startswith("run:") else None
    if run is not None:
        above = place_of_run(root, run)[0]
        return SpanPlace(above.trace, own), above.span
    asked = asked_for("command", command_id)
    return SpanPlace(asked.trace, own), b"" if by == BY_HEALING else asked.span


# -- runs and commands


def _run(root: Root, run_id: str) -> Iterator[TraceSpan]:
    run = run_of(root, run_id)
    if run is None or run.finished is None:
        return
    place, parent = place_of_run(root, run)
    yield TraceSpan(
        place,
        f"run {run.name}",
        run.created_at,
        run.finished,
        {
            "opsapp.run.id": run.id,
            "opsapp.run.type": run.kind,
            "opsapp.run.status": run.status,
            "opsapp.run.attempt": run.attempt,
            "opsapp.run.step": run.step,
            "opsapp.automation.id": run.automation_id,
            "process.exit.code": run.exit_code,
        },
        parent,
        failed=None if run.status in WELL else run.status,
        moments=() if run.started is None else (SpanMoment("started", run.started),),
    )
    yield from _decided(root, run.request_id, run.id, place)


def _command(root: Root, told: CommandsTold, command_id: str) -> Iterator[TraceSpan]:
    """It, and what the agent did of it: the same trace, by another service."""
    agent = agents_of(root).find(told.agent_id)
    command = None if agent is None else agent.commands.find(command_id)
    if command is None or command.finished_at is None:
        return
    place, parent = _place_of_command(root, command)
    facts = {
        "opsapp.command.id": command_id,
        "opsapp.command.type": command.type,
        "opsapp.command.phase": command.params.get("phase") if command.type == "heal" else None,
        "opsapp.command.status": command.status,
        "opsapp.agent.id": told.agent_id,
        "process.exit.code": command.exit_code,
    }
    failed = None if command.status in WELL else command.status
    moments = () if command.delivered_at is None else (SpanMoment("delivered", command.delivered_at),)
    began, ended = command.created_at, command.finished_at
    sent = TraceSpan(
        place, f"command {command.type}", began, ended, {**facts, "server.address": told.label}, parent, CLIENT
    )
    yield sent._replace(failed=failed, moments=moments)
    if command.started_at is not None:
        at_agent = SpanPlace(place.trace, span_of("agent", command_id))
        name = f"agent {command.type}"
        yield TraceSpan(at_agent, name, command.started_at, ended, facts, place.span, SERVER, failed, host=told.label)


def _decided(root: Root, request_id: str | None, of: str, above: SpanPlace) -> Iterator[TraceSpan]:
    """How long people took to decide. One request may be about several."""
    request = approvals_of(root).find(request_id)
    if request is None or request.decided_at is None:
        return
    place = SpanPlace(above.trace, span_of("approval", f"{request_id}/{of}"))
    facts = {"opsapp.approval.id": request_id, "opsapp.approval.status": request.status}
    yield TraceSpan(place, "approval", request.requested_at, request.decided_at, facts, above.span)


# -- heals


def _heal(root: Root, told: LedgerEntryShown, at: float, acted: Acted) -> Iterator[TraceSpan]:
    if not told.case_id:
        return
    step = place_of_step(f"{told.case_id}.{told.escalation_step}")
    if told.state == "settling":
        while len(acted) >= REMEMBERED:
            del acted[next(iter(acted))]
        acted.setdefault(step, at)
    if told.state != "final":
        return
    case = healing_of(root).book.record_of(told.case_id)
    if case is None and told.duration_s:
        yield from _alone(root, told, step, min(at, told.created_at + told.duration_s))
        return
    began = told.created_at if case is None else max(told.created_at, case.opened_at)  # entries know whole seconds
    if told.outcome == "absorbed":
        place = SpanPlace(step.trace, span_of("entry", f"{told.case_id}/{told.id}"))
        yield _entry(told, place, "absorbed", began, at)
        return
    yield _entry(told, step, f"step {told.escalation_step} {told.action_type}".strip(), began, at)
    yield from _decided(root, told.approval_id, told.case_id, step)
    yield from _verified(told, case, step, at, acted.get(step))
    if told.events or told.rolls_back:
        yield from _case(told, case, began, at)


def _alone(root: Root, told: LedgerEntryShown, step: SpanPlace, ended: float) -> Iterator[TraceSpan]:
    """What an agent did while it had no server: it ended long before the server heard of it, and has no case here."""
    if told.events:  # the last step
        _, near = healing_of(root).ledger.page(told.rule_id, told.target, STEPS, 0)
        began = min((entry.created_at for entry in near if entry.case_id == told.case_id), default=told.created_at)
        place, facts = place_of_case(str(told.case_id)), _facts(told) | ALONE
        yield TraceSpan(place, f"heal {told.rule_id}", began, ended, facts, failed=_failed(told.outcome))
    name = f"agent step {told.escalation_step} {told.action_type}".strip()
    done = _entry(told, step, name, told.created_at, ended)
    yield done._replace(kind=SERVER, facts=done.facts | ALONE, host=told.target.partition("/")[0])


def _entry(told: LedgerEntryShown, place: SpanPlace, name: str, began: float, at: float) -> TraceSpan:
    facts = _facts(told)
    facts |= {
        "opsapp.heal.action": told.action_type or None,
        "opsapp.ledger.id": told.id,
        "opsapp.heal.risk": told.risk,
    }
    above = place_of_case(str(told.case_id)).span
    return TraceSpan(place, name, began, at, facts, above, failed=_failed(told.outcome))


def _verified(
    told: LedgerEntryShown, case: Any, step: SpanPlace, at: float, acted_at: float | None
) -> Iterator[TraceSpan]:
    """The span from the end of the act to the verdict. After a restart the case knows of its last act."""
    heal = None if case is None else case.heal
    if acted_at is None and heal is not None and place_of_step(heal.heal_id) == step:
        acted_at = heal.acted_at
    if acted_at is not None:
        place = SpanPlace(step.trace, span_of("verification", f"{told.case_id}.{told.escalation_step}"))
        facts: Facts = {"opsapp.heal.outcome": told.outcome}
        yield TraceSpan(place, "verification", acted_at, at, facts, step.span, failed=_failed(told.outcome))


def _case(told: LedgerEntryShown, case: Any, began: float, at: float) -> Iterator[TraceSpan]:
    place = place_of_case(str(told.case_id))
    opened_at = began if case is None else case.opened_at
    facts = {**_facts(told), "opsapp.case.events": told.events, "opsapp.case.steps": told.escalation_step + 1}
    yield TraceSpan(place, f"heal {told.rule_id}", opened_at, at, facts, failed=_failed(told.outcome))
    if case is not None and not case.manual and told.escalation_step == 0:
        decision = SpanPlace(place.trace, span_of("decision", str(told.case_id)))
        yield TraceSpan(decision, "decision", opened_at, began, {"opsapp.heal.level": told.trust_level}, place.span)


def _facts(told: LedgerEntryShown) -> Facts:
    return {
        "opsapp.case.id": told.case_id,
        "opsapp.rule.id": told.rule_id,
        "opsapp.heal.target": told.target,
        "opsapp.heal.level": told.trust_level or None,
        "opsapp.heal.source": told.source,
        "opsapp.heal.outcome": told.outcome,
    }


def _failed(outcome: str | None) -> str | None:
    return None if outcome in WELL else outcome
