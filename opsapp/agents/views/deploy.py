"""Deployment by SSH."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pyramid.request import Request
from pyramid.view import view_config

from opsapp.agents import resources, schemas
from opsapp.agents.engine import lifecycle
from opsapp.agents.resources import Agents
from opsapp.lib.problems import Invalid
from opsapp.runtime.node import Node
from opsapp.tree.acl import Permission
from opsapp.tree.root import Root
from opsapp.web.answers import Deferred
from opsapp.wire.urls import is_plain_abroad

AT_ONCE = 10
PLAIN = (
    "must be true for {}, which has no TLS: whoever is on the network in between could read the agent's key and send "
    "it commands. Better set web.base_url to an https address."
)


@view_config(
    context=Agents,
    name="deploy",
    request_method="POST",
    permission=Permission.administer,
    body=schemas.Deploy,
    returns=schemas.AgentKey,
    audit="agent.deploy",
)
def deploy(context: Agents, request: Request) -> Any:
    """Installs the agent on a host over SSH; answers once its service is started."""
    node, body = request.node, request.valid_body
    server = (node.config["web"]["base_url"] or request.host_url).rstrip("/")
    if is_plain_abroad(server) and not body["allow_plain_http"]:
        raise Invalid({"allow_plain_http": PLAIN.format(server)})
    return Deferred(lambda: (200, {}, carry_out(node, body, server)))


def carry_out(node: Node, body: dict[str, Any], server: str) -> dict[str, Any]:
    """The record, then the host; a host that it does not come to leaves no record."""
    agent_id, key = node.transact(lifecycle.create, body["label"] or body["host"], [])
    run_as = node.config["agents"]["run_as"]
    try:
        node.lane("deploy", AT_ONCE).run(_install, body, known_hosts(node), server, agent_id, key, run_as)
    except BaseException:
        node.transact(_forget, agent_id)
        raise
    return {"agent_id": agent_id, "key": key, "status": "deployed"}


def _install(body: dict[str, Any], known: str | None, server: str, agent_id: str, key: str, run_as: str) -> None:
    """In the lane, and the SSH client is loaded there: a start would take a tenth longer by it."""
    from opsapp.agents.engine import deploy as engine

    target = engine.Target(body["host"], body["ssh_user"], body["ssh_port"], body["ssh_key"], body["host_key"], known)
    engine.deploy(target, server, agent_id, key, run_as, allow_plain_http=body["allow_plain_http"])


def _forget(root: Root, agent_id: str) -> None:
    lifecycle.delete(root, resources.find_agent(root, agent_id))


def known_hosts(node: Node) -> str | None:
    """The configured file, else one beside the data."""
    data = node.registry.settings.get("opsapp.data")
    return node.config["agents"]["known_hosts"] or (str(Path(data) / "known_hosts") if data else None)
