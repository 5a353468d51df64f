"""What is deleted because it is old: a page in each transaction, found by an index. What is not old is not read."""

import pytest

from opsapp.approvals import resources as approvals
from opsapp.approvals.records import NewRequest
from opsapp.healing.engine import casepurge
from opsapp.healing.resources import healing_of
from opsapp.healing.resources.cases import Case, case_of
from opsapp.healing.stages.case import ClosedCase
from opsapp.web import idempotency

EVENT = {"source": "test", "condition": "c", "target": "box", "rule_id": "r", "at": 0.0}


def reading(service, fn, *values):
    """`fn(root, *values)`; its answer, and how many persistent objects of each class the transaction loaded."""

    def counted(root):
        service.node.store.db.cacheMinimize()
        loaded = []
        jar = root._p_jar
        real = jar.setstate

        def setstate(obj):
            loaded.append(type(obj).__name__)
            real(obj)

        jar.setstate = setstate
        try:
            return fn(root, *values), loaded
        finally:
            del jar.setstate

    return service.transact(counted)


def ask(root, n, now):
    return approvals.request(
        root,
        NewRequest(
            kind="run",
            subject=f"run {n}",
            plan={},
            reason="",
            risk=None,
            requested_by="otto",
            expiry_s=60.0,
            about={"run_id": str(n)},
        ),
        now + n,
    )


def asked(root, n, now):
    ask(root, n, now)


def decided(root, count, at, status="approved"):
    for n in range(count):
        ask(root, n, at).close(root, status, by="ada", now=at + n)


def test_decided_approvals_go_a_page_at_a_time_and_pending_ones_stay(service, monkeypatch):
    monkeypatch.setattr(approvals, "PAGE", 4)
    now, folder = service.clock.now(), lambda root: root["api"]["approvals"]
    service.transact(decided, 6, now - approvals.KEEP_S - 100)
    service.transact(decided, 5, now - 100, "rejected")
    service.transact(asked, 99, now - approvals.KEEP_S - 100)
    more, loaded = reading(service, lambda root: folder(root).purge(now))
    assert more
    assert loaded.count("Approval") == 4
    assert not service.transact(lambda root: folder(root).purge(now))
    counts = {
        status: int(service.vera.get(f"/api/approvals?status={status}").headers["X-Total-Count"])
        for status in ("all", "pending", "approved", "rejected")
    }
    assert counts == {"all": 6, "pending": 1, "approved": 0, "rejected": 5}


def test_a_page_of_approvals_reads_that_page(service):
    service.transact(decided, 30, service.clock.now())
    rows, loaded = reading(service, lambda root: root["api"]["approvals"].page("approved", "newest", 1000, 0)[0])
    assert len(rows) == 30
    assert "Approval" not in loaded
    shown = service.vera.get("/api/approvals?status=approved&limit=3&offset=1")
    assert [row["subject"] for row in shown.json] == ["run 1", "run 2", "run 3"]
    assert shown.headers["X-Total-Count"] == "30"


def test_of_approvals_that_are_over_a_list_without_a_limit_has_a_hundred(service):
    """Those that wait are all in it, as every list is."""
    service.transact(decided, 102, service.clock.now())
    for n in range(101):
        service.transact(asked, 1000 + n, service.clock.now())
    for status, total in (("approved", 102), ("decided", 102), ("all", 203)):
        shown = service.vera.get(f"/api/approvals?status={status}")
        assert (len(shown.json), shown.headers["X-Total-Count"]) == (100, str(total))
    assert len(service.vera.get("/api/approvals?status=approved&limit=1000").json) == 102
    assert len(service.vera.get("/api/approvals").json) == 101


def opened(root, n, closed_at=None):
    book = healing_of(root).book
    case = book.open(case_of({**EVENT, "target": f"box-{n}"}), 0.0)
    if closed_at is not None:
        closed = case.record.becomes(ClosedCase, outcome="verified", closed_at=closed_at)
        book.close(case, closed, "", 0.0)


def test_closed_cases_go_a_page_at_a_time_and_open_ones_are_not_read(service):
    for n in range(20):
        service.transact(opened, n, None if n % 2 else 1000.0 + n)
    more, loaded = reading(service, lambda root: healing_of(root).book.purge(1011.0, 4))
    assert more
    assert loaded.count(Case.__name__) == 4
    assert not service.transact(lambda root: healing_of(root).book.purge(1011.0, 4))
    assert service.transact(lambda root: len(healing_of(root).book.cases)) == 14


def test_reported_outcomes_go_by_pages(service, monkeypatch):
    monkeypatch.setattr(casepurge, "PAGE", 3)

    def fill(root):
        for n in range(8):
            healing_of(root).reported[f"agent:{n}"] = 10.0 if n < 5 else 100.0

    service.transact(fill)
    after, steps = "", 0
    while after is not None:
        after, steps = service.transact(casepurge.purge_reported, 50.0, after), steps + 1
    assert steps == 3
    assert service.transact(lambda root: sorted(healing_of(root).reported)) == ["agent:5", "agent:6", "agent:7"]


def remembered(root, count, at):
    for n in range(count):
        idempotency.remember(root, f"{at:.0f}-{n}", idempotency.Remembered("", at, "{}", 200))


def test_old_answers_go_a_page_at_a_time_and_young_ones_are_not_read(service, monkeypatch):
    monkeypatch.setattr(idempotency, "PAGE", 4)
    now = service.clock.now()
    service.transact(remembered, 6, now - idempotency.KEEP_S - 10)
    service.transact(remembered, 30, now - 10)
    more, loaded = reading(service, idempotency.sweep, now)
    assert more
    assert loaded.count("Remembered") == 4
    assert not service.transact(idempotency.sweep, now)
    assert service.transact(lambda root: len(root.system["idempotency"])) == 30


@pytest.mark.parametrize("again", [True, False])
def test_a_key_that_was_used_again_after_a_day_is_kept(service, again):
    now = service.clock.now()
    answer = idempotency.Remembered("", now - idempotency.KEEP_S - 10, "{}", 200)
    service.transact(idempotency.remember, "place", answer)
    if again:
        service.transact(idempotency.remember, "place", idempotency.Remembered("", now, "{}", 200))
    assert not service.transact(idempotency.sweep, now)
    assert service.transact(
        lambda root: ("place" in root.system["idempotency"], len(root.system[idempotency.AGES]))
    ) == ((True, 1) if again else (False, 0))
