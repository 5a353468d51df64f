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
    own = "It is yours." if name == "vic" else None
    said = logic.may_decide(name, role, approvers=approvers, own=own, approving=approving, strict=False)
    assert (said is not None) is refused


def test_an_admin_may_not_either_where_it_is_strict():
    ask = {"approvers": ("olga",), "own": "It is yours.", "strict": True}
    assert logic.may_decide("vic", "admin", approving=True, **ask) == "It is yours."
    assert logic.may_decide("vic", "admin", approving=False, **ask) is None
    assert logic.may_decide("ada", "admin", approving=True, **ask | {"own": None}) is None


def votes(*words):
    return [logic.Vote(f"u{n}", word, 0) for n, word in enumerate(words)]


@pytest.mark.parametrize(
    ("given", "quorum", "status"),
    [
        ([], 1, None),
        (votes("approve"), 1, "approved"),
        (votes("approve"), 2, None),
        (votes("approve", "approve"), 2, "approved"),
        (votes("approve", "reject"), 2, "rejected"),
        ([logic.Vote("u", "approve", 0)] * 2, 2, None),
    ],
)
def test_when_it_is_settled(given, quorum, status):
    assert logic.settled(given, quorum) == status


def test_the_hash_is_of_the_plan_and_not_of_its_order():
    assert logic.plan_hash({"a": 1, "b": 2}) == logic.plan_hash({"b": 2, "a": 1}) != logic.plan_hash({"a": 1})
