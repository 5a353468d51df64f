"""What is foretold of hosts: false alarms of healthy ones by kind of series, and how early a runaway is told.

A false alarm: it is told that the threshold is met within a day, of a series that never meets it; once a day at most.
A runaway that meets the threshold within ten hours cannot be told six hours before, and does not count.
"""

from opsapp.healing.logic.outlook import MetricOutlook
from tests.bench import Row
from tests.support import metrics_of_hosts as hosts
from tests.support.madeup import DAY, HOUR

THRESHOLD = 90.0
DAYS, SEEDS = 28, range(1000, 1060)
SLOPES = (1, 2, 3, 4)
EARLY_S, LONG_S = 6 * HOUR, 10 * HOUR


def told(points, since=0.0):
    """When it is told, once a day at most; a look after each quarter of an hour."""
    outlook, at_times = MetricOutlook(1.0), []
    for at, value in points:
        outlook.take(at, value)
        if at < since or (at_times and at < at_times[-1] + DAY):
            continue
        forecast = outlook.look(THRESHOLD, value)
        if forecast is not None and forecast.within(DAY, at):
            at_times.append(at)
    return at_times


def measure(seeds=SEEDS, days=DAYS):
    every = 0
    for kind in hosts.KINDS:
        alarms = sum(len(told(hosts.healthy(kind, seed, days))) for seed in seeds)
        every += alarms
        yield Row(f"false alarms in 1,000 host-days, {kind.__name__}", 1000 * alarms / (len(seeds) * days), "")
    yield Row("  of all", 1000 * every / (len(seeds) * days * len(hosts.KINDS)), "", "at most 5")
    for slope in SLOPES:
        runs = [
            (told(points, began), met)
            for kind in (hosts.flat, hosts.daily, hosts.nightly)
            for points, began, met in (hosts.running_away(kind, seed, slope, 10) for seed in seeds[: len(seeds) // 3])
            if met - began >= LONG_S
        ]
        early = sum(any(at <= met - EARLY_S for at in times) for times, met in runs)
        yield Row(f"runaways of {slope} %/h told 6 hours ahead", 100 * early / len(runs), "%", "at least 90")
