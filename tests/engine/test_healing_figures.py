"""What /metrics says of healing: from the store, so that it holds after a restart, and on every node."""

import pytest

from opsapp.healing.logic.lift import Bets, Trials
from opsapp.healing.records import RuleSettings
from opsapp.healing.resources import healing_of, ledgerfilters
from opsapp.healing.resources.rules import put_rule
from opsapp.runtime.cluster import leases
from opsapp.wire.records import made
from tests.engine.healing import NGINX
from tests.engine.test_healing_brake import limits
from tests.engine.test_ledger_filters import ENTRIES, OPEN, OUTCOMES, fill
from tests.support.app import Service
from tests.support.scraping import scraped

RULES = ("r0", "r1", "r2")
ENDED = ENTRIES - OPEN


def put_rules(root):
    for name in RULES:
        settings = {"id": name, "condition": "x > 90", "action": {"type": "flush_dns"}, "initial_level": "notify"}
        put_rule(root, name, made(RuleSettings, settings), source="api", now=0.0)


def expected():
    counts = {}
    for n in range(ENDED):
        key = OUTCOMES[n % 5 % 3], RULES[n % 3]
        counts[key] = counts.get(key, 0) + 1
    return counts


def counted(service):
    """Outcome and rule -> how many; that there were none is told of heals alone."""
    counts = scraped(service.vera).of("opsapp_heals_total")
    return {key: count for key, count in counts.items() if count}


def test_a_rule_that_has_done_nothing_yet_has_healed_nothing(service):
    service.transact(put_rules)
    counts = scraped(service.vera).of("opsapp_heals_total", rule="r0")
    assert counts == {("verified",): 0, ("failed",): 0, ("rolled_back",): 0, ("inconclusive",): 0}


def test_what_healing_came_to_is_counted_by_rule_and_outcome_and_holds_after_a_restart(service, tmp_path):
    service.transact(put_rules)
    service.transact(fill)
    assert counted(service) == expected()
    service.close()
    again = Service(tmp_path, service.clock)
    assert counted(again) == expected()
    again.close()


def forget(root, links):
    """As a version that counts nothing would have left it, or as one has gone on with a store of this version."""
    ledger = healing_of(root)["ledger"]
    del ledger.outcomes, ledger.counted_links
    if links:
        ledgerfilters.catch_up_outcomes(ledger, links)


@pytest.mark.parametrize("known", [0, 150])
def test_an_older_store_is_counted(service, known):
    service.transact(put_rules)
    service.transact(fill)
    service.transact(forget, known)
    service.transact(ledgerfilters.count_outcomes)
    assert counted(service) == expected()


def test_what_an_older_version_writes_beside_it_is_counted_with_the_next_entry(service):
    service.transact(put_rules)
    service.transact(fill)
    service.transact(forget, 150)

    def end_one(root):
        ledger = healing_of(root)["ledger"]
        ledger.finish(root, ledger.open.minKey(), outcome="lost", reason="", now=ENTRIES)

    service.transact(end_one)
    assert sum(counted(service).values()) == ENDED + 1


def test_a_rule_that_is_gone_has_no_figures(service):
    service.transact(put_rules)
    service.transact(fill)
    service.ada.delete("/api/healing/rules/r1")
    scrape = scraped(service.vera)
    assert scrape.of("opsapp_heals_total", rule="r1") == {}
    assert scrape.of("opsapp_healing_verdict", rule="r1") == {}


def test_more_rules_than_a_scrape_holds_are_counted(service, monkeypatch):
    monkeypatch.setattr("opsapp.healing.engine.health.MOST", 2)
    service.transact(put_rules)
    scrape = scraped(service.vera)
    rules = service.transact(lambda root: len(list(healing_of(root)["rules"])))
    assert len(scrape.of("opsapp_healing_verdict")) == 2
    assert scrape.value("opsapp_healing_rules_left_out") == rules - 2


def test_a_rule_has_the_verdict_that_its_trials_came_to(service):
    def learn(root):
        state = healing_of(root)["trust"]["r1"]
        state.trust = state.trust.tried(Trials(bets=Bets(low=0.1)))

    service.transact(put_rules)
    service.transact(learn)
    scrape = scraped(service.vera)
    assert scrape.of("opsapp_healing_verdict", rule="r0") == {("unknown",): 1}
    assert scrape.of("opsapp_healing_verdict", rule="r1") == {("helps",): 1}


@pytest.mark.parametrize(("level", "cases"), [("approve", {("nginx", "awaiting_approval"): 1}), ("notify", {})])
def test_open_cases_are_counted_by_rule_and_state(ward, level, cases):
    here = ward(NGINX).at(level)
    here.report(service__nginx__state="failed").turn().turn(5)
    assert len(here.cases) == 1
    assert scraped(here.service.vera).of("opsapp_healing_cases") == cases


def test_the_kill_switch_is_seen(service):
    assert scraped(service.vera).value("opsapp_healing_paused") == 0
    service.ada.post_json("/api/healing/pause", {})
    assert scraped(service.vera).value("opsapp_healing_paused") == 1


def test_the_brake_says_what_it_has_counted_and_whether_it_is_on(ward):
    here = ward(NGINX, brake=limits(rule=1)).at("execute")
    before = scraped(here.service.vera)
    assert before.of("opsapp_healing_brake") == dict.fromkeys(
        [("fleet",), ("site",), ("rule",), ("target",), ("unhealthy",)], 0
    )
    here.report(service__nginx__state="failed").turn().turn(5)
    here.node.leases.step()
    scrape = scraped(here.service.vera)
    assert scrape.of("opsapp_healing_brake_limit") == {("fleet",): 60, ("site",): 60, ("rule",): 1, ("target",): 60}
    assert scrape.of("opsapp_healing_brake_heals") == {("fleet",): 1, ("site",): 0, ("rule",): 1, ("target",): 1}
    assert {scope for (scope,), on in scrape.of("opsapp_healing_brake").items() if on} == {"rule"}
    assert scrape.value("opsapp_healing_targets") == 1
    assert scrape.value("opsapp_healing_targets_unhealthy") == 1
    here.clock.advance(3601)
    assert scraped(here.service.vera).value("opsapp_healing_brake", scope="rule") == 0


def test_a_node_without_the_pipeline_does_not_say_that_nothing_is_sick(ward):
    here = ward(NGINX)
    here.report(service__nginx__state="failed").turn()
    assert scraped(here.service.vera).value("opsapp_healing_targets_unhealthy") == 1
    here.node.transact(leases.release, here.node.owner)
    here.node.leases.held.clear()
    scrape = scraped(here.service.vera)
    assert scrape.value("opsapp_healing_targets_unhealthy") is None
    assert scrape.value("opsapp_healing_brake", scope="unhealthy") is None
    assert scrape.value("opsapp_healing_brake", scope="fleet") == 0
