"""Users, their passwords and sessions, as the API shows them."""

import sys

import pytest

from opsapp.auth import engine, resources
from tests.support.app import PASSWORD

NEW = {"username": "grace", "role": "operator", "password": "a sound password"}


@pytest.fixture
def grace(service):
    service.ada.post_json("/api/users", NEW, status=201)
    return login(service, "grace", NEW["password"])


def login(service, username, password, status=200):
    service.node.transact(lambda root: root.system["attempts"].clear())
    return service.anonymous.post_json("/api/login", {"username": username, "password": password}, status=status).json


def bearer(answer):
    return {"Authorization": "Bearer " + answer["token"]}


def test_a_user_is_made_shown_changed_and_removed(service):
    made = service.ada.post_json("/api/users", NEW, status=201).json
    assert made == {
        "username": "grace", "role": "operator", "disabled": False, "totp_enabled": False, "source": "local",
        "created_at": int(service.clock.now()), "last_login": None,
    }  # fmt: skip
    assert service.ada.get("/api/users/grace").json == made
    listed = service.ada.get("/api/users")
    assert [user["username"] for user in listed.json] == ["ada", "admin", "grace"]
    assert listed.headers["X-Total-Count"] == "3"
    assert [user["username"] for user in service.ada.get("/api/users?limit=1&offset=1").json] == ["admin"]
    changed = service.ada.put_json("/api/users/grace", made | {"role": "viewer"}).json
    assert changed["role"] == "viewer"
    assert service.ada.delete("/api/users/grace").json == {"status": "ok"}
    service.ada.get("/api/users/grace", status=404)
    service.ada.delete("/api/users/grace", status=404)
    login(service, "grace", NEW["password"], status=401)


@pytest.mark.parametrize(
    ("path", "body", "wrong"),
    [
        ("/api/users", {"username": "gracehopper", "role": "root", "password": "gracehopper"}, {"role", "password"}),
        ("/api/users", {"username": "No", "role": "root", "password": "password123"}, {"username", "role", "password"}),
        ("/api/keys", {"name": "", "role": "viewer", "expires_at": 5}, {"name", "expires_at"}),
    ],
)
def test_everything_wrong_is_named_at_once(service, path, body, wrong):
    assert service.ada.post_json(path, body, status=422).json["fields"].keys() == wrong


def test_a_change_names_everything_wrong_at_once(service, grace):
    body = {"role": "root", "password": "password123", "disabled": None}
    assert service.ada.put_json("/api/users/grace", body, status=422).json["fields"].keys() == {"role", "password"}


def test_a_name_is_taken_once(service, grace):
    assert service.ada.post_json("/api/users", NEW, status=409).json["code"] == "user_exists"


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"username": "Grace"}, "username"),
        ({"username": "x" * 65}, "username"),
        ({"role": "root"}, "role"),
        ({"password": "too short"}, "password"),
        ({"password": "p" * 257}, "password"),
        ({"password": "password123"}, "password"),
        ({"username": "gracehopper", "password": "gracehopper"}, "password"),
        ({"password": None}, "password"),
        ({"created_at": 1}, "created_at"),
        ({"disabled": "yes"}, "disabled"),
    ],
)
@pytest.mark.shared
def test_what_a_new_user_may_not_have(service, change, field):
    answer = service.ada.post_json("/api/users", NEW | change, status=422)
    assert set(answer.json["fields"]) == {field}


@pytest.mark.parametrize("body", [{"password": "grace"}, {"password": "password123"}, {"role": "x"}, {"unknown": 1}])
def test_what_a_change_may_not_set(service, grace, body):
    assert set(service.ada.put_json("/api/users/grace", body, status=422).json["fields"]) == set(body)
    service.anonymous.get("/api/me", headers=bearer(grace))


@pytest.mark.parametrize("body", [{"role": "viewer"}, {"disabled": True}, {"password": "another password"}])
def test_a_change_ends_the_sessions_at_once(service, grace, body):
    service.anonymous.get("/api/me", headers=bearer(grace))
    service.ada.put_json("/api/users/grace", body)
    service.anonymous.get("/api/me", headers=bearer(grace), status=401)


