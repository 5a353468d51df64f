"""How the views of monitors keep within what the caller's teams may (`web.sight`). Does nothing for who is in none.

Must not: decide who is in a team.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from pyramid.request import Request

from opsapp.agents.engine import seen_agents
from opsapp.lib.jsontypes import JsonObject
from opsapp.monitoring.engine.watch import watch_of
from opsapp.monitoring.logic.settings import MonitorSettings, agent_of
from opsapp.monitoring.records import MonitorRecord
from opsapp.tree.rights import Sight
from opsapp.web.tagrights import wrong_tags


def seen_monitors(request: Request) -> Collection[str] | None:
    """The ids of those that the caller's teams see; None for who is in none."""
    sight: Sight | None = request.sight
    if sight is None:
        return None
    entries = watch_of(request.node).entries(request.root)
    return {entry.id for entry in entries.values() if sight.sees(entry.settings.tags)}


def narrowed(request: Request, record: MonitorRecord) -> MonitorRecord:
    """Without the hosts that the caller's teams do not see."""
    if request.sight is None or not (record.agent_id or record.probe_from):
        return record
    seen = seen_agents(request.root, request.sight)
    return replace(
        record,
        agent_id=record.agent_id if record.agent_id in seen else None,
        probe_from=tuple(agent_id for agent_id in record.probe_from if agent_id in seen),
    )


def whole(request: Request, before: MonitorSettings, said: JsonObject) -> JsonObject:
    """What a limited person sends of the hosts is of those that they see: the others stay."""
    if request.sight is None:
        return said
    seen, kept = seen_agents(request.root, request.sight), dict(said)
    if "probe_from" in said:
        hidden = [agent_id for agent_id in before.probe_from if agent_id not in seen]
        kept["probe_from"] = (
            *said["probe_from"],
            *(agent_id for agent_id in hidden if agent_id not in said["probe_from"]),
        )
    if "agent_id" in said and said["agent_id"] is None and before.agent_id not in seen:
        kept["agent_id"] = before.agent_id
    return kept


def misfits(request: Request, before: MonitorSettings, settings: MonitorSettings) -> dict[str, str]:
    """A host that the caller's teams do not see is none, and tags are changed within what they may change."""
    if request.sight is None:
        return {}
    seen, wrong = seen_agents(request.root, request.sight), dict[str, str]()
    if settings.agent_id and settings.agent_id != before.agent_id and settings.agent_id not in seen:
        wrong["agent_id"] = "no such agent"
    hidden = sorted(set(settings.probe_from) - set(before.probe_from) - set(seen))
    if hidden:
        wrong["probe_from"] = "no such agent: " + ", ".join(hidden)
    moved = (settings.type, settings.url) != (before.type, before.url)
    if moved and settings.type == "agent" and agent_of(settings.url) not in seen:
        wrong["url"] = "no such agent"
    return wrong | wrong_tags(request.sight, before.tags, settings.tags)
