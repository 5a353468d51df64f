"""Commands of an agent: ask, look, cancel."""

from __future__ import annotations

from typing import Any

from pyramid.request import Request

from opsapp.agents.engine import commands as engine
from opsapp.agents.records import CommandAccepted, CommandRecord, NewCommand
from opsapp.agents.resources import Command, Commands
from opsapp.lib.problems import Conflict
from opsapp.web import api
from opsapp.web.fields import Paging
from opsapp.web.listpages import page_of
from opsapp.wire.commands import LogParams
from opsapp.wire.records import made

from .journals import require_reader, shown


@api.get(Commands, query=Paging, returns=[CommandRecord], teams="see")
def commands(context: Commands, request: Request) -> Any:
    """The last 100, newest first. Older ones are not kept: asked for by its id, such a command may be 404. What the
    service asks to find the cause of a failure is not listed: its case tells of it."""
    return [shown(request, command) for command in page_of(request, context.latest())]


@api.act(Commands, body=NewCommand, idempotent=True, returns=CommandAccepted, audit="agent.command", teams="act")
def ask(context: Commands, request: Request) -> Any:
    """A command for the agent; one that is offline gets it when it comes back."""
    asked = made(NewCommand, request.valid_body)
    kind, params = asked.type, dict(asked.params or {})
    if kind == "logs":
        require_reader(request, made(LogParams, params))
        params["role"] = "operator"
    command_id = engine.send_command(
        request.root, context.__parent__.id, kind, params, requested_by=request.caller.name
    )
    request.audit("agent.command", context.__parent__.id, after={"command_id": command_id, "type": kind})
    return CommandAccepted(command_id, "queued")


@api.get(Command, returns=CommandRecord, teams="see")
def command(context: Command, request: Request) -> Any:
    """One command, if it is one of the agent's last 100; an older one may be gone (404)."""
    return shown(request, context)


@api.delete(Command, returns=CommandAccepted, teams="act")
def cancel(context: Command, request: Request) -> Any:
    """Cancels it: at once while it is queued, else the agent is told to stop it."""
    if context.final:
        raise Conflict(f"The command is over already: {context.status}.", code="command_over")
    agent_id = context.__parent__.__parent__.id
    status = engine.cancel_command(request.root, agent_id, context.__name__)
    request.audit("agent.command.cancel", agent_id, after={"command_id": context.__name__})
    return CommandAccepted(context.__name__, status)
