"""The second factor: set-up, the second step, recovery codes, replay, limits."""

import re

import pyotp
import pytest

from opsapp.auth import engine
from opsapp.auth.config import LoginSettings
from opsapp.runtime.secrets import sealedstore, seals

LOGIN = {"username": "grace", "password": "a sound password"}


@pytest.fixture
def grace(service):
    """grace with a second factor: her secret, recovery codes and session."""
    service.configure(LoginSettings, attempts_per_ip=100)
    engine.add_user(service.node, "grace", "operator", LOGIN["password"])
    token = service.anonymous.post_json("/api/login", LOGIN).json["token"]
    return Grace(service, token)


class Grace:
    def __init__(self, service, token):
        self.service = service
        self.headers = {"Authorization": "Bearer " + token}
        self.begun = service.anonymous.post("/api/me/totp", headers=self.headers).json
        self.secret = self.begun["secret"]
        self.confirmed = self.confirm(self.code()).json

    def code(self, steps=0):
        return pyotp.TOTP(self.secret).at(int(self.service.clock.now()) + 30 * steps)

    def confirm(self, code, **more):
        return self.service.anonymous.post_json("/api/me/totp/confirm", {"code": code}, headers=self.headers, **more)

    def first_step(self):
        answer = self.service.anonymous.post_json("/api/login", LOGIN).json
        assert set(answer) == {"totp_required", "partial_token"}
        assert answer["totp_required"] is True
        return answer["partial_token"]

    def second_step(self, partial, code, status=200):
        body = {"partial_token": partial, "code": code}
        return self.service.anonymous.post_json("/api/login/totp", body, status=status)


def test_set_up(grace, service):
    assert re.fullmatch("[A-Z2-7]{32}", grace.secret)
    assert grace.begun["otpauth_uri"].startswith("otpauth://totp/opsapp:grace?secret=" + grace.secret)
    assert grace.begun["qr_svg"].startswith("<svg")
    assert len(set(grace.confirmed["recovery_codes"])) == 10
    assert all(re.fullmatch("([a-z2-7]{4}-){5}[a-z2-7]{4}", code) for code in grace.confirmed["recovery_codes"])
    assert service.ada.get("/api/users/grace").json["totp_enabled"] is True
    service.anonymous.post("/api/me/totp", headers=grace.headers, status=409)
    grace.confirm("123456", status=409)


def test_the_second_step_gives_the_session(grace, service):
    service.clock.advance(30)
    partial = grace.first_step()
    assert re.fullmatch("[0-9a-f]{64}", partial)
    answer = grace.second_step(partial, grace.code()).json
    assert (answer["username"], answer["role"]) == ("grace", "operator")
    service.anonymous.get("/api/me", headers={"Authorization": "Bearer " + answer["token"]})
    grace.second_step(partial, grace.code(1), status=401)


def test_a_partial_token_is_good_for_nothing_else(grace, service):
    partial = grace.first_step()
    service.anonymous.get("/api/me", headers={"Authorization": "Bearer " + partial}, status=401)
    service.anonymous.get("/api/me?token=" + partial, status=401)


@pytest.mark.parametrize(("steps", "status"), [(-2, 401), (-1, 200), (0, 200), (1, 200), (2, 401)])
def test_one_step_of_skew_either_way(grace, service, steps, status):
    service.clock.advance(90)
    grace.second_step(grace.first_step(), grace.code(steps), status=status)


def test_a_code_is_accepted_once(grace, service):
    grace.second_step(grace.first_step(), grace.code(), status=401)  # it confirmed the set-up
    service.clock.advance(60)
    code = grace.code()
    grace.second_step(grace.first_step(), code)
    grace.second_step(grace.first_step(), code, status=401)
    grace.second_step(grace.first_step(), grace.code(-1), status=401)
    grace.second_step(grace.first_step(), grace.code(1))


@pytest.mark.parametrize("code", ["000000", "abcdef", "1", "１２３４５６", "x" * 64])
def test_wrong_codes_are_401(grace, service, code):
    service.clock.advance(60)
    assert grace.second_step(grace.first_step(), code, status=401).json["code"] == "wrong_code"


def test_a_partial_token_is_dead_after_five_wrong_codes(grace, service):
    service.clock.advance(60)
    partial = grace.first_step()
    for _ in range(5):
        grace.second_step(partial, "000000", status=401)
    grace.second_step(partial, grace.code(), status=401)
    grace.second_step(grace.first_step(), grace.code())


