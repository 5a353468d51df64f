"""Who may read what a host logs, and what its commands were asked and have written.

The journal is for operators, and what `agents.private_logs` names for admins alone, in files below /var/log too. Other
files are judged by the agent. Of a command viewers see its status, who asked for it and when.
"""

from __future__ import annotations

from dataclasses import replace

from pyramid.request import Request

from opsapp.agents.config import AgentSettings
from opsapp.agents.logic import is_private_file, is_private_log
from opsapp.agents.records import CommandRecord
from opsapp.agents.resources import Command
from opsapp.lib.addresses import HIDDEN
from opsapp.lib.jsontypes import JsonObject
from opsapp.lib.problems import Forbidden
from opsapp.tree.acl import Permission


def may_read(request: Request, params: JsonObject) -> bool:
    """`params` are those of a stream or command `logs`, or of a file."""
    patterns = request.node.config[AgentSettings].private_logs
    if params.get("source", "journald") == "file":
        is_private = is_private_file(params.get("path") or "", patterns)
        return not is_private or bool(request.has_permission(Permission.administer))
    is_private = is_private_log(params.get("unit"), patterns)
    return bool(request.has_permission(Permission.administer if is_private else Permission.operate))


def require_reader(request: Request, params: JsonObject) -> None:
    if may_read(request, params):
        return
    if params.get("source") == "file":
        raise Forbidden("Only admins may read this log (agents.private_logs).", code="private_logs")
    if not request.has_permission(Permission.operate):
        raise Forbidden("Viewers may not read the journal of a host.", code="private_logs")
    what = f"the journal of {params['unit']}" if params.get("unit") else "the whole journal of a host"
    raise Forbidden(f"Only admins may read {what} (agents.private_logs).", code="private_logs")


def shown(request: Request, command: Command) -> CommandRecord:
    """A command's record. What a command `logs` has read is for those who may ask for it."""
    record = command.record
    if not request.may_edit:
        output, reason = record.output and HIDDEN, record.reason and HIDDEN
        return replace(record, params=dict.fromkeys(record.params, HIDDEN), data=None, output=output, reason=reason)
    read = _logs_read(record)
    if read is not None and record.output and not may_read(request, read):
        return replace(record, output=HIDDEN, data=None)
    return record


def _logs_read(record: CommandRecord) -> JsonObject | None:
    """What a command has read of logs, as the parameters of a command `logs`; None: nothing. A look for the cause has
    the last lines of its unit."""
    params = record.params
    if record.type == "logs":
        return params
    if record.type != "heal" or params.get("phase") != "look":
        return None
    unit = (params.get("params") or {}).get("service")
    return None if unit is None else {"unit": unit}
