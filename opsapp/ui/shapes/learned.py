"""What healing has learned: suggestions, forecasts, and trust in each rule. Must not: say a figure that the API does
not have."""

from __future__ import annotations

from math import log1p
from typing import NamedTuple

from markupsafe import Markup

from opsapp.healing.answers import SuggestionAbout, SuggestionRecord, TrustShown
from opsapp.healing.foretold import ForecastRecord
from opsapp.ui.choices import LinkChoice, PickOption
from opsapp.ui.parts import AGENTS, DEAD, FORECASTS, OFFLINE, SUGGESTIONS, TRUST
from opsapp.ui.reader import MOST_IDS, NO_ID, Answers, Reader, TemplateValues, query_with, with_query

from .fans import between, chart_of, disk_of, reaches, unit_of, what_of

MEANS = {
    "observation": "counts what it would have seen",
    "dry-run": "goes through the stages, does nothing",
    "notify": "notifies people",
    "approve": "asks, then acts",
    "execute": "acts without asking",
}
LEVELS = tuple(MEANS)
CATEGORIES = {
    "dependency_candidate": "Dependency",
    "dependency_doubt": "Dependency in doubt",
    "capacity_forecast": "Capacity",
    "low_effectiveness": "Does not help",
    "recurring_issue": "Comes back",
    "trust_promotion": "Could do more",
    "circuit_breaker": "Put back",
    "anomaly": "Unusual",
}
PLACE = "/healing/suggestions"
ORDERS = {"-created_at": "Newest", "severity": "Gravest", "category": "By kind"}  # what the API sorts by, in words
DRAWN = 6  # of those that come first


class SuggestionLine(NamedTuple):
    row: SuggestionRecord
    category: str
    evidence: tuple[str, ...]


class ForecastLine(NamedTuple):
    row: ForecastRecord
    what: str
    host: str
    now: str
    threshold: str
    reaches: str
    between: str
    coverage: str
    false_alarms: str
    fan: Markup | None


class Rank(NamedTuple):
    """One level of the ladder of trust. `place`: was, now, ahead, closed (above the ceiling)."""

    name: str
    place: str
    note: str


class Meter(NamedTuple):
    title: str
    figure: str
    percent: int


class TrustCard(NamedTuple):
    row: TrustShown
    means: str
    ranks: tuple[Rank, ...]
    next: str
    meters: tuple[Meter, ...]


def suggestions(answers: Answers, reader: Reader) -> TemplateValues:
    now = reader.asked("sort") or "-created_at"
    return {
        "lines": tuple(_suggestion(row) for row in answers[SUGGESTIONS]),
        "orders": tuple(
            LinkChoice(words, with_query(PLACE, query_with(reader.query, sort=sort)), sort == now)
            for sort, words in ORDERS.items()
        ),
        "categories": tuple(PickOption(*pair) for pair in CATEGORIES.items()),
        "filtered": reader.asks("category", "rule_id"),
    }


def _suggestion(row: SuggestionRecord) -> SuggestionLine:
    about, told = row.about or SuggestionAbout(), []
    if about.support is not None:
        told.append(f"{about.support:g} times together")
    if about.confidence is not None:
        told.append(f"fails with {about.confidence * 100:.0f} % of its failures")
    if about.parent_first is not None:
        told.append(f"the other was first in {about.parent_first * 100:.0f} %")
    category = CATEGORIES.get(row.category, row.category.replace("_", " ").capitalize())
    return SuggestionLine(row, category, tuple(told))


def hosts_of_forecasts(reader: Reader, earlier: Answers) -> dict[str, tuple[str, ...]]:
    return {"ids": _hosts_in_order(earlier)[:MOST_IDS] or (NO_ID,)}


def _hosts_in_order(answers: Answers) -> tuple[str, ...]:
    return tuple(dict.fromkeys(row.agent_id for row in _soonest_first(answers)))


def _soonest_first(answers: Answers) -> list[ForecastRecord]:
    return sorted(answers[FORECASTS], key=lambda row: (row.hits_at is None, row.hits_at or 0))


