"""Fifty rules that were live, and the same asked afterwards of a store that never had them: all firings are equal."""

import pytest

from opsapp.healing.engine import arrivals
from tests.engine.test_healing_whatif import BEGIN, fleet  # noqa: F401
from tests.support import fiftyrules

HOUR = 3600


def differences(fleet, monkeypatch, seed, seconds, interval):  # noqa: F811
    """Of each rule: what it has done, and would have done, where these are not the same within one interval."""
    rules, readings = fiftyrules.rules(), fiftyrules.Readings(seed, BEGIN, seconds)
    fired, seen = {rule["id"]: [] for rule in rules}, arrivals.problems.seen

    def noting(context, rule_id, target):
        fired[rule_id].append((target, context.now))
        seen(context, rule_id, target)

    monkeypatch.setattr(arrivals.problems, "seen", noting)
    with_rules, without = (
        fleet(
            *given, hosts=fiftyrules.HOSTS, monitors=fiftyrules.MONITORS, metrics=fiftyrules.METRICS, interval=interval
        )
        for given in (rules, ())
    )
    for here, live in ((with_rules, True), (without, False)):
        here.node.transact(fiftyrules.add_windows, BEGIN, seconds)
        here.live(seconds, readings, rules=live)
    differing = {}
    for rule in rules:
        answer = without.asked(rule, since=BEGIN, until=BEGIN + seconds)
        live = sorted((target, at) for target, at in fired[rule["id"]] if at < BEGIN + seconds)
        asked = sorted((row["target"], row["at"]) for row in answer["firings"])
        assert answer["left_out"] == 0
        if not equal(live, asked, interval):
            differing[rule["id"]] = (rule["condition"], rule["for"], rule["cooldown_s"], live, asked)
    assert [rule_id for rule_id, firings in fired.items() if not firings] == [], "each rule has fired"
    return differing


def equal(live, asked, within):
    pairs = zip(live, asked, strict=False)
    return len(live) == len(asked) and all(
        one == other and abs(at - then) <= within for (one, at), (other, then) in pairs
    )


@pytest.mark.parametrize(
    ("seed", "hours"),
    [("51", 5), pytest.param("one", 8, marks=pytest.mark.nightly("in five hours each of the fifty rules fires too"))],
)
def test_they_would_have_fired_whenever_they_have(fleet, monkeypatch, seed, hours):  # noqa: F811
    assert differences(fleet, monkeypatch, seed, hours * HOUR, 60.0) == {}
