"""How an agent gets onto a host by hand: the program and the script that installs it."""

from __future__ import annotations

from typing import Any

from pyramid.request import Request
from pyramid.response import Response

from opsapp.agents.config import AgentSettings
from opsapp.agents.engine.installscript import script
from opsapp.agents.resources import Agents, InstallScript, find_by_key
from opsapp.agents.zipapp import agent_file
from opsapp.lib.problems import Invalid
from opsapp.web import api
from opsapp.web.config import WebSettings
from opsapp.web.fields import Query, text


class KeyGiven(Query):
    key = text(1, 200, default=None)


@api.get(Agents, "agent.pyz", role="public", returns="application/octet-stream")
def program(context: Agents, request: Request) -> Any:
    """The agent program."""
    file = agent_file()
    response = Response(file.data, content_type="application/octet-stream")
    response.headers["Content-Disposition"] = 'attachment; filename="opsapp-agent.pyz"'
    response.headers["X-Content-SHA256"] = file.sha256
    response.etag = file.sha256
    return response


@api.get(InstallScript, query=KeyGiven, returns="text/x-shellscript")
def install_script(context: InstallScript, request: Request) -> Any:
    """A POSIX script that installs and starts the agent. With an agent's key it needs no more."""
    caller = request.caller
    key = request.valid_query["key"] or (request.headers.get("X-Agent-Key") if caller.kind == "agent" else None)
    agent = find_by_key(request.root, key) if key else None
    if key and agent is None:
        raise Invalid({"key": "is no agent's key"})
    server = (request.node.config[WebSettings].base_url or request.host_url).rstrip("/")
    text = script(server, agent.id if agent else "", key or "", request.node.config[AgentSettings].run_as)
    return Response(text, content_type="text/x-shellscript", charset="utf-8")
