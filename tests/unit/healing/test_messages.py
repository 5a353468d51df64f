"""The inbox in the store: every message comes back, and so does what older versions wrote."""

import pytest

from opsapp.healing.stages import messages
from opsapp.healing.stages.case import About, RuleEvent
from opsapp.healing.stages.messages import ConditionOver, DeedStopped, RequestDecided, RollbackWanted

ABOUT = About("alert", "cpu_percent > 90", "box-1", "critical", {"cpu_percent": 95.0}, "a1", "agent:a1", ("box-1",))
MESSAGES = [
    RuleEvent("r", ABOUT, 100.0),
    RuleEvent("r", ABOUT._replace(agent_id=None, note="soon", measured_at=99.0), 100.0, early=True),
    ConditionOver("r", "cpu_percent > 90", "box-1", 100.0, 99.0, tells=False),
    RequestDecided("request"),
    DeedStopped("deed", "case"),
    RollbackWanted(7, "request"),
]
OLDER = [
    (
        {"source": "prediction", "rule_id": "r", "condition": "c", "target": "t", "severity": "warning", "metrics": {},
         "agent_id": None, "subject": None, "names": (), "note": "n", "at": 1},
        RuleEvent("r", About("prediction", "c", "t", "warning", note="n"), 1),
    ),
    (
        {"kind": "over", "rule_id": "r", "condition": "c", "target": "t", "at": 1},
        ConditionOver("r", "c", "t", 1, None, tells=True),
    ),
    ({"kind": "stopped", "deed": "d", "after": ""}, DeedStopped("d")),
]  # fmt: skip


@pytest.mark.parametrize("message", MESSAGES)
def test_a_message_comes_back_as_it_was_put(message):
    assert messages.read(messages.stored(message)) == message


@pytest.mark.parametrize(("row", "message"), OLDER)
def test_what_an_older_version_has_put_is_read(row, message):
    assert messages.read(row) == message


def test_an_older_version_can_read_an_event():
    """It asks for these by name; what is not there has its default, as `About.read` has always done."""
    row = messages.stored(MESSAGES[0])
    assert (row["rule_id"], row["target"], row["at"]) == ("r", "box-1", 100.0)
    assert "kind" not in row
    assert RuleEvent.read(row) == MESSAGES[0]
