"""Deployment by SSH."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pyramid.request import Request

from opsapp.agents.config import AgentSettings
from opsapp.agents.engine import lifecycle
from opsapp.agents.records import Deploy, Deployed
from opsapp.agents.resources import Agents
from opsapp.lib.problems import Invalid
from opsapp.runtime.node import Node
from opsapp.web import api
from opsapp.web.answers import later
from opsapp.web.config import WebSettings
from opsapp.wire.records import made
from opsapp.wire.urls import is_plain_abroad

AT_ONCE = 10
PLAIN = (
    "must be true for {}, which has no TLS: whoever is on the network in between could read the agent's key and send "
    "it commands. Better set web.base_url to an https address."
)


@api.act(Agents, "deploy", role="admin", body=Deploy, returns=Deployed, errors=(502,), audit="agent.deploy")
def deploy(context: Agents, request: Request) -> Any:
    """Installs the agent on a host over SSH; answers once its service is started."""
    node, wanted = request.node, made(Deploy, request.valid_body)
    server = (node.config[WebSettings].base_url or request.host_url).rstrip("/")
    if is_plain_abroad(server) and not wanted.allow_plain_http:
        raise Invalid({"allow_plain_http": PLAIN.format(server)})
    return later(lambda: carry_out(node, wanted, server))


def carry_out(node: Node, wanted: Deploy, server: str) -> Deployed:
    """A host that it does not come to leaves no new record."""
    lane, known = node.lane("deploy", AT_ONCE), known_hosts(node)
    machine = lane.run(_identify, wanted, known)
    enrolled = node.transact(lifecycle.enrol, wanted.label, wanted.host, *machine)
    run_as = node.config[AgentSettings].run_as
    try:
        lane.run(_install, wanted, known, server, enrolled.agent_id, enrolled.key, run_as)
    except BaseException:
        node.transact(lifecycle.give_up, enrolled)
        raise
    replaced = enrolled.before is not None
    return Deployed(enrolled.agent_id, enrolled.key, "deployed", replaced, enrolled.others)


def _identify(wanted: Deploy, known: str | None) -> tuple[str, str]:
    """In the lane, and the SSH client is loaded there: a start would take a tenth longer by it."""
    from opsapp.agents.engine import deploy as engine

    return engine.identify(_target(wanted, known))


def _install(wanted: Deploy, known: str | None, server: str, agent_id: str, key: str, run_as: str) -> None:
    from opsapp.agents.engine import deploy as engine

    engine.deploy(_target(wanted, known), server, agent_id, key, run_as, allow_plain_http=wanted.allow_plain_http)


def _target(wanted: Deploy, known: str | None) -> Any:
    from opsapp.agents.engine import deploy as engine

    return engine.Target(wanted.host, wanted.ssh_user, wanted.ssh_port, wanted.ssh_key, wanted.host_key, known)


def known_hosts(node: Node) -> str | None:
    """The configured file, else one beside the data."""
    data = node.registry.settings.get("opsapp.data")
    return node.config[AgentSettings].known_hosts or (str(Path(data) / "known_hosts") if data else None)
