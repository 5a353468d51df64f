"""What a moment's marks say of the machine: sentences, and no level or code of the service."""

from types import SimpleNamespace

import pytest

from opsapp.healing.engine.momentmarks import of_entry


@pytest.mark.parametrize(
    ("outcome", "reason", "words"),
    [
        ("notified", "level notify", "Rule nginx-down, nginx on db-1: people were notified, nothing was done"),
        ("suppressed", "held down by db-1", "Rule nginx-down, nginx on db-1: suppressed, held down by db-1"),
        ("skipped", "", "Rule nginx-down, nginx on db-1: skipped"),
    ],
)
def test_what_was_not_done_is_said_in_words(outcome, reason, words):
    entry = SimpleNamespace(case_id="c", approval_id=None, executed=False, state="final", outcome=outcome,
                            reason=reason, rule_id="nginx-down", target="db-1/nginx", created_at=10)  # fmt: skip
    (mark,) = of_entry(None, entry)
    assert mark.words == words
    assert mark.place == "/healing/cases/c"