def test_a_change_of_nothing_ends_nothing(service, grace):
    service.ada.put_json("/api/users/grace", {"role": "operator", "disabled": False})
    service.anonymous.get("/api/me", headers=bearer(grace))


def test_deleting_ends_the_sessions_and_a_new_user_of_that_name_has_none(service, grace):
    service.ada.delete("/api/users/grace")
    service.ada.post_json("/api/users", NEW, status=201)
    service.anonymous.get("/api/me", headers=bearer(grace), status=401)


def test_a_disabled_user_does_not_come_in(service, grace):
    service.ada.put_json("/api/users/grace", {"disabled": True})
    refused = login(service, "grace", NEW["password"], status=401)
    assert refused == login(service, "nobody", NEW["password"], status=401)
    service.ada.put_json("/api/users/grace", {"disabled": False})
    login(service, "grace", NEW["password"])


def test_last_login_is_shown(service, grace):
    assert service.ada.get("/api/users/grace").json["last_login"] == int(service.clock.now())


@pytest.mark.parametrize("change", [{"role": "operator"}, {"disabled": True}, None])
def test_the_last_enabled_admin_stays(service, change):
    service.ada.put_json("/api/users/admin", {"disabled": True})
    call = (
        service.ada.delete if change is None else lambda path, status: service.ada.put_json(path, change, status=status)
    )
    assert call("/api/users/ada", status=409).json["code"] == "last_admin"
    service.ada.put_json("/api/users/admin", {"disabled": False})
    call("/api/users/ada", status=200)


def test_own_password(service, grace):
    other = login(service, "grace", NEW["password"])
    body = {"current": NEW["password"], "new": "a wholly new password"}
    put = service.anonymous.put_json
    wrong = put("/api/me/password", body | {"current": "wrong"}, headers=bearer(grace), status=422)
    assert set(wrong.json["fields"]) == {"current"}
    for bad in ("short", "password123", "x" * 257):
        refused = put("/api/me/password", body | {"new": bad}, headers=bearer(grace), status=422)
        assert set(refused.json["fields"]) == {"new"}
    assert put("/api/me/password", body, headers=bearer(grace)).json == {"status": "ok"}
    service.anonymous.get("/api/me", headers=bearer(grace))
    service.anonymous.get("/api/me", headers=bearer(other), status=401)
    login(service, "grace", NEW["password"], status=401)
    login(service, "grace", "a wholly new password")


def test_guessing_the_present_password_from_a_stolen_session_is_limited(service, grace):
    body = {"current": "wrong", "new": "a wholly new password"}
    statuses = [
        service.anonymous.put_json("/api/me/password", body, headers=bearer(grace), expect_errors=True).status_int
        for _ in range(11)
    ]
    assert statuses == [422] * 10 + [429]


def test_own_sessions_are_listed_and_ended(service, grace):
    service.clock.advance(1)
    other = login(service, "grace", NEW["password"])
    listed = service.anonymous.get("/api/me/sessions", headers=bearer(grace))
    assert [session["current"] for session in listed.json] == [True, False]
    assert listed.headers["X-Total-Count"] == "2"
    assert listed.json[1]["expires_at"] - listed.json[1]["created_at"] == 86400
    assert "token" not in listed.text
    place = "/api/me/sessions/" + listed.json[1]["id"]
    service.vera.delete(place, status=404)
    assert service.anonymous.delete(place, headers=bearer(grace)).json == {"status": "ok"}
    service.anonymous.get("/api/me", headers=bearer(other), status=401)
    service.anonymous.delete(place, headers=bearer(grace), status=404)


def test_the_purge_forgets_sessions_and_counters(service, grace):
    service.clock.advance(86400)
    login(service, "grace", "wrong", status=401)
    assert engine.purge.purge(service.node) is False
    assert service.read(lambda root: (len(root.system["sessions"]), len(root.system["session_ends"]))) == (0, 0)
    assert service.read(lambda root: len(root.system["attempts"])) == 2
    service.clock.advance(60)
    engine.purge.purge(service.node)
    assert service.read(lambda root: len(root.system["attempts"])) == 0


