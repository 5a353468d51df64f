"""Levels, bounds, alerts, graph, windows, brake, chain, rules."""

import hashlib
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opsapp.healing.config import BrakeSettings, HealsPerHour, PromotionSettings
from opsapp.healing.logic import bounds, brake, chain, graph, levels, rules, windows
from opsapp.healing.logic.graph import Dependency, Graph, GraphNode
from opsapp.healing.records import RuleSettings, RuleStep
from opsapp.maintenance import logic as maintenance
from opsapp.wire import alerts
from opsapp.wire.conditions import parse
from opsapp.wire.records import made

NOW = 1_700_000_000.0


# -- levels -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("level", "risk", "does"),
    [
        ("observation", "low", "observe"),
        ("observation", "high", "observe"),
        ("dry-run", "high", "simulate"),
        ("notify", "low", "notify"),
        ("notify", "high", "notify"),
        ("approve", "low", "request_approval"),
        ("approve", "medium", "request_approval"),
        ("approve", "high", "request_approval"),
        ("execute", "low", "execute"),
        ("execute", "medium", "execute"),
        ("execute", "high", "request_approval"),
    ],
)
def test_the_stricter_of_level_and_risk_wins(level, risk, does):
    assert levels.behaviour(level, risk) == does
    assert levels.tells_people(level, risk) is ((level, risk) == ("execute", "medium"))


def test_neighbours_of_levels():
    assert [levels.one_below(level) for level in levels.LEVELS] == [
        "observation",
        "observation",
        "dry-run",
        "notify",
        "approve",
    ]
    assert [levels.one_above(level) for level in levels.LEVELS] == ["dry-run", "notify", "approve", "execute", None]


# -- bounds -----------------------------------------------------------------------------------------------------------


def test_wilson_against_known_values():
    assert bounds.wilson(0, 0) is None
    assert bounds.wilson(10, 10) == pytest.approx(0.72247, abs=1e-5)
    assert bounds.wilson(1, 10) == pytest.approx(0.01788, abs=1e-5)
    assert bounds.wilson(0, 10) == 0.0


def test_the_sequential_bound_is_below_wilson_and_grows_with_evidence():
    assert bounds.sequential(0, 5) == 0.0
    for good, bad in [(5, 0), (10, 1), (40, 0), (97, 3), (10_000, 400)]:
        assert 0 < bounds.sequential(good, bad) < bounds.wilson(good, good + bad)
    for good in (9, 10, 40):  # without failures the bound has a closed form
        assert bounds.sequential(good, 0) == pytest.approx((20 * (good + 1)) ** (-1 / good), abs=1e-9)
    assert bounds.sequential(40, 0) > bounds.sequential(20, 0) > bounds.sequential(20, 1)


# -- alerts -----------------------------------------------------------------------------------------------------------


def run(verdicts, hold=0.0, cooldown=300.0, open_case=False, step=10.0):
    """Which looks fired, with one look every `step` seconds."""
    watch, fired = alerts.AlertState(), []
    for at, verdict in enumerate(verdicts):
        watch, fires = alerts.look(watch, verdict, NOW + at * step, hold=hold, cooldown=cooldown, open_case=open_case)
        fired.append(fires)
    return fired


@pytest.mark.parametrize(
    ("verdicts", "options", "fired"),
    [
        ([True], {}, [True]),
        ([False, None, True], {}, [False, False, True]),
        ([None, None], {}, [False, False]),
        ([True, True, True], {}, [True, False, False]),
        ([True, True, True, True], {"cooldown": 20}, [True, False, True, False]),
        ([True, True, True, True], {"cooldown": 20, "open_case": True}, [True, False, False, False]),
        ([True, False, True], {}, [True, False, True]),  # a new onset does not wait for the cooldown
        ([True, None, True], {}, [True, False, False]),  # unknown is no recovery
        ([True, True, True], {"hold": 20}, [False, False, True]),
        ([True, None, True, True, True], {"hold": 20}, [False, False, False, False, True]),  # unknown: `for` anew
        ([True, False, True, True], {"hold": 20}, [False, False, False, False]),
    ],
)
def test_when_an_alert_fires(verdicts, options, fired):
    assert run(verdicts, **options) == fired


