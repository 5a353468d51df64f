"""Entries that are over for years are folded away: a signed mark stands for them, and everything else is as it was."""

import json

import pytest

from opsapp.healing.config import LedgerRetention
from opsapp.healing.engine import anchors, ledgerfolding
from opsapp.healing.engine.archive import archived
from opsapp.healing.logic import chain
from opsapp.healing.logic.problems import ProblemFacts
from opsapp.healing.resources import healing_of, ledgerfolds
from opsapp.healing.resources.cases import case_of
from opsapp.healing.resources.ledgerfilters import count_outcomes, index_filters
from opsapp.healing.stages.case import ClosedCase
from opsapp.runtime.secrets.chainkey import chain_key
from opsapp.web import configfile
from tests.engine.test_healing_anchor import anchored
from tests.engine.test_healing_ledger import page
from tests.engine.test_healing_trace import found, lived  # noqa: F401 - a fixture

DAY, YEARS = 86400, 5 * 365
VERIFY = "/api/healing/ledger/verify"
PATH = "/api/healing/effectiveness?action_type=run&condition=c"


@pytest.fixture
def years(service):
    """Forty entries, one in every two hundred days or so, of which 31 are over for five years."""
    service.node.leases.want("healing")
    service.node.leases.step()
    service.transact(fill, service.clock.now() - (YEARS + 310) * DAY, 40, 10)
    return service


def fill(root, since, count, every):
    ledger = healing_of(root)["ledger"]
    for n in range(count):
        at = since + n * every * DAY
        event = {"source": "test", "rule_id": f"r{n % 3}", "condition": "c", "target": f"box-{n % 2}/nginx", "at": at}
        entry = ledger.begin(root, case_of(event), rule_id=f"r{n % 3}", now=at, action_type="run", executed=True)
        ledger.finish(root, entry.id, outcome="verified" if n % 4 else "failed", reason="", now=at + 5)


def ledger_of(service, look):
    return service.transact(lambda root: look(healing_of(root)["ledger"]))


def fold(service, **days):
    if days:
        service.configure(LedgerRetention, **days)
    ledgerfolding.step(service.node)
    return service.vera.get(VERIFY).json


def whole(entries, folded):
    return {"valid": True, "entries": entries, "first_bad": None, "folded": folded, "from": folded + 1}


def test_entries_are_folded_after_their_time_and_the_check_begins_behind_them(years):
    assert years.vera.get(VERIFY).json == {"valid": True, "entries": 40, "first_bad": None}
    assert fold(years) == whole(9, 31)
    assert page(years, "limit=1000") == (list(range(40, 31, -1)), 9)
    assert page(years, "rule_id=r0") == ([40, 37, 34], 3)
    assert page(years, "target=box-1") == ([40, 38, 36, 34, 32], 5)
    assert page(years, "target=box-1/nginx&rule_id=r0") == ([40, 34], 2)
    for _ in range(2):  # by the index as it was kept, and as an older store gets it
        assert page(years, "outcome=failed") == ([37, 33], 2)
        assert page(years, f"outcome=verified&since={int(years.clock.now()) - 10 * YEARS * DAY}") == (
            [40, 39, 38, 36, 35, 34, 32],
            7,
        )
        years.transact(index_anew)
    assert years.ada.get("/api/healing/ledger/last-check").json["verdict"] == whole(9, 31)
    assert years.ada.post_json("/api/healing/rollback/3", {}, status=404)
    text = " ".join(years.browser("vera").get("/healing/ledger").html.text.split())
    assert "all 9 entries were as they had been written; a signed mark stands for the 31 before them." in text


def index_anew(root):
    healing_of(root)["ledger"].filters = None
    index_filters(root)


def test_what_was_learned_of_folded_entries_stays(years):
    asked = [PATH, PATH + "&target=box-1", PATH + "&target=box-0/nginx"]
    before = [years.vera.get(path).json for path in asked]
    fold(years)
    assert [years.vera.get(path).json for path in asked] == before
    assert before[0]["total"] == 40


