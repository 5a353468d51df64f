"""One host: a sentence about it, its charts, its disks with what is to come, what runs on it, its commands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

from markupsafe import Markup

from opsapp.agents.problems import FULL, NEARLY_FULL, problems_of
from opsapp.agents.records import AgentDetail
from opsapp.healing.foretold import ForecastRecord
from opsapp.healing.moments import Moment
from opsapp.healing.records import RuleSettings
from opsapp.maintenance.records import WindowRecord
from opsapp.ui import charts, sentences
from opsapp.ui.parts import AGENT, AUTOMATIONS, COMMANDS, FORECASTS, HEALS, HOLDS, MOMENT, RULES, WINDOWS
from opsapp.ui.reader import Answers, Reader, TemplateValues, merged
from opsapp.ui.words import rough_span

from . import holds, moment, uses
from .command import shown_of
from .fans import between, fan_told, reaches
from .hosts import notes_of, presence_of
from .problems import open_lines

FEW = 8
DISKS = 5  # that are shown without being asked for
ASK_FIRST = ("params.command", "params.service", "params.action", "params.unit", "params.sort")
ASKED = ("shell", "service", "process_list", "logs", "capabilities")
STATE_WORDS = {"active": "Running", "failed": "Failed", "inactive": "Stopped", "activating": "Starting"}
STATE_KINDS = {
    "active": "ok",
    "running": "ok",
    "failed": "bad",
    "dead": "bad",
    "restarting": "warn",
    "activating": "warn",
    "unhealthy": "bad",
}
STATE_ORDER = ("bad", "warn", "heal", "off", "ok")


class DiskShown(NamedTuple):
    mount: str
    percent: float
    words: str
    kind: str
    ahead: str
    href: str
    chosen: bool


class ServiceShown(NamedTuple):
    name: str
    kind: str
    word: str
    starts: int


class ProcessShown(NamedTuple):
    name: str
    pid: str
    cpu: str
    memory: str


class Lead(NamedTuple):
    look: str
    words: str
    place: str


def shape(answers: Answers, reader: Reader) -> TemplateValues:
    agent = answers[AGENT]
    forecasts, disks = forecasts_of(answers), disks_of(answers, reader)
    services, containers = services_of(agent), states_of(agent.metrics.containers, {})
    every = reader.asked("all") == "services"
    names = sentences.NameBook(hosts={known_as: agent.id for known_as in (agent.hostname, agent.label) if known_as})
    naming = [rule.id for rule in answers[RULES] if is_about(rule, agent)]
    return merged(state, commands, moment.shape)(answers, reader) | {
        "disks": disks[:DISKS],
        "more_disks": disks[DISKS:],
        "fan": fan_of(answers.known(MOMENT), disks, forecasts, reader),
        "services": services if every else services[:FEW],
        "service_count": len(services),
        "containers": containers,
        "failed_units": agent.metrics.failed_units,
        "processes": [process_of(row) for row in agent.metrics.top_processes[:FEW]],
        "heals": [sentences.heal(entry, names) for entry in answers[HEALS]],
        "rules": naming,
        "uses": uses.of_host(naming, answers[AUTOMATIONS]),
        "unit": reader.asked("unit"),
        "logs": log_address(agent.id, reader.query),
    }


def arrival(answers: Answers, reader: Reader) -> TemplateValues:
    """Whether it is waited for."""
    agent = answers[AGENT]
    return {"agent": agent, "name": agent.name, "waiting": agent.status == "pending"}


def state(answers: Answers, reader: Reader) -> TemplateValues:
    """The top of the page."""
    agent = answers[AGENT]
    kind, word = presence_of(agent)
    lead = lead_of(agent, disks_of(answers, reader), reader)
    return {
        **arrival(answers, reader),
        "title": agent.name,
        "may_plan": reader.may("POST /api/maintenance"),
        "kind": kind,
        "word": word,
        "worst": lead.look or kind,
        "facts": facts_of(agent),
        "lead": lead,
        "notes": notes_of(agent),
        "windows": [window.name for window in answers[WINDOWS] if covers(window, agent.id)],
        "holds": holds.on_host(answers[HOLDS], agent),
        "problems": open_lines(answers, reader),
    }


def commands(answers: Answers, reader: Reader) -> TemplateValues:
    agent = answers[AGENT]
    records = [shown_of(record, reader.now) for record in answers[COMMANDS]]
    return {
        **arrival(answers, reader),
        "running": next((command for command in records if command.under_way), None),
        "commands": [command for command in records if not command.under_way][:FEW],
        "command_count": len(records),
        "doing": reader.asked("do") if reader.asked("do") in ASKED else ASKED[0],
        "ask_first": ASK_FIRST,
        "presets": given_to(agent, reader.query),
        "row": agent,
    }


def forecasts_of(answers: Answers) -> dict[str, ForecastRecord]:
    return {row.mount: row for row in answers[FORECASTS] if row.mount is not None}


def services_of(agent: AgentDetail) -> list[ServiceShown]:
    return states_of(agent.metrics.services, agent.metrics.starts)


def given_to(agent: AgentDetail, query: Mapping[str, str]) -> dict[str, str]:
    presets = {"params.sort": "cpu", "params.limit": "20", "params.lines": "200", "params.source": "journald"}
    chosen = {"params.service": query.get("service", ""), "params.unit": query.get("unit", ""), "params.timeout": "60"}
    return {"label": agent.label, "tags": ", ".join(agent.tags), **presets, **chosen}


def facts_of(agent: AgentDetail) -> tuple[str, ...]:
    uptime = agent.metrics.uptime_s
    known = (
        agent.hostname if agent.hostname != agent.label else "",
        agent.os,
        agent.ip,
        f"up {rough_span(uptime)}" if uptime is not None else "",
        f"agent {agent.version}" if agent.version else "",
        f"its clock is {agent.clock_skew_s:+.0f} s off" if abs(agent.clock_skew_s or 0) >= 5 else "",
    )
    return tuple(fact for fact in known if fact)


def lead_of(agent: AgentDetail, disks: Sequence[DiskShown], reader: Reader) -> Lead:
    """The most pressing thing first."""
    if agent.status == "pending":
        return Lead("", "", "")
    if agent.status != "online":
        gone = rough_span(reader.now - (agent.last_seen or reader.now))
        look = "" if agent.unheard else "bad"
        if agent.stopped_at is not None:
            return Lead(look, f"Its agent was stopped {gone} ago: the values below are from before.", "")
        return Lead(look, f"It has not reported for {gone}: the values below are from before.", "")
    problems = problems_of(agent.metrics, agent.clock_skew_s)
    ahead = [f"{disk.mount} will be {disk.ahead}" for disk in disks if disk.ahead and not disk.kind][:1]
    facts = [problem.words for problem in problems] + ahead
    if not facts:
        return Lead("ok", "Nothing on it needs attention.", "")
    places = {"service": "#services"} | ({"disk": "#disks"} if disks else {})
    place = places.get(problems[0].kind, "#moment") if problems else "#disks"
    return Lead("bad" if problems and problems[0].grave else "warn", " ".join(f"{fact}." for fact in facts), place)


def disks_of(answers: Answers, reader: Reader) -> list[DiskShown]:
    agent = answers[AGENT]
    mounts, forecasts, place = agent.metrics.disks, forecasts_of(answers), f"/agents/{agent.id}"

    def order(mount: str) -> tuple[float, float]:
        known = forecasts.get(mount)
        return (known.hits_at or float("inf") if known is not None else float("inf"), -mounts[mount])

    names = sorted(mounts, key=order)
    wanted = reader.query.get("disk", names[0] if names else "")
    return [
        DiskShown(
            mount,
            mounts[mount],
            f"{mounts[mount]:.0f} %",
            "bad" if mounts[mount] >= NEARLY_FULL else "warn" if mounts[mount] >= FULL else "",
            ahead_of(forecasts.get(mount), reader.now),
            f"{place}?{urlencode({'disk': mount})}",
            mount == wanted,
        )
        for mount in names
    ]


def ahead_of(forecast: ForecastRecord | None, now: float) -> str:
    if forecast is None or forecast.hits_at is None or forecast.hits_at <= now:
        return ""
    full = f"{forecast.threshold:g} % full in {rough_span(forecast.hits_at - now)}"
    return full if forecast.likely_by is not None else f"perhaps {full}"


def fan_of(
    told: Moment | None, disks: Sequence[DiskShown], forecasts: Mapping[str, ForecastRecord], reader: Reader
) -> Markup | None:
    disk = next((candidate for candidate in disks if candidate.chosen), None)
    if disk is None:
        return None
    lanes = told.lanes if told is not None and told.live else ()
    curve = next((curve for lane in lanes for curve in lane.curves if lane.name == f"Disk {disk.mount}"), None)
    known = [] if told is None or curve is None else zip(told.times, curve.values, strict=True)
    measured = [(at, value) for at, value in known if value is not None]
    forecast = forecasts.get(disk.mount)
    outlook = outlook_of(forecast, reader.now)
    first = measured[0][0] if measured else reader.now - 3600
    last = max([reader.now, *outlook.times])
    limit = charts.Limit(forecast.threshold, f"{forecast.threshold:g} %") if forecast else None
    axis = charts.TimeAxis(first, last, ZoneInfo(reader.zone), live=False)
    times, values = [at for at, _ in measured], [value for _, value in measured]
    return charts.fan(disk.mount, axis, times, values, outlook, limit, top=100)


def outlook_of(forecast: ForecastRecord | None, now: float) -> charts.Outlook:
    if forecast is None or forecast.hits_at is None or forecast.hits_at <= now:
        return charts.Outlook((), (), (), ())
    words = f"{reaches(forecast)} {forecast.threshold:g} % in {rough_span(forecast.hits_at - now)}"
    return fan_told(forecast, now, 100.0, f"{words}, {between(forecast, now)}")


def states_of(states: Mapping[str, str], starts: Mapping[str, float]) -> list[ServiceShown]:
    """What is wrong first."""
    services = [
        ServiceShown(name, _kind(state), STATE_WORDS.get(state, state.capitalize()), int(starts.get(name, 0)))
        for name, state in states.items()
    ]
    return sorted(services, key=lambda service: (STATE_ORDER.index(service.kind), service.name))


def _kind(state: str) -> str:
    return STATE_KINDS.get(state, "off")


def process_of(row: Mapping[str, object]) -> ProcessShown:
    cpu, memory = row.get("cpu_percent"), row.get("rss_bytes")
    return ProcessShown(
        str(row.get("name", "–")),
        str(row.get("pid", "–")),
        f"{cpu:.1f} %" if isinstance(cpu, (int, float)) else "–",
        charts.BYTES.words(memory) if isinstance(memory, (int, float)) else "–",
    )


def covers(window: WindowRecord, agent_id: str) -> bool:
    """A window without a scope covers everything."""
    return not window.scope or agent_id in window.scope


def is_about(rule: RuleSettings, agent: AgentDetail) -> bool:
    """A rule that names this host."""
    named = rule.targets.agents if rule.targets else ()
    return not {agent.id, agent.label, agent.hostname}.isdisjoint(named)


def log_address(agent_id: str, query: Mapping[str, str]) -> str:
    unit = query.get("unit", "")
    safe = unit.replace("@", "").replace(".", "").replace("-", "").replace("_", "").replace(":", "")
    if not safe.isalnum():
        return ""
    return f"/api/agents/{agent_id}/stream/logs?source=journald&unit={unit}&lines=100"
