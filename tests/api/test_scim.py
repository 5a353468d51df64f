"""SCIM: an identity provider makes, changes and ends users."""

from urllib.parse import quote

import pytest

from opsapp.auth.resources import open_session, users_of
from opsapp.auth.scimconfig import ScimSettings
from tests.support.scim import TYPE, USER, Provider


@pytest.fixture
def provider(service):
    return Provider(service)


def shown(service, username):
    return service.ada.get(f"/api/users/{username}").json


def test_a_provider_makes_a_user_who_has_no_password_here(service, provider):
    user = provider.user(
        "Grace@Example.org",
        externalId="0a1b",
        displayName="Grace Hopper",
        name={"givenName": "Grace", "familyName": "Hopper"},
        emails=[{"value": "grace@example.org", "type": "work", "primary": True}],
        password="is never taken",
        title="Rear Admiral",
    )
    assert user["userName"] == "Grace@Example.org"
    assert user["active"] is True
    assert user["name"] == {"givenName": "Grace", "familyName": "Hopper"}
    assert user["meta"]["location"].endswith("/scim/v2/Users/" + user["id"])
    assert "password" not in user
    row = shown(service, "grace@example.org")
    assert (row["role"], row["source"], row["disabled"]) == ("viewer", "scim", False)
    assert service.read(lambda root: users_of(root)["grace@example.org"].password_hash) == ""
    body = {"username": "grace@example.org", "password": "is never taken"}
    service.anonymous.post_json("/api/login", body, status=401)
    assert provider.get("/Users/" + user["id"]) == user


def test_it_finds_its_users_by_name_without_case_and_by_external_id(provider):
    grace, _otis = provider.user("Grace", externalId="a"), provider.user("otis", externalId="b")
    assert provider.found("Users", 'userName eq "gRACE"') == [grace]
    assert provider.found("Users", 'externalId eq "a"') == [grace]
    assert provider.found("Users", f'id eq "{grace["id"]}" and externalId eq "b"') == []
    assert provider.found("Users", 'urn:ietf:params:scim:schemas:core:2.0:User:userName eq "grace"') == [grace]
    assert provider.found("Users", 'userName eq "admin"') == []


@pytest.mark.parametrize("condition", ["userName sw", 'title eq "x"', 'userName eq "x" or id eq "y"', "userName eq x"])
def test_a_filter_that_is_not_known_is_refused(provider, condition):
    refused = provider.get("/Users?filter=" + quote(condition), status=400)
    assert (refused["scimType"], refused["status"]) == ("invalidFilter", "400")
    assert refused["schemas"] == ["urn:ietf:params:scim:api:messages:2.0:Error"]


def test_pages(provider):
    ids = {provider.user(f"user{number}")["id"] for number in range(5)}
    first, second = (provider.get(f"/Users?startIndex={start}&count=3") for start in (1, 4))
    assert [(page["totalResults"], page["itemsPerPage"]) for page in (first, second)] == [(5, 3), (5, 2)]
    assert {row["id"] for page in (first, second) for row in page["Resources"]} == ids
    assert provider.get("/Users?count=0")["Resources"] == []
    assert provider.get("/Users?startIndex=x", status=400)["scimType"] == "invalidValue"


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "Replace", "path": "active", "value": "False"},  # Entra ID
        {"op": "replace", "value": {"active": False}},  # Okta
    ],
)
def test_a_user_who_is_not_active_is_out_at_once_and_comes_back(service, provider, operation):
    user = provider.user("otto2")
    token = service.transact(lambda root: open_session(root, "otto2", service.clock.now(), "127.0.0.1", "t"))
    bearer = {"Authorization": "Bearer " + token}
    key = service.anonymous.post_json("/api/keys", {"name": "k", "role": "viewer"}, headers=bearer).json["key"]
    assert provider.patch("/Users/" + user["id"], operation)["active"] is False
    service.anonymous.get("/api/me", headers=bearer, status=401)
    service.anonymous.get("/api/me", headers={"Authorization": "Bearer " + key}, status=401)
    assert shown(service, "otto2")["disabled"] is True
    again = {"op": "Replace", "path": "active", "value": "True"}
    assert provider.patch("/Users/" + user["id"], again)["active"] is True
    assert shown(service, "otto2")["disabled"] is False
    service.anonymous.get("/api/me", headers={"Authorization": "Bearer " + key}, status=401)