def test_what_was_counted_stays_and_an_older_store_counts_what_is_left(years):
    before = ledger_of(years, lambda ledger: dict(ledger.outcomes))
    assert sum(before.values()) == 40
    fold(years)
    assert ledger_of(years, lambda ledger: dict(ledger.outcomes)) == before
    years.transact(count_anew)
    assert ledger_of(years, lambda ledger: sum(ledger.outcomes.values())) == 9
    years.transact(fill, years.clock.now(), 3, 0)
    assert ledger_of(years, lambda ledger: sum(ledger.outcomes.values())) == 12


def count_anew(root):
    ledger = healing_of(root)["ledger"]
    ledger.outcomes, ledger.counted_links = None, 0
    count_outcomes(root)


def test_the_next_entries_follow_the_mark(years):
    fold(years)
    years.transact(fill, years.clock.now(), 3, 0)
    assert page(years, "limit=2")[0] == [43, 42]
    assert years.vera.get(VERIFY).json == whole(12, 31)


def test_a_second_mark_takes_the_place_of_the_first(years):
    fold(years)
    first = ledger_of(years, lambda ledger: ledger.folded)
    assert fold(years) == whole(9, 31), "nothing to fold, nothing written"
    assert ledger_of(years, lambda ledger: ledger.folded) == first
    years.clock.advance(40 * DAY)
    years.tokens.clear()
    assert fold(years) == whole(5, 35)
    mark = ledger_of(years, lambda ledger: ledger.folded)
    assert (mark.oldest, mark.days, mark.highest) == (first.oldest, YEARS, 35)


def test_the_newest_entry_and_the_last_link_stay(years):
    years.clock.advance(10 * 365 * DAY)
    years.tokens.clear()
    assert fold(years) == whole(1, 39)
    years.transact(fill, years.clock.now(), 1, 0)
    assert page(years, "") == ([41, 40], 2)


def test_an_intent_of_old_is_not_numbered_again(years):
    """Entries end in another order than they begin in."""

    def begin(root):
        event = {"source": "test", "rule_id": "r0", "condition": "c", "target": "box-9", "at": 9}
        return healing_of(root)["ledger"].begin(root, case_of(event), rule_id="r0", now=9).id

    assert years.transact(begin) == 41
    years.transact(fill, years.clock.now(), 1, 0)
    years.clock.advance(10 * 365 * DAY)
    years.tokens.clear()
    assert fold(years) == {"valid": True, "entries": 1, "first_bad": None, "folded": 40, "from": 42}
    years.transact(fill, years.clock.now(), 1, 0)
    assert page(years, "")[0] == [43, 42, 41]
    assert years.vera.get(VERIFY).json["valid"] is True


def test_a_page_goes_in_a_transaction(years, monkeypatch):
    monkeypatch.setattr(ledgerfolds.fold, "__defaults__", (4,))
    pages = []
    while not pages or pages[-1].gone:
        pages.append(years.transact(ledgerfolding.fold, years.clock.now()))
        assert years.vera.get(VERIFY).json["valid"] is True
    assert [folded.gone for folded in pages] == [4] * 7 + [3, 0]


def test_without_the_key_nothing_is_folded(years, monkeypatch):
    monkeypatch.setattr(ledgerfolding, "chain_key", lambda root: b"")
    assert fold(years)["entries"] == 40


def test_a_year_is_kept_at_least(years, tmp_path):
    path = tmp_path / "opsapp.yaml"
    path.write_text("retention:\n  ledger:\n    days: 364\n")
    with pytest.raises(configfile.BadConfig, match=r"retention\.ledger\.days"):
        configfile.read(str(path), years.node.registry.opsapp_sections)


class Killed(BaseException):
    """No handler of an error stops a kill -9."""


