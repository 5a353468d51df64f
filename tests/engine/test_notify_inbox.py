"""What is told is durable from the commit on, and taken once."""

import pytest

from opsapp.notify.engine import tell
from opsapp.notify.resources import inbox

ABOUT = {"kind": "incident.opened", "severity": "critical", "title": "Shop is down", "text": "HTTP 500"}


def told(root, key, at=1.0):
    tell(root, at, key=key, **ABOUT)


def test_what_is_told_is_taken_once_and_in_order(service):
    for n in range(7):
        service.transact(told, f"k{n}", 10.0 - n)
    assert service.transact(inbox.waiting)
    first, rest = service.transact(inbox.take, 4), service.transact(inbox.take, 100)
    assert [row.key for row in first] == ["k3", "k2", "k1", "k0"]
    assert [row.key for row in rest] == ["k6", "k5", "k4"]
    assert service.transact(inbox.take, 100) == []
    assert not service.transact(inbox.waiting)
    service.transact(told, "again")
    assert [row.key for row in service.transact(inbox.take, 100)] == ["again"]


def test_a_transaction_that_fails_has_told_nothing(service):
    def fails(root):
        told(root, "k")
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        service.transact(fails)
    assert service.transact(inbox.take, 100) == []


def test_long_texts_are_cut_and_severities_are_checked(service):
    service.transact(lambda root: tell(root, 1.0, key="k", **{**ABOUT, "title": "t" * 500, "text": "x" * 9000}))
    (row,) = service.transact(inbox.take, 100)
    assert (len(row.title), len(row.text), row.text[-1]) == (200, 4000, "…")
    with pytest.raises(ValueError, match="severity"):
        service.transact(lambda root: tell(root, 1.0, key="k", **{**ABOUT, "severity": "error"}))
