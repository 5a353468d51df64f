"""Forecasts and anomalies, at intervals: where metrics are heading, what does not fit their past, and what follows.

A look reads in short transactions; the figures are made outside of any, from what `foresight` keeps. What comes
within a day is a warning event for the rules about that metric, within three days a suggestion. Must not: act, or
decide what an event leads to.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isnan
from typing import NamedTuple

from opsapp.healing.answers import SuggestionAbout
from opsapp.healing.config import HealingSettings, PredictionSettings
from opsapp.healing.foretold import ForecastRecord, MeasuredHour
from opsapp.healing.logic import rules as logic
from opsapp.healing.logic.anomalies import STRANGE, Judgement
from opsapp.healing.logic.forecast import FanPoint, Forecast, seen_at
from opsapp.healing.logic.metricpast import MetricPast
from opsapp.healing.resources import healing_of
from opsapp.healing.stages.case import About, RuleEvent
from opsapp.lib.durations import whole
from opsapp.runtime.cluster import leases
from opsapp.runtime.node import Node
from opsapp.tree.root import Root
from opsapp.wire.readings import split

from .alerts import WatchedRule, watched_rules
from .foresight import Foresight, MetricNews, Point, RuleThreshold, is_about, limits_of, read, settled, threshold_of
from .inventory import Member, inventory_of

LANE = "forecasts"
AGENTS = 10  # in one transaction
AGAIN_S = 86400.0  # the same forecast is an event once in so long
HOUR, DAY, WEEK = 3600.0, 86400.0, 7 * 86400.0
SILENT_S, SILENT_INTERVALS = 900.0, 3  # who has said nothing for so long raises nothing
LATE_S = 900.0  # an anomaly that is older than a look and so long is not told any more
FAN_S = 1.25  # the fan reaches so far beyond the time at which the threshold is met
FAN_MOST_S = 14 * DAY
PAST_H = 24
FAN_HOURS = (1, 3, 6, 12, 24, 36, 48, 72)


class UnusualPoint(NamedTuple):
    point: Point
    verdict: Judgement


class ForeseenEvent(NamedTuple):
    """Once a day for the same key."""

    key: tuple[str, str, str]  # source, rule, target
    event: RuleEvent


class ForecastSuggestion(NamedTuple):
    """A suggestion from a forecast; with another `when` it is suggested again."""

    category: str
    message: str
    rule_id: str
    agent_id: str | None
    metric: str
    when: str


News = ForeseenEvent | ForecastSuggestion


class AgentOutlook(NamedTuple):
    rows: list[ForecastRecord]
    news: list[News]


# -- the step ----------------------------------------------------------------------------------------------------------


def step(node: Node, foresight: Foresight) -> bool:
    section, now = node.config[HealingSettings].prediction, node.clock.now()
    inventory, rules = node.transact(subjects)
    if foresight.bound is None:
        foresight.bound = node.transact(lambda root: healing_of(root).foresight.bound)
    limits = limits_of(rules)
    node.transact(node.series.catch_up)  # what is there already is judged by what the last look has read
    foresight.begin(node.series.late(settled(int(now * 1000))))
    coming: list[ForecastRecord] = []
    for first in range(0, len(inventory), AGENTS):
        part = inventory[first : first + AGENTS]
        room = foresight.room()
        known, late = dict(foresight.read_until), dict(foresight.late)
        measured = node.transact(read, part, limits, section, known, late, room, now)
        results = node.lane(LANE, 1).run(examine, foresight, measured, limits, section, now)
        node.transact(keep, results, now)
        coming += [row for examined in results.values() for row in examined.rows if is_coming(row)]
    foresight.end()
    foresight.retune(section.false_anomalies_a_week, now)
    node.transact(close, [member.item_id for member in inventory], coming, now, foresight.bound)
    return False


def is_coming(row: ForecastRecord) -> bool:
    """What is beyond its threshold already breaks no more."""
    return row.hits_at is not None and row.now < row.threshold


def subjects(root: Root) -> tuple[list[Member], list[WatchedRule]]:
    rules = watched_rules(rule.record for rule in healing_of(root).rules.values())
    return inventory_of(root).agents, rules


def examine(
    foresight: Foresight,
    measured: Sequence[MetricNews],
    limits: Sequence[RuleThreshold],
    section: PredictionSettings,
    now: float,
) -> dict[str, AgentOutlook]:
    """Examine, in a thread, what was measured, and return each agent's outlook by its id."""
    seen: dict[str, AgentOutlook] = {}
    for news in measured:
        of_agent = seen.setdefault(news.member.item_id, AgentOutlook([], []))
        matching = [limit for limit in limits if is_about(limit, news.member, news.metric)]
        odd = _fed(foresight, news, section, now)
        last = foresight.follow(news).last
        if last is None or _is_silent(news.member, last, now):
            continue
        if odd is not None:
            of_agent.news.append(_anomaly(news, odd, matching, now))
        threshold = threshold_of(matching, news.metric, section)
        if threshold is None:
            continue
        forecast = foresight.follow(news).outlook.look(threshold, last.mean)
        if forecast is not None:
            forecast = seen_at(forecast, now)
            of_agent.rows.append(_row(news, forecast, foresight.follow(news).outlook.past, now))
            of_agent.news.extend(_news_of(news, forecast, [limit for limit in matching if limit.above], section, now))
    return seen