def forecasts(answers: Answers, reader: Reader) -> TemplateValues:
    """What is reached first, first; a disk has one each for space and inodes: the first counts. Of a silent host
    nothing is foretold."""
    names = {host.id: host.name for host in answers[AGENTS]}
    known = one_of_each_disk([row for row in _soonest_first(answers) if row.agent_id in names])
    lines = [forecast(row, names[row.agent_id], reader, at < DRAWN) for at, row in enumerate(known)]
    return {
        "coming": tuple(line for line in lines if line.row.hits_at is not None),
        "calm": tuple(line for line in lines if line.row.hits_at is None),
        "more": len(_hosts_in_order(answers)[MOST_IDS:]),
        "silent": [*answers[OFFLINE], *answers[DEAD]],
    }


def one_of_each_disk(rows: list[ForecastRecord]) -> list[ForecastRecord]:
    mounted = {row.agent_id for row in rows if disk_of(row)}
    first: dict[tuple[str, str], ForecastRecord] = {}
    for row in rows:
        disk = disk_of(row)
        if disk != "" or row.agent_id not in mounted:
            first.setdefault((row.agent_id, row.metric if disk is None else f"disk {disk}"), row)
    return list(first.values())


def forecast(row: ForecastRecord, host: str, reader: Reader, drawn: bool) -> ForecastLine:
    alarms, unit, what = row.false_alarms, unit_of(row), what_of(row)
    is_coming = row.hits_at is not None
    return ForecastLine(
        row,
        what,
        host,
        unit.words(row.now),
        unit.words(row.threshold),
        reaches(row) if is_coming else "",
        between(row, reader.now) if is_coming else "",
        "not tried yet" if row.coverage is None else f"{row.coverage * 100:.0f} %",
        "not tried yet" if alarms is None else f"{alarms:.3g}",
        chart_of(row, f"{what} on {host}", reader) if drawn and is_coming else None,
    )


def trust(answers: Answers, reader: Reader) -> TemplateValues:
    ranked = sorted(answers[TRUST], key=lambda row: (-LEVELS.index(row.current_level), row.rule_id))
    return {"cards": tuple(card(row) for row in ranked)}


def card(row: TrustShown) -> TrustCard:
    here, ceiling = LEVELS.index(row.current_level), LEVELS.index(row.ceiling)
    above = LEVELS[here + 1] if here + 1 < len(LEVELS) else ""
    return TrustCard(
        row,
        MEANS[row.current_level],
        tuple(_rank(name, number, here, ceiling) for number, name in enumerate(LEVELS)),
        above,
        _meters(row),
    )


def _rank(name: str, number: int, here: int, ceiling: int) -> Rank:
    if number == here:
        return Rank(name, "now", MEANS[name])
    if number < here:
        return Rank(name, "was", "")
    return Rank(name, "closed" if number > ceiling else "ahead", "above its ceiling" if number > ceiling else "not yet")


def _evidence(wealth: float, alarm: float) -> int:
    """Wealth doubles and halves: as many per cent as it has of the doublings that it takes."""
    return min(100, round(100 * log1p(wealth) / log1p(alarm)))


def _meters(row: TrustShown) -> tuple[Meter, ...]:
    evidence = row.evidence
    decided = evidence.verified + evidence.failed
    meters = [Meter("Outages in 7 days", str(evidence.triggers_7d), -1)]
    if row.current_level in ("approve", "execute") and decided:
        share = round(100 * evidence.verified / decided)
        meters.append(Meter("Healed", f"{evidence.verified} of {decided}", share))
        bound = evidence.sequential_bound
        meters.append(Meter("Success rate, with 95 % confidence", f"above {bound:.0f} %", round(bound)))
    if row.current_level == "execute":
        for wealth, what in ((evidence.bad, "helps too seldom"), (evidence.needless, "is not needed")):
            share = _evidence(wealth, evidence.alarm)
            meters.append(Meter(f"Evidence that it {what}", f"{share} % of the limit", share))
    return tuple(meters)
