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
from opsapp.lib.problems import Forbidden
from opsapp.tree.acl import Permission
from opsapp.wire.commands import LogParams
from opsapp.wire.records import made


def may_read(request: Request, wanted: LogParams) -> bool:
    """What a stream or command `logs` wants, or a file."""
    patterns = request.node.config[AgentSettings].private_logs
    if wanted.source == "file":
        is_private = is_private_file(wanted.path or "", patterns)
        return not is_private or bool(request.has_permission(Permission.administer))
    is_private = is_private_log(wanted.unit, patterns)
    return bool(request.has_permission(Permission.administer if is_private else Permission.operate))


def require_reader(request: Request, wanted: LogParams) -> None:
    if may_read(request, wanted):
        return
    if wanted.source == "file":
        raise Forbidden("Only admins may read this log (agents.private_logs).", code="private_logs")
    if not request.has_permission(Permission.operate):
        raise Forbidden("Viewers may not read the journal of a host.", code="private_logs")
    what = f"the journal of {wanted.unit}" if wanted.unit else "the whole journal of a host"
    raise Forbidden(f"Only admins may read {what} (agents.private_logs).", code="private_logs")


def shown(request: Request, command: Command) -> CommandRecord:
    """What a command `logs` has read is for those who may ask for it."""
    record = command.record
    if not request.may_edit:
        output, reason = record.output and HIDDEN, record.reason and HIDDEN
        return replace(record, params=dict.fromkeys(record.params, HIDDEN), data=None, output=output, reason=reason)
    read = _logs_read(record)
    if read is not None and record.output and not may_read(request, read):
        return replace(record, output=HIDDEN, data=None)
    return record


def _logs_read(record: CommandRecord) -> LogParams | None:
    """None: nothing. A look for the cause has the last lines of its unit."""
    params = record.params
    if record.type == "logs":
        return made(LogParams, params)
    if record.type != "heal" or params.get("phase") != "look":
        return None
    unit = (params.get("params") or {}).get("service")
    return None if unit is None else LogParams(unit=unit)