@given(st.lists(st.sampled_from([True, False, None]), max_size=40), st.sampled_from([0.0, 15.0, 40.0]))
def test_unknown_and_false_never_fire(verdicts, hold):
    assert all(verdict is True for verdict, fires in zip(verdicts, run(verdicts, hold=hold), strict=True) if fires)


# -- graph ------------------------------------------------------------------------------------------------------------

NET = Graph(
    [
        GraphNode("isp", "external", site="berlin"),
        GraphNode("router", depends_on=("isp",)),
        GraphNode("db", depends_on=("router",)),
        GraphNode("web", depends_on=("db", "cache")),
        GraphNode("cache"),
        GraphNode("till", site="berlin"),
        GraphNode("far", site="paris"),
        GraphNode("a", depends_on=("b",)),
        GraphNode("b", depends_on=("a",)),
        GraphNode("box-1/app", depends_on=("box-1", "db")),
    ]
)


def test_what_hangs_on_a_target_hangs_on_it_through_others_and_through_what_is_on_a_host():
    entries = {"web": ("db",), "shop": ("web",), "db": (), "app": ("box-1/cron",), "box-1/mail": (), "far": ("app",),
               "ring": ("web", "ring-2"), "ring-2": ("ring",)}  # fmt: skip
    net = Graph(GraphNode(target, depends_on=parents) for target, parents in entries.items())
    assert net.hanging_on({"db"}) == ["web", "shop", "ring", "ring-2"]
    assert sorted(net.hanging_on({"box-1/nginx", "box-1"})) == ["app", "box-1/mail", "far"]
    assert net.hanging_on({"far"}) == net.hanging_on({"unheard-of"}) == []


def test_the_farthest_failed_ancestor_is_the_root():
    assert NET.suppressor("web", {"web", "db", "router"}) == ("router", "depends on db → router")
    assert NET.suppressor("web", {"web", "cache"}) == ("cache", "depends on cache")
    assert NET.suppressor("web", {"web"}) is None
    assert NET.suppressor("nobody", {"db"}) is None


def test_the_root_is_what_no_other_failed_target_stands_above_however_it_is_reached():
    """`near` is reached by a short way and a long one, and is what `far` hangs on."""
    shortcut = Graph(
        [
            GraphNode("web", depends_on=("near", "mid")),
            GraphNode("mid", depends_on=("far",)),
            GraphNode("far", depends_on=("near",)),
            GraphNode("near"),
        ]
    )
    assert shortcut.suppressor("web", {"web", "mid", "far", "near"}) == ("near", "depends on near")
    ring = Graph(
        [GraphNode("web", depends_on=("a",)), GraphNode("a", depends_on=("b",)), GraphNode("b", depends_on=("a",))]
    )
    assert ring.suppressor("web", {"a", "b"}) == ("b", "depends on a → b")


def test_a_failure_does_not_pass_through_what_is_well():
    def well(name):
        return name == "db"

    assert NET.suppressor("web", {"router"}, well) is None
    assert NET.suppressor("web", {"router", "db"}, well) == ("router", "depends on db → router")
    assert NET.declared_above("web", well) == ["cache"]
    above = {"web": ("db", "cache"), "db": ("net",), "net": (), "cache": ("net",)}
    two_ways = Graph(GraphNode(target, depends_on=parents) for target, parents in above.items())
    assert two_ways.suppressor("web", {"net"}, well) == ("net", "depends on cache → net")


def test_a_host_stands_above_its_own_without_saying_so():
    assert NET.parents("box-9/nginx") == ("box-9",)
    assert NET.parents("box-1/app") == ("box-1", "db")
    assert NET.parents("box-9") == ()
    assert NET.suppressor("box-9//var", {"box-9"}) == ("box-9", "depends on box-9")


def test_a_failed_external_takes_its_site_with_it():
    assert NET.suppressor("till", {"till", "isp"}) == ("isp", "everything at site berlin depends on it")
    assert NET.suppressor("far", {"far", "isp"}) is None
    assert NET.suppressor("till", {"till", "db"}) is None
    assert NET.suppressor("isp", {"isp"}) is None
    assert (NET.site("db"), NET.site("cache"), NET.site("till")) == ("berlin", None, "berlin")
    assert NET.is_external("isp")
    assert not NET.is_external("db")
    assert not NET.is_external("nobody")


