"""Pages about hosts: the list, a new one, one host, and one command on it."""

from __future__ import annotations

from opsapp.agents.records import Deploy, GivenAgent
from opsapp.ui import parts
from opsapp.ui.questions import Call
from opsapp.ui.shapes import command as command_shape
from opsapp.ui.shapes import host as host_shape
from opsapp.ui.shapes import hosts as hosts_shape

from . import moment
from .commands import COMMAND_ACTS
from .problems import about
from .shape import Act, Field, Page, PageBlock, Part, delete, inputs, told

LABEL, TAGS = inputs(GivenAgent)
STOP = Act("stop", "Stop", "DELETE /api/agents/{id}/commands/{command_id}", grave=True,
           warns="What runs on the host is ended where it is. What it has done already is not undone.")  # fmt: skip

HOSTS = (
    Page(
        "/agents",
        "Hosts",
        (
            Part(
                "All hosts",
                "/api/agents/figures",
                paged=True,
                filters=(Field("q", "Name"), Field("tag", "Tag"), Field("status", "Status"), Field("sort", "Sort by")),
                name=parts.HOSTS,
                acts=(
                    Act("tags", "Set the tags", "PUT /api/agents/{id}", (TAGS,), many=True,
                        warns="The tags that they have now are replaced. Rules that act on a tag follow at once."),
                    Act("update", "Update the agent", "POST /api/agents/{id}/commands", body={"type": "update"},
                        many=True, warns="Each agent downloads this service's version and restarts with it."),
                    Act("capabilities", "Refresh capabilities", "POST /api/agents/{id}/commands",
                        body={"type": "capabilities"}, many=True),
                    delete("/api/agents/{id}", many=True,
                        warns="Their records, their keys and all that they measured are deleted. Monitors that run "
                        "from them stop. The agents on the hosts keep running, but are refused. "
                        "You can undo it for a minute."),
                ),
            ),
        ),
        menu="Hosts",
        template="hosts.jinja2",
        shape=hosts_shape.shape,
        calls=(Call("Tags", "GET /api/agents/tags"),),
        blocks=(PageBlock("hosts", ("hosts",), hosts_shape.shape),),
    ),
    Page(
        "/agents/add",
        "Add a host",
        (),
        forms=(
            Act(
                "create",
                "Create the key",
                "POST /api/agents",
                (LABEL, TAGS),
                shows=True,
                result="host_key.jinja2",
            ),
            Act(
                "deploy",
                "Install it over SSH",
                "POST /api/agents/deploy",
                inputs(Deploy, "host", "ssh_user", "ssh_port", "ssh_key", "host_key", "label", "allow_plain_http"),
                shows=True,
                result="host_deployed.jinja2",
            ),
        ),
        template="host_add.jinja2",
    ),
    Page(
        "/agents/{id}/commands/{command_id}",
        "Command",
        (
            told(parts.COMMAND, "/api/agents/{id}/commands/{command_id}", acts=(STOP,)),
            told(parts.AGENT, "/api/agents/{id}"),
        ),
        template="command.jinja2",
        shape=command_shape.shape,
    ),
    Page(
        "/agents/{id}",
        "Host",
        (
            told(
                parts.AGENT,
                "/api/agents/{id}",
                acts=(
                    *COMMAND_ACTS,
                    Act(
                        "change",
                        "Name and tags",
                        "PUT /api/agents/{id}",
                        (LABEL._replace(required=False, hint=""), TAGS._replace(hint="")),
                    ),
                    Act(
                        "hands_off",
                        "Hands off",
                        "POST /api/agents/{id}/hands-off",
                        (
                            Field("for", "For how long", "span", required=True, preset="2 h"),
                            Field("reason", "Why", hint="Others read it"),
                        ),
                        warns="Rules act one level lower on this host: what they would do by themselves is asked "
                        "about first. It ends by itself.",
                        done="Rules act one level lower on this host from now on.",
                    ),
                    Act("hands_on", "End hands off", "DELETE /api/agents/{id}/hands-off",
                        done="Rules act here as before."),
                    Act("key", "New key", "POST /api/agents/{id}/key", shows=True, result="host_key.jinja2"),
                    Act("revoke", "Revoke its key", "DELETE /api/agents/{id}/key", grave=True,
                        warns="The agent is refused from now on: the host is not measured, and nothing is healed "
                        "there. A new key lets it in again."),
                    Act("delete", "Delete this host", "DELETE /api/agents/{id}", grave=True, goes="/agents"),
                ),
            ),
            moment.of("hosts"),
            told(parts.FORECASTS, "/api/healing/forecasts?agent_id={id}", optional=True),
            told(parts.COMMANDS, "/api/agents/{id}/commands?limit=100"),
            told(parts.HEALS, "/api/healing/ledger?limit=8&target={agent.hostname}"),
            told(parts.WINDOWS, "/api/maintenance?active=true"),
            told(parts.HOLDS, "/api/healing/maintenance"),
            told(parts.RULES, "/api/healing/rules"),
            told(parts.AUTOMATIONS, "/api/automations?uses={id}", optional=True),
            about("target={agent.hostname}"),
        ),
        template="host.jinja2",
        shape=host_shape.shape,
        blocks=(
            PageBlock("state", ("agent", "forecasts", "windows", "holds", "problems"), host_shape.state),
            PageBlock("arrival", ("agent",), host_shape.arrival),
            PageBlock("commands", ("agent", "commands"), host_shape.commands),
            *moment.BLOCKS,
        ),
        calls=(Call("Download", "GET /api/agents/{id}/files"), Call("Upload", "POST /api/agents/{id}/files")),
    ),
)  # fmt: skip