def test_who_was_disabled_by_an_admin_stays_so(service, provider):
    user = provider.user("grace")
    service.ada.put_json("/api/users/grace", {"disabled": True})
    assert provider.patch("/Users/" + user["id"], {"op": "replace", "value": {"active": True}})["active"] is False
    assert shown(service, "grace")["disabled"] is True


def test_the_forms_of_a_patch(provider):
    place = "/Users/" + provider.user("grace", externalId="a")["id"]
    user = provider.patch(
        place,
        {"op": "Add", "path": 'emails[type eq "work"].value', "value": "g@example.org"},
        {"op": "Add", "value": {"name.givenName": "Grace", "name": {"familyName": "Hopper"}}},
        {"op": "Replace", "path": "urn:ietf:params:scim:schemas:core:2.0:User:displayName", "value": "Grace"},
        {"op": "Replace", "path": "title", "value": "Rear Admiral"},
        {"op": "Add", "path": "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:department", "value": "x"},
    )
    assert user["emails"] == [{"value": "g@example.org", "type": "work", "primary": False}]
    assert user["name"] == {"givenName": "Grace", "familyName": "Hopper"}
    assert user["displayName"] == "Grace"
    user = provider.patch(place, {"op": "remove", "path": "name.givenName"}, {"op": "remove", "path": "emails"})
    assert user["name"] == {"familyName": "Hopper"}
    assert user["emails"] == []
    assert "name" not in provider.patch(place, {"op": "remove", "path": "name"})
    renamed = provider.patch(place, {"op": "replace", "path": "userName", "value": "ghopper"})
    assert (renamed["userName"], renamed["id"]) == ("ghopper", place.rpartition("/")[2])
    assert provider.found("Users", 'userName eq "grace"') == []


def test_an_address_that_is_added_leaves_the_others(provider):
    work = {"value": "g@example.org", "type": "work", "primary": True}
    place = "/Users/" + provider.user("grace", emails=[work])["id"]
    home = {"value": "home@example.org", "type": "home", "primary": True}
    user = provider.patch(place, {"op": "add", "path": "emails", "value": [home]})
    assert user["emails"] == [work | {"primary": False}, home]
    assert provider.patch(place, {"op": "Add", "value": {"emails": [home]}})["emails"] == user["emails"]
    user = provider.patch(place, {"op": "replace", "path": "emails[primary eq true].value", "value": "at@example.org"})
    assert user["emails"][1] == home | {"value": "at@example.org"}
    user = provider.patch(place, {"op": "remove", "path": 'emails[value eq "at@example.org"]'})
    assert [email["type"] for email in user["emails"]] == ["work"]
    other = {"value": "w@example.org"}
    user = provider.patch(place, {"op": "replace", "path": 'emails[type eq "work"]', "value": other})
    assert [email["value"] for email in user["emails"]] == ["w@example.org"]
    assert provider.patch(place, {"op": "remove", "path": 'emails[type eq "work"]'})["emails"] == []


def test_put_replaces_all(provider):
    user = provider.user("grace", externalId="a", displayName="Grace")
    changed = provider.ask("PUT", "/Users/" + user["id"], {"userName": "grace", "active": False})
    assert changed["active"] is False
    assert "displayName" not in changed
    assert "externalId" not in changed
    assert provider.ask("PUT", "/Users/" + user["id"], user)["active"] is True


