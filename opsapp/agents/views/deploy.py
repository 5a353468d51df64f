"""Deployment by SSH."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pyramid.request import Request

from opsapp.agents import schemas
from opsapp.agents.config import AgentSettings
from opsapp.agents.engine import lifecycle
from opsapp.agents.resources import Agents
from opsapp.lib.jsontypes import JsonObject
from opsapp.lib.problems import Invalid
from opsapp.runtime.node import Node
from opsapp.web import api
from opsapp.web.answers import Deferred
from opsapp.web.config import WebSettings
from opsapp.wire.urls import is_plain_abroad

AT_ONCE = 10
PLAIN = (
    "must be true for {}, which has no TLS: whoever is on the network in between could read the agent's key and send "
    "it commands. Better set web.base_url to an https address."
)


@api.act(
    Agents, "deploy", role="admin", body=schemas.Deploy, returns=schemas.Deployed, errors=(502,), audit="agent.deploy"
)
def deploy(context: Agents, request: Request) -> Any:
    """Installs the agent on a host over SSH; answers once its service is started."""
    node, body = request.node, request.valid_body
    server = (node.config[WebSettings].base_url or request.host_url).rstrip("/")
    if is_plain_abroad(server) and not body["allow_plain_http"]:
        raise Invalid({"allow_plain_http": PLAIN.format(server)})
    return Deferred(lambda: (200, {}, carry_out(node, body, server)))


def carry_out(node: Node, body: JsonObject, server: str) -> JsonObject:
    """Which machine it is, its record, then the program; a host that it does not come to leaves no new record."""
    lane, known = node.lane("deploy", AT_ONCE), known_hosts(node)
    machine = lane.run(_identify, body, known)
    enrolled = node.transact(lifecycle.enrol, body["label"], body["host"], *machine)
    run_as = node.config[AgentSettings].run_as
    try:
        lane.run(_install, body, known, server, enrolled.agent_id, enrolled.key, run_as)
    except BaseException:
        node.transact(lifecycle.give_up, enrolled)
        raise
    return {
        "agent_id": enrolled.agent_id,
        "key": enrolled.key,
        "status": "deployed",
        "replaced": enrolled.before is not None,
        "same_machine": list(enrolled.others),
    }


def _identify(body: JsonObject, known: str | None) -> tuple[str, str]:
    """In the lane, and the SSH client is loaded there: a start would take a tenth longer by it."""
    from opsapp.agents.engine import deploy as engine

    return engine.identify(_target(body, known))


def _install(body: JsonObject, known: str | None, server: str, agent_id: str, key: str, run_as: str) -> None:
    from opsapp.agents.engine import deploy as engine

    plain = body["allow_plain_http"]
    engine.deploy(_target(body, known), server, agent_id, key, run_as, allow_plain_http=plain)


def _target(body: JsonObject, known: str | None) -> Any:
    from opsapp.agents.engine import deploy as engine

    return engine.Target(body["host"], body["ssh_user"], body["ssh_port"], body["ssh_key"], body["host_key"], known)


def known_hosts(node: Node) -> str | None:
    """The configured file, else one beside the data."""
    data = node.registry.settings.get("opsapp.data")
    return node.config[AgentSettings].known_hosts or (str(Path(data) / "known_hosts") if data else None)