@pytest.mark.parametrize("committed", [False, True], ids=["before", "after"])
def test_a_process_that_dies_at_any_transaction_leaves_the_chain_whole(years, monkeypatch, committed):
    monkeypatch.setattr(ledgerfolds.fold, "__defaults__", (4,))
    transact, deaths, folded = years.node.transact, 0, 0

    def mortal(fn, *values):
        if committed:
            transact(fn, *values)
        raise Killed

    while folded < 31:
        monkeypatch.setattr(years.node, "transact", mortal)
        with pytest.raises(Killed):
            ledgerfolding.step(years.node)
        monkeypatch.setattr(years.node, "transact", transact)
        deaths += 1
        verdict = years.vera.get(VERIFY).json
        assert (verdict["valid"], verdict["entries"] + verdict.get("folded", 0)) == (True, 40)
        assert verdict.get("folded", 0) == min(31, folded + 4 * committed)
        folded = min(31, folded + 4)
        years.transact(ledgerfolding.fold, years.clock.now()) if not committed else None
    assert (deaths, fold(years)) == (8, whole(9, 31))


def test_doctor_trace_finds_nothing_in_a_ledger_that_was_folded_anywhere(lived):  # noqa: F811
    """Between the steps of a case, too, and though the cases of folded entries are kept."""
    trust = lived.trust()
    lived.clock.advance((YEARS + 1) * DAY)
    gone = []
    while not gone or gone[-1]:
        gone.append(lived.node.transact(fold_one, lived.clock.now()))
        assert found(lived) == []
    assert (sum(gone), len(lived.ledger), len(lived.cases)) == (4, 2, 5)
    assert lived.trust() == trust


def fold_one(root, now):
    return ledgerfolds.fold(healing_of(root)["ledger"], chain_key(root), now, YEARS, 1)


@pytest.mark.attack
def test_doctor_trace_finds_a_mark_that_was_forged(years):
    fold(years)
    years.transact(lambda root: mark_over_young_ones(healing_of(root)["ledger"], chain_key(root)))
    assert [line.what for line in found(years)][:1] == [
        "the chain: the mark stands for entries that were too young to be folded away"
    ]


# -- what is needed still


def of_case(root, at, close=None, **about):
    healing = healing_of(root)
    event = {"source": "test", "rule_id": "r0", "condition": "c", "target": "box-7", "at": at, **about}
    case = healing.book.open(case_of(event), at)
    entry = healing["ledger"].begin(root, case.record, rule_id="r0", now=at, action_type="run", executed=True)
    healing["ledger"].finish(root, entry.id, outcome="failed", reason="", now=at)
    if close is not None:
        healing.book.close(case, case.record.becomes(ClosedCase, outcome="failed", closed_at=close), "", 0.0)
    return case.record.id


@pytest.mark.parametrize(("closed_ago", "folded"), [(None, 0), (YEARS - 1, 0), (YEARS + 1, 40)])
def test_an_entry_of_an_open_case_stays_and_what_is_behind_it(service, closed_ago, folded):
    service.node.leases.want("healing")
    service.node.leases.step()
    now = service.clock.now()
    close = None if closed_ago is None else now - closed_ago * DAY
    service.transact(of_case, now - (YEARS + 900) * DAY, close)
    service.transact(fill, now - (YEARS + 800) * DAY, 40, 1)
    assert fold(service).get("folded", 0) == folded


def test_what_the_page_of_an_open_problem_shows_stays(years):
    def recur(root):
        problems = healing_of(root)["problems"]
        problems.open(ProblemFacts("r0", "box-0/nginx", years.clock.now()))

    years.transact(recur)
    assert fold(years) == {"valid": True, "entries": 40, "first_bad": None}


def rolled_back(root, at, first, end):
    """An entry that rolls back another one later."""
    ledger = healing_of(root)["ledger"]
    event = {"source": "test", "rule_id": "r0", "condition": "c", "target": "box-0/nginx", "at": at}
    entry = ledger.begin(root, case_of(event), rule_id="r0", now=at, action_type="rollback", rolls_back=first)
    if end:
        ledger.finish(root, entry.id, outcome="rolled_back", reason="", now=at)


def test_a_rollback_is_folded_after_what_it_rolls_back(years):
    years.transact(rolled_back, years.clock.now() - DAY, 3, True)
    assert fold(years) == whole(10, 31)
    assert ledger_of(years, lambda ledger: dict(ledger.rollbacks)) == {3: 41}
    assert [line for line in found(years) if "rolls back" in line.what] == []
    years.clock.advance(YEARS * DAY)
    years.transact(fill, years.clock.now(), 1, 0)
    years.tokens.clear()
    assert fold(years) == whole(1, 41)
    assert ledger_of(years, lambda ledger: dict(ledger.rollbacks)) == {}


