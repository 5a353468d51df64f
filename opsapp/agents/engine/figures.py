"""What /metrics says of agents, from this node's memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from opsapp.agents.logic import STATUSES
from opsapp.runtime.families import counter, gauge
from opsapp.runtime.node import Node

from .directory import directory_of
from .memory import memory_of
from .records import AgentStatuses
from .relay import relay_of
from .sessions import sessions_of


def figures(node: Node) -> Iterable[Any]:
    agents = gauge("opsapp_agents", "Agents by status, as this node sees them.", labels=["status"])
    statuses = AgentStatuses(node)
    by_status = Counter(statuses.of(facts).status for facts in directory_of(node).all_known())
    for name in STATUSES:
        agents.add_metric([name], by_status[name])
    yield agents
    sessions = sessions_of(node)
    live = list(sessions.live.values())
    yield gauge("opsapp_agent_sessions", "Sessions that are open on this node.", len(live))
    streams = sum(session.streams.count for session in live)
    yield gauge("opsapp_agent_streams", "Files, logs and metrics under way in them.", streams)
    memory = memory_of(node)
    reports = counter("opsapp_agent_reports", "Reports taken since the start.", labels=["kind"])
    for kind, count in sorted(memory.taken.items()):
        reports.add_metric([kind], count)
    yield reports
    yield counter("opsapp_agent_commands_sent", "Commands handed to sessions here.", value=sessions.sent)
    yield counter("opsapp_agent_sessions_refused", "Clones and bad keys.", value=sessions.refused)
    failed = gauge("opsapp_node_untold", "Failures in a row to tell a node what is heard.", labels=["node"])
    for name, count in relay_of(node).failures():
        failed.add_metric([name], count)
    yield failed
