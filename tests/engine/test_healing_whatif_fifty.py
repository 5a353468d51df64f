"""Fifty rules that were live, and the same asked afterwards of a store that never had them: all firings are equal.

A rule's alerts are its own: what the case of another rule has taken in comes again as the same alert.
"""

from typing import NamedTuple

import pytest

from opsapp.healing.engine import arrivals
from tests.engine.test_healing_whatif import BEGIN, HOT, fleet, hot_between  # noqa: F401
from tests.support import fiftyrules

HOUR = 3600


class Lived(NamedTuple):
    """A rule's firings, as pairs of target and time: `live`, and as they would have been."""

    live: list
    asked: list
    failures: list  # of those that would have been, the firsts
    held_back: set  # targets whose alerts a root cause has suppressed

    def apart_from(self, targets):
        live, asked = ([row for row in rows if row[0] not in targets] for rows in (self.live, self.asked))
        return self._replace(live=live, asked=asked)


def lived(fleet, monkeypatch, rules, readings, seconds, interval=60.0, **places):  # noqa: F811
    fired, again, seen = {rule["id"]: [] for rule in rules}, set(), arrivals.problems.seen

    def noting(context, rule_id, target):
        fired[rule_id].append((target, context.now))
        seen(context, rule_id, target)

    def stepping(alerts, now, budget_s):
        events = type(alerts).step(alerts, now, budget_s)
        again.update((e.rule_id, e.about.target, e.at) for e in events if getattr(e, "first_at", None) is not None)
        return events

    monkeypatch.setattr(arrivals.problems, "seen", noting)
    with_rules, without = (fleet(*given, interval=interval, **places) for given in (rules, ()))
    with_rules.ward.count_events(stepping)
    for here, live in ((with_rules, True), (without, False)):
        here.node.transact(fiftyrules.add_windows, BEGIN, seconds)
        here.live(seconds, readings, rules=live)
    held = {(row["rule_id"], row["target"]) for row in with_rules.ward.ledger if row["reason"].startswith("root cause")}
    return {
        rule["id"]: Lived(
            sorted((on, at) for on, at in fired[rule["id"]]
                   if at < BEGIN + seconds and (rule["id"], on, at) not in again),
            *asked_of(without, rule, seconds),
            {on for rule_id, on in held if rule_id == rule["id"]},
        )
        for rule in rules
    }  # fmt: skip


def asked_of(here, rule, seconds):
    answer = here.asked(rule, since=BEGIN, until=BEGIN + seconds)
    assert answer["left_out"] == 0
    rows = [row for row in answer["firings"] if row["at"] < BEGIN + seconds]
    return [sorted((row["target"], row["at"]) for row in some)
            for some in (rows, [row for row in rows if not row["again"]])]  # fmt: skip


def equal(live, asked, within):
    pairs = zip(live, asked, strict=False)
    return len(live) == len(asked) and all(
        one == other and abs(at - then) <= within for (one, at), (other, then) in pairs
    )


def differing(known, interval):
    """Of each rule: its firings live and asked, where these are not the same within one interval."""
    return {rule_id: (rule.live, rule.asked) for rule_id, rule in known.items()
            if not equal(rule.live, rule.asked, interval)}  # fmt: skip


@pytest.mark.parametrize(
    ("seed", "hours"),
    [("51", 5), pytest.param("one", 8, marks=pytest.mark.nightly("in five hours each of the fifty rules fires too"))],
)
def test_they_would_have_fired_whenever_they_have(fleet, monkeypatch, seed, hours):  # noqa: F811
    rules, readings = fiftyrules.rules(), fiftyrules.Readings(seed, BEGIN, hours * HOUR)
    known = lived(fleet, monkeypatch, rules, readings, hours * HOUR, hosts=fiftyrules.HOSTS,
                  monitors=fiftyrules.MONITORS, metrics=fiftyrules.METRICS)  # fmt: skip
    assert [rule_id for rule_id, rule in known.items() if not rule.live] == [], "each rule has fired"
    assert differing(known, 60.0) == {}


TWO = [{**HOT, "id": name, "condition": f"cpu_percent > {most}", "for": 0, "cooldown_s": 600, "trust_ceiling": "notify"}
       for name, most in (("first", 90), ("second", 95))]  # fmt: skip


def test_what_another_rule_has_taken_in_comes_again_as_the_same_alert(fleet, monkeypatch):  # noqa: F811
    """Its cooldown goes on: else each alert that a case of another rule takes in would put off all that follow."""
    known = lived(fleet, monkeypatch, TWO, hot_between((600, 4000)), 2 * HOUR, hosts=1)
    assert [at - BEGIN for _, at in known["second"].live] == [600, 1200, 1800, 2400, 3000, 3600]
    assert differing(known, 0.0) == {}


@pytest.mark.parametrize(
    ("seed", "hours"),
    [("51", 5), *(pytest.param(seed, 12, marks=pytest.mark.nightly("five hours in the core list"))
                  for seed in ("one", "two", "three"))],
)  # fmt: skip
def test_rules_that_share_their_targets_would_have_fired_whenever_they_have(fleet, monkeypatch, seed, hours):  # noqa: F811
    """Of a mount whose host another rule has found failed, each failure: its alert waits for its root cause, of which
    a store without that rule knows nothing."""
    readings = fiftyrules.Readings(seed, BEGIN, hours * HOUR, hosts=fiftyrules.SHARED_HOSTS, shared=True)
    known = lived(fleet, monkeypatch, fiftyrules.shared_rules(), readings, hours * HOUR,
                  hosts=fiftyrules.SHARED_HOSTS, monitors=fiftyrules.SHARED_MONITORS,
                  metrics=fiftyrules.METRICS)  # fmt: skip
    assert [rule_id for rule_id, rule in known.items() if not rule.live] == [], "each rule has fired"
    assert differing({rule_id: rule.apart_from(rule.held_back) for rule_id, rule in known.items()}, 60.0) == {}
    held_back = {(rule_id, target) for rule_id, rule in known.items() for target in rule.held_back}
    assert all("/" in target for _, target in held_back), "only mounts hang on anything here"
    for rule in known.values():
        for target, at in rule.failures:
            assert any(target == other and abs(at - then) <= 60.0 for other, then in rule.live)
