"""Cases of years: how long they are kept, and what they stop to say of today long before they are forgotten."""

import pytest

from opsapp.healing.config import CasesRetention
from opsapp.healing.resources import healing_of
from opsapp.healing.resources.cases import Case, case_of
from opsapp.healing.stages.case import ClosedCase
from tests.engine.test_bounded_purges import EVENT, reading

DAY = 86400


def had(service, *days_ago, target="box"):
    """Closed cases, each of a target of its own, that ended so many days ago; their ids."""

    def write(root):
        book, ids = healing_of(root).book, []
        for ago in days_ago:
            at = service.clock.now() - ago * DAY
            case = book.open(case_of({**EVENT, "target": f"{target}-{ago}"}), 0.0)
            book.note_told("r", f"{target}-{ago}", "critical")
            book.close(case, case.record.becomes(ClosedCase, outcome="failed", closed_at=at, opened_at=at), "", 0.0)
            ids.append(case.record.id)
        return ids

    return service.transact(write)


def kept(service):
    return service.transact(lambda root: set(healing_of(root).book.cases))


@pytest.mark.parametrize(("days", "stay"), [(None, (729, 31, 1)), (30, (1,))])
def test_cases_are_forgotten_so_many_days_after_their_end(ward, days, stay):
    here = ward()
    if days is not None:
        here.service.configure(CasesRetention, days=days)
    ids = dict(zip((900, 731, 729, 31, 1), had(here.service, 900, 731, 729, 31, 1), strict=True))
    here.engine.purge()
    assert kept(here.service) == {ids[ago] for ago in stay}


def test_what_ended_a_month_ago_is_kept_and_says_nothing_of_today(ward):
    """It is neither a failure that others depend on nor a trouble that the overview shows, as when it was forgotten."""
    here = ward()
    had(here.service, 40, 20)
    here.engine.purge()

    def said(root):
        book = healing_of(root).book
        return [sorted(names) for names in (book.last_on, book.unhealed_on, (target for _, target in book.told))]

    assert here.service.transact(said) == [["box-20"]] * 3
    assert len(kept(here.service)) == 2


def test_what_says_nothing_any_more_is_read_once_and_a_page_at_a_time(service):
    had(service, *range(40, 60))
    before = service.clock.now() - 30 * DAY
    counts = []
    more = True
    while more:
        more, loaded = reading(service, lambda root: healing_of(root).book.let_go(before, 8))
        counts.append(loaded.count(Case.__name__))
    assert counts == [8, 8, 4]
    assert reading(service, lambda root: healing_of(root).book.let_go(before, 8))[1].count(Case.__name__) == 0


def test_a_page_of_old_cases_goes_in_a_transaction(service):
    had(service, *range(800, 820))
    before = service.clock.now() - 730 * DAY
    assert service.transact(lambda root: healing_of(root).book.purge(before, 8)) is True
    assert len(kept(service)) == 12


def test_how_the_last_case_of_a_rule_ended_is_forgotten_with_that_case(ward):
    here = ward()

    def told(root):
        book = healing_of(root).book
        for name in ("old", "again"):
            at = service.clock.now() - 800 * DAY
            case = book.open(case_of({**EVENT, "target": name}), 0.0)
            book.close(case, case.record.becomes(ClosedCase, outcome="failed", closed_at=at, opened_at=at), "", 0.0)
        case = book.open(case_of({**EVENT, "target": "again"}), 0.0)
        at = service.clock.now() - DAY
        book.close(case, case.record.becomes(ClosedCase, outcome="failed", closed_at=at, opened_at=at), "", 0.0)

    service = here.service
    service.transact(told)
    here.engine.purge()
    assert [target for _, target in service.transact(lambda root: list(healing_of(root).book.last_of))] == ["again"]
