"""Runs at work, and what other rooms call, inside their transaction: `request_run`, `run_state`."""

from __future__ import annotations

from typing import Any

from opsapp.approvals.engine import IApprovalKind
from opsapp.approvals.records import Proposer
from opsapp.audit.engine import IPoster
from opsapp.auth.interfaces import ISecretText
from opsapp.automations.logic.settings import PROGRAMS
from opsapp.automations.records import RunRow
from opsapp.automations.resources import all_values, run_of
from opsapp.lib.addresses import public_text
from opsapp.lib.jsontypes import JsonObject
from opsapp.lib.lastwords import telling_line
from opsapp.lib.masks import masked
from opsapp.monitoring.interfaces import IWarRoomSection
from opsapp.runtime.looks import QueueLook
from opsapp.runtime.node import Node
from opsapp.runtime.projection import WAKE as PROJECTIONS
from opsapp.runtime.watchers import Watchers
from opsapp.tree.root import Root

from . import answers, approval_requests, decisions, flow, notices, records, runretention, schedules, warroom
from .approval_requests import accepted, shown_of, written_by
from .carrier import Carrier, anything
from .figures import CARRIER, SCHEDULER
from .live_output import KEY as LISTENERS
from .live_output import LiveOutputs
from .reach import SeenRuns
from .warroom import FROM, Outage, outages_of, runs_in, runs_near, runs_on
from .watchers import KEY
from .webhook_sender import KEY as SENDER
from .webhook_sender import WebhookSender, post_lines, secret_text, webhook_sender_of, with_secrets

__all__ = [
    "FROM",
    "PROGRAMS",
    "Outage",
    "SeenRuns",
    "WebhookSender",
    "accepted",
    "last_words",
    "outages_of",
    "request_run",
    "run_state",
    "runs_in",
    "runs_near",
    "runs_on",
    "said_last",
    "shown_of",
    "webhook_sender_of",
    "with_secrets",
    "without_secrets",
    "written_by",
]


def request_run(
    root: Root,
    now: float,
    automation_id: str,
    *,
    inputs: JsonObject,
    by: str,
    origin: str,
    proposed: Proposer | None = None,
) -> dict[str, str]:
    """A durable run: {run_id, status} and, where people are asked first, request_id. It may be over already.
    `proposed`: by an assistant, of which the request says this; people are always asked then."""
    run = flow.ask(root, now, automation_id, given=inputs, by=by, origin=origin, proposed=proposed)
    return notices.started(run)


def run_state(root: Root, run_id: str) -> RunRow | None:
    run = run_of(root, run_id)
    return None if run is None else records.run_row(run)


def said_last(root: Root, run_id: str) -> str:
    """The line of a run's output that says why it failed."""
    run = run_of(root, run_id)
    return "" if run is None else notices.said_last(run)


def last_words(root: Root, output: str) -> str:
    """The line of a program's output that says why it failed, without secrets; "" where nobody knows them all."""
    return telling_line(without_secrets(root, output))


def without_secrets(root: Root, output: str) -> str:
    """The output with secrets masked; an empty text where nobody knows all secrets."""
    secrets = all_values(root) if output.strip() else None
    return "" if secrets is None else public_text(masked(output, secrets))


def includeme(config: Any) -> None:
    config.registry.registerUtility(decisions.RunApproval(), IApprovalKind, approval_requests.KIND)
    config.registry.registerUtility(warroom.section, IWarRoomSection, "automations")
    config.registry.registerUtility(post_lines, IPoster)
    config.registry.registerUtility(secret_text, ISecretText)
    config.add_preparation("opsapp.automations.engine.prepare")
    config.add_engine("opsapp.automations.engine.start")


def prepare(node: Node) -> None:
    """Called before anything is served."""
    node.registry[KEY] = Watchers()
    node.registry[SENDER] = WebhookSender(node)
    listeners = node.registry[LISTENERS] = LiveOutputs(node)
    node.events.listen(listeners.on_event)


def start(node: Node) -> None:
    """Runs on the hub, where engines run."""
    carrier = node.registry[CARRIER] = Carrier(node)
    node.events.listen(carrier.on_event)
    node.at_stop(carrier.begin_stop, carrier.finish_stop)
    if node.exclusive:
        carrier.recover()  # nobody else can have a claim: what is there was left by a process that is gone
    else:
        node.supervisor.add("automations-lost", carrier.recover, every=2.0, wake=("nodes",), lease="automations")
    node.supervisor.add("automations", carrier.step, every=0.25, wake=(flow.QUEUE,), look=QueueLook(node, anything))
    node.supervisor.add(
        "automations-answers",
        lambda: node.transact(answers.look, node.clock.now()),
        every=2.0,
        wake=("command-results",),
        lease="automations",
        look=QueueLook(node, lambda root, _now: answers.awaited(root)),
    )
    scheduler = node.registry[SCHEDULER] = schedules.Scheduler(node)
    wake = ("leases", "config", PROJECTIONS, schedules.QUEUE)
    node.supervisor.add("automations-schedule", scheduler.step, every=scheduler.pause, wake=wake)
    runretention.start(node)
