"""Who may read the journal of a host: operators, and admins alone what `agents.private_logs` names."""

from __future__ import annotations

from pyramid.request import Request

from opsapp.agents.config import AgentSettings
from opsapp.agents.logic import is_private_log
from opsapp.agents.resources import Command
from opsapp.lib.addresses import HIDDEN
from opsapp.lib.jsontypes import JsonObject
from opsapp.lib.problems import Forbidden
from opsapp.tree.acl import Permission


def may_read(request: Request, params: JsonObject) -> bool:
    """`params` are those of a stream or command `logs`. Paths of files are judged by the agent."""
    if params.get("source", "journald") != "journald":
        return True
    private = is_private_log(params.get("unit"), request.node.config[AgentSettings].private_logs)
    return bool(request.has_permission(Permission.administer if private else Permission.operate))


def require_reader(request: Request, params: JsonObject) -> None:
    if may_read(request, params):
        return
    if not request.has_permission(Permission.operate):
        raise Forbidden("Viewers may not read the journal of a host.", code="private_logs")
    what = f"the journal of {params['unit']}" if params.get("unit") else "the whole journal of a host"
    raise Forbidden(f"Only admins may read {what} (agents.private_logs).", code="private_logs")


def shown(request: Request, command: Command) -> JsonObject:
    """A command's record. What a command `logs` has read is for those who may ask for it: viewers may for none."""
    record = command.plain()
    is_log = record["type"] == "logs"
    if is_log and record["output"] and not (request.may_edit and may_read(request, record["params"])):
        record |= {"output": HIDDEN, "data": None}
    return request.shown(record)
