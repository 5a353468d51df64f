"""The ledger's filters: what fits is found, however many entries do not, and these are not read."""

import itertools

import pytest

from opsapp.healing.resources import healing_of
from opsapp.healing.resources.cases import case_of
from opsapp.healing.resources.ledgerfilters import FilterIndex, LedgerFilter, index_filters

ENTRIES, OPEN = 400, 6
OUTCOMES, ACTIONS = ("verified", "failed", "notified"), ("run", "clear_cache", "restart_service", "")


def fill(root):
    """The last ones are under way still; of these nothing but their outcome is unknown."""
    ledger = healing_of(root)["ledger"]
    for n in range(ENTRIES):
        event = {"source": "test", "rule_id": f"r{n % 3}", "condition": "c", "target": f"box-{n % 2}/nginx", "at": n}
        action = ACTIONS[n % len(ACTIONS)]
        entry = ledger.begin(root, case_of(event), rule_id=f"r{n % 3}", now=n, action_type=action)
        if n < ENTRIES - OPEN:
            ledger.finish(root, entry.id, outcome=OUTCOMES[n % 5 % 3], reason="", now=n + 1)


def read_for(root, *asked):
    """(How many fit, the ids of the page, how many entries were read for it)."""
    ledger = healing_of(root)["ledger"]
    root._p_jar.cacheMinimize()
    total, rows = ledger.page(*asked)
    return total, [row.id for row in rows], sum(each._p_changed is not None for each in ledger.entries.values())


FILTERS = [
    LedgerFilter(outcome="failed"),
    LedgerFilter(outcome="lost"),
    LedgerFilter(action_type="clear_cache"),
    LedgerFilter(since=300),
    LedgerFilter(until=20),
    LedgerFilter(since=100, until=10**9),
    LedgerFilter(outcome="verified", action_type="run", since=50, until=350),
    LedgerFilter(action_type="restart_service", since=10**30),
]


@pytest.mark.parametrize("only", FILTERS)
def test_what_fits_is_found_and_the_others_are_not_read(service, only):
    service.transact(fill)
    for rule_id, target in itertools.product((None, "r1", "nobody"), (None, "box-0/nginx")):
        asked = (rule_id, target, 5, 2, only)
        total, ids, read = service.transact(read_for, *asked)
        fitting = service.transact(fitting_of, rule_id, target, only)
        assert (total, ids) == (len(fitting), fitting[2:7])
        assert read <= 5 + OPEN


def fitting_of(root, rule_id, target, only):
    ledger = healing_of(root)["ledger"]
    fields = [entry.fields for entry in ledger.entries.values()]
    if rule_id is not None:
        fields = [each for each in fields if each["rule_id"] == rule_id]
    if target is not None:
        fields = [each for each in fields if each["target"] == target]
    return [each["id"] for each in reversed(fields) if only.fits(each)]


def forget(root, links):
    """As a version without the index would have left it: it knows the first links of the chain, or there is none."""
    ledger = healing_of(root)["ledger"]
    if links == 0:
        del ledger.filters
        return
    ledger.filters = FilterIndex()
    ledger.filters.catch_up(ledger, links)


@pytest.mark.parametrize("known", [0, 150])
def test_an_older_store_gets_the_index(service, known):
    service.transact(fill)
    only = LedgerFilter(outcome="failed", since=10)
    before = service.transact(read_for, None, None, 5, 2, only)
    service.transact(forget, known)
    service.transact(index_filters)
    assert service.transact(read_for, None, None, 5, 2, only) == before


def test_what_an_older_version_writes_beside_it_is_found_and_indexed_with_the_next_entry(service):
    service.transact(fill)
    only = LedgerFilter(outcome="failed", since=10)
    total, ids, _ = service.transact(read_for, None, None, 5, 2, only)
    service.transact(forget, 150)
    assert service.transact(read_for, None, None, 5, 2, only)[:2] == (total, ids)

    def end_one(root):
        ledger = healing_of(root)["ledger"]
        ledger.finish(root, ledger.open.minKey(), outcome="lost", reason="", now=ENTRIES)

    service.transact(end_one)
    assert service.transact(read_for, None, None, 5, 2, only)[2] <= 5 + OPEN