def test_what_is_being_rolled_back_stays(years):
    years.transact(rolled_back, years.clock.now() - DAY, 3, False)
    assert fold(years) == whole(38, 2)


def test_a_snapshot_goes_with_its_entry(years):
    years.transact(lambda root: healing_of(root).snapshots.update({3: {"agent_id": "a"}, 40: {"agent_id": "a"}}))
    fold(years)
    assert years.transact(lambda root: list(healing_of(root).snapshots)) == [40]


# -- what was tampered with is not made good


def edited(ledger):
    entry = ledger.entries[5]
    entry.fields = {**entry.fields, "outcome": "verified", "verified": 1, "reason": "as it pleases"}


def removed(ledger):
    del ledger.entries[5], ledger.order[5]


def reordered(ledger):
    ledger.order[5], ledger.order[6] = ledger.order[6], ledger.order[5]


@pytest.mark.attack
@pytest.mark.parametrize("how", [edited, removed, reordered], ids=lambda how: how.__name__)
def test_a_link_that_does_not_fit_is_not_folded(years, how):
    ledger_of(years, how)
    found = years.vera.get(VERIFY).json
    after = fold(years)
    assert (after["valid"], after["first_bad"], after["folded"]) == (False, found["first_bad"], 4)


@pytest.mark.attack
def test_nothing_is_folded_onto_a_mark_that_is_not_signed(years):
    fold(years)
    ledger_of(years, lambda ledger: setattr(ledger, "folded", ledger.folded._replace(signature="0" * 64)))
    years.clock.advance(40 * DAY)
    years.tokens.clear()
    assert fold(years)["entries"] == 0
    assert ledger_of(years, lambda ledger: (len(ledger.order), ledger.folded.links)) == (9, 31)


# -- mutations of a mark: each with what is found first


def mark_taken_away(ledger, key):
    ledger.folded = chain.NOTHING_FOLDED


def mark_of_more(ledger, key):
    ledger.folded = ledger.folded._replace(links=32, head=ledger.entries[32].fields["hash"])
    del ledger.entries[32], ledger.order[32]


def mark_of_more_linked_without_the_key(ledger, key):
    mark_of_more(ledger, key)
    ledger.folded = chain.signed_fold(b"", ledger.folded)


def mark_of_fewer(ledger, key):
    ledger.folded = ledger.folded._replace(links=30)


def mark_without_its_signature(ledger, key):
    ledger.folded = ledger.folded._replace(signature=None)


def mark_of_other_times(ledger, key):
    ledger.folded = ledger.folded._replace(newest=1)


def mark_over_young_ones(ledger, key):
    """Signed with the key, by who wants them gone."""
    last = ledger.entries[39].fields
    fold = ledger.folded._replace(links=39, head=last["hash"], newest=last["finished_at"], highest=39)
    ledger.folded = chain.signed_fold(key, fold)
    for n in range(32, 40):
        del ledger.entries[n], ledger.order[n]


def mark_over_young_ones_with_few_days(ledger, key):
    ledger.folded = chain.signed_fold(key, ledger.folded._replace(days=300))


def mark_from_times_to_come(ledger, key):
    mark_over_young_ones(ledger, key)
    ledger.folded = chain.signed_fold(key, ledger.folded._replace(made_at=ledger.folded.made_at + 9 * 365 * DAY))


def first_one_removed(ledger, key):
    del ledger.entries[32], ledger.order[32]


def some_removed(ledger, key):
    for n in (32, 33):
        del ledger.entries[n], ledger.order[n]


def all_removed(ledger, key):
    ledger.entries.clear()
    ledger.order.clear()


def cut_off(ledger, key):
    for n in (39, 40):
        del ledger.entries[n], ledger.order[n]
    ledger.head = ledger.entries[38].fields["hash"]


def cut_off_down_to_the_mark(ledger, key):
    all_removed(ledger, key)
    ledger.head = ledger.folded.head


