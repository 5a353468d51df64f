"""Which targets fail together: support, confidence, lift, and in which direction."""

import random

from opsapp.healing.logic.cofailure import candidates

DAY = 86400.0
MONTH = 30 * DAY


def scattered(count, seed):
    dice = random.Random(seed)
    return sorted(dice.uniform(0, MONTH) for _ in range(count))


def test_what_fails_whenever_another_does_is_its_dependant():
    database = scattered(10, 1)
    shop = sorted([time + 20 for time in database])
    database = sorted([*database, *scattered(6, 2)])  # the database fails alone, too
    [pair] = candidates({"db": database, "shop": shop}, MONTH)
    assert (pair.target, pair.parent, pair.support, pair.confidence, pair.first) == ("shop", "db", 10, 1.0, 1.0)
    assert pair.lift > 100


def test_too_few_too_seldom_or_by_chance_is_nothing():
    database = scattered(10, 1)
    assert candidates({"db": database[:4], "shop": database[:4]}, MONTH) == []
    half = sorted([*database[:5], *scattered(5, 3)])
    assert candidates({"db": scattered(10, 4), "shop": half}, MONTH) == []
    every_minute = [float(at) for at in range(0, int(DAY), 60)]
    assert candidates({"noisy": every_minute, "shop": every_minute[::100]}, DAY) == []


def test_a_host_and_what_is_on_it_say_nothing_new():
    times = scattered(10, 1)
    assert candidates({"box-1": times, "box-1/nginx": times}, MONTH) == []


def test_strangers_are_no_pair_in_a_thousand():
    failures = {f"t{n}": scattered(8, n) for n in range(300)}
    assert len(candidates(failures, MONTH)) == 0
