"""Who may decide, and when it is settled."""

import pytest

from opsapp.approvals import logic


@pytest.mark.parametrize(
    ("name", "role", "approvers", "approving", "refused"),
    [
        ("otto", "operator", (), True, False),
        ("otto", "operator", ("otto",), True, False),
        ("otto", "operator", ("olga",), True, True),
        ("ada", "admin", ("olga",), True, False),
        ("vic", "operator", (), True, True),  # an own request
        ("vic", "operator", (), False, False),  # may be taken back
        ("vic", "admin", (), True, False),
    ],
)
def test_who_may_decide(name, role, approvers, approving, refused):
    said = logic.may_decide(name, role, approvers=approvers, requested_by="vic", approving=approving)
    assert (said is not None) is refused


def votes(*words):
    return [{"username": f"u{n}", "vote": word} for n, word in enumerate(words)]


@pytest.mark.parametrize(
    ("given", "quorum", "status"),
    [
        ([], 1, None),
        (votes("approve"), 1, "approved"),
        (votes("approve"), 2, None),
        (votes("approve", "approve"), 2, "approved"),
        (votes("approve", "reject"), 2, "rejected"),
        ([{"username": "u", "vote": "approve"}] * 2, 2, None),
    ],
)
def test_when_it_is_settled(given, quorum, status):
    assert logic.settled(given, quorum) == status


def test_the_hash_is_of_the_plan_and_not_of_its_order():
    assert logic.plan_hash({"a": 1, "b": 2}) == logic.plan_hash({"b": 2, "a": 1}) != logic.plan_hash({"a": 1})
