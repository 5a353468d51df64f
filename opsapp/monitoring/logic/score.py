"""Health scores: 0 to 100 with a grade, from three components of which any may be unknown. Pure.

| Component | Weight | 100 | 0 | between |
|---|---|---|---|---|
| uptime (7 days) | 60 | 100 % | 95 % and less | linear |
| response_time (p95 of 24 h) | 25 | half of `degraded_ms` (1,000 ms when unset) | four times `degraded_ms` | linear |
| certificate (days left) | 15 | 30 days and more | expired | linear |

Weights of the known components are scaled up to 100; with none known there is no score.
"""

from __future__ import annotations

from collections.abc import Iterable

WEIGHTS = {"uptime": 60, "response_time": 25, "certificate": 15}
GRADES = ((90, "A"), (80, "B"), (70, "C"), (60, "D"), (0, "F"))
USUAL_MS = 1000.0
UPTIME_DAYS = 7


def uptime_component(percent: float | None) -> dict:
    if percent is None:
        return _component("uptime", None, None, "no check in the last 7 days")
    return _component("uptime", _ramp(percent, 95.0, 100.0), percent, f"{percent:g} % over 7 days")


def response_component(p95_ms: float | None, degraded_ms: float | None) -> dict:
    if p95_ms is None:
        return _component("response_time", None, None, "no answer in the last 24 hours")
    usual = degraded_ms or USUAL_MS
    score = _ramp(p95_ms, 4 * usual, usual / 2)
    return _component("response_time", score, p95_ms, f"95 % of checks within {p95_ms:g} ms")


def certificate_component(days: float | None) -> dict:
    if days is None:
        return _component("certificate", None, None, "no certificate seen")
    detail = f"expires in {days:.1f} days" if days > 0 else "expired"
    return _component("certificate", _ramp(days, 0.0, 30.0), round(days, 1), detail)


def monitor_score(monitor_id: str, name: str, components: dict) -> dict:
    known = [each for each in components.values() if each["score"] is not None]
    weights = sum(each["weight"] for each in known)
    score = round(sum(each["score"] * each["weight"] for each in known) / weights, 1) if weights else None
    scaled = {key: {**each, "weight": _scale(each, weights)} for key, each in components.items()}
    return {"monitor_id": monitor_id, "name": name, "score": score, "grade": grade(score), "components": scaled}


def aggregate(scores: Iterable[dict]) -> dict:
    """Over all monitors, each counting the same; those without a score are counted as unknown."""
    scores = list(scores)
    known = [each for each in scores if each["score"] is not None]
    total = _mean(each["score"] for each in known)
    components = {}
    for key, weight in WEIGHTS.items():
        parts = [each["components"][key] for each in known if each["components"][key]["score"] is not None]
        components[key] = {
            "score": _mean(part["score"] for part in parts),
            "weight": weight,
            "value": _mean(part["value"] for part in parts),
            "detail": f"{len(parts)} of {len(scores)} monitors",
        }
    return {
        "score": total,
        "grade": grade(total),
        "monitors": [{key: each[key] for key in ("monitor_id", "name", "score", "grade")} for each in scores],
        "components": components,
        "unknown": len(scores) - len(known),
    }


def grade(score: float | None) -> str | None:
    return None if score is None else next(name for least, name in GRADES if score >= least)


def _component(name: str, score: float | None, value: float | None, detail: str) -> dict:
    return {"score": score, "weight": WEIGHTS[name], "value": value, "detail": detail}


def _scale(component: dict, weights: int) -> float:
    """What this component's share of the score is, in percent; 0 for an unknown one."""
    return 0 if component["score"] is None else round(component["weight"] * 100 / weights, 1)


def _ramp(value: float, worst: float, best: float) -> float:
    return round(100 * min(1.0, max(0.0, (value - worst) / (best - worst))), 1)


def _mean(values: Iterable[float]) -> float | None:
    found = list(values)
    return round(sum(found) / len(found), 1) if found else None
