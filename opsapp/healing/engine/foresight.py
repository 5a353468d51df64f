"""What is kept of each metric between two looks, in memory and of bounded size, and how it is fed from the series.

What is not in memory (after a restart or a takeover) comes back from the series, so many metrics a look: three weeks
by the hour, then three by five minutes. These are the week that the bound of anomalies is drawn from, and what `tails`
remembers before it; so it says the same as before. So does a metric whose history came late (agents keep reports while
the service is away); until its turn its hours are corrected. Must not: judge; `logic` does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from opsapp.agents.resources import agents_of
from opsapp.healing.config import PredictionSettings
from opsapp.healing.logic.budget import bound_of
from opsapp.healing.logic.outlook import MetricOutlook
from opsapp.runtime.node import node_of
from opsapp.series import FINE, HOUR
from opsapp.tree.root import Root
from opsapp.wire.conditiontree import Comparison, Literal, Name

from .alerts import WatchedRule
from .inventory import Member

ABOVE, BELOW = (">", ">="), ("<", "<=")
LONG_MS, NEAR_MS = 42 * 24 * HOUR, 21 * 24 * HOUR  # by the hour, and of these the newest by five minutes
ROWS_MS = 3 * 24 * HOUR  # what was not read for so long comes back as a whole
LAST_MS = 12 * HOUR  # so far back the last reading is looked for
RESTORED = 100  # metrics a look
SETTLED_MS = 30_000  # so long after five minutes are over their readings are in the store
LEAST_PERCENT = 0.5  # percentages that differ by less do not


class RuleThreshold(NamedTuple):
    """A rule with the condition `metric > number`, or `<`."""

    rule: WatchedRule
    metric: str
    threshold: float
    above: bool = True


class Point(NamedTuple):
    """`at` is the middle of its bucket."""

    at: float
    mean: float
    readings: int


class MetricNews(NamedTuple):
    """`hours`: of one that is not known yet, or whose history came late. `last`: the newest reading. `whole`: this
    is all of it; what was known before is forgotten."""

    member: Member
    metric: str
    number: int
    hours: tuple[Point, ...]
    points: tuple[Point, ...]
    last: Point | None
    whole: bool = False


class Followed:
    def __init__(self, outlook: MetricOutlook) -> None:
        self.outlook = outlook
        self.last: Point | None = None


class Foresight:
    """Only the step of the forecasts touches it."""

    def __init__(self) -> None:
        self._followed: dict[int, Followed] = {}
        self.read_until: dict[int, int] = {}  # series -> ms
        self.late: dict[int, int] = {}  # series -> ms: since then history has come that was not read
        self.bound: float | None = None  # how rare an anomaly has to be; None: not known since the start
        self._seen: set[int] = set()
        self._restored = 0

    def room(self) -> int:
        """How many more metrics may come back in this look."""
        return RESTORED - self._restored

    def begin(self, late: Mapping[int, int]) -> None:
        """`late`: series with rows that came too late for the last look, and since when."""
        self._seen, self._restored = set(), 0
        for number, since in late.items():
            self.late[number] = min(since, self.late.get(number, since))

    def metric(self, number: int) -> MetricOutlook | None:
        followed = self._followed.get(number)
        return None if followed is None else followed.outlook

    def take(self, news: MetricNews) -> Followed:
        """The metric to be fed; a new one where this is all of it."""
        if news.whole:
            self._followed.pop(news.number, None)
            self.late.pop(news.number, None)
        return self.follow(news)

    def follow(self, news: MetricNews) -> Followed:
        self._seen.add(news.number)
        followed = self._followed.get(news.number)
        if followed is None:
            least = LEAST_PERCENT if news.metric.endswith("percent") else 0.0
            followed = self._followed[news.number] = Followed(MetricOutlook(least, news.number))
            self._restored += 1
        return followed

    def retune(self, a_week: float, now: float) -> None:
        """Unless some metrics are still to come back."""
        if self.room() > 0:
            self.bound = bound_of((followed.outlook.detector for followed in self._followed.values()), a_week, now)

    def end(self) -> None:
        """What is gone, or watched no more, is forgotten."""
        self._followed = {number: followed for number, followed in self._followed.items() if number in self._seen}
        self.read_until = {number: until for number, until in self.read_until.items() if number in self._seen}
        self.late = {number: since for number, since in self.late.items() if number in self._seen}


def limits_of(rules: Iterable[WatchedRule]) -> list[RuleThreshold]:
    limits = []
    for rule in rules:
        tree = rule.condition.tree
        if not isinstance(tree, Comparison) or tree.symbol not in ABOVE + BELOW:
            continue
        left, right = tree.left, tree.right
        if isinstance(left, Name) and isinstance(right, Literal) and isinstance(right.value, (int, float)):
            limits.append(RuleThreshold(rule, left.key, float(right.value), tree.symbol in ABOVE))
    return limits


def is_about(limit: RuleThreshold, member: Member, metric: str) -> bool:
    if not limit.rule.applies(member):
        return False
    if limit.rule.condition.family is None:
        return limit.metric == metric
    return bool(limit.rule.condition.bindings([metric]))


def threshold_of(limits: Sequence[RuleThreshold], metric: str, section: PredictionSettings) -> float | None:
    """The lowest of the rules', else the usual one of its kind."""
    above = [limit.threshold for limit in limits if limit.above]
    name = "disk_percent" if metric.startswith("disk.") else metric
    return min(above, default=getattr(section.thresholds, name, None))


