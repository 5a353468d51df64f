"""Asks a host's agent, or the service itself, to do something for a heal, and reads the answers. A request is a row,
written in the transaction of the step that wants it: so it is made once."""

from __future__ import annotations

from opsapp.automations.engine import last_words, request_run, run_state, said_last, without_secrets
from opsapp.automations.records import RunRow
from opsapp.healing.records import RUNS
from opsapp.healing.resources import Healing, healing_of
from opsapp.healing.resources.server_actions import OwnCommand, WebhookCall
from opsapp.healing.stages.case import CaseRecord, CommandedCase, RollingBackCase
from opsapp.healing.stages.looking import LOOK_WAIT_S, LookAnswer
from opsapp.healing.stages.moves import AskCause
from opsapp.healing.stages.world import SERVER
from opsapp.lib.jsontypes import JsonObject
from opsapp.lib.problems import NotFound, Problem
from opsapp.runtime.wakes import wake_after_commit
from opsapp.tree.root import Root
from opsapp.wire import causes
from opsapp.wire.actions import ACTIONS, Action
from opsapp.wire.heals import HostAnswer

from .context import PipelineContext
from .inventory import fleet_access
from .server_actions import QUEUE

GOES_ON = ("pending_approval", "queued", "running")
# A host that an armed action cut off is back when its timer has expired, its agent has given up the dead connection,
# and its back-off has passed.
RETURN_S = 120.0


def ask(context: PipelineContext, record: CommandedCase, arm_s: float | None) -> str:
    """One phase of a heal; the id under which it will be answered."""
    heal, phase = record.heal, record.phase
    action = ACTIONS.get(heal.action)
    timeout = timeout_of(action)
    if heal.host == SERVER:
        assert action is not None
        if action.name in RUNS:
            return _run(context, record, RUNS[action.name])
        wake_after_commit(context.root, QUEUE)
        return context.healing.deeds.intend(_server_action(context, record, action), action.timeout)
    wanted: JsonObject = {
        "heal_id": heal.heal_id,
        "token": context.token,
        "phase": phase,
        "action_type": heal.action,
        "timeout": timeout,
        "params": heal.params,
    }
    if isinstance(record, RollingBackCase):
        wanted["snapshot"] = heal.snapshot
    if arm_s is not None:
        wanted["arm_s"] = arm_s
    expiry = context.settings.command_expiry_s
    if phase in ("rollback", "confirm") and action is not None and action.armed_s:
        expiry += context.settings.confirm_s + RETURN_S
    return context.fleet.send(context.root, heal.host, "heal", wanted, timeout=timeout, expiry=expiry)


def timeout_of(action: Action | None) -> int | None:
    """None: the host asks systemd, which knows its units."""
    if action is None:
        return 60
    return None if action.units else action.timeout


def _run(context: PipelineContext, record: CommandedCase, param: str) -> str:
    """A refusal leaves nothing in the transaction."""
    before = context.root._p_jar.transaction_manager.savepoint()
    automation_id, origin = record.heal.params[param], f"heal {record.heal.heal_id}"
    try:
        run = request_run(context.root, context.now, automation_id, inputs={}, by="healing", origin=origin)
    except Problem:
        before.rollback()
        raise
    return str(run["run_id"])


def _server_action(context: PipelineContext, record: CommandedCase, action: Action) -> WebhookCall | OwnCommand:
    heal, about = record.heal, record.about
    if action.name == "webhook":
        told = {
            "rule_id": record.rule_id,
            "target": about.target,
            "condition": about.condition,
            "severity": about.severity,
            "metrics": about.metrics,
            "source": about.source,
            "heal_id": heal.heal_id,
            "ledger_id": record.entry_id,
            "case_id": record.id,
        }
        body = heal.params["body"]
        return WebhookCall(**{**heal.params, "body": told if body is None else body}, heal_id=heal.heal_id)
    handler = context.world.server.handler(action)
    return OwnCommand([] if handler is None else handler.argv(heal.params), action.name, heal.params)


def answer(root: Root, record: CommandedCase) -> HostAnswer | None:
    heal = record.heal
    if heal.host != SERVER:
        return fleet_access(root).answer(root, heal.host, record.command_id)
    if heal.action in RUNS:
        return _run_answer(run_state(root, record.command_id))
    return healing_of(root).deeds.answer(record.command_id)


def said(root: Root, record: CommandedCase, ended: HostAnswer) -> str:
    """What the program itself said last, in a line."""
    if record.heal.host == SERVER and record.heal.action in RUNS:
        return said_last(root, record.command_id)
    return last_words(root, ended.output)


def _run_answer(run: RunRow | None) -> HostAnswer | None:
    """None while it waits (for its own approval too) or goes on."""
    if run is None:
        return HostAnswer("lost", "the run ended lost")
    if run.status in GOES_ON:
        return None
    status = {"done": "done", "lost": "lost"}.get(run.status, "failed")
    reason = f"the run ended {run.status}" + (f": {run.reason}" if run.reason else "")
    return HostAnswer(status, None if status == "done" else reason, run.exit_code)


def taken(healing: Healing, record: CommandedCase) -> None:
    """A row of the service's own is not needed any more."""
    if record.heal.host == SERVER and record.heal.action not in RUNS:
        healing.deeds.drop(record.command_id)


def ask_for_cause(context: PipelineContext, wanted: AskCause) -> str:
    """The id under which it will be answered."""
    record = wanted.case
    params: JsonObject = {
        "heal_id": f"{record.id}.{record.step}.cause",
        "token": context.token,
        "phase": "look",
        "params": {name: value for name, value in vars(wanted.subject).items() if value is not None},
    }
    return context.fleet.send(context.root, wanted.host, "heal", params, timeout=60, expiry=LOOK_WAIT_S)


def cause_told(root: Root, record: CaseRecord) -> LookAnswer | None:
    """Evidence without secrets; None while nobody has answered."""
    ended = _looked(root, record)
    return None if ended is None else LookAnswer(causes.read(ended.cause, without_secrets(root, ended.output)))


def _looked(root: Root, record: CaseRecord) -> HostAnswer | None:
    look = record.look
    return None if look is None else fleet_access(root).answer(root, look.host, look.command_id)


def is_answered(root: Root, record: CaseRecord) -> bool:
    return (answer(root, record) if isinstance(record, CommandedCase) else _looked(root, record)) is not None


def measure(context: PipelineContext, record: CaseRecord, heal_id: str, patience: float) -> CaseRecord:
    """The case says so where that is not possible."""
    subject = record.about.subject or ""
    if subject.startswith("monitor:"):
        context.rechecks.append(subject)
    elif subject:
        wanted = {"heal_id": heal_id, "token": context.token, "phase": "measure"}
        agent_id, expiry = subject.partition(":")[2], max(patience, 1.0)
        try:
            context.fleet.send(context.root, agent_id, "heal", wanted, timeout=60, expiry=expiry)
        except NotFound:
            return record.saying("nothing can be measured: the agent is gone")
    return record
