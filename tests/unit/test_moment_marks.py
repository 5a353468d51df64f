"""What a moment's marks say of the machine: sentences, and no level or code of the service."""

from types import SimpleNamespace

import pytest

from opsapp.healing.engine.momentmarks import of_approval, of_entry


def ledger_entry(**values):
    usual = {"case_id": "c", "approval_id": None, "executed": False, "state": "final", "reason": "",
             "rule_id": "nginx-down", "target": "db-1/nginx", "created_at": 10, "finished_at": 20}  # fmt: skip
    return SimpleNamespace(**usual | values)


@pytest.mark.parametrize(
    ("outcome", "reason", "words"),
    [
        ("notified", "level notify", "Rule nginx-down, nginx on db-1: people were notified, nothing was done"),
        ("suppressed", "held down by db-1", "Rule nginx-down, nginx on db-1: suppressed, held down by db-1"),
        ("skipped", "", "Rule nginx-down, nginx on db-1: skipped"),
        ("withdrawn", "condition_gone", "Rule nginx-down, nginx on db-1: withdrawn, it recovered by itself"),
    ],
)
def test_what_was_not_done_is_said_in_words(outcome, reason, words):
    (mark,) = of_entry(None, ledger_entry(outcome=outcome, reason=reason))
    assert mark.words == words
    assert mark.place == "/healing/cases/c"


def test_what_was_done_keeps_the_capitals_of_names():
    act = {"executed": True, "outcome": "verified", "action_type": "restart_service", "target": "DB-1/PostgreSQL"}
    (mark,) = of_entry(None, ledger_entry(**act))
    assert mark.words == "Restart service for PostgreSQL on DB-1, rule nginx-down: verified"


@pytest.mark.parametrize(
    ("status", "by", "words"),
    [
        ("approved", "ada", "ada approved: restart service for nginx on db-1"),
        ("expired", None, "Approval expired: restart service for nginx on db-1"),
        ("withdrawn", None, "Approval withdrawn: restart service for nginx on db-1"),
    ],
)
def test_who_decided_is_said_and_that_nobody_did(status, by, words):
    approval = SimpleNamespace(requested_at=5, decided_at=9, decided_by=by, status=status)
    asked, decided = of_approval(approval, ledger_entry(approval_id="a", action_type="restart_service"))
    assert asked.words == "Approval requested: restart service for nginx on db-1"
    assert decided.words == words
