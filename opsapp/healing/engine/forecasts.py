"""Every so often: where the metrics of the agents are heading, and what follows from it.

The series are read in short transactions, agent by agent; the figures are made outside of any. What comes within a day
is a warning event for the rules about that metric, what comes within three days a suggestion. Must not: act, or decide
what an event leads to; the pipeline does, one level below the rule's own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from opsapp.agents.resources import agents_of
from opsapp.healing.config import HealingSettings, PredictionSettings
from opsapp.healing.logic import forecast as figures
from opsapp.healing.logic import rules as logic
from opsapp.healing.logic.forecast import DAY, Forecast, Point
from opsapp.healing.resources import Healing, healing_of
from opsapp.runtime import leases
from opsapp.runtime.node import node_of
from opsapp.runtime.projection import readable
from opsapp.tree.root import Root
from opsapp.wire.conditions import Comparison, Condition, Literal, Name, parse
from opsapp.wire.readings import split

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
    """A rule that is about one metric being too high."""

    rule_id: str
    condition: Condition
    metric: str
    threshold: float


class MetricHistory(NamedTuple):
    """A metric of one agent, and its past."""

    member: Member
    metric: str
    points: list[Point]
    newest: list[Point]


def limits_of(rules: Mapping[str, Mapping[str, Any]]) -> list[RuleThreshold]:
    """The rules whose condition is `metric > number`."""
    found = []
    for rule_id, rule in rules.items():
        condition = parse(rule["condition"])
        tree = condition.tree
        if not rule["enabled"] or not isinstance(tree, Comparison) or tree.symbol not in ABOVE:
            continue
        left, right = tree.left, tree.right
        if isinstance(left, Name) and isinstance(right, Literal) and isinstance(right.value, (int, float)):
            found.append(RuleThreshold(rule_id, condition, left.key, float(right.value)))
    return found


# -- the step ----------------------------------------------------------------------------------------------------------


def step(node: Node) -> bool:
    """Look at every agent; commit what was found."""
    section, now = node.config[HealingSettings].prediction, node.clock.now()
    inventory, rules = node.transact(subjects)
    limits = limits_of(rules)
    rows, news = [], []
    for member in inventory:
        seen = node.transact(read, member, now)
        made = node.lane(LANE, 1).run(examine, seen, limits, rules, section, now)
        rows += made[0]
        news += made[1]
    node.transact(keep, rows, news, now)
    return False


def subjects(root: Root) -> tuple[list[Member], dict[str, dict[str, Any]]]:
    rules = {name: rule.plain() for name, rule in readable(healing_of(root)["rules"], "rule")}
    return [member for member in fleet_access(root).inventory(root) if member.is_agent], rules


def read(root: Root, member: Member, now: float) -> list[MetricHistory]:
    """The past of everything that is kept of an agent: hours where there are enough of them, else minutes."""
    agent = agents_of(root).get(str(member.agent_id))
    if agent is None:
        return []
    reading, end = node_of(root).series.reading(root), int(now * 1000) + 1
    found = []
    for metric, number in sorted(agent.series.items()):
        points = _means(reading, number, end, LOOK_BACK_S, BUCKET_MS)
        fine = _means(reading, number, end, RECENT_S, FINE_MS)
        if not figures.enough(points):
            points = fine
        newest = [point for point in fine if point[0] >= now - NEWEST_S]
        found.append(MetricHistory(member, metric, points, newest))
    return found


def _means(reading: Any, number: int, end: int, seconds: float, width: int) -> list[Point]:
    buckets = reading.buckets(number, end - int(seconds * 1000), end, width)
    return [(one.start / 1000, one.mean) for one in buckets if one.mean is not None]


def examine(
    seen: list[MetricHistory],
    limits: list[RuleThreshold],
    rules: Mapping[str, Mapping[str, Any]],
    section: PredictionSettings,
    now: float,
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """In a lane's thread: (forecasts, what is worth an event or a suggestion)."""
    rows: list[dict[str, Any]] = []
    news: list[dict[str, Any]] = []
    for one in seen:
        matching = [limit for limit in limits if _is_about(limit, one, rules[limit.rule_id])]
        threshold = min((limit.threshold for limit in matching), default=_usual_threshold(one.metric, section))
        if threshold is None:
            continue
        found = figures.forecast(one.points, threshold, now)
        if found is not None:
            rows.append(_row(one, found))
            news += _news_of(one, found, matching, section, now)
        odd = figures.strange(one.points, one.newest)
        if odd is not None:
            news.append(_odd(one, odd, matching, now))
    return rows, news


