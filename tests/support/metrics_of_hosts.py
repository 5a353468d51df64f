"""Metrics of hosts in percent, made with seeds, a mean for each quarter of an hour: what comes and goes on healthy
hosts, and runaways. None of the healthy ones ever comes near 90."""

import random

from .madeup import BEGIN, DAY, HOUR, noise, wave, weekend

QUARTER = 900.0
PER_DAY = 96


def flat(dice):
    level, hum = dice.uniform(20, 75), noise(dice, dice.uniform(0.3, 3), dice.choice((0.0, 0.6, 0.95)))
    return lambda at: level + next(hum)


def daily(dice):
    level, height, sharp = dice.uniform(25, 50), dice.uniform(5, 25), dice.choice((0.4, 1.0, 2.0))
    hum = noise(dice, dice.uniform(0.3, 2.5), 0.6)
    return lambda at: level + height * wave(at, sharp) + next(hum)


def weekly(dice):
    """Work days and weekends; they begin on any day."""
    level, height, week = dice.uniform(30, 50), dice.uniform(5, 28), dice.uniform(5, 25)
    hum, shift, calm = noise(dice, dice.uniform(0.3, 2.5), 0.6), dice.randrange(7) * DAY, dice.uniform(0, 0.6)

    def value(at):
        rest = weekend(at + shift)
        return level - (week if rest else 0) + height * wave(at) * (calm if rest else 1) + next(hum)

    return value


def nightly(dice):
    """A job at night that fills a disk or a processor for some hours."""
    level, height = dice.uniform(20, 45), dice.uniform(10, 38)
    begin, hours = dice.uniform(0, 5) * HOUR, dice.uniform(1, 5) * HOUR
    hum = noise(dice, dice.uniform(0.2, 1.5), 0.6)

    def value(at):
        into = at % DAY - begin
        rising = min(1.0, into / HOUR, (begin + hours + HOUR - at % DAY) / HOUR) if into > 0 else 0.0
        return level + height * max(0.0, rising) + next(hum)

    return value


def sawtooth(dice):
    """A log that fills and is rotated, after hours or after days, not always at the same height."""
    low, hours = dice.uniform(10, 50), 6 * 28 ** dice.random()  # up to a week
    height = min(dice.uniform(10, 70), 85 - low)
    hum, state = noise(dice, dice.uniform(0.05, 0.6), 0.3), [dice.random() * height, height]

    def value(at):
        state[0] += height / (hours * 4)
        if state[0] >= state[1]:
            state[:] = 0.0, min(height * dice.uniform(0.9, 1.1), 87 - low)
        return low + state[0] + next(hum)

    return value


def steps(dice):
    """A level that changes every few days: a deployment, a clean-up, a new customer."""
    hum, state = noise(dice, dice.uniform(0.2, 2), 0.5), [dice.uniform(20, 75), 0.0]

    def value(at):
        if at >= state[1]:
            state[:] = min(82.0, max(8.0, state[0] + dice.uniform(-30, 30))), at + dice.uniform(1, 6) * DAY
        return state[0] + next(hum)

    return value


KINDS = (flat, daily, weekly, nightly, sawtooth, steps)


def healthy(make, seed, days, step=QUARTER):
    dice = random.Random(f"{make.__name__} {seed}")
    value = make(dice)
    begin = BEGIN + dice.randrange(7) * DAY + dice.randrange(PER_DAY) * QUARTER
    return [(begin + at * step, max(0.0, value(begin + at * step))) for at in range(int(days * DAY / step))]


def running_away(make, seed, slope, days, step=QUARTER):
    """A healthy host whose metric begins to rise so many percent an hour; with it, when it began and when it met 90."""
    dice = random.Random(f"{make.__name__} {slope} {seed} away")
    value = make(dice)
    begin = BEGIN + dice.randrange(7) * DAY + dice.randrange(PER_DAY) * QUARTER
    began, points = begin + days * DAY, []
    while not points or points[-1][1] < 90:
        at = begin + len(points) * step
        points.append((at, max(0.0, value(at)) + slope * max(0.0, at - began) / HOUR))
    return points, began, points[-1][0]