def test_a_partial_token_lives_five_minutes(grace, service):
    early, late = grace.first_step(), grace.first_step()
    service.clock.advance(299)
    grace.second_step(early, grace.code())
    service.clock.advance(1)
    grace.second_step(late, grace.code(1), status=401)
    engine.purge.purge(service.node)
    assert service.read(lambda root: len(root.system["partials"])) == 0


def test_wrong_codes_count_as_attempts_of_the_address(grace, service):
    service.clock.advance(600)
    service.configure(LoginSettings, attempts_per_ip=5)
    partial = grace.first_step()
    statuses = [
        service.anonymous.post_json(
            "/api/login/totp", {"partial_token": partial, "code": "000000"}, expect_errors=True
        ).status_int
        for _ in range(5)
    ]
    assert statuses == [401] * 4 + [429]
    assert "Retry-After" in grace.second_step(partial, grace.code(), status=429).headers
    service.anonymous.post_json("/api/login", LOGIN, status=429)


def test_wrong_codes_count_as_attempts_of_the_user(grace, service):
    service.clock.advance(600)
    for n in range(2):
        partial = grace.first_step()
        for _ in range(4):
            grace.second_step(partial, "000000", status=401)
        assert n < 2
    grace.second_step(partial, "000000", status=429)


def test_a_recovery_code_works_once(grace, service):
    code = grace.confirmed["recovery_codes"][3]
    grace.second_step(grace.first_step(), code.upper().replace("-", " "))
    grace.second_step(grace.first_step(), code, status=401)
    grace.second_step(grace.first_step(), grace.confirmed["recovery_codes"][4])


def test_a_new_password_kills_partial_tokens(grace, service):
    partial = grace.first_step()
    service.clock.advance(60)
    service.ada.put_json("/api/users/grace", {"password": "another password"})
    grace.second_step(partial, grace.code(), status=401)


def test_a_wrong_code_does_not_confirm(service):
    engine.add_user(service.node, "grace", "operator", LOGIN["password"])
    headers = {"Authorization": "Bearer " + service.anonymous.post_json("/api/login", LOGIN).json["token"]}
    confirm = lambda code, status: service.anonymous.post_json(  # noqa: E731
        "/api/me/totp/confirm", {"code": code}, headers=headers, status=status
    )
    confirm("123456", 409)
    service.anonymous.post("/api/me/totp", headers=headers)
    assert confirm("000000", 422).json["fields"] == {"code": "is wrong or too old: type what the app shows now"}
    for _ in range(8):
        confirm("000000", 422)
    confirm("000000", 429)
    assert service.anonymous.post_json("/api/login", LOGIN).json["token"]


def test_turning_it_off_takes_the_password(grace, service):
    url = "/api/me/totp"
    assert service.anonymous.delete_json(url, {"password": "wrong"}, headers=grace.headers, status=422).json["fields"]
    body = {"password": LOGIN["password"]}
    assert service.anonymous.delete_json(url, body, headers=grace.headers).json == {"status": "ok"}
    service.anonymous.delete_json(url, body, headers=grace.headers, status=409)
    assert "token" in service.anonymous.post_json("/api/login", LOGIN).json


def test_an_admin_resets_it(grace, service):
    service.otto.delete("/api/users/grace/totp", status=403)
    service.ada.delete("/api/users/grace/totp")
    service.anonymous.get("/api/me", headers=grace.headers, status=401)
    assert "token" in service.anonymous.post_json("/api/login", LOGIN).json
    service.ada.delete("/api/users/grace/totp", status=409)


def test_the_audit_tells_of_it_without_secrets(grace, service):
    service.clock.advance(60)
    grace.second_step(grace.first_step(), "000000", status=401)
    text = service.ada.get("/api/audit").text
    assert "totp.enable" in text
    assert "login.totp" in text
    assert grace.secret not in text
    assert grace.confirmed["recovery_codes"][0] not in text


def test_the_secret_is_sealed_and_survives_a_new_key(grace, service, tmp_path):
    assert grace.secret.encode() not in (tmp_path / "main.fs").read_bytes()
    key_file = tmp_path / "secret.key"
    assert key_file.stat().st_mode & 0o777 == 0o600
    before = key_file.read_text()
    assert sealedstore.rekey(service.node) == 2  # and the key of the store's chains
    assert key_file.read_text() != before
    assert len(key_file.read_text().splitlines()) == 1
    service.clock.advance(60)
    grace.second_step(grace.first_step(), grace.code())
    service.node.registry[seals.REGISTRY_KEY] = seals.Seal(before.split())
    service.clock.advance(60)
    assert grace.second_step(grace.first_step(), grace.code(), status=503).json["code"] == "no_master_key"