def _fed(foresight: Foresight, news: MetricNews, section: PredictionSettings, now: float) -> UnusualPoint | None:
    """Take the news into memory and return the newest anomaly that is still to be told."""
    followed, odd = foresight.take(news), None
    for point in news.hours:
        followed.outlook.past.correct(*point)
    for point in news.points:
        verdict = followed.outlook.take(*point, STRANGE if foresight.bound is None else foresight.bound)
        if verdict.strange and point.at >= now - section.every_s - LATE_S:
            odd = UnusualPoint(point, verdict)
    followed.last = news.last or followed.last
    foresight.read_until[news.number] = settled(int(now * 1000))
    return odd


def _is_silent(member: Member, last: Point, now: float) -> bool:
    return now - last.at > max(SILENT_S, SILENT_INTERVALS * member.interval)


def _row(news: MetricNews, forecast: Forecast, past: MetricPast, now: float) -> ForecastRecord:
    mount = split(news.metric)[1] if news.metric.startswith("disk.") else None
    return ForecastRecord(
        news.member.item_id,
        "disk_percent" if mount else news.metric,
        mount,
        round(forecast.now, 3),
        forecast.threshold,
        whole(forecast.hits_at),
        whole(forecast.low),
        whole(forecast.high),
        whole(forecast.likely_by),
        None if forecast.coverage is None else round(forecast.coverage, 3),
        None if forecast.alarms is None else round(forecast.alarms, 1),
        forecast.sudden,
        tuple(map(_rounded, _shown(forecast, now))),
        tuple(_hours(past)),
    )


def _shown(forecast: Forecast, now: float) -> list[FanPoint]:
    """Those where it meets the threshold among them, up to somewhat beyond these."""
    ends = [now + FAN_S * (at - now) for at in forecast.met if at <= now + FAN_MOST_S]
    until = max([now + DAY, *ends] if forecast.hits_at is not None else [now + 3 * DAY])
    hours = [forecast.fan[hour - 1] for hour in FAN_HOURS] + list(forecast.fan[FAN_HOURS[-1] :])
    points = {*hours, *map(forecast.point, forecast.met)}
    return sorted((point for point in points if now < point.at <= until), key=lambda point: point.at)


def _hours(past: MetricPast) -> Iterator[MeasuredHour]:
    hours = past.hours()[-PAST_H:]
    for hour, mean in enumerate(hours, past.hour - len(hours)):
        if not isnan(mean):
            yield MeasuredHour(int((hour + 0.5) * HOUR), round(mean, 3))


def _rounded(point: FanPoint) -> FanPoint:
    at, *values = vars(point).values()
    return FanPoint(round(at, 0), *(round(value, 3) for value in values))


