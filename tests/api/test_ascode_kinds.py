"""Each kind that a document can have beside monitors and rules, and who may change what is guarded."""

import pytest

from opsapp.auth.engine import add_user
from opsapp.auth.resources import keys
from tests.api.test_ascode import apply, told

PASSWORD = "a sound password"
LAYER = {"users": ["otto", "grace"], "start": "2055-01-11"}
DOCUMENT = {
    "users": [{"username": "grace", "role": "operator"}],
    "schedules": [{"name": "Operations", "zone": "Europe/Berlin", "layers": [LAYER]}],
    "overrides": [
        {"schedule": "Operations", "user": "ada", "start": "2055-01-15T09:00:00", "end": "2055-01-15T18:00:00"}
    ],
    "policies": [{"name": "Standard", "steps": [{"schedules": ["Operations"], "users": ["ada"]}]}],
    "inlets": [{"name": "Alertmanager", "mapping": {"host": "node"}}],
    "notices": [{"title": "The phones move on Sunday"}],
    "monitors": [{"name": "Shop", "type": "http", "url": "https://shop.test/"}],
    "dependencies": [{"target": "Shop", "depends_on": ["Base"]}, {"target": "Base"}],
    "secrets": [{"name": "token", "value": "hush-hush", "allowed_for": ["call"]}],
    "automations": [{"name": "call", "type": "script", "params": {"script": 'echo "{{secret:token}}"'}}],
}


@pytest.fixture
def people(service):
    """Whom the document names."""
    return [service.vera, service.otto, service.ada]


@pytest.fixture
def applied(service, people):
    return apply(service, DOCUMENT)


def changed(answer, kind):
    return [change for change in answer["changes"] if change["kind"] == kind]


def test_a_document_of_every_kind_comes_true_whatever_names_what(service, applied):
    assert {change["change"] for change in applied["changes"]} == {"create"}
    assert apply(service, DOCUMENT)["changes"] == []
    ada = service.ada
    assert [row["username"] for row in ada.get("/api/invitations").json] == ["grace"]
    [schedule] = ada.get("/api/oncall/schedules").json
    [policy] = ada.get("/api/oncall/policies").json
    assert policy["steps"][0]["schedules"] == [schedule["id"]]
    assert ada.get("/api/healing/inlets").json[0]["mapping"] == {"host": "node", "monitor": "monitor"}
    assert [notice["title"] for notice in ada.get("/api/monitoring/notices").json] == ["The phones move on Sunday"]
    assert ada.get("/api/healing/dependencies").json["edges"] == [{"from": "Shop", "to": "Base"}]
    [automation], [secret] = ada.get("/api/automations").json, ada.get("/api/secrets").json
    assert secret["allowed_for"] == [automation["id"]]


TURN = DOCUMENT["overrides"][0]


def test_an_override_is_found_by_who_and_when_and_may_end_at_another_time(service, applied):
    [before] = service.ada.get("/api/oncall/schedules").json[0]["overrides"]
    [change] = apply(service, {"overrides": [TURN | {"end": "2055-01-15T21:00:00"}]})["changes"]
    assert (change["change"], change["before"]) == ("update", {"end": "2055-01-15T18:00:00"})
    [after] = service.ada.get("/api/oncall/schedules").json[0]["overrides"]
    assert after == before | {"end": before["end"] + 3 * 3600}
    apply(service, {"overrides": [TURN | {"user": "otto"}]})
    assert [row["user"] for row in service.ada.get("/api/oncall/schedules").json[0]["overrides"]] == ["ada", "otto"]
    assert len(service.ada.get("/api/export").json["overrides"]) == 2


def test_an_override_that_is_over_is_in_no_export_and_is_not_made_again(service, applied):
    service.clock.advance(12 * 3600)
    assert service.ada.get("/api/export").json["overrides"] == []
    again = apply(service, {"overrides": [TURN]})
    assert (again["changes"], again["waiting"][0]["why"]) == ([], "was over at 2055-01-15T18:00:00")


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"schedule": "Nobody's"}, "schedule"),
        ({"user": "stranger"}, "user"),
        ({"end": "2055-01-15T09:00:00"}, "end"),
        ({"start": "2055-01-15 09:00"}, "start"),
        ({"end": "2055-02-30T18:00:00"}, "end"),
    ],
)
def test_a_wrong_override_is_told_by_its_place(service, applied, wrong, field):
    answer = service.ada.post_json("/api/apply", {"document": {"overrides": [TURN | wrong]}}, status=422)
    assert f"overrides.0.{field}" in answer.json["fields"]


def test_what_is_applied_exported_and_applied_stays_as_it_is(service, applied):
    exported = service.ada.get("/api/export")
    assert "hush" not in exported.text
    again = apply(service, exported.json)
    assert (again["changes"], again["waiting"]) == ([], [])
    assert service.ada.get("/api/export").json == exported.json
    assert exported.json["policies"][0]["steps"][0]["schedules"] == ["Operations"]
    assert exported.json["secrets"] == [{"name": "token", "value": "***", "allowed_for": ["call"]}]
    assert "token" not in exported.json["inlets"][0]


