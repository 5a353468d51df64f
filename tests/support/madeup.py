"""Series made up with seeds: what hosts and services look like, with the anomalies in them, or what comes next."""

import math
import random
from typing import NamedTuple

MINUTE, HOUR, DAY = 60.0, 3600.0, 86400.0
BEGIN = 1_700_006_400.0  # a midnight


class Labelled(NamedTuple):
    """A series, and when something was wrong with it."""

    name: str
    points: list  # of (time, value)
    wrong: list  # of (from, until)


def noise(dice, sigma=1.0, memory=0.0):
    """Steps of a process that remembers some of its last value."""
    value = 0.0
    while True:
        value = memory * value + dice.gauss(0, sigma) * math.sqrt(1 - memory * memory)
        yield value


def clock(days, step):
    return [BEGIN + at * step for at in range(int(days * DAY / step))]


def wave(at, sharp=1.0):
    """-1 at four in the night, 1 at four in the afternoon."""
    value = -math.cos(2 * math.pi * (at % DAY - 4 * HOUR) / DAY)
    return math.copysign(abs(value) ** sharp, value)


def weekend(at):
    return int(at // DAY + 4) % 7 in (0, 6)


def daily(dice, at_wrong, kind):
    """A plateau by day: one day it is higher, lower, missing, or falls early."""
    points, rough = [], dice.choice((0.0, 1.0, 4.0))
    for at in clock(14, 5 * MINUTE):
        by_day = 9 * HOUR <= at % DAY < 18 * HOUR
        value = (80.0 if by_day else 20.0) + dice.uniform(-1, 1) * rough
        if at_wrong <= at < at_wrong + 9 * HOUR:
            value += {"jumpsup": 60, "jumpsdown": -50 if by_day else 0, "flat": 20 - value, "drift": 25}[kind]
        points.append((at, value))
    return points, [(at_wrong, at_wrong + 9 * HOUR)]


def server(dice, at_wrong, kind):
    """A processor with jobs: something stays high, or drops, or peaks as it never did."""
    points, hum = [], noise(dice, 1.5, 0.6)
    base, tilt = dice.uniform(5, 50), dice.uniform(0, 6)
    for at in clock(14, 5 * MINUTE):
        value = base + tilt * wave(at) + next(hum)
        if dice.random() < 0.01:
            value += dice.expovariate(1 / 8)
        if kind == "stays" and at >= at_wrong:
            value += 25
        if kind == "drops" and at_wrong <= at < at_wrong + 2 * HOUR:
            value = dice.uniform(0, 1)
        if kind == "peaks" and at_wrong <= at < at_wrong + 20 * MINUTE:
            value += 60
        points.append((at, max(0.0, value)))
    return points, [(at_wrong, at_wrong + 2 * HOUR)]


def counts(dice, at_wrong, kind):
    """Mentions of a name: heavy tails, by day more; a burst of an hour or two."""
    points, mood, scale = [], noise(dice, 0.5, 0.9), dice.uniform(5, 200)
    for at in clock(18, 5 * MINUTE):
        rate = scale * (1 + 0.5 * wave(at)) * math.exp(next(mood) + 0.25 * dice.gauss(0, 1))
        if dice.random() < 0.004:
            rate *= 1 + dice.paretovariate(2.0)
        if at_wrong <= at < at_wrong + 90 * MINUTE:
            rate *= 12 if kind == "burst" else 0.02
        points.append((at, float(round(rate))))
    return points, [(at_wrong, at_wrong + 90 * MINUTE)]


def temperature(dice, at_wrong, kind):
    """By the hour: it wanders, and has days; a failure brings it down, or it climbs for hours before."""
    points, drift, level = [], noise(dice, 1.0, 0.98), dice.uniform(60, 90)
    for at in clock(150, HOUR):
        value = level + 3 * next(drift) + 1.5 * wave(at) + dice.gauss(0, 0.7)
        if at_wrong <= at < at_wrong + 12 * HOUR:
            value -= 25 if kind == "fails" else -18 * min(1, (at - at_wrong) / (4 * HOUR))
        points.append((at, value))
    return points, [(at_wrong, at_wrong + 12 * HOUR)]


def riders(dice, at_wrong, kind):
    """Each half hour, by day of the week; a day that is none of the week, much fuller or empty."""
    points, mood = [], noise(dice, 500, 0.8)
    for at in clock(150, 30 * MINUTE):
        value = 14000 + 8000 * wave(at, 0.7) + (2500 * wave(at - 8 * HOUR) if weekend(at) else 0) + next(mood)
        if at_wrong <= at < at_wrong + 16 * HOUR:
            value *= 0.35 if kind == "empty" else 1.45
        points.append((at, max(0.0, value)))
    return points, [(at_wrong, at_wrong + 16 * HOUR)]


def traffic(dice, at_wrong, kind):
    """Speeds at uneven times, with gaps; an accident, or a sensor that stands still."""
    points, at, mood = [], BEGIN, noise(dice, 3, 0.7)
    while at < BEGIN + 12 * DAY:
        at += dice.choice((5, 5, 5, 10, 15)) * MINUTE * (1 if dice.random() > 0.01 else 20)
        rush = 7 <= at % DAY / HOUR < 9 or 16 <= at % DAY / HOUR < 18
        value = 68 - (9 if rush and not weekend(at) else 0) + next(mood)
        if at_wrong <= at < at_wrong + 3 * HOUR:
            value = 22 + dice.gauss(0, 2) if kind == "accident" else 110.0
        points.append((at, value))
    return points, [(at_wrong, at_wrong + 3 * HOUR)]


def spikes(dice, at_wrong, kind):
    """Flat with spikes: they come three times as often, or stop."""
    points, next_spike = [], BEGIN
    for at in clock(14, 5 * MINUTE):
        value, odd = 2 + dice.uniform(-0.2, 0.2), at_wrong <= at < at_wrong + 8 * HOUR
        if at >= next_spike and not (odd and kind == "stops"):
            value += dice.uniform(50, 60)
            next_spike = at + dice.uniform(0.8, 1.2) * (20 * MINUTE if odd else 2 * HOUR)
        points.append((at, value))
    return points, [(at_wrong, at_wrong + 8 * HOUR)]


def quiet(dice, at_wrong, kind):
    """Nothing is wrong: noise alone, flat or by the day, or a few values by chance."""
    points, hum = [], noise(dice, 2, 0.5)
    for at in clock(14, 5 * MINUTE):
        value = 40 + (15 * wave(at) if kind == "daily" else 0) + next(hum)
        points.append((at, dice.choice((0.066, 0.068, 0.1, 0.132)) if kind == "few" else value))
    return points, []


KINDS = {
    daily: ("jumpsup", "jumpsdown", "flat", "drift"),
    server: ("stays", "drops", "peaks", "peaks"),
    counts: ("burst", "burst", "dearth"),
    temperature: ("fails", "climbs"),
    riders: ("empty", "full"),
    traffic: ("accident", "stuck"),
    spikes: ("more",),
    quiet: ("flat", "daily", "few"),
}


def labelled(seed=1):
    """A set in the manner of NAB: each kind with a window around what is wrong, a tenth of the series wide in all."""
    made = []
    for make, kinds in KINDS.items():
        for number, kind in enumerate(kinds):
            dice = random.Random(f"{seed}{make.__name__}{kind}{number}")
            span = {"temperature": 150, "riders": 150, "counts": 18, "traffic": 12}.get(make.__name__, 14)
            day = int(dice.uniform(0.4, 0.9) * span)
            at_wrong = BEGIN + day * DAY + (9 * HOUR if make is daily else dice.uniform(0, 24) * HOUR)
            points, wrong = make(dice, at_wrong, kind)
            width = 0.1 * len(points)
            made.append(
                Labelled(f"{make.__name__} {kind}", points, [_widened(points, window, width) for window in wrong])
            )
    return made


def _widened(points, wrong, width):
    """A window of so many points around the middle of what was wrong."""
    times = [at for at, _ in points]
    middle = next(n for n, at in enumerate(times) if at >= sum(wrong) / 2)
    return times[max(0, int(middle - width / 2))], times[min(len(times) - 1, int(middle + width / 2))]