def _news_of(
    news: MetricNews, forecast: Forecast, matching: list[RuleThreshold], section: PredictionSettings, now: float
) -> Iterator[News]:
    """A suggestion, and if the time is near an event for every rule about the metric. Nothing beyond the threshold."""
    if forecast.hits_at is None:
        return
    hours = (forecast.hits_at - now) / HOUR
    name, metric = news.member.name, news.metric
    sudden = ", with a rise as it never had" if forecast.sudden else ""
    reaches = "reaches" if forecast.likely_by is not None else "may reach"
    message = f"{name}: {metric} {reaches} {forecast.threshold:g} in about {hours:.0f} h, now {forecast.now:g}{sudden}."
    if forecast.within(section.warn_h * HOUR, now):
        for limit in matching:
            yield _event("prediction", news, limit, forecast.now - 1.5 * forecast.spread, forecast.now, now, message)
    if forecast.within(max(section.warn_h, section.suggest_h) * HOUR, now):
        yield _suggestion("capacity_forecast", news, matching, message, f"{int(forecast.hits_at // WEEK)}")


def _anomaly(news: MetricNews, odd: UnusualPoint, matching: list[RuleThreshold], now: float) -> News:
    """An event for a rule that looks to the same side; else a suggestion."""
    verdict, value = odd.verdict, odd.point.mean
    message = f"{news.member.name}: {news.metric} is at {value:.4g}, usually about {verdict.usual:.4g} at this hour."
    side = [limit for limit in matching if limit.above is verdict.above]
    if side:
        return _event("anomaly", news, side[0], (verdict.usual + value) / 2, value, now, message)
    return _suggestion("anomaly", news, matching, message, f"{int(now // DAY)}")


def _event(
    source: str, news: MetricNews, limit: RuleThreshold, bound: float, value: float, now: float, note: str
) -> ForeseenEvent:
    """The heal shall bring the metric back behind a bound: the rule's own condition is not true yet."""
    family = limit.rule.condition.family
    condition = limit.rule.condition.bind(split(news.metric)[1]) if family else limit.rule.condition
    name = condition.tree.left
    target = logic.target_of(news.member.name, condition)
    about = About(
        source,
        f"{name} {'>=' if limit.above else '<='} {round(bound, 2):g}",
        target,
        "warning",
        {news.metric: value},
        news.member.agent_id,
        news.member.subject,
        news.member.names,
        note,
    )
    return ForeseenEvent((source, limit.rule.rule_id, target), RuleEvent(limit.rule.rule_id, about, now))


def _suggestion(
    category: str, news: MetricNews, matching: list[RuleThreshold], message: str, when: str
) -> ForecastSuggestion:
    rule_id = matching[0].rule.rule_id if matching else ""
    return ForecastSuggestion(category, message, rule_id, news.member.agent_id, news.metric, when)


# -- in the store ------------------------------------------------------------------------------------------------------


def keep(root: Root, seen: dict[str, AgentOutlook], now: float) -> None:
    """Keep, under the lease, what was seen: each event and suggestion once."""
    leases.check(root, "healing")
    healing = healing_of(root)
    told = dict(healing.foresight.told)
    for agent_id, (rows, news) in seen.items():
        healing.foresight.keep(agent_id, rows)
        for item in news:
            if isinstance(item, ForecastSuggestion):
                healing.suggestions.suggest(
                    item.category,
                    "info",
                    item.message,
                    rule_id=item.rule_id,
                    evidence=f"{item.agent_id}:{item.metric}:{item.when}",
                    now=now,
                    about=SuggestionAbout(agent_id=item.agent_id, metric=item.metric),
                )
            elif now - told.get(item.key, -AGAIN_S) >= AGAIN_S:
                told[item.key] = now
                healing.book.submit(root, item.event)
    if told != healing.foresight.told:
        healing.foresight.told = told


def close(root: Root, agents: list[str], coming: list[ForecastRecord], now: float, bound: float | None = None) -> None:
    leases.check(root, "healing")
    foresight = healing_of(root).foresight
    foresight.close(agents, coming)
    if bound != foresight.bound:
        foresight.bound = bound
    foresight.told = {key: at for key, at in foresight.told.items() if now - at < AGAIN_S}