def test_a_failed_external_without_a_site_takes_only_those_with_it_that_depend_on_it():
    nodes = [GraphNode("cdn", "external"), GraphNode("shop", depends_on=("cdn",)), GraphNode("till")]
    here = Graph([*nodes, GraphNode("line", "external", site="s"), GraphNode("desk", site="s")])
    assert here.root_causes({"cdn", "shop", "till", "desk"}) == ["cdn", "desk", "till"]
    assert here.root_causes({"cdn", "shop", "till", "desk", "line"}) == ["cdn", "line", "till"]


def test_a_cycle_in_the_graph_does_no_harm():
    assert set(NET.ancestors("a")) == {"b"}
    assert NET.root_causes({"web", "db", "cache", "far"}) == ["cache", "db", "far"]


@given(st.permutations(["isp", "router", "db", "web", "cache", "till"]))
def test_root_causes_do_not_depend_on_the_order(order):
    assert NET.root_causes(order) == ["cache", "isp"]
    assert [NET.suppressor(name, order) for name in sorted(order)] == [
        NET.suppressor(name, sorted(order)) for name in sorted(order)
    ]


def mistakes(entries, **more):
    return graph.mistakes([made(Dependency, entry) for entry in entries], **more)


def test_mistakes_in_a_list_of_dependencies():
    entries = [
        {"target": "a", "depends_on": ["b"]},
        {"target": "b", "depends_on": ["c"]},
        {"target": "c", "depends_on": ["a"]},
        {"target": "d", "type": "castle"},
        {"target": "d"},
        {"target": "e", "depends_on": ["nobody", "box-1"]},
        {"target": "s", "depends_on": ["s"]},
    ]
    assert [(it.target, it.error) for it in mistakes(entries, known={"box-1"})] == [
        ("d", "bad type: must be one of service, external, host, container, monitor"),
        ("d", "duplicate: it is listed more than once"),
        ("e", "unknown reference: nobody"),
        ("a", "cycle: a → b → c → a"),
        ("s", "cycle: s → s"),
    ]
    assert mistakes([{"target": "x", "depends_on": ["y"]}]) == []
    assert (
        mistakes([{"target": "x", "depends_on": ["z", "y"]}, {"target": "z", "depends_on": ["y"]}, {"target": "y"}])
        == []
    )


def test_a_long_chain_of_dependencies_is_walked_without_recursion():
    long = [{"target": str(at), "depends_on": [str(at + 1)]} for at in range(5000)]
    assert mistakes(long) == []
    assert (
        graph.Graph(GraphNode(e["target"], depends_on=tuple(e["depends_on"])) for e in long[:200]).suppressor(
            "0", {"150"}
        )[0]
        == "150"
    )


def test_what_a_site_has_lost_is_found_without_looking_through_all_that_has_failed(monkeypatch):
    """Each of 4,000 failed targets of a site looked at the 4,000 others: 4.7 s for one answer."""
    nodes = [GraphNode("line", "external", site="s"), *(GraphNode(f"t{at}", "host", site="s") for at in range(500))]
    failing, looked = {node.target for node in nodes} - {"line"}, []
    real = Graph.is_external
    monkeypatch.setattr(Graph, "is_external", lambda self, name: looked.append(name) or real(self, name))
    assert Graph(nodes).root_causes(failing) == sorted(failing)
    assert len(looked) <= 2 * len(nodes)
    assert Graph(nodes).suppressor("t7", failing | {"line"}) == ("line", "everything at site s depends on it")
    assert Graph(nodes).suppressor("line", failing | {"line"}) is None


# -- windows ----------------------------------------------------------------------------------------------------------


def window(effect, targets=None, ends=NOW + 60, name="w", reason=""):
    return windows.ActiveWindow(name, None if targets is None else frozenset(targets), effect, ends, reason)


@pytest.mark.parametrize(
    ("active", "effect", "cap", "ends"),
    [
        ([], "", "execute", None),
        ([window("notify")], "", "notify", None),
        ([window("notify"), window("approve")], "", "notify", None),
        ([window("execute")], "", "execute", None),
        ([window("notify"), window("queue")], "queue", "observation", NOW + 60),
        ([window("queue"), window("queue", ends=NOW + 90)], "queue", "observation", NOW + 90),
        ([window("queue"), window("queue", ends=None)], "queue", "observation", None),
        ([window("queue"), window("suppress")], "suppress", "observation", NOW + 60),
        ([window("suppress", targets={"other"})], "", "execute", None),
        ([window("suppress", targets={"box-1"})], "suppress", "observation", NOW + 60),
    ],
)
def test_the_most_restrictive_window_wins(active, effect, cap, ends):
    found = windows.permitted(active, {"box-1/nginx", "box-1"})
    assert found[:3] == (effect, cap, ends)


