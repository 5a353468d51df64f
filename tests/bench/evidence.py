"""Whether a rule is believed to help: how often falsely, how soon rightly, in worlds that lie (docs/adr/113).

Also how soon it is noticed that a heal has become needless, and how often falsely.
"""

from statistics import median

from tests.bench import Row
from tests.support.histories import USEFUL, USELESS, History, false_alarm, needless_after

HISTORIES, OUTAGES = 2000, 200


def measure(histories=HISTORIES, outages=OUTAGES):
    for name, world in USELESS.items():
        lived = [History(world, f"bench {name} {seed}").lived(outages) for seed in range(histories)]
        helps = sum(history.known_after is not None for history in lived)
        acts = sum(history.acted_alone for history in lived)
        yield Row(f"believed to help: {name}", 100 * helps / histories, "%", "at most 4")
        yield Row("  and acts by itself", 100 * acts / histories, "%", "at most 4")
    for name, world in USEFUL.items():
        lived = [History(world, f"bench {name} {seed}").lived(outages) for seed in range(histories // 4)]
        known = [history.known_after or outages for history in lived]
        yield Row(f"known to help, {name}, after a median of", median(known), "trials")
    for before, goal in ((0.3, 80), (0.5, 130)):
        after = [needless_after(before, 0.95, f"bench {seed}") for seed in range(histories // 10)]
        noticed = median(cases for cases in after if cases is not None)
        yield Row(f"needless, {100 * before:g} to 95 % alone, noticed after", noticed, "cases", f"at most {goal}")
    for alone in (0.1, 0.3, 0.5):
        alarms = sum(false_alarm(alone, f"bench {alone} {seed}") for seed in range(histories))
        yield Row(
            f"falsely needless in 500 cases, {100 * alone:g} % alone", 100 * alarms / histories, "%", "at most 10"
        )