def test_only_pruning_takes_away_and_says_what(service, applied):
    emptied = {
        kind: [] for kind in ("policies", "overrides", "schedules", "inlets", "notices", "dependencies", "automations")
    }
    assert apply(service, emptied)["changes"] == []
    gone = apply(service, emptied, dry_run=True, prune=True)["changes"]
    assert {(change["kind"], change["key"]) for change in gone} == {
        ("policies", "Standard"), ("schedules", "Operations"),
        ("overrides", "Operations/ada/2055-01-15T09:00:00"), ("inlets", "Alertmanager"),
        ("notices", "The phones move on Sunday"), ("dependencies", "Shop"), ("dependencies", "Base"),
        ("automations", "call"),
    }  # fmt: skip
    assert service.ada.get("/api/oncall/policies").json != []
    apply(service, emptied, prune=True)
    document = service.ada.get("/api/export").json
    assert [kind for kind in emptied if document[kind]] == []


# ---- users and keys


def test_who_is_not_there_is_invited_and_the_link_is_shown_once(service, applied):
    [change] = changed(applied, "users")
    link = change["once"]["url"]
    assert link.startswith("/invitation/")
    assert service.anonymous.get(link, headers={"Accept": "text/html"}).status_int == 200
    assert link not in service.ada.get("/api/audit").text
    assert link not in str(apply(service, DOCUMENT))
    assert "password" not in str(service.ada.get("/api/export").json["users"])


def test_no_document_sets_a_password(service, people):
    fields = apply(service, {"users": [{"username": "grace", "password": PASSWORD}]}, 422)["fields"]
    assert fields == {"users.0.password": "is not known here"}


def test_the_role_of_a_user_changes_and_ends_the_sessions(service, people):
    apply(service, {"users": [{"username": "otto", "role": "viewer"}]})
    service.otto.get("/api/me", status=401)
    assert service.ada.get("/api/users/otto").json["role"] == "viewer"


def test_nobody_deletes_themselves_and_the_last_admin_stays(service, people):
    told_why = apply(service, {"users": []}, 409, prune=True)
    assert told_why["code"] == "own_user"
    assert len(service.ada.get("/api/users").json) > 2


def test_users_of_a_provider_and_disabled_ones_are_waited_for(service, people):
    document = {"users": [{"username": "pat", "source": "oidc"}, {"username": "lee", "disabled": True}]}
    answer = apply(service, document)
    assert answer["changes"] == []
    assert [(row["kind"], row["key"]) for row in answer["waiting"]] == [("users", "pat"), ("users", "lee")]


def test_a_document_names_keys_and_ends_them_but_makes_none(service, people):
    service.vera.post_json("/api/keys", {"name": "ci", "role": "viewer"})
    key = {"user": "vera", "name": "ci", "role": "viewer"}
    assert apply(service, {"keys": [key]})["unchanged"] == 1
    answer = apply(service, {"keys": [key, {**key, "user": "ada", "role": "admin"}]})
    assert (answer["changes"], answer["waiting"][0]["key"]) == ([], "ada/ci")
    assert "keys.0.user" in apply(service, {"keys": [{**key, "role": "admin"}]}, 422)["fields"]
    assert told(apply(service, {"keys": []}, prune=True)) == [("keys", "delete", "vera/ci")]
    assert service.vera.get("/api/keys").json == []


# ---- who may change what is guarded


GUARDED = [
    {"users": [{"username": "otto", "role": "admin"}]},
    {"users": [{"username": "grace", "role": "admin"}]},
    {"secrets": [{"name": "new", "value": "v"}]},
    {"monitors": [{"name": "w", "type": "http", "url": "https://u:{{secret:token}}@w.test/"}]},
]


@pytest.fixture
def key(service, applied):
    """Of an admin."""

    def make(root):
        return keys.make_key(root, "ada", "ci", "admin", None, service.clock.now())[1]

    token = service.transact(make)

    def ask(document, status, **more):
        headers = {"Authorization": f"Bearer {token}"}
        body = {"document": document, **more}
        return service.anonymous.post_json("/api/apply", body, headers=headers, status=status).json

    return ask


@pytest.mark.parametrize("document", GUARDED)
@pytest.mark.parametrize("dry_run", [True, False])
@pytest.mark.attack
def test_a_key_changes_nothing_that_is_guarded(service, key, document, dry_run):
    before = service.ada.get("/api/export").json
    assert key(document, 403, dry_run=dry_run)["code"] == "session_required"
    assert service.ada.get("/api/export").json == before


@pytest.mark.attack
def test_a_key_prunes_nothing_that_is_guarded(key):
    assert key({"secrets": []}, 403, prune=True)["code"] == "session_required"
    assert key({"keys": []}, 403, prune=True)["code"] == "session_required"


def test_a_key_applies_a_document_whose_guarded_things_are_as_they_are(key):
    more = {**DOCUMENT, "notices": [*DOCUMENT["notices"], {"title": "Another"}]}
    assert told(key(more, 200)) == [("notices", "create", "Another")]


