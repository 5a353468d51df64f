"""Health scores: 0 to 100 with a grade, from three components of which any may be unknown. Pure.

| ScoreComponent | Weight | 100 | 0 | between |
|---|---|---|---|---|
| uptime (7 days) | 60 | 100 % | 95 % and less | linear |
| response_time (p95 of 24 h) | 25 | half of `degraded_ms` (1,000 ms when unset) | four times `degraded_ms` | linear |
| certificate (days left) | 15 | 30 days and more | expired | linear |

Weights of the known components are scaled up to 100. With none known there is no score, nor where less than half of
the days of uptime, or of the monitor's own time, is known: one check is no week.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from opsapp.monitoring.records import AggregateScore, Grade, MonitorScore, ScoreComponent, ScoreComponents

WEIGHTS = {"uptime": 60, "response_time": 25, "certificate": 15}
GRADES: tuple[tuple[int, Grade], ...] = ((90, "A"), (80, "B"), (70, "C"), (60, "D"), (0, "F"))
USUAL_MS = 1000.0
UPTIME_DAYS = 7


def uptime_component(percent: float | None) -> ScoreComponent:
    if percent is None:
        return _component("uptime", None, None, f"no check in the last {UPTIME_DAYS} days")
    return _component("uptime", _ramp(percent, 95.0, 100.0), percent, f"{percent:g} % over 7 days")


def response_component(p95_ms: float | None, degraded_ms: float | None) -> ScoreComponent:
    if p95_ms is None:
        return _component("response_time", None, None, "no answer in the last 24 hours")
    usual = degraded_ms or USUAL_MS
    score = _ramp(p95_ms, 4 * usual, usual / 2)
    return _component("response_time", score, p95_ms, f"95 % of checks within {p95_ms:g} ms")


def certificate_component(days: float | None) -> ScoreComponent:
    if days is None:
        return _component("certificate", None, None, "no certificate seen")
    detail = f"expires in {days:.1f} days" if days > 0 else "expired"
    return _component("certificate", _ramp(days, 0.0, 30.0), round(days, 1), detail)


def hardly_known(score: MonitorScore) -> MonitorScore:
    """The score for when nobody looked for more than half of the time."""
    detail = f"less than half of the last {UPTIME_DAYS} days is known"
    parts = replace(score.components, uptime=_component("uptime", None, None, detail))
    return replace(score, score=None, grade=None, components=parts)


def monitor_score(monitor_id: str, name: str, components: ScoreComponents) -> MonitorScore:
    known = [(part.score, part.weight) for part in vars(components).values() if part.score is not None]
    weights = sum(weight for _, weight in known)
    score = round(sum(score * weight for score, weight in known) / weights, 1) if weights else None
    scaled = {key: replace(part, weight=_scale(part, weights)) for key, part in vars(components).items()}
    return MonitorScore(monitor_id, name, score, grade(score), ScoreComponents(**scaled))


def aggregate(scores: Sequence[MonitorScore]) -> AggregateScore:
    """Each monitor counts the same; those without a score are counted as unknown."""
    known = [score for score in scores if score.score is not None]
    total = _mean(score.score for score in known)
    components = {}
    for key, weight in WEIGHTS.items():
        parts = [part for score in known if (part := getattr(score.components, key)).score is not None]
        detail = f"{len(parts)} of {len(scores)} monitors"
        components[key] = ScoreComponent(
            _mean(part.score for part in parts), weight, _mean(part.value for part in parts), detail
        )
    return AggregateScore(total, grade(total), tuple(scores), ScoreComponents(**components), len(scores) - len(known))


def grade(score: float | None) -> Grade | None:
    return None if score is None else next(name for least, name in GRADES if score >= least)


def _component(name: str, score: float | None, value: float | None, detail: str) -> ScoreComponent:
    return ScoreComponent(score, WEIGHTS[name], value, detail)


def _scale(component: ScoreComponent, weights: float) -> float:
    """This component's share of the score, in percent; 0 for an unknown one."""
    return 0 if component.score is None else round(component.weight * 100 / weights, 1)


def _ramp(value: float, worst: float, best: float) -> float:
    return round(100 * min(1.0, max(0.0, (value - worst) / (best - worst))), 1)


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return round(sum(known) / len(known), 1) if known else None
