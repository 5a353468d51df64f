"""Agent records: list, create, look at, change, delete, rotate the key, history."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pyramid.request import Request

from opsapp.agents import schemas
from opsapp.agents.engine import lifecycle, records
from opsapp.agents.engine.directory import directory_of, touched
from opsapp.agents.records import AgentDetail, AgentKey, AgentRow, FleetRow, GivenAgent
from opsapp.agents.resources import Agent, Agents
from opsapp.web import api
from opsapp.web.deletions import undoable
from opsapp.web.listpages import in_order, page_of
from opsapp.web.schemas import Deleted, Updated
from opsapp.web.taglists import TagQuery, TagRow, tags_in
from opsapp.web.tagrights import wrong_tags
from opsapp.wire.records import made, plain


@api.get(Agents, query=schemas.AgentList, returns=[AgentRow], teams="filtered")
def agents(context: Agents, request: Request) -> Any:
    """All agents."""
    query = request.valid_query
    rows = records.rows(request.root, query["ids"], query["status"], request.sight)
    return page_of(request, [row for row in rows if row.matches(query["q"], query["status"], query["tag"])])


@api.get(Agents, "tags", query=TagQuery, returns=[TagRow], teams="filtered")
def tags(context: Agents, request: Request) -> list[TagRow]:
    """The tags that hosts have. `q` is a part of the name."""
    sight, known = request.sight, directory_of(request.node).all(request.root)
    return tags_in(request, (facts.tags for facts in known if sight is None or sight.sees(facts.tags)))


@api.get(Agents, "figures", query=schemas.FleetList, returns=[FleetRow], teams="filtered")
def figures(context: Agents, request: Request) -> Any:
    """The same list with each one's newest figures, six hours of CPU and memory, and what is wrong with it. `sort`: the
    worst first (`status`: the silent ones, then those with problems), or by a field; with "-" the other way round, and
    what is not known last."""
    query = request.valid_query
    rows = records.rows(request.root, query["ids"], query["status"], request.sight)
    matching = [row for row in rows if row.matches(query["q"], query["status"], query["tag"])]
    known = [records.measured(request.node, row) for row in matching]
    sort = (query["sort"] or "status").replace("status", "urgency")
    return records.fleet(request.root, page_of(request, in_order(known, sort)))


@api.create(Agents, role="admin", body=GivenAgent, returns=AgentKey)
def create(context: Agents, request: Request) -> Any:
    """A record for an agent that somebody installs by hand; the key is shown this once."""
    given = made(GivenAgent, request.valid_body)
    agent_id, key = lifecycle.create(request.root, given.label, given.tags)
    request.audit("agent.create", agent_id, after=plain(given))
    return AgentKey(agent_id, key, "pending")


@api.get(Agent, returns=AgentDetail, teams="see")
def agent(context: Agent, request: Request) -> Any:
    """One agent with its current metrics."""
    shown = records.detail(request.root, context)
    return shown if request.sight is None else replace(shown, hostname_conflict=False)


@api.update(
    Agent,
    body=GivenAgent,
    also=lambda agent, request, sound: wrong_tags(request.sight, agent.tags, sound.get("tags", agent.tags)),
    read_only=AgentDetail,
    returns=Updated,
    teams="change",
)
def change(context: Agent, request: Request) -> Updated:
    """Label and tags."""
    before = {"label": context.label, "tags": list(context.tags)}
    context.label = request.valid_body.get("label", context.label)
    context.tags = tuple(request.valid_body.get("tags", context.tags))
    touched(request.root, context.id)
    request.audit("agent.change", context.id, before=before, after={"label": context.label, "tags": list(context.tags)})
    return Updated()


@api.delete(Agent, role="admin", returns=Deleted, undoes=True)
def delete(context: Agent, request: Request) -> Deleted:
    """The agent with all its history; its key is worth nothing from now on."""
    request.audit("agent.delete", context.id, before={"label": context.label, "hostname": context.hostname})
    name = context.label or context.hostname
    undoable(request, "host", name, context.id, lifecycle.take_out(request.root, context))
    return Deleted()


@api.act(Agent, "key", role="admin", returns=AgentKey)
def rotate_key(context: Agent, request: Request) -> Any:
    """A new key, shown this once; the old one ends at once, and a session that was opened with it too."""
    key = lifecycle.rotate_key(request.root, context)
    request.audit("agent.key", context.id)
    return AgentKey(context.id, key, records.status_of(request.node, context))


@api.delete(Agent, "key", role="admin", returns=schemas.KeyRevoked)
def revoke_key(context: Agent, request: Request) -> schemas.KeyRevoked:
    """The key is worth nothing from now on, and its session ends; POST makes a new one. The agent's record stays."""
    lifecycle.revoke_key(request.root, context)
    request.audit("agent.key.revoke", context.id)
    return schemas.KeyRevoked()


@api.get(Agent, "metrics", query=schemas.MetricsRange, returns=[schemas.HistoryPoint], teams="see")
def metrics(context: Agent, request: Request) -> Any:
    """What was reported, as means per bucket, until now or until a moment."""
    query = request.valid_query
    span = {name: query[name] for name in ("range_h", "resolution", "until")}
    points = records.history(request.root, context, **span)
    return page_of(request, points)
