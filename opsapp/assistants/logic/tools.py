"""The table of tools: what each reads, explains or proposes. Arguments of a reading tool are those of the API. Pure.
Must not: name a path that changes anything; `READS` are asked with GET."""

from __future__ import annotations

from typing import NamedTuple

MOST_ROWS, ROWS = 100, 20
MOST_CHARACTERS = 200_000  # of an answer, by a tool and as a resource
RULE = "/api/healing/rules/{rule_id}"


class ReadTool(NamedTuple):
    """`parts`: names of several answers with their paths; a single one has no name."""

    name: str
    title: str
    parts: tuple[tuple[str, str], ...]
    about: str = ""  # beside what the API says of itself


def _read(name: str, title: str, path: str, about: str = "") -> ReadTool:
    return ReadTool(name, title, (("", path),), about)


READS: tuple[ReadTool, ...] = (
    _read("overview", "What is wrong now", "/api/overview", "The open cases of healing stand in it. Begin here."),
    _read("list_monitors", "Monitors", "/api/monitoring/endpoints"),
    _read("get_monitor", "A monitor", "/api/monitoring/endpoints/{monitor_id}"),
    _read("list_incidents", "Incidents", "/api/monitoring/incidents"),
    _read("get_incident", "An incident", "/api/monitoring/incidents/{incident_id}"),
    _read("list_hosts", "Hosts", "/api/agents"),
    _read("get_host", "A host", "/api/agents/{agent_id}"),
    _read("list_rules", "Rules of healing", "/api/healing/rules"),
    _read("get_rule", "A rule", RULE),
    _read("list_ledger", "The ledger of heals", "/api/healing/ledger"),
    _read("list_trust", "How far rules are trusted", "/api/healing/trust"),
    _read("list_forecasts", "Forecasts", "/api/healing/forecasts"),
    _read("list_problems", "Recurring problems", "/api/healing/problems"),
    _read("list_dependencies", "Dependencies", "/api/healing/dependencies"),
    _read("list_actions", "Actions of healing", "/api/healing/actions", "What propose_action may name."),
    _read("list_readings", "Names of readings", "/api/healing/readings", "What a condition may name."),
    _read("list_automations", "Automations", "/api/automations"),
    _read("get_automation", "An automation", "/api/automations/{automation_id}"),
    _read("list_requests", "Requests for approval", "/api/approvals", "What became of a proposal stands here."),
    _read("get_request", "A request for approval", "/api/approvals/{request_id}"),
    _read("who_is_on_call", "Who is on call", "/api/oncall/now"),
    _read("explain_case", "Why a case went as it did", "/api/healing/cases/{case_id}"),
    _read("explain_incident", "All that bears on an incident", "/api/monitoring/incidents/{incident_id}/war-room"),
    _read("explain_moment", "What was going on then", "/api/moment"),
    ReadTool(
        "explain_rule",
        "What a rule does, and the evidence for it",
        (
            ("rule", RULE),
            ("lift", "/api/healing/lift?rule_id={rule_id}"),
            ("wait", "/api/healing/wait?rule_id={rule_id}"),
        ),
        "The rule, how many more cases recover with its heal than by themselves, and how long to wait before it.",
    ),
)  # fmt: skip
READ = {tool.name: tool for tool in READS}


class AskTool(NamedTuple):
    """One that works something out, or proposes it: `engine.proposals` has the function of its name."""

    name: str
    title: str
    about: str
    proposes: bool = True


ASKS: tuple[AskTool, ...] = (
    AskTool(
        "what_if",
        "What a rule would have done",
        "Runs a draft rule over stored readings: when it would have fired, on what, what was over by itself, and what "
        "would have stopped it. Nothing is changed or done.",
        proposes=False,
    ),
    AskTool(
        "propose_action",
        "Propose an action on a host, once",
        "Asks people to let one action run on one host while `condition` holds there. With their yes the pipeline "
        "checks the condition, acts once with all its limits, and measures whether it helped. `condition` is what must "
        "be true now and false afterwards, such as service.nginx.state == \"failed\".",
    ),
    AskTool(
        "propose_run",
        "Propose a run of an automation",
        "Asks people to let an automation run with these inputs. What they approve is exactly what it is made of now.",
    ),
    AskTool(
        "propose_rule",
        "Propose a rule",
        "Asks an admin to add a rule. With their yes it begins at its initial level, at most `notify`, and has "
        "its trust to earn.",
    ),
)  # fmt: skip
ASK = {tool.name: tool for tool in ASKS}
NAMES = frozenset((*READ, *ASK))
