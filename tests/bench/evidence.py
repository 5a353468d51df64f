"""Whether a rule is believed to help: how often falsely, how soon rightly, in worlds that lie (docs/adr/113).

Also how soon it is noticed that a heal has become needless or bad, and how often falsely; and the same by outages that
are healed in waves (docs/adr/111).
"""

from statistics import median

from tests.bench import Row
from tests.support import wavehistories
from tests.support.histories import (
    SWINGING,
    USEFUL,
    USELESS,
    History,
    bad_after,
    constant,
    false_alarm,
    keeps_level,
    needless_after,
    ranges_that_hold,
)

HISTORIES, OUTAGES = 2000, 200
RATES = ((0.9, 0.9), (0.3, 0.9), (0.5, 0.9), (0.9, 0.97))  # that recover alone, and with the heal
KNOWN_AFTER = {"30 to 90 %": "at most 30"}


def measure(histories=HISTORIES, outages=OUTAGES):
    for name, world in USELESS.items():
        lived = [History(world, f"bench {name} {seed}").lived(outages) for seed in range(histories)]
        helps = sum(history.known_after is not None for history in lived)
        acts = sum(history.acted_alone for history in lived)
        yield Row(f"believed to help: {name}", 100 * helps / histories, "%", "at most 4")
        yield Row("  and acts by itself", 100 * acts / histories, "%", "at most 3")
    for name, world in USEFUL.items():
        lived = [History(world, f"bench {name} {seed}").lived(outages) for seed in range(histories // 4)]
        known = [history.known_after or outages for history in lived]
        yield Row(f"known to help, {name}, after a median of", median(known), "trials", KNOWN_AFTER.get(name, ""))
        acts = sum(history.acted_alone for history in lived)
        yield Row(f"  and acts by itself within {outages} cases", 400 * acts / histories, "%", "at least 95")
    for alone, healed in RATES:
        held = ranges_that_hold(alone, healed, histories, outages) / histories
        yield Row(
            f"the plain range holds the truth, {100 * alone:g} and {100 * healed:g} %", 100 * held, "%", "75 to 90"
        )
    yield from of_waves(histories // 4, outages // 2)
    for before, goal in ((0.3, 80), (0.5, 130)):
        after = [needless_after(before, 0.95, f"bench {seed}") for seed in range(histories // 10)]
        noticed = median(cases for cases in after if cases is not None)
        yield Row(f"needless, {100 * before:g} to 95 % alone, noticed after", noticed, "cases", f"at most {goal}")
    for alone in (0.1, 0.3, 0.5):
        alarms = sum(false_alarm(alone, f"bench {alone} {seed}") for seed in range(histories))
        yield Row(
            f"falsely needless in 500 cases, {100 * alone:g} % alone", 100 * alarms / histories, "%", "at most 10"
        )
    for healed in (0.6, 0.5, 0.2):
        noticed = median(bad_after(healed, f"bench {seed}") for seed in range(histories // 10))
        yield Row(f"bad, from 95 to {100 * healed:g} % healed, noticed after", noticed, "cases")
    for alone, healed in ((0.1, 0.85), (0.1, 0.9), (0.3, 0.9), (0.5, 0.95)):
        kept = sum(keeps_level(constant(alone, healed), f"bench {seed}") for seed in range(histories // 10))
        name = f"unchanged at {100 * alone:g} and {100 * healed:g} %: acts by itself after 500 outages"
        yield Row(name, 1000 * kept / histories, "%", "at least 90")
    for name, world in SWINGING.items():
        kept = sum(keeps_level(world, f"bench {seed}") for seed in range(histories // 10))
        yield Row(f"unchanged, {name}: acts by itself still", 1000 * kept / histories, "%", "at least 90")


def of_waves(histories, outages):
    for name in wavehistories.USELESS:
        known = wavehistories.known(USELESS[name], name, histories, outages)
        yield Row(f"waves alone, believed to help: {name}", known.helps, "%", "at most 3")
    for name, world in USEFUL.items():
        known = wavehistories.known(world, name, histories // 4, outages)
        yield Row(f"known to help by waves alone, {name}, after a median of", known.after, "waves")
        yield Row(f"  falsely needless within {outages} outages", known.needless, "%", "at most 10")
    for name, world in SWINGING.items():
        known = wavehistories.known(world, name, histories // 4, outages)
        yield Row(f"waves, {name}: falsely needless", known.needless, "%", "at most 10")
    noticed = [wavehistories.needless_after(0.3, 0.95, f"bench {seed}") for seed in range(histories // 10)]
    yield Row("needless by waves alone, 30 to 95 % alone, noticed after", median(noticed), "outages")