def test_words_of_both_families():
    assert [windows.effect_of(word) for word in (*maintenance.ACTIONS, *maintenance.OVERRIDES)] == [
        "suppress",
        "queue",
        "notify",
        "release",
        "hands_off",
        "here",
        "suppress",
        "notify",
        "approve",
        "execute",
    ]
    assert windows.permitted([window("notify", reason="night")], set()).reasons == ("window w: notify (night)",)


# -- brake ------------------------------------------------------------------------------------------------------------

LIMITS = BrakeSettings()


@pytest.mark.parametrize(
    ("load", "says"),
    [
        (brake.Load(), None),
        (brake.Load(rule=9, site=29, fleet=59), None),
        (brake.Load(rule=10), "one rule is 10"),
        (brake.Load(site=30), "one site is 30"),
        (brake.Load(fleet=60), "one fleet is 60"),
        (brake.Load(target=5), None),
        (brake.Load(target=6), "one target is 6"),
        (brake.Load(sick=4, targets=4), None),
        (brake.Load(sick=5, targets=10), "50 % of all targets"),
        (brake.Load(sick=5, targets=20), None),
        (brake.Load(sick=200, targets=500), None),
        (brake.Load(sick=201, targets=500), "40 % of all"),
        (brake.Load(sick=5, targets=0), None),
    ],
)
def test_brake(load, says):
    found = brake.pulled(load, LIMITS)
    assert found is None if says is None else says in found


def test_the_limit_of_a_target_is_a_part_of_its_rules_unless_configured():
    assert [brake.of_target(HealsPerHour(rule=rule)) for rule in (0, 1, 5, 10)] == [0, 1, 3, 6]
    assert brake.of_target(HealsPerHour(target=7)) == 7


# -- chain ------------------------------------------------------------------------------------------------------------


def chained(count, key=b"", after=()):
    entries = list(after)
    previous = entries[-1]["hash"] if entries else chain.GENESIS
    for at in range(len(entries), len(entries) + count):
        entry = {"id": at + 1, "outcome": "verified", "metrics_after": {"x": 1.5}, "rollback_status": None}
        previous, before = chain.link(previous, entry, key), previous
        entries.append({**entry, "prev_hash": before, "hash": previous})
    return entries


def test_a_whole_chain_is_valid_and_a_derived_field_is_no_part_of_it():
    entries = chained(3)
    assert chain.verify(entries) == chain.LedgerVerdict(True, 3, None)
    entries[1]["rollback_status"] = "rolled_back"
    assert chain.verify(entries).valid
    assert chain.verify([]) == chain.LedgerVerdict(True, 0, None)


KEY = b"k" * 32


def test_a_chain_with_a_key_cannot_be_made_again_without_it():
    mark = chain.signed_mark(KEY, 0, chain.GENESIS)
    entries = chained(3, KEY)
    assert chain.verify(entries, KEY, mark) == chain.LedgerVerdict(True, 3, None)
    assert chain.verify(chained(3), KEY, mark).first_bad == 1
    assert chain.verify(chained(1, b"other", after=entries), KEY, mark).first_bad == 4
    entries[1]["rollback_status"] = "rolled_back"
    assert chain.verify(entries, KEY, mark).first_bad == 2
    assert chain.verify(chained(3), KEY, chain.UnsignedLinks(3, chained(3)[-1]["hash"], "0" * 64)).entries == 0
    assert not chain.verify([], KEY).valid


def test_entries_from_before_the_key_stay_valid_and_cannot_be_replaced():
    old = chained(2)
    mark = chain.signed_mark(KEY, 2, old[-1]["hash"])
    whole = chained(2, KEY, after=old)
    assert chain.verify(whole, KEY, mark).valid
    assert chain.verify(old, KEY, mark).valid
    other = chained(2)
    other[0]["outcome"] = "failed"
    previous = chain.GENESIS
    for entry in other:
        entry["prev_hash"], entry["hash"] = previous, chain.link(previous, entry)
        previous = entry["hash"]
    assert chain.verify(chained(2, KEY, after=other), KEY, mark).first_bad == 3