@pytest.mark.parametrize(
    ("operation", "kind"),
    [
        ({"op": "move", "path": "active"}, "invalidSyntax"),
        ({"op": "remove"}, "noTarget"),
        ({"op": "replace", "path": "active", "value": "maybe"}, "invalidValue"),
        ({"op": "replace", "path": "userName", "value": ""}, "invalidValue"),
        ({"op": "replace", "path": "id", "value": "x"}, "mutability"),
        ({"op": "replace", "path": "meta.created", "value": "x"}, "mutability"),
        ({"op": "add", "path": 'groups[value eq "x"]', "value": "x"}, "mutability"),
        ({"op": "add", "path": "displayName"}, "invalidValue"),
        ({"op": "replace", "path": "emails"}, "invalidValue"),
        ({"op": "replace", "path": 'emails[value eq "a@b"].value', "value": "c@d"}, "noTarget"),
        ({"op": "replace", "path": 'emails[display co "a"].value', "value": "c@d"}, "invalidFilter"),
        ({"op": "replace", "path": "emails.value", "value": "c@d"}, "invalidFilter"),
        ({"op": "replace", "path": "][", "value": "x"}, "invalidPath"),
        ({"op": "replace", "value": "x"}, "invalidSyntax"),
        ({"op": "replace", "path": "displayName", "value": "x" * 257}, "invalidValue"),
        ({"op": "replace", "path": "displayName", "value": {"a": 1}}, "invalidValue"),
    ],
)
def test_a_patch_that_cannot_be_carried_out_changes_nothing(provider, operation, kind):
    user = provider.user("grace")
    first = {"op": "replace", "path": "displayName", "value": "changed"}
    assert provider.patch("/Users/" + user["id"], first, operation, status=400)["scimType"] == kind
    assert provider.get("/Users/" + user["id"]) == user


def test_the_same_again_is_refused_and_changes_nothing(service, provider):
    user = provider.user("grace")
    refused = provider.user("GRACE", status=409)
    assert (refused["status"], refused["scimType"]) == ("409", "uniqueness")
    place = "/Users/" + user["id"]
    for _ in range(2):
        provider.patch(place, {"op": "Replace", "path": "active", "value": "False"})
    changes = [entry for entry in service.ada.get("/api/audit?action=user.update").json if entry["target"] == "grace"]
    assert len(changes) == 1
    assert changes[0]["username"] == "scim:Entra ID"


def test_delete_ends_the_user(service, provider):
    place = "/Users/" + provider.user("grace")["id"]
    provider.ask("DELETE", place, status=204)
    service.ada.get("/api/users/grace", status=404)
    assert provider.get(place, status=404)["status"] == "404"
    assert provider.user("grace")["id"] != place.rpartition("/")[2]


def test_a_user_who_is_deleted_here_is_gone_there_too(service, provider):
    user = provider.user("grace")
    service.ada.delete("/api/users/grace")
    provider.get("/Users/" + user["id"], status=404)
    assert provider.found("Users", 'userName eq "grace"') == []


@pytest.mark.attack
@pytest.mark.parametrize("name", ["ada", "Otto", "vera"])
def test_nobody_who_is_here_already_is_taken_over_by_a_name(service, provider, name):
    service.client(name.lower()).get("/api/me")
    refused = provider.user(name, status=409)
    assert refused["scimType"] == "uniqueness"
    service.client(name.lower()).get("/api/me")
    assert provider.get("/Users")["totalResults"] == 0


@pytest.mark.attack
def test_only_its_own_token_opens_scim_and_the_token_opens_nothing_else(service, provider):
    token = {"Authorization": "Bearer " + provider.made["token"]}
    for path in ("/api/me", "/api/users", "/metrics", "/api/scim-tokens"):
        service.anonymous.get(path, headers=token, status=401)
    key = service.ada.post_json("/api/keys", {"name": "k", "role": "admin"}).json["key"]
    service.anonymous.get("/scim/v2/Users", headers={"Authorization": "Bearer " + key}, status=403)
    service.ada.get("/scim/v2/Users", status=403)
    service.browser("ada").get("/scim/v2/Users", status=403)
    refused = service.anonymous.get("/scim/v2/Users", status=401)
    assert refused.content_type == TYPE
    assert refused.headers["WWW-Authenticate"] == "Bearer"
    service.anonymous.get("/scim/v2/Users?token=" + provider.made["token"], status=401)
    service.anonymous.get("/scim/v2/nothing", status=401)


def test_a_token_is_made_by_a_confirmed_admin_shown_once_and_ends(service, provider):
    service.otto.post_json("/api/scim-tokens", {"name": "x"}, status=403)
    listed = service.ada.get("/api/scim-tokens")
    assert [row["name"] for row in listed.json] == ["Entra ID"]
    assert provider.made["token"] not in listed.text + service.ada.get("/api/audit").text
    assert provider.made["url"].endswith("/scim/v2")
    assert (
        service.ada.post_json("/api/scim-tokens", {"name": "entra id"}, status=409).json["code"] == "scim_token_exists"
    )
    service.ada.delete("/api/scim-tokens/" + provider.made["id"])
    provider.get("/Users", status=401)
    now = int(service.clock.now())
    service.ada.post_json("/api/scim-tokens", {"name": "x", "expires_at": now}, status=422)
    service.clock.advance(3600)
    service.ada.post_json("/api/scim-tokens", {"name": "x"}, status=403)