def is_watched(limits: Sequence[RuleThreshold], member: Member, metric: str, section: PredictionSettings) -> bool:
    if any(fnmatchcase(metric, pattern) for pattern in section.metrics):
        return True
    about = [limit for limit in limits if is_about(limit, member, metric)]
    return bool(about) or threshold_of(about, metric, section) is not None


def read(
    root: Root,
    members: Sequence[Member],
    limits: Sequence[RuleThreshold],
    section: PredictionSettings,
    until: Mapping[int, int],
    late: Mapping[int, int],
    room: int,
    now: float,
) -> list[MetricNews]:
    """A metric that is not known yet waits for its turn where there is no room."""
    reading, now_ms, news = node_of(root).series.reading(root), int(now * 1000), []
    for member, metric, number in _metrics(root, members, limits, section):
        since = until.get(number)
        is_known = since is not None and since >= now_ms - ROWS_MS
        if room > 0 and (not is_known or number in late):
            room -= 1
            news.append(_restored(reading, member, metric, number, now_ms))
        elif since is not None and is_known:
            hours = _corrected(reading, number, late.get(number, since), since, now_ms)
            rows = reading.rows(number, since, now_ms + 1)
            news.append(MetricNews(member, metric, number, hours, _slots(rows, now_ms), _last(rows)))
    return news


def _metrics(
    root: Root, members: Sequence[Member], limits: Sequence[RuleThreshold], section: PredictionSettings
) -> Iterator[tuple[Member, str, int]]:
    for member in members:
        agent = agents_of(root).find(member.item_id)
        for metric, number in sorted(agent.series.items()) if agent is not None else ():
            if is_watched(limits, member, metric, section):
                yield member, metric, number


def settled(now_ms: int) -> int:
    """The end of the newest five minutes that are over, with their readings in the store."""
    over = now_ms - SETTLED_MS
    return over - over % FINE


def _restored(reading: Any, member: Member, metric: str, number: int, now_ms: int) -> MetricNews:
    near = now_ms - now_ms % HOUR - NEAR_MS
    hours = _points(reading.buckets(number, now_ms - LONG_MS, near, HOUR), HOUR)
    points = _points(reading.buckets(number, near, settled(now_ms), FINE), FINE)
    last = _last(reading.rows(number, now_ms - LAST_MS, now_ms + 1))
    return MetricNews(member, metric, number, hours, points, last, True)


def _corrected(reading: Any, number: int, late: int, since: int, now_ms: int) -> tuple[Point, ...]:
    begin = max(late - late % HOUR, now_ms - now_ms % HOUR - LONG_MS)
    return _points(reading.buckets(number, begin, since, HOUR), HOUR) if late < since else ()


def _points(buckets: Iterable[Any], width: int) -> tuple[Point, ...]:
    return tuple(
        Point((bucket.start + width / 2) / 1000, bucket.mean, bucket.valued)
        for bucket in buckets
        if bucket.mean is not None
    )


def _slots(rows: Iterable[Any], now_ms: int) -> tuple[Point, ...]:
    """The slot that is not settled waits for the next look."""
    slots: dict[int, list[float]] = {}
    for row in rows:
        if row.value is not None and row.time < settled(now_ms):
            slots.setdefault(row.time // FINE, []).append(row.value)
    return tuple(
        Point((slot + 0.5) * FINE / 1000, sum(values) / len(values), len(values)) for slot, values in slots.items()
    )


def _last(rows: Iterable[Any]) -> Point | None:
    last = max((row for row in rows if row.value is not None), default=None)
    return None if last is None else Point(last.time / 1000, last.value, 1)
