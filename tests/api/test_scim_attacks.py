"""Whatever a provider sends: an answer of SCIM, and never a 500; and no more than it may change."""

import json
import random
from urllib.parse import quote

import pytest

from opsapp.auth.scimconfig import ScimSettings
from tests.support.scim import TYPE, Provider

pytestmark = pytest.mark.attack

WORDS = (
    None, True, False, 0, -1, 1.5, 10**400, "", " ", "x", "True", "\ud800", "\u202e", "a" * 300, [], {}, [[]], [None],
    [{}], {"value": None}, {"value": {"a": 1}}, [{"value": "x"}], [{"value": 7}], {"": ""}, {"members": "x"},
    {"name": {"name": {}}}, {"active": {}}, {"emails": [{"primary": "maybe", "value": "x"}]}, {"userName": []},
)  # fmt: skip
PATHS = (
    None, "", "members", 'members[value eq "x"]', 'members[value eq "\\u12"]', "members[", "emails", "name", "name.x",
    'emails[type eq "work"].value', "emails[type eq", "active", "userName", "externalId", "displayName", "id",
    "schemas", "meta.location", "urn:ietf:params:scim:schemas:core:2.0:User:", "x" * 500, "(", "\ud800", 5, [], {},
)  # fmt: skip
OPS = ("add", "Add", "replace", "REMOVE", "remove", "move", None, 5, [])
NAMES = ("userName", "USERNAME", "displayName", "externalId", "name", "emails", "active", "members", "groups", "id")


def body_of(chance):
    def value(depth=0):
        if depth < 3 and chance.random() < 0.3:
            return {chance.choice(NAMES): value(depth + 1) for _ in range(chance.randrange(4))}
        return chance.choice(WORDS)

    if chance.random() < 0.6:
        operations = [
            {"op": chance.choice(OPS), "path": chance.choice(PATHS), "value": value()}
            for _ in range(chance.randrange(1, 4))
        ]
        return {"Operations": operations if chance.random() < 0.95 else value()}
    return {name: value() for name in chance.sample(NAMES, chance.randrange(len(NAMES)))}


@pytest.mark.parametrize("seed", range(4))
def test_no_body_is_a_500(service, seed):
    service.configure(ScimSettings, requests_per_minute=100_000)
    provider, chance = Provider(service), random.Random(seed)
    user, group = provider.user("grace"), provider.group("Shop")
    places = ("/Users", "/Groups", "/Users/" + user["id"], "/Groups/" + group["id"])
    for _ in range(250):
        method, place = chance.choice(("POST", "PUT", "PATCH")), chance.choice(places)
        text = json.dumps(body_of(chance))
        headers = provider.headers | {"Content-Type": TYPE}
        answer = provider.app.request(
            "/scim/v2" + place, method=method, body=text.encode(), headers=headers, expect_errors=True
        )
        assert answer.status_int < 500, (method, place, text, answer.text)
        assert answer.status_int == 204 or answer.content_type == TYPE
    service.ada.get("/api/me")  # nobody else was touched
    assert {row["source"] for row in service.ada.get("/api/users").json if row["username"] in ("ada", "admin")} == {
        "local"
    }
    for kind in ("Users", "Groups"):
        assert provider.get(f"/{kind}?count=200")["totalResults"] >= 0


@pytest.mark.parametrize(
    "text",
    [
        '""',
        '"',
        "eq",
        'userName eq "' + "\\" * 900,
        'userName eq "x" and',
        " and " * 300,
        'id eq "\\ud800"',
        "\0",
        "userName eq 1",
    ],
)
@pytest.mark.parametrize("kind", ["Users", "Groups"])
def test_no_filter_is_a_500(service, kind, text):
    provider = Provider(service)
    answer = provider.app.get(f"/scim/v2/{kind}?filter={quote(text)}", headers=provider.headers, expect_errors=True)
    assert answer.status_int in (200, 400)


def test_too_much_at_once_is_refused(service):
    provider = Provider(service)
    group = provider.group("Shop")
    many = [{"value": str(number)} for number in range(5001)]
    refused = provider.patch("/Groups/" + group["id"], {"op": "add", "path": "members", "value": many}, status=400)
    assert refused["scimType"] == "tooMany"
    operations = [{"op": "add", "path": "displayName", "value": "x"}] * 1001
    provider.patch("/Groups/" + group["id"], *operations, status=400)
    long = b'{"userName": "' + b"x" * (1 << 20) + b'"}'
    headers = provider.headers | {"Content-Type": TYPE}
    assert provider.app.post("/scim/v2/Users", long, headers=headers, status=413).json["status"] == "413"


def test_the_cookie_of_an_admin_on_another_page_opens_nothing(service):
    browser = service.browser("ada")
    browser.post_json("/scim/v2/Users", {"userName": "x"}, content_type=TYPE, status=403)
    assert Provider(service).found("Users", 'userName eq "x"') == []
