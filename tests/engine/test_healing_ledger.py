"""The ledger's indexes and figures at some size, and that a final entry stays as it is."""

import pytest

from opsapp.healing.engine import ledgerchecks
from opsapp.healing.logic import chain
from opsapp.healing.resources import healing_of, ledgercheck
from opsapp.healing.resources.cases import case_of
from opsapp.healing.resources.ledger import FEW
from opsapp.runtime.secrets.chainkey import chain_key
from tests.bench.healing import fill_ledger


def fill(root, count, start=0):
    ledger = healing_of(root)["ledger"]
    for n in range(start, start + count):
        event = {"source": "test", "rule_id": f"r{n % 3}", "condition": "c", "target": f"box-{n % 2}/nginx", "at": n}
        entry = ledger.begin(root, case_of(event), rule_id=f"r{n % 3}", now=n, action_type="run", executed=True)
        ledger.finish(root, entry.id, outcome="verified" if n % 4 else "failed", reason="", now=n)


def page(service, query):
    answer = service.vera.get(f"/api/healing/ledger?{query}")
    return [row["id"] for row in answer.json], int(answer.headers["X-Total-Count"])


@pytest.mark.parametrize("count", [FEW - 1, FEW, FEW + 1, 7 * FEW])
def test_pages_are_newest_first_and_counted(service, count):
    service.transact(fill, count)
    newest = list(range(count, 0, -1))
    of_rule = [n for n in newest if (n - 1) % 3 == 0]
    of_box = [n for n in newest if (n - 1) % 2 == 1]
    both = [n for n in of_rule if n in of_box]
    assert page(service, "") == (newest[:50], count)
    assert page(service, "limit=5&offset=3") == (newest[3:8], count)
    assert page(service, "rule_id=r0") == (of_rule[:50], len(of_rule))
    assert page(service, "target=box-1") == (of_box[:50], len(of_box))
    assert page(service, "target=box-1/nginx&rule_id=r0&limit=1000") == (both, len(both))
    assert page(service, "rule_id=nobody") == ([], 0)
    assert page(service, f"offset={count}") == ([], count)
    assert service.vera.get("/api/healing/ledger/verify").json == {"valid": True, "entries": count, "first_bad": None}


def test_effectiveness_by_target_and_everywhere(service):
    service.transact(fill, 40)
    path = "/api/healing/effectiveness?action_type=run&condition=c"
    assert service.vera.get(path).json["success_rate"] == 75.0
    assert service.vera.get(path + "&target=box-1").json["success_rate"] == 100.0
    assert service.vera.get(path + "&target=box-0/nginx").json["total"] == 20


def test_a_final_entry_is_never_changed(service):
    service.transact(fill, 1)
    for change in ("update", "finish"):
        with pytest.raises(ValueError, match="is final"):
            service.transact(_change, change)


def _change(root, how):
    ledger = healing_of(root)["ledger"]
    if how == "update":
        ledger.update(root, 1, reason="no")
    else:
        ledger.finish(root, 1, outcome="failed", reason="no", now=1)


def edited(ledger):
    entry = ledger.entries[3]
    entry.fields = {**entry.fields, "verified": 0, "outcome": "failed"}


def unlinked(ledger):
    del ledger.order[3]


def deleted(ledger):
    del ledger.entries[3]


def deleted_and_unlinked(ledger):
    del ledger.order[3], ledger.entries[3]


def cut_off(ledger):
    del ledger.order[5], ledger.order[4]


def cut_off_with_its_entries(ledger):
    for n in (4, 5):
        del ledger.order[n], ledger.entries[n]


def cut_off_and_the_head_set_back(ledger):
    for n in (4, 5):
        del ledger.order[n]
    ledger.head = ledger.entries[3].fields["hash"]


def emptied(ledger):
    ledger.order.clear()


def swapped(ledger):
    ledger.order[3], ledger.order[4] = 4, 3


def doubled(ledger):
    ledger.order[6] = 5


def slipped_in(ledger):
    fields = ledger.entries[5].fields
    ledger.entries[6] = type(ledger.entries[5])({**fields, "id": 6})


def rewritten(ledger):
    """A whole chain of its own, with links that fit, made by somebody without the key."""
    previous = chain.GENESIS
    for entry in ledger.entries.values():
        fields = {**entry.fields, "outcome": "verified", "verified": 1, "prev_hash": previous}
        previous = chain.link(previous, fields)
        entry.fields = {**fields, "hash": previous}
    ledger.head = previous


def appended(ledger):
    fields = {**ledger.entries[5].fields, "id": 6, "prev_hash": ledger.head}
    ledger.head = chain.link(ledger.head, fields)
    ledger.entries[6] = type(ledger.entries[5])({**fields, "hash": ledger.head})
    ledger.order[6] = 6


def cut_off_as_if_never_written(ledger):
    for n in (4, 5):
        del ledger.order[n], ledger.entries[n]
    ledger.head = ledger.entries[3].fields["hash"]


def unsigned(ledger):
    ledger.mark = chain.UnsignedLinks(5, ledger.head, None)


def rollback_status_changed(ledger):
    ledger.entries[2].fields = {**ledger.entries[2].fields, "rollback_status": "rolled_back"}


def said_to_be_rolled_back(ledger):
    ledger.rollbacks[2] = 4


def figures_changed(ledger):
    ledger.effect["run", "c", ""] = ledger.effect["run", "c", ""]._replace(verified=5)


def figures_gone(ledger):
    del ledger.effect["run", "c", "box-1"]


