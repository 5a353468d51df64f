"""One verdict from several vantage points. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from opsapp.wire.probes import Outcome


def decide(seen: Sequence[bool | None], quorum: int) -> bool | None:
    """False when at least `quorum` saw it down; True when some saw it up and too few saw it down; else nobody knows."""
    if seen.count(False) >= quorum:
        return False
    return True if True in seen else None


def joint(outcomes: Sequence[Outcome], quorum: int) -> Outcome:
    """The outcomes joined into one: times and metrics are means, a certificate is the one that ends first. Degraded
    when a quorum saw something wrong, though too few saw it down."""
    seen = [outcome.ok for outcome in outcomes]
    verdict, warned = decide(seen, quorum), [outcome for outcome in outcomes if outcome.degraded]
    best = next((outcome for outcome in outcomes if outcome.ok is verdict), Outcome(None))
    troubled = {outcome.detail for outcome in outcomes if outcome.ok is not True or outcome.degraded}
    days = [outcome.certificate_days for outcome in outcomes if outcome.certificate_days is not None]
    return Outcome(
        verdict,
        _mean(outcome.response_time_ms for outcome in outcomes if outcome.ok) if verdict else None,
        "; ".join(sorted(troubled)) or best.detail,
        best.phases,
        min(days, default=None),
        best.protocol,
        best.http_status,
        bool(verdict and warned) and seen.count(False) + len(warned) >= quorum,
        _mean_metrics(outcomes),
        {name: unit for outcome in outcomes for name, unit in (outcome.units or {}).items()},
    )


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _mean_metrics(outcomes: Sequence[Outcome]) -> dict[str, float]:
    names = dict.fromkeys(name for outcome in outcomes for name in outcome.metrics or {})
    means = {name: _mean((outcome.metrics or {}).get(name) for outcome in outcomes) for name in names}
    return {name: value for name, value in means.items() if value is not None}
