"""What must hold when many ask at once: threads over the real application, invariants afterwards."""

import pyotp

from opsapp.audit.engine import SHELL
from opsapp.auth import engine, resources
from opsapp.auth.config import LoginSettings
from opsapp.auth.engine import secondfactor
from opsapp.auth.records import LoggedIn, UserShown
from tests.support.together import at_once

THREADS = 20


def test_no_more_attempts_than_the_limit_go_through(service):
    client = engine.signin.Client("203.0.113.9", "race")
    codes = at_once([lambda: engine.sign_in(service.node, "admin", "wrong", client)] * THREADS)
    assert sorted(codes) == ["bad_credentials"] * 5 + ["too_many_attempts"] * (THREADS - 5)


def test_from_many_addresses_no_more_than_the_limit_of_one_user(service):
    def call(n):
        return lambda: engine.sign_in(service.node, "admin", "wrong", engine.signin.Client(f"203.0.113.{n}", "race"))

    codes = at_once([call(n) for n in range(THREADS)])
    assert sorted(codes) == ["bad_credentials"] * 10 + ["too_many_attempts"] * (THREADS - 10)


def test_an_admin_is_always_left(service):
    names = ["admin", *(f"admin{n}" for n in range(7))]
    for name in names[1:]:
        engine.add_user(service.node, name, "admin", "a sound password")
    takers = [
        (lambda name=name: engine.remove_user(service.node, name))
        if n % 2
        else (lambda name=name: engine.disable_user(service.node, name))
        for n, name in enumerate(names)
    ]
    codes = at_once(takers)
    left = [user for user in engine.list_users(service.node) if user.role == "admin" and not user.disabled]
    assert len(left) == 1
    assert codes.count("last_admin") == 1


def test_a_user_who_is_removed_while_signing_in_has_no_session(service):
    client = engine.signin.Client("203.0.113.9", "race")
    for _ in range(5):
        engine.add_user(service.node, "grace", "viewer", "a sound password")
        at_once(
            [
                lambda: engine.sign_in(service.node, "grace", "a sound password", client),
                lambda: engine.remove_user(service.node, "grace"),
            ]
        )
        service.transact(lambda root: root.system["attempts"].clear())
        assert service.read(lambda root: len(root.system["sessions"])) == 0


def test_a_name_is_given_once(service):
    codes = at_once([lambda: engine.add_user(service.node, "grace", "viewer", "a sound password")] * 8)
    assert sum(isinstance(code, UserShown) for code in codes) == 1
    assert codes.count("user_exists") == 7
    assert service.read(lambda root: sorted(resources.users_of(root))) == ["admin", "grace"]


def test_a_recovery_code_and_a_partial_token_are_used_once(service):
    service.configure(LoginSettings, attempts_per_ip=1000)
    service.configure(LoginSettings, attempts_per_user=1000)
    client = engine.signin.Client("203.0.113.9", "race")
    engine.add_user(service.node, "grace", "viewer", "a sound password")
    begun = secondfactor.begin(service.node, "grace")
    code = pyotp.TOTP(begun.secret).at(int(service.clock.now()))
    recovery = secondfactor.confirm(service.node, "grace", code, SHELL).recovery_codes[0]
    partials = [engine.sign_in(service.node, "grace", "a sound password", client).partial_token for _ in range(THREADS)]
    answers = at_once([lambda p=p: engine.second_step(service.node, p, recovery, client) for p in partials])
    assert sum(isinstance(answer, LoggedIn) for answer in answers) == 1
    assert answers.count("wrong_code") == THREADS - 1
    service.clock.advance(60)
    partial = engine.sign_in(service.node, "grace", "a sound password", client).partial_token
    codes = [pyotp.TOTP(begun.secret).at(int(service.clock.now()))] + ["000000"] * 4
    answers = at_once([lambda c=c: engine.second_step(service.node, partial, c, client) for c in codes * 2])
    assert sum(isinstance(answer, LoggedIn) for answer in answers) <= 1
