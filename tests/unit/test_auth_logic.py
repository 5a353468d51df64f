"""Names, passwords and the window of attempts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opsapp.audit.logic import AuditFilter, changed, is_secret, without_secrets
from opsapp.auth.logic import names
from opsapp.auth.logic.attempts import AttemptLimit, Counted, attempt, is_over, remaining

LIMIT = AttemptLimit(5, 60, 300)


@pytest.mark.parametrize("name", ["a", "0", "ada", "a.b_c@d-e", "x" * 64])
def test_good_usernames(name):
    assert names.username_problem(name) is None


@pytest.mark.parametrize("name", ["", "A", "-a", ".a", "a b", "a/b", "x" * 65, "ä", "a\n", "a\0"])
def test_bad_usernames(name):
    assert names.username_problem(name)


@pytest.mark.parametrize(
    ("password", "fine"),
    [
        ("correct horse battery", True),
        ("x" * 9 + "y", True),
        ("short-one", False),
        ("y" * 257, False),
        ("y" * 256, True),
        ("grace.hopper", False),
        ("Grace.Hopper", False),
        ("password123", False),
        ("PASSWORD123", False),
        ("qwertyuiop", False),
        ("1234567890", False),
    ],
)
def test_passwords(password, fine):
    assert (names.password_problem(password, "grace.hopper") is None) == fine


def test_common_passwords_are_such_that_could_be_chosen():
    common = names.common_passwords().split("\n")
    assert not common[0]
    assert not common[-1]
    listed = [each for each in common if each]
    assert len(listed) > 5000
    assert all(len(each) >= names.SHORTEST and each == each.casefold() for each in listed)
    assert {names.password_problem(each, "ada") for each in (listed[0], listed[-1], listed[9].upper())} == {
        "is one of the most common passwords"
    }
    assert names.password_problem(f"{listed[0]}\n{listed[1]}", "ada") is None
    assert names.password_problem(listed[0][:-1] + "\u20ac", "ada") is None


def test_one_password_in_two_forms_is_one():
    assert names.normal("pa\u0308ssword") == names.normal("p\u00e4ssword")


def run(times, limit=LIMIT):
    counted = Counted()
    locks = []
    for now in times:
        counted = attempt(counted, limit, now)
        locks.append(remaining(counted, now))
    return locks


@pytest.mark.parametrize(
    ("times", "locks"),
    [
        ([0, 1, 2, 3, 4], [0] * 5),
        ([0, 1, 2, 3, 4, 5], [0] * 5 + [300]),
        ([0, 1, 2, 3, 4, 60], [0] * 6),
        ([0, 0, 0, 0, 0, 59.9], [0] * 5 + [300]),
        ([0, 0, 0, 0, 0, 0, 299.5, 300, 300, 300, 300, 300, 300], [0] * 5 + [300, 1] + [0] * 5 + [300]),
    ],
)
def test_the_sixth_within_a_minute_locks_for_five_and_tries_do_not_lengthen_it(times, locks):
    assert run(times) == locks


@given(st.lists(st.floats(0, 200), min_size=1, max_size=60))
def test_never_more_than_the_limit_in_any_window(gaps):
    now, let_through, counted = 0.0, [], Counted()
    for gap in gaps:
        now += gap
        counted = attempt(counted, LIMIT, now)
        if not remaining(counted, now):
            let_through.append(now)
    assert all(sum(1 for at in let_through if start <= at < start + 60) <= 5 for start in let_through)


def test_a_counter_is_over_when_nothing_of_it_matters():
    assert is_over(Counted((1.0,)), LIMIT, 61)
    assert not is_over(Counted((1.0,)), LIMIT, 60.9)
    assert not is_over(Counted((), 301), LIMIT, 300)
    assert is_over(Counted((), 301), LIMIT, 301)


@pytest.mark.parametrize(
    "name", ["password", "new_password", "token", "webhook_token", "Key", "agent_key", "client_secret", "code",
             "recovery_codes", "password_hash", "qr_svg", "api_keys"]
)  # fmt: skip
def test_names_of_secrets(name):
    assert is_secret(name)


@pytest.mark.parametrize("name", ["username", "keyword", "correlation_key", "exit_code", "tokens_used", "monkey"])
def test_names_of_no_secrets(name):
    assert not is_secret(name)


def test_secrets_are_taken_out_however_deep():
    value = {"name": "n", "params": [{"token": "t", "url": "u"}, ("a",)], "text": "x" * 3000}
    clean = without_secrets(value)
    assert clean["params"] == [{"url": "u"}, ["a"]]
    assert len(clean["text"]) == 2001


def test_what_changed():
    assert changed({"a": 1, "b": 2}, {"a": 1, "b": 3, "c": 4}) == ({"b": 2, "c": None}, {"b": 3, "c": 4})


@pytest.mark.parametrize(
    ("wanted", "fits"),
    [
        ({}, True),
        ({"action": "user"}, True),
        ({"action": "user.create"}, True),
        ({"action": "user.cre"}, False),
        ({"user": "ada", "target": "x"}, True),
        ({"user": "otto"}, False),
        ({"target": "y"}, False),
    ],
)
def test_entries_asked_for(wanted, fits):
    assert AuditFilter(**wanted).matches({"action": "user.create", "username": "ada", "target": "x"}) == fits