def slipped_in_before_the_first(ledger, key):
    fields = ledger.entries[32].fields
    ledger.entries[31] = type(ledger.entries[32])({**fields, "id": 31})


def figures_raised(ledger, key):
    of = ("run", "c", "")
    ledger.effect[of] = ledger.effect[of]._replace(verified=40)


def figures_raised_on_both_sides(ledger, key):
    figures_raised(ledger, key)
    row = ledger.folded_tallies["run", "c", ""]
    ledger.folded_tallies["run", "c", ""] = row._replace(verified=row.verified + 10)


def folded_figures_gone(ledger, key):
    del ledger.folded_tallies["run", "c", ""]


def folded_figures_added(ledger, key):
    ledger.folded_tallies["other", "c", ""] = ledger.folded_tallies["run", "c", ""]


def folded_figures_of_another_action(ledger, key):
    ledger.folded_tallies["other", "c", ""] = ledger.folded_tallies.pop(("run", "c", ""))


def folded_figures_of_an_older_mark(ledger, key):
    """Signed once, and true then."""
    ledger.folded_tallies["run", "c", ""] = chain.signed_tally(key, ("run", "c", ""), 3, 4)


MUTATIONS = [
    (mark_taken_away, 32),
    (mark_of_more, None),
    (mark_of_more_linked_without_the_key, None),
    (mark_of_fewer, None),
    (mark_without_its_signature, None),
    (mark_of_other_times, None),
    (mark_over_young_ones, None),
    (mark_over_young_ones_with_few_days, None),
    (mark_from_times_to_come, None),
    (first_one_removed, 33),
    (some_removed, 34),
    (all_removed, 32),
    (cut_off, 39),
    (cut_off_down_to_the_mark, 32),
    (slipped_in_before_the_first, 41),
    (figures_raised, 32),
    (figures_raised_on_both_sides, None),
    (folded_figures_gone, None),
    (folded_figures_added, None),
    (folded_figures_of_another_action, None),
    (folded_figures_of_an_older_mark, None),
]


@pytest.mark.attack
@pytest.mark.parametrize(("how", "first_bad"), MUTATIONS, ids=[row[0].__name__ for row in MUTATIONS])
def test_what_was_done_to_a_mark_is_found(years, how, first_bad):
    assert fold(years) == whole(9, 31)
    years.transact(lambda root: how(healing_of(root)["ledger"], chain_key(root)))
    found = years.vera.get(VERIFY).json
    assert (found["valid"], found["first_bad"], bool(found["reason"])) == (False, first_bad, True)


# -- anchors


def test_anchors_of_what_was_folded_say_nothing_and_those_behind_it_do(years, tmp_path):
    path = tmp_path / "anchors"
    anchored(years, file=str(path))
    anchors.step(years.node)
    at_the_mark = ledger_of(years, lambda ledger: ledger.link_at(31))
    old = next(anchors.anchors(years.node))
    path.write_text("")
    for anchor in (old._replace(entries=7, head="1" * 64), old._replace(entries=31, head=at_the_mark), old):
        anchors._append(str(path), json.dumps(anchor._asdict()))
    assert years.vera.get(VERIFY).json["first_bad"] == 7
    assert fold(years) == whole(9, 31)
    anchors._append(str(path), json.dumps(old._replace(entries=31, head="1" * 64)._asdict()))
    assert years.vera.get(VERIFY).json["valid"] is False


# -- told before


def findings(service):
    return [row for row in service.ada.get("/api/doctor").json["findings"] if row["what"] == "ledger"]


def test_people_are_told_a_month_before_what_is_in_no_archive_is_folded(service):
    service.transact(fill, service.clock.now(), 3, 40)
    assert [row["level"] for row in findings(service)] == ["ok"]
    service.clock.advance((YEARS - 29) * DAY)
    service.tokens.clear()
    (row,) = findings(service)
    assert row["level"] == "warn"
    assert "opsapp export --archive" in row["said"]
    head = ledger_of(service, lambda ledger: ledger.link_at(1))
    service.transact(archived, 1, head)
    assert [row["level"] for row in findings(service)] == ["ok"]
