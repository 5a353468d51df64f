"""One monitor: its response times over the asked span, its uptime, what is around it."""

from __future__ import annotations

from math import ceil
from zoneinfo import ZoneInfo

from markupsafe import Markup

from opsapp.healing.moments import Moment
from opsapp.healing.records import DependencyGraph, RuleRecord, RuleSettings
from opsapp.lib.cron import parse
from opsapp.lib.cronwords import in_words
from opsapp.monitoring.engine import MetricPoint, ResponsePoint
from opsapp.monitoring.records import IncidentRecord, MonitorRecord
from opsapp.ui import charts, words
from opsapp.ui.parts import BEATS, DAYS, DEPENDENCIES, HEALS, INCIDENTS, METRICS, MOMENT, MONITOR, RULES, WINDOWS
from opsapp.ui.reader import Answers, Reader, TemplateValues, merged
from opsapp.ui.shapes import moment, monitorlist, uses
from opsapp.ui.shapes.monitorform import may_write
from opsapp.ui.shapes.monitors import percent_words, state_of, word_of
from opsapp.ui.shapes.pluginmetrics import MetricShown, command_line, metrics_of
from opsapp.ui.shapes.problems import open_lines

HOUR, DAY = 3600, 86_400
MOST_DAYS = 90
AGAIN_S = 2


PHASES = {"name": "Name", "connect": "Connect", "tls": "TLS", "first_byte": "Wait"}


def same_time(reader: Reader, earlier: Answers) -> dict[str, str]:
    """Of what a plugin measures, the time that the moment shows."""
    told = earlier[MOMENT]
    hours = max(1, ceil((told.until - told.since) / HOUR))
    return {"range_h": str(hours), "resolution": str(min(DAY, told.step)), "until": str(told.until)}


def shape(answers: Answers, reader: Reader) -> TemplateValues:
    monitor = answers[MONITOR]
    return merged(now, beats, moment.shape, plugin, past)(answers, reader) | {
        "command": command_line(monitor.command or ()),
        "days": days_strip(monitor, answers[DAYS], reader),
        "phases": phases_of(monitor),
        "certificate": certificate(monitor),
        "stands_on": neighbours(answers.known(DEPENDENCIES), monitor.name, above=True),
        "carries": neighbours(answers.known(DEPENDENCIES), monitor.name, above=False),
        "heals": answers[HEALS],
        "uses": losses(monitor, answers[INCIDENTS], answers[RULES]) + uses.of_monitor(monitor.id, answers[WINDOWS]),
        "problems": open_lines(answers, reader),
    }


def now(answers: Answers, reader: Reader) -> TemplateValues:
    """The top of the page."""
    monitor = answers[MONITOR]
    status = monitorlist.state_of(monitor)
    return {
        "title": monitor.name or "A monitor that cannot be read",
        "monitor": monitor,
        "state": state_of(status),
        "word": word_of(status),
        "looked": looked(monitor),
        "may_edit": reader.may("PUT /api/monitoring/endpoints/{id}"),
        "may_clone": reader.may("POST /api/monitoring/endpoints") and may_write(monitor.type, reader),
        "may_plan": reader.may("POST /api/maintenance"),
    }


def beats(answers: Answers, reader: Reader) -> TemplateValues:
    """`again`: the seconds until one more; checks that change nothing are no events."""
    if not answers[BEATS]:
        return {"checks": Markup(""), "again": 0, "last_check": None, "next_check": ""}
    monitor = answers[BEATS][0]
    last = monitor.last_check
    left = 0 if last is None else last + monitor.interval - reader.now
    return {
        "checks": monitorlist.lines([monitor])[0].checks,
        "again": max(AGAIN_S, left + 1) if monitor.enabled else 0,
        "last_check": last,
        "next_check": next_check(monitor, reader),
    }


def plugin(answers: Answers, reader: Reader) -> TemplateValues:
    monitor = answers[MONITOR]
    told = answers.known(MOMENT)
    metrics = [] if told is None else measured(monitor, answers[METRICS], told, reader)
    return {"monitor": monitor, "metrics": metrics}


def past(answers: Answers, reader: Reader) -> TemplateValues:
    incidents = answers[INCIDENTS]
    return {"incidents": incidents[:8], "more_incidents": len(incidents) > 8}