def test_the_command_lines_operations(service):
    node = service.node
    engine.add_user(node, "grace", "viewer", "a sound password")
    engine.set_password(node, "grace", "another sound password")
    login(service, "grace", "another sound password")
    engine.disable_user(node, "grace")
    shown = {user.username: user for user in engine.list_users(node)}
    assert shown["grace"].disabled
    engine.remove_user(node, "grace")
    assert "grace" not in {user.username for user in engine.list_users(node)}


def test_the_first_admin_has_the_password_of_the_environment_and_is_made_once(service):
    login(service, "admin", "first admin password")
    engine.make_first_admin(service.node)
    assert service.read(lambda root: list(resources.users_of(root))) == ["admin"]


def first_start(tmp_path, monkeypatch, **settings):
    from tests.support.app import Service

    monkeypatch.delenv("OPSAPP_ADMIN_PASSWORD", raising=False)
    return Service(tmp_path, **settings)


@pytest.mark.parametrize("terminal", [True, False])
def test_a_first_admin_without_a_password_gets_a_random_one_in_a_private_file(
    tmp_path, monkeypatch, capsys, caplog, terminal
):
    """Standard output that is no terminal is a log: it names the file."""
    monkeypatch.setattr(sys.stdout, "isatty", lambda: terminal)
    service = first_start(tmp_path, monkeypatch, **{"opsapp.data": str(tmp_path)})
    try:
        kept = tmp_path / "admin-password"
        assert kept.stat().st_mode & 0o777 == 0o600
        password = kept.read_text().strip()
        assert (password in capsys.readouterr().out) == terminal
        assert str(kept) in caplog.text
        assert password not in caplog.text
        assert login(service, "admin", password)["role"] == "admin"
    finally:
        service.close()


def test_no_admin_is_made_whose_password_nobody_could_learn(tmp_path, monkeypatch, caplog):
    service = first_start(tmp_path, monkeypatch)
    try:
        assert service.read(lambda root: list(resources.users_of(root))) == []
        assert "OPSAPP_ADMIN_PASSWORD" in caplog.text
    finally:
        service.close()


def test_no_password_is_stored_as_it_is(service, grace, tmp_path):
    stored = (tmp_path / "main.fs").read_bytes()
    assert NEW["password"].encode() not in stored
    assert grace["token"].encode() not in stored
    assert PASSWORD.encode() not in stored
    assert b"$argon2id$" in stored


def test_everybody_says_how_pages_should_be(service, grace):
    path = "/api/me/settings"
    own = service.anonymous.get(path, headers=bearer(grace)).json
    assert own == {
        "timezone": None, "theme": "system", "first_steps": "open",
        "source": "local", "totp_enabled": False, "own_password": False, "service_timezone": "UTC",
    }  # fmt: skip
    said = {"timezone": "Europe/Berlin", "theme": "dark"}
    assert service.anonymous.put_json(path, said, headers=bearer(grace)).json == own | said
    service.anonymous.put_json(path, own | said | {"first_steps": "later"}, headers=bearer(grace))
    assert service.anonymous.get(path, headers=bearer(grace)).json == own | said | {"first_steps": "later"}
    wrong = {"timezone": "Nowhere/Land", "theme": "pink"}
    answer = service.anonymous.put_json(path, wrong, headers=bearer(grace), status=422)
    assert answer.json["fields"].keys() == wrong.keys()


def test_a_password_is_ones_own_when_one_has_chosen_it(service, grace):
    def is_own(answer):
        return service.anonymous.get("/api/me/settings", headers=bearer(answer)).json["own_password"]

    body = {"current": NEW["password"], "new": "a password of my own"}
    service.anonymous.put_json("/api/me/password", body, headers=bearer(grace))
    assert is_own(grace)
    service.ada.put_json("/api/users/grace", {"password": "what an admin says"})
    assert not is_own(login(service, "grace", "what an admin says"))