def _is_about(limit: RuleThreshold, seen: MetricHistory, rule: Mapping[str, Any]) -> bool:
    wanted = (rule.get("targets") or {}).get("agents")
    if rule.get("targets") and not logic.in_scope(seen.member.names, seen.member.tags, wanted or ()):
        return False
    family = limit.condition.family
    if family is None:
        return limit.metric == seen.metric
    return bool(limit.condition.bindings([seen.metric]))


def _usual_threshold(metric: str, section: PredictionSettings) -> float | None:
    """Of a metric that no rule is about."""
    name = "disk_percent" if metric.startswith("disk.") else metric
    return getattr(section.thresholds, name, None)


def _mount(metric: str) -> str | None:
    return split(metric)[1] if metric.startswith("disk.") else None


def _row(seen: MetricHistory, found: Forecast) -> dict[str, Any]:
    mount = _mount(seen.metric)
    return {
        "agent_id": seen.member.agent_id,
        "metric": "disk_percent" if mount else seen.metric,
        "mount": mount,
        "now": found.now,
        "threshold": found.threshold,
        "hits_at": _whole(found.hits_at),
        "low": _whole(found.low),
        "high": _whole(found.high),
        "coverage": found.coverage,
    }


def _whole(time: float | None) -> int | None:
    return None if time is None else int(time)


def _news_of(
    seen: MetricHistory, found: Forecast, matching: list[RuleThreshold], section: PredictionSettings, now: float
) -> Iterator[dict[str, Any]]:
    """A suggestion, and where it is near a warning event for every rule about the metric; nothing where the threshold
    is met already."""
    if found.now >= found.threshold or found.hits_at is None:
        return
    hours = (found.hits_at - now) / HOUR
    message = (
        f"{seen.member.name}: {seen.metric} reaches {found.threshold:g} in about {hours:.0f} h, now {found.now:g}."
    )
    if found.within(section.warn_h * HOUR, now):
        for limit in matching:
            yield _event("prediction", seen, limit, found.now - 3 * found.spread, now, message)
    if found.within(max(section.warn_h, section.suggest_h) * HOUR, now):
        yield _suggestion("capacity_forecast", seen, matching, message, f"{int(found.hits_at // WEEK)}")


def _odd(seen: MetricHistory, odd: tuple[float, float], matching: list[RuleThreshold], now: float) -> dict[str, Any]:
    usual, margin = odd
    message = f"{seen.member.name}: {seen.metric} is at {seen.newest[-1][1]:g}, usually about {usual:g}."
    if matching:
        return _event("anomaly", seen, matching[0], usual + margin, now, message)
    return _suggestion("anomaly", seen, matching, message, f"{int(now // DAY)}")


def _event(
    source: str, seen: MetricHistory, limit: RuleThreshold, above: float, now: float, note: str
) -> dict[str, Any]:
    """What is asked for is that the metric falls below where it has got to: the rule's condition is not true yet."""
    family = limit.condition.family
    condition = limit.condition.bind(split(seen.metric)[1]) if family else limit.condition
    name = condition.tree.left
    target = logic.target_of(seen.member.name, condition)
    return {
        "what": "event",
        "key": (source, limit.rule_id, target),
        "event": {
            "source": source,
            "rule_id": limit.rule_id,
            "condition": f"{name} >= {round(above, 2):g}",
            "target": target,
            "severity": "warning",
            "metrics": {seen.metric: seen.points[-1][1]},
            "agent_id": seen.member.agent_id,
            "subject": seen.member.subject,
            "names": seen.member.names,
            "note": note,
            "at": now,
        },
    }


def _suggestion(
    category: str, seen: MetricHistory, matching: list[RuleThreshold], message: str, when: str
) -> dict[str, Any]:
    return {
        "what": "suggestion",
        "category": category,
        "message": message,
        "rule_id": matching[0].rule_id if matching else "",
        "evidence": f"{seen.member.agent_id}:{seen.metric}:{when}",
        "about": {"agent_id": seen.member.agent_id, "metric": seen.metric},
    }


def keep(root: Root, rows: list[dict[str, Any]], news: list[dict[str, Any]], now: float) -> None:
    """Under the lease: the forecasts as they are now, and what follows from them, each once."""
    leases.check(root, "healing")
    healing = healing_of(root)
    healing.forecasts = tuple(rows)
    told = {key: at for key, at in healing.foretold.items() if now - at < AGAIN_S}
    for one in news:
        if one["what"] == "suggestion":
            _suggest(healing, one, now)
        elif one["key"] not in told:
            told[one["key"]] = now
            healing.book.submit(root, one["event"])
    if told != healing.foretold:
        healing.foretold = told


def _suggest(healing: Healing, one: dict[str, Any], now: float) -> None:
    healing["suggestions"].suggest(
        one["category"],
        "info",
        one["message"],
        rule_id=one["rule_id"],
        evidence=one["evidence"],
        now=now,
        about=one["about"],
    )