NOW, DAY = 2_000_000_000, 86_400


def folded(entries, **fields):
    """A mark over these, of a year and a day ago."""
    known = {"links": len(entries), "head": entries[-1]["hash"], "newest": NOW - 366 * DAY, "made_at": NOW}
    return chain.signed_fold(KEY, chain.FoldedLinks(**{**known, **fields}))


def judged(verdict):
    return verdict.valid, verdict.entries, verdict.first_bad


@pytest.mark.parametrize("unsigned", [0, 1, 2, 3])
def test_a_chain_is_checked_from_the_mark_on(unsigned):
    """Whether what was folded had a key, had none, or some of it."""
    old = chained(unsigned)
    whole = chained(5 - unsigned, KEY, after=old)
    mark = chain.signed_mark(KEY, unsigned, old[-1]["hash"] if old else chain.GENESIS)
    assert chain.verify(whole[2:], KEY, mark, folded(whole[:2])) == chain.LedgerVerdict(True, 3, None)
    assert chain.verify(whole[3:], KEY, mark, folded(whole[:2])).first_bad == 4
    assert chain.verify(whole, KEY, mark, folded(whole[:2])).first_bad == 1
    changed = {**whole[3], "outcome": "failed"}
    assert judged(chain.verify([whole[2], changed, whole[4]], KEY, mark, folded(whole[:2]))) == (False, 1, 4)


@pytest.mark.parametrize(
    ("fields", "now", "says"),
    [
        ({}, None, None),
        ({}, NOW, None),
        ({}, NOW - DAY, None),
        ({}, NOW - 3 * DAY, "too young"),
        ({"newest": NOW - 365 * DAY}, NOW, None),
        ({"newest": NOW - 364 * DAY}, None, "too young"),
        ({"days": 364}, None, "too young"),
        ({"days": 367}, None, "too young"),
    ],
)
def test_a_mark_stands_for_old_entries_only(fields, now, says):
    mistake = chain.fold_mistake(folded(chained(2, KEY), **fields), KEY, now)
    assert mistake is None if says is None else says in mistake


def test_a_mark_is_signed():
    mark, entries = chain.signed_mark(KEY, 0, chain.GENESIS), chained(3, KEY)
    fold = folded(entries[:2])
    for name, value in {"links": 1, "head": "0" * 64, "rows": 1, "counted": 1, "highest": 9, "oldest": 9}.items():
        assert chain.fold_mistake(fold._replace(**{name: value}), KEY).endswith("is not signed")
    assert chain.verify(entries[2:], KEY, mark, chain.signed_fold(b"other", fold)).reason.endswith("not signed")
    assert chain.fold_mistake(chain.NOTHING_FOLDED, KEY) is None


def test_what_folded_entries_add_is_signed_for_its_key():
    row = chain.signed_tally(KEY, ("run", "c", ""), 3, 4)
    assert row[:2] == (3, 4)
    others = [(("run", "c", "box"), 3, 4), (("run", "c", ""), 4, 4), (("run", "c", ""), 3, 5)]
    assert len({row.signature, *(chain.signed_tally(KEY, *other).signature for other in others)}) == 4


@pytest.mark.parametrize(
    ("change", "first_bad"),
    [
        (lambda entries: entries[1].update(outcome="failed"), 2),
        (lambda entries: entries[1].update(hash="0" * 64), 2),
        (lambda entries: entries.pop(1), 3),
        (lambda entries: entries.reverse(), 3),
    ],
)
def test_what_was_tampered_with_is_found(change, first_bad):
    entries = chained(3)
    change(entries)
    whole = first_bad - 1 if first_bad == 2 else (1 if len(entries) == 2 else 0)
    assert judged(chain.verify(entries)) == (False, whole, first_bad)


# -- rules ------------------------------------------------------------------------------------------------------------


def said(**fields):
    return made(RuleSettings, {"condition": "a > 1", **fields})


def test_steps_come_from_the_chain_or_the_action():
    chained_rule = said(
        action={"type": "webhook"},
        escalation_chain=[
            {"action": "service_reset_failed"},
            {"action": "restart_service", "params": {"service": "x"}},
        ],
    )
    assert chained_rule.steps == (
        RuleStep(0, "service_reset_failed", {}),
        RuleStep(1, "restart_service", {"service": "x"}),
    )
    alone = said(action={"type": "run", "params": {"command": "x"}})
    assert alone.steps == (RuleStep(0, "run", {"command": "x"}),)
    assert said(action=None).steps == ()


