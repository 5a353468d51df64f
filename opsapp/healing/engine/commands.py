"""Whom a heal asks to do something, and what they answered: a host's agent, or the service itself.

What is asked is a row, written in the transaction of the step that wants it, so it is asked once.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opsapp.automations.engine import request_run, run_state
from opsapp.healing.logic.rules import RUNS
from opsapp.healing.resources import Healing, healing_of
from opsapp.healing.stages.world import SERVER
from opsapp.lib.problems import Problem
from opsapp.runtime.wakes import wake_after_commit
from opsapp.tree.root import Root
from opsapp.wire.actions import ACTIONS, Action

from .context import PipelineContext
from .fleet_access import FleetAccess
from .server_actions import QUEUE

GOES_ON = ("pending_approval", "queued", "running")
# A host that an armed action cut off is back when its timer has run out, its agent has given up the dead connection,
# and its back-off has passed.
RETURN_S = 120.0


def ask(context: PipelineContext, fields: Mapping[str, Any], phase: str, params: Mapping[str, Any]) -> str:
    """Have one phase of a heal done where the case says; the id under which it will be answered."""
    action = ACTIONS.get(fields["action"])
    timeout = action.timeout if action else 60
    if fields["host"] == SERVER:
        assert action is not None
        if action.name in RUNS:
            return _run(context, fields, RUNS[action.name])
        wake_after_commit(context.root, QUEUE)
        return context.healing.deeds.intend(*_deed(context, fields, action), action.timeout)
    wanted = {
        "heal_id": fields["heal_id"],
        "token": context.token,
        "phase": phase,
        "action_type": fields["action"],
        "timeout": timeout,
        **params,
    }
    expiry = context.world.settings.command_expiry_s
    if phase in ("rollback", "confirm") and action is not None and action.armed_s:
        expiry += context.world.settings.confirm_s + RETURN_S
    return context.fleet.send(
        context.root, fields["host"], "heal", wanted, timeout=timeout, expiry=expiry, by="healing"
    )


def _run(context: PipelineContext, fields: Mapping[str, Any], param: str) -> str:
    """A run, or the refusal with nothing of it left in the transaction."""
    before = context.root._p_jar.transaction_manager.savepoint()
    told = {"by": "healing", "origin": f"heal {fields['heal_id']}"}
    try:
        return str(request_run(context.root, context.now, fields["params"][param], inputs={}, **told)["run_id"])
    except Problem:
        before.rollback()
        raise


def _deed(context: PipelineContext, fields: Mapping[str, Any], action: Action) -> tuple[str, dict[str, Any]]:
    params = fields["params"]
    if action.name == "webhook":
        told = {name: fields[name] for name in ("rule_id", "target", "condition", "severity", "metrics", "source")}
        told |= {"heal_id": fields["heal_id"], "ledger_id": fields["entry_id"], "case_id": fields["id"]}
        body = told if params["body"] is None else params["body"]
        return "webhook", {**params, "body": body, "heal_id": fields["heal_id"]}
    handler = context.world.server.handler(action)
    named = {"action_type": action.name, "params": params}
    return "argv", {"steps": [] if handler is None else handler.argv(params), **named}


def answer(root: Root, reach: FleetAccess, fields: Mapping[str, Any]) -> dict[str, Any] | None:
    """The final answer that a case waits for, or None."""
    if fields["host"] == SERVER and fields["action"] in RUNS:
        return _run_answer(run_state(root, fields["command_id"]))
    if fields["host"] == SERVER:
        return healing_of(root).deeds.answer(fields["command_id"])
    return reach.answer(root, fields["host"], fields["command_id"])


def overdue(context: PipelineContext, fields: Mapping[str, Any]) -> dict[str, Any] | None:
    """In place of an answer that a host owes for so long that it may never come: it has died, or its agent hangs. The
    service's own deeds end by themselves."""
    action = ACTIONS.get(fields["action"])
    if fields["host"] == SERVER or action is None:
        return None
    wait = action.timeout + context.world.settings.command_expiry_s + context.world.settings.answer_wait_s
    if context.now - (fields.get("sent_at") or context.now) <= wait:
        return None
    said = "no answer of the host: nobody can tell whether it was done"
    return {"status": "lost", "exit_code": None, "output": "", "reason": said, "data": None}


def _run_answer(run: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """A run's end as a command's answer; None while it waits (for its own approval too) or goes on."""
    if run is not None and run["status"] in GOES_ON:
        return None
    status = "lost" if run is None else run["status"]
    reason = f"the run ended {status}" + (f": {run['reason']}" if run and run.get("reason") else "")
    code = None if run is None else run["exit_code"]
    ended = {"done": "done", "lost": "lost"}.get(status, "failed")
    said = None if ended == "done" else reason
    return {"status": ended, "exit_code": code, "output": "", "reason": said, "data": None}


def read(healing: Healing, fields: Mapping[str, Any]) -> None:
    """The case has taken the answer: a deed's row is not needed any more."""
    if fields["host"] == SERVER and fields["action"] not in RUNS:
        healing.deeds.drop(fields["command_id"])