@pytest.mark.attack
def test_an_old_session_confirms_first(service, applied):
    add_user(service.node, "boss", "admin", PASSWORD)
    login = {"username": "boss", "password": PASSWORD}
    headers = {"Authorization": "Bearer " + service.anonymous.post_json("/api/login", login).json["token"]}
    service.clock.advance(15 * 60 + 1)
    body = {"document": GUARDED[0]}
    assert service.anonymous.post_json("/api/apply", body, headers=headers, status=403).json["code"] == "confirm"
    service.anonymous.post_json("/api/me/confirm", {"password": PASSWORD}, headers=headers)
    service.anonymous.post_json("/api/apply", body, headers=headers)
    assert service.ada.get("/api/users/otto").json["role"] == "admin"


# ---- secrets


def test_an_automation_has_no_secret_that_the_document_does_not_allow(service, people):
    document = {kind: DOCUMENT[kind] for kind in ("automations", "secrets")}
    closed = {**document, "secrets": [{"name": "token", "value": "hush"}]}
    assert "the secret token is not allowed" in apply(service, closed, 422)["fields"]["automations.0.params"]
    apply(service, document)
    [change] = apply(service, {"secrets": [{"name": "token", "allowed_for": []}]})["changes"]
    assert (change["before"], change["after"]) == ({"allowed_for": ["call"]}, {"allowed_for": []})


def test_a_secret_needs_a_value_once_and_keeps_it(service, people):
    assert apply(service, {"secrets": [{"name": "token"}]}, 422)["fields"] == {
        "secrets.0.value": "is required: there is no such secret yet"
    }
    apply(service, {"secrets": [{"name": "token", "value": "first"}]})
    assert apply(service, {"secrets": [{"name": "token"}]})["unchanged"] == 1
    [change] = apply(service, {"secrets": [{"name": "token", "value": "second"}]})["changes"]
    assert (change["before"], change["after"], change["secrets"]) == ({}, {}, True)
    unknown = {"secrets": [{"name": "token", "allowed_for": ["nothing"]}]}
    assert "nothing" in apply(service, unknown, 422)["fields"]["secrets.0.allowed_for"]


# ---- inlets, dependencies, notices


def test_an_inlet_takes_the_token_that_is_given_and_shows_the_one_it_made(service, people):
    [change] = apply(service, {"inlets": [{"name": "one"}]})["changes"]
    event = {"id": "1", "status": "firing", "name": "DiskFull", "target": "elsewhere"}
    service.anonymous.post_json(change["once"]["url"], event)
    given = {"inlets": [{"name": "two", "token": "t" * 40}]}
    answer = apply(service, given)
    assert ("t" * 40 in str(answer), answer["changes"][0]["once"]) == (False, {})
    service.anonymous.post_json("/api/healing/events/" + "t" * 40, event)
    assert apply(service, given)["unchanged"] == 1
    [change] = apply(service, {"inlets": [{"name": "two", "token": "u" * 40}]})["changes"]
    assert (change["change"], change["secrets"]) == ("update", True)
    service.anonymous.post_json("/api/healing/events/" + "t" * 40, event, status=404)
    service.anonymous.post_json("/api/healing/events/" + "u" * 40, event)
    assert "inlets.0.name" in apply(service, {"inlets": [{"name": "three", "token": "u" * 40}]}, 422)["fields"]
    assert "t" * 40 not in service.ada.get("/api/audit").text + service.ada.get("/api/export").text


def test_a_graph_with_a_mistake_is_refused_whole(service, people):
    circle = {"dependencies": [{"target": "a", "depends_on": ["b"]}, {"target": "b", "depends_on": ["a"]}]}
    assert "cycle" in str(apply(service, circle, 422)["fields"])
    lost = {"dependencies": [{"target": "a", "depends_on": ["nowhere"]}]}
    assert apply(service, lost, 422)["fields"] == {"dependencies.0.depends_on": "unknown reference: nowhere"}
    assert service.ada.get("/api/healing/dependencies").json["edges"] == []


def test_a_dependency_that_somebody_confirmed_is_part_of_its_entry(service, applied):
    service.ada.post_json("/api/healing/dependencies/edges", {"target": "Base", "depends_on": "Shop"}, status=409)
    apply(service, {"dependencies": [{"target": "Disk"}]})
    service.ada.post_json("/api/healing/dependencies/edges", {"target": "Base", "depends_on": "Disk"})
    exported = {row["target"]: row["depends_on"] for row in service.ada.get("/api/export").json["dependencies"]}
    assert exported == {"Shop": ["Base"], "Base": ["Disk"], "Disk": []}
    assert apply(service, {"dependencies": [{"target": "Base", "depends_on": ["Disk"]}]})["unchanged"] == 1
    apply(service, {"dependencies": [{"target": "Base"}]})
    assert {"from": "Base", "to": "Disk"} not in service.ada.get("/api/healing/dependencies").json["edges"]


def test_a_notice_whose_time_is_over_is_not_put_up_again(service, people):
    past = {"notices": [{"title": "Yesterday", "until": "2020-01-01T00:00:00"}]}
    answer = apply(service, past)
    assert (answer["changes"], answer["waiting"][0]["why"]) == ([], "was over at 2020-01-01T00:00:00")
