"""Foresight on series made with seeds: anomaly score and error beside plain ways of doing it, and cost.

The labelled sets are in the manner of NAB, the hourly series in that of M4. `CPU` is that of one look at 1,000 hosts
with 8 metrics: each is fed 15 minutes of new points and asked for its forecast, every 48th is tried on its past.
"""

import random
import time
import tracemalloc
from statistics import fmean

from opsapp.healing.logic.anomalies import Detector
from opsapp.healing.logic.backtest import AHEAD, band_of, card, mixed
from opsapp.healing.logic.candidates import Origin, filled, since_step
from opsapp.healing.logic.metricpast import MetricPast
from opsapp.healing.logic.outlook import MetricOutlook
from tests.bench import Row
from tests.support import madeup, yardsticks

SEEDS = (1, 2, 3)
HOURLY = ("server", "temperature", "riders", "traffic", "counts")
HOUR = 3600.0
ENDS = range(700, 270, -69)  # of the hourly series: at other hours of the day and days of the week


def measure():
    yield from anomalies()
    yield from hourly()
    yield from cost()


def scores(points):
    past, detector = MetricPast(), Detector()
    for at, value in points:
        yield detector.watch(past, at, value).score
        past.take(at, value)


def anomalies():
    ours, theirs = [], []
    for seed in SEEDS:
        sets = madeup.labelled(seed)
        for found, way in ((ours, scores), (theirs, yardsticks.windowed_gaussian)):
            scored = [yardsticks.Scored(made.points, made.wrong, list(way(made.points))) for made in sets]
            found.append(yardsticks.best_nab_score(scored)[0])
    yield Row("anomaly score by the rules of NAB, ours", fmean(ours), "of 100")
    yield Row("  that of a windowed Gaussian", fmean(theirs), "of 100")
    yield Row("  ours beside it", fmean(ours) / fmean(theirs), "times", "at least 2")


def by_the_hour(points):
    past, values = MetricPast(), []
    for at, value in points:
        if past.hour >= 0 and int(at // HOUR) > past.hour:
            values.append(past.mean(past.hour))
            values += [float("nan")] * (int(at // HOUR) - past.hour - 1)
        past.take(at, value)
    return values


def series_of(kind, seed):
    dice = random.Random(f"{kind}{seed}")
    return by_the_hour(getattr(madeup, kind)(dice, float("inf"), "none")[0])


def look(values):
    """Forty-eight hours before their end: (our error, that of `as a day before`), what the intervals held, coverage."""
    past, truth = values[:-48], filled(values)[-48:]
    known, whole = card(past), filled(past)
    origin = Origin(since_step(whole))
    ahead = [mixed(known.weights[band_of(hour)], origin.ahead(hour)) for hour in range(1, 49)]
    usual = [whole[-24 + at % 24] for at in range(48)]
    held = [abs(truth[hour - 1] - ahead[hour - 1]) <= known.sure[at] for at, hour in enumerate(AHEAD) if hour <= 48]
    return [yardsticks.scaled_error(whole, truth, way) for way in (ahead, usual)], held, known.coverage


def hourly():
    series = [series_of(kind, seed) for kind in HOURLY for seed in range(6)]
    looks = [look(values[:end]) for values in series for end in ENDS]
    ours, theirs = (fmean(errors[at] for errors, _, _ in looks) for at in (0, 1))
    held = [inside for _, inside_each, _ in looks for inside in inside_each]
    told = [coverage for _, _, coverage in looks if coverage is not None]
    yield Row("error 48 hours ahead, of that of `as a day before`", ours / theirs, "times", "at most 1")
    yield Row("intervals that say 95 % hold", 100 * fmean(held), "%", "90 to 98")
    yield Row("  and as the back-tests tell it", 100 * fmean(told), "%", "90 to 98")


def cost(metrics=40):
    """Some metrics with 28 days each, and what one look at them takes."""
    dice, outlooks = random.Random(1), []
    tracemalloc.start()
    for number in range(metrics):
        outlook = MetricOutlook(1.0, number)
        for hour in range(672):
            outlook.past.take((hour + 0.5) * HOUR, 40 + 10 * madeup.wave(hour * HOUR) + dice.gauss(0, 1), 240)
        for slot in range(12 * 24):
            outlook.detector.watch(outlook.past, 672 * HOUR + slot * 300, 40 + dice.gauss(0, 1))
        outlook.look(90.0, 40.0)
        outlooks.append(outlook)
    kept = tracemalloc.get_traced_memory()[0] / metrics
    tracemalloc.stop()
    fed = spent(lambda outlook: [outlook.take(672 * HOUR + 86400 + at * 300, 40.0) for at in range(3)], outlooks)
    spent(lambda outlook: outlook.look(90.0, 40.0), outlooks)  # tried on its past again: an hour is over
    looked = spent(lambda outlook: outlook.look(90.0, 40.0), outlooks)
    tried = spent(lambda outlook: card(outlook.past.hours(), 90.0), outlooks)
    yield Row("kept of a metric", kept / 1024, "KiB")
    yield Row("CPU of a look at 1,000 hosts with 8 metrics", 8000 * (fed + looked + tried / 48), "s", "at most 20")
    yield Row("  feeding 15 minutes of points", 8000 * fed, "s")
    yield Row("  forecasts", 8000 * looked, "s")
    yield Row("  back-tests", 8000 * tried / 48, "s")


def spent(act, outlooks):
    began = time.process_time()
    for outlook in outlooks:
        act(outlook)
    return (time.process_time() - began) / len(outlooks)
