"""Forecasts, at regular intervals: where the metrics of the agents are heading, and what follows from it.

The series are read in short transactions, agent by agent; the figures are made outside of any. What comes within a day
is a warning event for the rules about that metric, what comes within three days a suggestion. Must not: act, or decide
what an event leads to; the pipeline does, one level below the rule's own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from opsapp.agents.resources import agents_of
from opsapp.healing.config import HealingSettings, PredictionSettings
from opsapp.healing.logic import forecast as figures
from opsapp.healing.logic import rules as logic
from opsapp.healing.logic.forecast import DAY, Forecast, Point
from opsapp.healing.resources import healing_of
from opsapp.lib.jsontypes import JsonObject
from opsapp.runtime import leases
from opsapp.runtime.node import node_of
from opsapp.runtime.projection import readable
from opsapp.tree.root import Root
from opsapp.wire.conditions import Comparison, Literal, Name
from opsapp.wire.readings import split

from .alerts import WatchedRule, watched_rules
from .fleet_access import fleet_access
from .inventory import Member

if TYPE_CHECKING:
    from opsapp.runtime.node import Node

LANE = "forecasts"
LOOK_BACK_S = 7 * DAY
RECENT_S = DAY
BUCKET_MS, FINE_MS = 3_600_000, 60_000
NEWEST_S = 300.0
AGAIN_S = DAY  # the same forecast is an event once in so long
WEEK = 7 * DAY
HOUR = 3600.0
ABOVE = (">", ">=")


class RuleThreshold(NamedTuple):
    """A rule with the condition `metric > number`."""

    rule: WatchedRule
    metric: str
    threshold: float


class MetricHistory(NamedTuple):
    """A metric of one agent, and its past."""

    member: Member
    metric: str
    points: list[Point]
    newest: list[Point]


class ForeseenEvent(NamedTuple):
    """An event for a rule, once a day for the same key."""

    key: tuple[str, str, str]  # source, rule, target
    event: JsonObject  # as the inbox of events holds it


class ForeseenNeed(NamedTuple):
    """A suggestion; with another `when` it is suggested again."""

    category: str
    message: str
    rule_id: str
    agent_id: str | None
    metric: str
    when: str


News = ForeseenEvent | ForeseenNeed


def limits_of(rules: Iterable[WatchedRule]) -> list[RuleThreshold]:
    """The rules whose condition is `metric > number`."""
    limits = []
    for rule in rules:
        tree = rule.condition.tree
        if not isinstance(tree, Comparison) or tree.symbol not in ABOVE:
            continue
        left, right = tree.left, tree.right
        if isinstance(left, Name) and isinstance(right, Literal) and isinstance(right.value, (int, float)):
            limits.append(RuleThreshold(rule, left.key, float(right.value)))
    return limits


# -- the step ----------------------------------------------------------------------------------------------------------


def step(node: Node) -> bool:
    """Examine every agent, then store the results."""
    section, now = node.config[HealingSettings].prediction, node.clock.now()
    inventory, rules = node.transact(subjects)
    limits = limits_of(rules)
    rows: list[JsonObject] = []
    news: list[News] = []
    for member in inventory:
        histories = node.transact(read, member, now)
        of_member, news_of_member = node.lane(LANE, 1).run(examine, histories, limits, section, now)
        rows += of_member
        news += news_of_member
    node.transact(keep, rows, news, now)
    return False


def subjects(root: Root) -> tuple[list[Member], list[WatchedRule]]:
    rules = watched_rules(rule.plain() for _, rule in readable(healing_of(root)["rules"], "rule"))
    return [member for member in fleet_access(root).inventory(root) if member.is_agent], rules


def read(root: Root, member: Member, now: float) -> list[MetricHistory]:
    """The history of each metric of an agent: by the hour if there are enough hours, else by the minute."""
    agent = agents_of(root).get(str(member.agent_id))
    if agent is None:
        return []
    reading, end = node_of(root).series.reading(root), int(now * 1000) + 1
    histories = []
    for metric, number in sorted(agent.series.items()):
        points = _means(reading, number, end, LOOK_BACK_S, BUCKET_MS)
        fine = _means(reading, number, end, RECENT_S, FINE_MS)
        if not figures.enough(points):
            points = fine
        newest = [point for point in fine if point[0] >= now - NEWEST_S]
        histories.append(MetricHistory(member, metric, points, newest))
    return histories


def _means(reading: Any, number: int, end: int, seconds: float, width: int) -> list[Point]:
    buckets = reading.buckets(number, end - int(seconds * 1000), end, width)
    return [(bucket.start / 1000, bucket.mean) for bucket in buckets if bucket.mean is not None]


def examine(
    histories: list[MetricHistory], limits: list[RuleThreshold], section: PredictionSettings, now: float
) -> tuple[list[JsonObject], list[News]]:
    """In a thread: (forecasts as the API gives them, what deserves an event or a suggestion)."""
    rows: list[JsonObject] = []
    news: list[News] = []
    for history in histories:
        matching = [limit for limit in limits if _is_about(limit, history)]
        threshold = min((limit.threshold for limit in matching), default=_usual_threshold(history.metric, section))
        if threshold is None:
            continue
        forecast = figures.forecast(history.points, threshold, now)
        if forecast is not None:
            rows.append(_row(history, forecast))
            news += _news_of(history, forecast, matching, section, now)
        deviation = figures.strange(history.points, history.newest)
        if deviation is not None:
            news.append(_anomaly(history, deviation, matching, now))
    return rows, news


def _is_about(limit: RuleThreshold, history: MetricHistory) -> bool:
    if not limit.rule.applies(history.member):
        return False
    family = limit.rule.condition.family
    if family is None:
        return limit.metric == history.metric
    return bool(limit.rule.condition.bindings([history.metric]))


def _usual_threshold(metric: str, section: PredictionSettings) -> float | None:
    """The threshold of a metric that no rule is about."""
    name = "disk_percent" if metric.startswith("disk.") else metric
    return getattr(section.thresholds, name, None)


def _mount(metric: str) -> str | None:
    return split(metric)[1] if metric.startswith("disk.") else None


def _row(history: MetricHistory, forecast: Forecast) -> JsonObject:
    mount = _mount(history.metric)
    return {
        "agent_id": history.member.agent_id,
        "metric": "disk_percent" if mount else history.metric,
        "mount": mount,
        "now": forecast.now,
        "threshold": forecast.threshold,
        "hits_at": _whole(forecast.hits_at),
        "low": _whole(forecast.low),
        "high": _whole(forecast.high),
        "coverage": forecast.coverage,
    }


def _whole(time: float | None) -> int | None:
    return None if time is None else int(time)


def _news_of(
    history: MetricHistory, forecast: Forecast, matching: list[RuleThreshold], section: PredictionSettings, now: float
) -> Iterator[News]:
    """A suggestion, and if the time is near a warning event for every rule about the metric. Nothing if the threshold
    is reached already."""
    if forecast.now >= forecast.threshold or forecast.hits_at is None:
        return
    hours = (forecast.hits_at - now) / HOUR
    name, metric = history.member.name, history.metric
    message = f"{name}: {metric} reaches {forecast.threshold:g} in about {hours:.0f} h, now {forecast.now:g}."
    if forecast.within(section.warn_h * HOUR, now):
        for limit in matching:
            yield _event("prediction", history, limit, forecast.now - 3 * forecast.spread, now, message)
    if forecast.within(max(section.warn_h, section.suggest_h) * HOUR, now):
        yield _suggestion("capacity_forecast", history, matching, message, f"{int(forecast.hits_at // WEEK)}")


def _anomaly(history: MetricHistory, deviation: tuple[float, float], matching: list[RuleThreshold], now: float) -> News:
    usual, margin = deviation
    name, metric = history.member.name, history.metric
    message = f"{name}: {metric} is at {history.newest[-1][1]:g}, usually about {usual:g}."
    if matching:
        return _event("anomaly", history, matching[0], usual + margin, now, message)
    return _suggestion("anomaly", history, matching, message, f"{int(now // DAY)}")


def _event(
    source: str, history: MetricHistory, limit: RuleThreshold, above: float, now: float, note: str
) -> ForeseenEvent:
    """The heal is asked to bring the metric below its present value: the rule's own condition is not true yet."""
    family = limit.rule.condition.family
    condition = limit.rule.condition.bind(split(history.metric)[1]) if family else limit.rule.condition
    name = condition.tree.left
    target = logic.target_of(history.member.name, condition)
    event = {
        "source": source,
        "rule_id": limit.rule.rule_id,
        "condition": f"{name} >= {round(above, 2):g}",
        "target": target,
        "severity": "warning",
        "metrics": {history.metric: history.points[-1][1]},
        "agent_id": history.member.agent_id,
        "subject": history.member.subject,
        "names": history.member.names,
        "note": note,
        "at": now,
    }
    return ForeseenEvent((source, limit.rule.rule_id, target), event)


def _suggestion(
    category: str, history: MetricHistory, matching: list[RuleThreshold], message: str, when: str
) -> ForeseenNeed:
    rule_id = matching[0].rule.rule_id if matching else ""
    return ForeseenNeed(category, message, rule_id, history.member.agent_id, history.metric, when)


def keep(root: Root, rows: list[JsonObject], news: list[News], now: float) -> None:
    """Under the lease: store the present forecasts, and each event and suggestion once."""
    leases.check(root, "healing")
    healing = healing_of(root)
    healing.forecasts = tuple(rows)
    told = {key: at for key, at in healing.foretold.items() if now - at < AGAIN_S}
    for item in news:
        if isinstance(item, ForeseenNeed):
            healing["suggestions"].suggest(
                item.category,
                "info",
                item.message,
                rule_id=item.rule_id,
                evidence=f"{item.agent_id}:{item.metric}:{item.when}",
                now=now,
                about={"agent_id": item.agent_id, "metric": item.metric},
            )
        elif item.key not in told:
            told[item.key] = now
            healing.book.submit(root, item.event)
    if told != healing.foretold:
        healing.foretold = told
