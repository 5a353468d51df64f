"""The tools of a host, as its agent probed them."""

from __future__ import annotations

from opsapp.agents.engine import send_command
from opsapp.agents.resources import agent_named
from opsapp.lib.jsontypes import JsonObject
from opsapp.tree.root import Root


def capabilities_of(root: Root, hostname: str) -> JsonObject:
    """What a host's agent can do, as it last probed. It is an error if several agents report the name."""
    agent = agent_named(root, hostname)
    values = agent.manifest.values if agent.manifest else {}
    tools = values.get("capabilities") or {}
    return {
        "hostname": agent.hostname or hostname,
        "manifest": values,
        "probed_at": int(agent.manifest.at) if agent.manifest else None,
        "degraded_capabilities": sorted(
            name for name, about in tools.items() if about.get("available") and not about.get("usable")
        ),
    }


def refresh_capabilities(root: Root, hostname: str, by: str) -> JsonObject:
    """Ask the agent to probe its tools again."""
    agent = agent_named(root, hostname)
    return {"status": "queued", "command_id": send_command(root, agent.id, "capabilities", {}, requested_by=by)}