def looked(monitor: MonitorRecord) -> str:
    if monitor.type == "push":
        often = f"every {words.rough_span(monitor.interval)}"
        if monitor.schedule:
            often = f"by the schedule {monitor.schedule}"
            words_of = in_words(parse(monitor.schedule))
            often = f"{words_of[0].lower()}{words_of[1:]}" if words_of else often
            often += f" ({monitor.schedule_zone})" if monitor.schedule_zone else ""
        grace = f", grace {words.rough_span(monitor.grace)}" if monitor.grace else ""
        return f"waits to be called {often}{grace}"
    many = len(monitor.probe_from)
    whence = f" from {many} host{'s' if many > 1 else ''}, {monitor.quorum} of them decide" if many else ""
    turned = "; upside down: up when it fails" if monitor.upside_down else ""
    return f"{monitor.type}, every {words.rough_span(monitor.interval)}{whence}{turned}"


def next_check(monitor: MonitorRecord, reader: Reader) -> str:
    if not monitor.enabled:
        return "paused: not checked"
    if monitor.type == "push":
        return "when it is called"
    if monitor.last_check is None:
        return "at once"
    left = monitor.last_check + monitor.interval - reader.now
    return f"in {words.rough_span(left)}" if left > 0 else "now"


def measured(monitor: MonitorRecord, points: list[MetricPoint], told: Moment, reader: Reader) -> list[MetricShown]:
    axis = charts.TimeAxis(told.since, told.until, ZoneInfo(reader.zone), told.live)
    step = int(max(min(DAY, told.step), 1.5 * monitor.interval))
    return metrics_of(monitor.metrics or {}, points, axis, step, reader)


def days_strip(monitor: MonitorRecord, points: list[ResponsePoint], reader: Reader) -> Markup:
    """Ninety days, each as the worst of it; days of UTC, as they are stored."""
    known = {point.time // DAY: point for point in points}
    today = int(reader.now) // DAY
    bars = []
    for day in range(today - MOST_DAYS + 1, today + 1):
        date = words.local(day * DAY, "UTC")
        when = f"{date.day} {date:%b}"
        point = known.get(day)
        if point is None:
            made = monitor.created_at // DAY <= day
            bars.append(charts.Bar("unknown", when, "nothing was measured" if made else "not watched yet"))
        else:
            uptime = "" if point.uptime is None else f", {percent_words(point.uptime)} up"
            bars.append(charts.Bar(point.status, when, f"{word_of(point.status)}{uptime}"))
    return charts.strip(bars, f"{monitor.name}, {MOST_DAYS} days", (bars[0].when, "today"))


def phases_of(monitor: MonitorRecord) -> Markup:
    """Where the time of the last answer went; what is not told apart is the body."""
    measured = monitor.phases or {}
    parts = [charts.PhaseTime(PHASES[name], measured[name]) for name in PHASES if measured.get(name) is not None]
    body = (measured.get("total") or 0) - sum(part.ms for part in parts)
    return charts.phases([*parts, charts.PhaseTime("Body", body)] if parts and body > 0 else parts)


def certificate(monitor: MonitorRecord) -> str:
    days = monitor.cert_days
    if days is None:
        return ""
    return f"ends in {words.rough_span(days * DAY)}" if days > 0 else f"ended {words.rough_span(days * DAY)} ago"


def neighbours(graph: DependencyGraph | None, name: str, *, above: bool) -> dict[str, str]:
    """What it hangs on, or what hangs on it: how each stands."""
    if graph is None:
        return {}
    statuses = {node.target: node.status for node in graph.nodes}
    if above:
        names = sorted(edge.parent for edge in graph.edges if edge.child == name)
    else:
        names = sorted(edge.child for edge in graph.edges if edge.parent == name)
    return {neighbour: statuses.get(neighbour, "unknown") for neighbour in names}


def losses(monitor: MonitorRecord, incidents: list[IncidentRecord], rules: list[RuleRecord]) -> list[str]:
    """What goes, or stops working, with the monitor."""
    name = monitor.name
    told = ["Its history goes with it. You can undo it for a minute."]
    if any(incident.is_open for incident in incidents):
        told.append("Its open incident ends.")
    if incidents:
        told.append("Its past incidents stay.")
    if "public" in monitor.tags:
        told.append("It is removed from the public status page.")
    naming = [rule.id for rule in rules if names_it(rule, name)]
    if naming:
        told.append(f"Rules that name it find nothing any more: {', '.join(naming)}.")
    return told


def names_it(rule: RuleSettings, name: str) -> bool:
    return bool(rule.targets and name in rule.targets.monitors) or f'"{name}"' in rule.condition