TAMPERED = [
    (rewritten, 0, 1),
    (appended, 5, 6),
    (cut_off_as_if_never_written, 3, 4),
    (unsigned, 0, None),
    (rollback_status_changed, 1, 2),
    (said_to_be_rolled_back, 5, 2),
    (figures_changed, 5, 1),
    (figures_gone, 5, 2),
    (edited, 2, 3),
    (unlinked, 2, 4),
    (deleted, 2, 3),
    (deleted_and_unlinked, 2, 4),
    (cut_off, 3, 4),
    (cut_off_with_its_entries, 3, 4),
    (cut_off_and_the_head_set_back, 3, 4),
    (emptied, 0, 1),
    (swapped, 2, 4),
    (doubled, 5, 5),
    (slipped_in, 5, 6),
]


@pytest.mark.parametrize(("how", "whole", "first_bad"), TAMPERED, ids=[row[0].__name__ for row in TAMPERED])
def test_tampering_is_found(service, how, whole, first_bad):
    """Whether something was changed, taken away, moved, doubled or added, in the middle or at the end."""
    service.transact(fill, 5)
    service.transact(lambda root: how(healing_of(root)["ledger"]))
    found = service.vera.get("/api/healing/ledger/verify").json
    assert found.pop("reason")
    assert found == {"valid": False, "entries": whole, "first_bad": first_bad}


LAST = "/api/healing/ledger/last-check"


def test_each_node_checks_its_ledger_in_time_and_tells_what_it_found(service, caplog, monkeypatch):
    service.transact(fill, 5)
    checks = ledgerchecks.checks_of(service.node)
    assert service.vera.get(LAST).json == {"checked_at": None, "verdict": None}
    monkeypatch.setattr(ledgerchecks, "LONG", 4)
    checks.step()
    assert checks.last is None, "a start has more urgent things to do"
    assert checks.pace() == 60
    checks.step()
    assert checks.pace() == 3600
    at, whole = int(service.clock.now()), {"valid": True, "entries": 5, "first_bad": None}
    assert service.vera.get(LAST).json == {"checked_at": at, "verdict": whole}
    assert not caplog.text
    service.clock.advance(3600)
    service.transact(lambda root: edited(healing_of(root)["ledger"]))
    assert service.vera.get(LAST).json["verdict"] == whole, "of the last check, whatever has happened since"
    checks.step()
    told = service.vera.get(LAST).json
    assert (told["checked_at"], told["verdict"]["first_bad"]) == (at + 3600, 3)
    assert "the ledger is not whole first_bad=3: the entry was changed" in caplog.text


def test_a_check_that_fails_is_told_and_stops_nothing(service, caplog):
    """The supervisor ends a process whose step fails again and again; what was known before is known no more."""
    service.transact(fill, 5)
    checks = ledgerchecks.checks_of(service.node)
    checks.step()
    assert (checks.last.verdict.valid, checks.pace()) == (True, 3600), "a short one is read at the start"

    def nameless(root):
        entry = healing_of(root)["ledger"].entries[3]
        entry.fields = {name: value for name, value in entry.fields.items() if name != "prev_hash"}

    service.transact(nameless)
    assert checks.step() is False
    assert service.vera.get(LAST).json == {"checked_at": None, "verdict": None}
    assert "the ledger could not be checked" in caplog.text


def test_a_check_does_not_keep_the_entries_that_it_has_read(service):
    service.transact(fill_ledger, 0, 3000)

    def held_after(root):
        ledger = healing_of(root)["ledger"]
        ledger._p_jar._cache.cache_size = 400
        assert ledgercheck.verdict(ledger, chain_key(root)).entries == 3000
        return ledger._p_jar._cache.cache_non_ghost_count

    assert service.transact(held_after) < 1500


def test_a_heal_under_way_is_no_gap_in_the_chain(service):
    service.transact(fill, 3)

    def begin(root):
        event = {"source": "test", "rule_id": "r0", "condition": "c", "target": "box-1", "at": 9}
        healing_of(root)["ledger"].begin(root, case_of(event), rule_id="r0", now=9)

    service.transact(begin)
    service.transact(fill, 1, 4)
    assert service.vera.get("/api/healing/ledger/verify").json == {"valid": True, "entries": 4, "first_bad": None}


def test_effectiveness_of_a_rule_about_every_service(service):
    """What was recorded of nginx and of php counts for the rule's own condition too, however it is spaced."""

    def write(root):
        book = healing_of(root)["ledger"]
        for name, outcome in (("nginx", "verified"), ("nginx", "failed"), ("php", "verified")):
            event = {"rule_id": "any", "source": "alert", "condition": f"service.{name}.failed == 1", "at": 1}
            case = case_of({**event, "target": f"box-1/{name}"})
            entry = book.begin(root, case, rule_id="any", now=1, action_type="restart_service", executed=True)
            book.finish(root, entry.id, outcome=outcome, reason="", now=2)

    service.transact(write)
    path = "/api/healing/effectiveness?action_type=restart_service&condition="
    found = {text: service.vera.get(path + text).json for text in
             ("service.*.failed%20==%201", "service.*.failed==1", "service.nginx.failed%20==%201")}  # fmt: skip
    assert [(one["verified"], one["total"]) for one in found.values()] == [(2, 3), (2, 3), (1, 2)]
    assert service.vera.get(f"{path}service.*.failed==1&target=box-1/php").json["success_rate"] == 100.0


def test_what_the_benches_fill_a_ledger_with_is_a_ledger(service):
    """The benches run by hand only; this notices when a record's shape has moved on without them."""
    service.transact(fill_ledger, 0, 20)
    assert service.vera.get("/api/healing/ledger/verify").json == {"valid": True, "entries": 20, "first_bad": None}