def test_a_token_ends_at_its_time(service):
    ends = int(service.clock.now()) + 60
    token = service.ada.post_json("/api/scim-tokens", {"name": "x", "expires_at": ends}, status=201).json["token"]
    bearer = {"Authorization": "Bearer " + token}
    service.anonymous.get("/scim/v2/Users", headers=bearer)
    service.clock.advance(61)
    service.anonymous.get("/scim/v2/Users", headers=bearer, status=401)


@pytest.mark.attack
def test_limits_of_a_minute(service, provider):
    service.configure(ScimSettings, requests_per_minute=60)
    for _ in range(60):
        provider.get("/Users?count=0")
    refused = provider.get("/Users", status=429)
    assert refused["status"] == "429"
    wrong = {"Authorization": "Bearer " + "0" * 64}
    statuses = [service.anonymous.get("/scim/v2/Users", headers=wrong, status="*").status_int for _ in range(31)]
    assert statuses == [401] * 30 + [429]


def test_what_it_may_ask_before_it_begins(provider):
    config = provider.get("/ServiceProviderConfig")
    assert config["patch"] == {"supported": True}
    assert config["filter"] == {"maxResults": 200, "supported": True}
    assert [row["id"] for row in provider.get("/ResourceTypes")["Resources"]] == ["User", "Group"]
    for row in provider.get("/Schemas")["Resources"]:
        assert provider.get("/Schemas/" + row["id"]) == row
    assert provider.get("/ResourceTypes/User")["endpoint"] == "/Users"
    for place in ("/ServiceProviderConfig", "/ResourceTypes/User", "/Schemas/" + USER):
        assert provider.get(place)["meta"]["location"] == "http://localhost/scim/v2" + place
    for place in ("/ServiceProviderConfig", "/ResourceTypes", "/Schemas", "/Schemas/" + USER):
        provider.get(place + "?filter=id+eq+%22User%22", status=403)
    provider.get("/Schemas/nothing", status=404)


@pytest.mark.parametrize(
    ("method", "path"),
    [
        *((method, "/Me") for method in ("GET", "POST", "PUT", "PATCH", "DELETE")),
        *(("POST", place) for place in ("/Bulk", "/.search", "/Users/.search", "/Groups/.search")),
        ("GET", ""),
    ],
)
def test_what_the_standard_has_and_is_not_offered_says_so(service, provider, method, path):
    body = {} if method in ("POST", "PUT", "PATCH") else None
    assert provider.ask(method, path, body, status=501)["status"] == "501"
    getattr(service.anonymous, method.lower())("/scim/v2" + path, status=401)


@pytest.mark.parametrize(
    ("body", "content_type", "status"),
    [(b"{}", "text/plain", 415), (b"{", TYPE, 400), (b"[]", TYPE, 400), (b"", TYPE, 400), (b"{}", TYPE, 400)],
)
def test_a_body_that_is_none(provider, body, content_type, status):
    headers = provider.headers | {"Content-Type": content_type}
    answer = provider.app.post("/scim/v2/Users", body, headers=headers, status=status)
    assert answer.content_type == TYPE
    assert answer.json["detail"]


@pytest.mark.parametrize("name", ["a+b@example.org", "x_gmail.com#EXT#@tenant.example", "ä", "u" * 200])
def test_a_name_that_nobody_can_have_here_gets_one(service, provider, name):
    user = provider.user(name)
    assert user["userName"] == name
    provider.user(name + "2")
    assert len([row for row in service.ada.get("/api/users").json if row["source"] == "scim"]) == 2


def test_the_audit_record_names_the_token(service, provider):
    provider.user("grace")
    made = service.ada.get("/api/audit?action=user.create").json[0]
    assert (made["username"], made["target"]) == ("scim:Entra ID", "grace")
    provider.user("grace", status=409)
    refused = service.ada.get("/api/audit?action=scim.user.create").json[0]
    assert (refused["result"], refused["reason"], refused["username"]) == ("refused", "user_exists", "scim:Entra ID")