def test_the_definition_is_what_a_rule_does_and_nothing_else():
    one = {"action": {"type": "run"}, "severity": "info"}
    chain = [{"action": "webhook"}]
    definition = said(**one).definition()
    assert definition == said(**one | {"severity": "critical", "cooldown_s": 1}).definition()
    for change in (
        {"condition": "a > 2"},
        {"action": {"type": "webhook"}},
        {"escalation_chain": chain},
        {"targets": {}},
    ):
        assert definition != said(**one | change).definition()


def test_the_definition_is_what_it_was_in_versions_before():
    """Evidence is kept under it: with another one every rule would begin anew."""
    plain = {"action": {"type": "restart_service", "params": {"service": "x"}}, "targets": {"agents": ["tag:web"]}}
    assert (
        said(**plain).definition()
        == hashlib.sha256(
            b'["a > 1", {"params": {"service": "x"}, "target": null, "type": "restart_service"}, [], '
            b'{"agents": ["tag:web"], "monitors": []}]'
        ).hexdigest()
    )


def test_the_definition_has_what_the_automations_do_that_it_runs():
    rule = said(action={"type": "automation", "params": {"automation_id": "a"}})
    assert rule.automations == ["a"]
    digests = {rule.definition(automations) for automations in (None, {"a": "1"}, {"a": "2"})}
    assert len(digests) == 3
    assert rule.definition({}) == rule.definition()


@pytest.mark.parametrize(
    ("condition", "target"),
    [
        ("cpu_percent > 90", "box-1"),
        ('service.nginx.state == "failed"', "box-1/nginx"),
        ("disk./var.percent > 90", "box-1//var"),
        ("service.a.failed == 1 or service.b.failed == 1", "box-1"),
    ],
)
def test_the_target_of_an_event(condition, target):
    assert rules.target_of("box-1", parse(condition)) == target


def test_parts_and_names_of_a_target():
    assert [rules.part_of(target) for target in ("box-1", "box-1/nginx", "box-1//var")] == [None, "nginx", "/var"]
    assert rules.names_of("box-1/nginx") == ("box-1/nginx", "box-1")
    assert rules.names_of("box-1") == ("box-1",)
    assert rules.in_scope(["a1", "box-1"], ["web"], ["tag:web"])
    assert rules.in_scope(["a1", "box-1"], [], ["box-1"])
    assert not rules.in_scope(["a1", "box-1"], ["web"], ["web"])


# -- the promotion bound, exactly and by simulation -----------------------------------------------------------------


def promotes(good, total):
    return total >= 10 and good / total >= 0.85 and bounds.sequential(good, total - good) > PromotionSettings().bound


def reaches(rate, runs):
    """The exact probability that a rule of this true rate is promoted within so many runs, looked at after each."""
    alive, reached = {0: 1.0}, 0.0
    for total in range(1, runs + 1):
        following: dict[int, float] = {}
        for good, weight in alive.items():
            following[good + 1] = following.get(good + 1, 0.0) + weight * rate
            following[good] = following.get(good, 0.0) + weight * (1 - rate)
        reached += sum(weight for good, weight in following.items() if promotes(good, total))
        alive = {good: weight for good, weight in following.items() if not promotes(good, total)}
    return reached


def test_the_bound_keeps_its_promises_exactly():
    assert reaches(0.70, 50) < 0.05
    assert reaches(0.70, 400) < 0.05  # and however long one looks
    assert reaches(0.97, 60) > 0.80
    assert any(promotes(total, total) for total in range(1, 41))


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_ten_thousand_simulated_rules(seed):
    dice = random.Random(seed)

    def share(rate, runs, rules_=10_000):
        reached = 0
        for _ in range(rules_):
            good = 0
            for total in range(1, runs + 1):
                good += dice.random() < rate
                if known[good, total]:
                    reached += 1
                    break
        return reached / rules_

    known = {(good, total): promotes(good, total) for total in range(1, 61) for good in range(total + 1)}
    assert share(0.70, 50) < 0.05
    assert share(0.97, 60) > 0.80
