"""Groups of a provider: who is in one, which role it gives, which team, and who signs in as whom."""

import pytest
from BTrees.OOBTree import OOTreeSet

from opsapp.audit.engine import SHELL
from opsapp.auth.config import OidcSettings
from opsapp.auth.engine import provision_user
from opsapp.auth.engine.federated import Arrival, enter
from opsapp.auth.engine.signin import Client
from opsapp.auth.logic.groups import group_key
from opsapp.auth.resources import federation, find_enabled, open_session, provisioned_groups_of, users_of
from opsapp.auth.resources.teams import sight_for
from opsapp.auth.scimconfig import ScimRoleMap, ScimSettings
from opsapp.lib.problems import Problem
from opsapp.lib.provisioned import ProvisionedPerson
from tests.support.scim import Provider

ROLES = ScimRoleMap(admin=("Ops admins",), operator=("Ops",), viewer=("id-of-staff",))


@pytest.fixture
def provider(service):
    return Provider(service)


@pytest.fixture
def mapped(service):
    service.configure(ScimSettings, role_map=ROLES)


def row(service, username):
    shown = service.ada.get(f"/api/users/{username}").json
    return shown["role"], shown["disabled"]


def members(provider, group):
    return {each["value"] for each in provider.get("/Groups/" + group["id"])["members"]}


def sign_in(service, subject, role="viewer", groups=(), source="oidc", **claims):
    """As after the provider's answer was verified."""
    said = {"sub": subject, **claims}
    keys = frozenset(group_key(name) for name in groups)
    arrival = Arrival(source, federation.subject_of("https://id.example", subject), role, said, groups=keys)
    answer = service.transact(enter, arrival, Client("127.0.0.1", "test"), 3600)
    if isinstance(answer, Problem):
        raise answer
    return answer


def test_members_join_and_leave_in_the_forms_of_entra_and_okta(provider):
    a, b, c = (provider.user(name)["id"] for name in "abc")
    group = provider.group("Shop", a)
    place = "/Groups/" + group["id"]
    assert members(provider, group) == {a}
    provider.patch(place, {"op": "Add", "path": "members", "value": [{"value": b}, {"value": c}]}, status=204)
    assert members(provider, group) == {a, b, c}
    provider.patch(place, {"op": "Remove", "path": "members", "value": [{"value": a}]})
    provider.patch(place, {"op": "remove", "path": f'members[value eq "{b}"]'})
    provider.patch(place, {"op": "remove", "path": f'members[value eq "{b}"]'})
    assert members(provider, group) == {c}
    provider.patch(place, {"op": "replace", "path": "members", "value": [{"value": a, "display": "a"}]})
    assert members(provider, group) == {a}
    provider.patch(place, {"op": "replace", "value": {"id": group["id"], "displayName": "Shops"}})
    assert provider.get(place)["displayName"] == "Shops"
    (told,) = provider.get("/Users/" + a)["groups"]
    assert (told["value"], told["display"]) == (group["id"], "Shops")
    assert told["$ref"] == provider.get(place)["meta"]["location"]
    provider.patch(place, {"op": "remove", "path": "members"})
    assert members(provider, group) == set()
    put = provider.ask("PUT", place, {"displayName": "Shop", "members": [{"value": b}, {"value": c}]})
    assert {each["value"] for each in put["members"]} == {b, c}
    provider.ask("DELETE", place, status=204)
    provider.get(place, status=404)
    assert provider.get("/Users/" + b)["groups"] == []


def test_groups_are_found(provider):
    a, b = (provider.user(name)["id"] for name in "ab")
    shop, bank = provider.group("Shop", a, externalId="1"), provider.group("Bank", a, b)
    assert provider.found("Groups", 'displayName eq "shop"') == [shop]
    assert provider.found("Groups", 'externalId eq "1"') == [shop]
    assert provider.found("Groups", f'id eq "{bank["id"]}" and members eq "{b}"') == [bank]
    assert provider.found("Groups", f'id eq "{shop["id"]}" and members.value eq "{b}"') == []
    assert "members" not in provider.get("/Groups?excludedAttributes=members")["Resources"][0]
    assert "members" not in provider.get("/Groups?attributes=id,displayName")["Resources"][0]
    only = provider.get(f"/Users/{a}?attributes=userName,name.givenName")
    assert only.keys() == {"id", "schemas", "userName"}
    without = provider.get(f"/Users/{a}?excludedAttributes=urn:ietf:params:scim:schemas:core:2.0:User:active")
    assert "active" not in without
    assert "userName" not in provider.get("/Users?excludedAttributes=userName")["Resources"][0]
    assert provider.group("SHOP", status=409)["scimType"] == "uniqueness"


@pytest.mark.parametrize(
    ("operation", "kind"),
    [
        ({"op": "add", "path": "members", "value": [{"value": "nobody"}]}, "invalidValue"),
        ({"op": "add", "path": "members", "value": [{"display": "x"}]}, "invalidValue"),
        ({"op": "remove", "path": 'members[value eq "\\x"]'}, "invalidValue"),
        ({"op": "add", "path": "owners", "value": "x"}, "invalidPath"),
        ({"op": "remove", "path": "displayName"}, "invalidValue"),
        ({"op": "add", "path": "members"}, "invalidValue"),
        ({"op": "replace", "path": "id", "value": "x"}, "mutability"),
        ({"op": "replace", "path": "meta.location", "value": "x"}, "mutability"),
    ],
)
def test_a_patch_that_cannot_be_carried_out_changes_nothing(provider, operation, kind):
    group = provider.group("Shop", provider.user("a")["id"])
    first = {"op": "remove", "path": "members"}
    assert provider.patch("/Groups/" + group["id"], first, operation, status=400)["scimType"] == kind
    assert provider.get("/Groups/" + group["id"]) == group


def test_the_highest_role_of_the_groups_counts_at_once(service, provider, mapped):
    user = provider.user("grace")["id"]
    assert row(service, "grace") == ("viewer", True)  # no group gives a role yet
    staff, ops = provider.group("Staff", user, externalId="id-of-staff"), provider.group("Ops", user)
    assert row(service, "grace") == ("operator", False)
    provider.patch("/Groups/" + ops["id"], {"op": "remove", "path": "members"})
    assert row(service, "grace") == ("viewer", False)
    provider.patch("/Groups/" + staff["id"], {"op": "replace", "path": "displayName", "value": "Ops admins"})
    assert row(service, "grace") == ("admin", False)
    provider.ask("DELETE", "/Groups/" + staff["id"], status=204)
    assert row(service, "grace")[1] is True
    assert provider.get("/Users/" + user)["active"] is True  # as the provider said


def test_who_is_not_active_is_not_enabled_by_a_group(service, provider, mapped):
    user = provider.user("grace", active=False)
    provider.group("Ops", user["id"])
    assert row(service, "grace") == ("operator", True)
    provider.patch("/Users/" + user["id"], {"op": "replace", "value": {"active": True}})
    assert row(service, "grace") == ("operator", False)


@pytest.mark.attack
def test_the_last_active_admin_stays(service, provider, mapped):
    user = provider.user("grace")["id"]
    group = provider.group("Ops admins", user)
    for who in ("ada", "admin"):
        if who in service.read(lambda root: list(users_of(root))):
            service.transact(lambda root, who=who: setattr(users_of(root)[who], "role", "viewer"))
    deeds = [
        lambda: provider.patch("/Users/" + user, {"op": "Replace", "path": "active", "value": "False"}, status=409),
        lambda: provider.patch("/Groups/" + group["id"], {"op": "remove", "path": "members"}, status=409),
        lambda: provider.ask("DELETE", "/Users/" + user, status=409),
        lambda: provider.ask("DELETE", "/Groups/" + group["id"], status=409),
    ]
    for deed in deeds:
        assert "last enabled admin" in deed()["detail"]
    assert service.read(lambda root: find_enabled(root, "grace").role) == "admin"
    assert members(provider, group) == {user}


def test_who_was_made_signs_in_by_the_subject_that_is_the_external_id(service, provider):
    provider.user("grace", externalId="00u1")
    assert sign_in(service, "00u1", preferred_username="something else").username == "grace"
    shown = service.ada.get("/api/users/grace").json
    assert shown["source"] == "oidc"
    assert sign_in(service, "00u1").username == "grace"


@pytest.mark.attack
def test_a_name_in_a_token_signs_nobody_in_as_somebody_else(service, provider):
    provider.user("grace", externalId="00u1")
    assert sign_in(service, "00u2", preferred_username="grace").username == "grace-2"
    assert sign_in(service, "00u1", preferred_username="grace").username == "grace"
    provider.user("otis")  # without an external id
    assert sign_in(service, "00u3", preferred_username="otis").username == "otis-2"


def test_another_claim_may_be_the_external_id_or_the_name(service, provider):
    service.configure(ScimSettings, oidc_claim="oid")
    provider.user("grace", externalId="object-1")
    assert sign_in(service, "pairwise", oid="object-1").username == "grace"
    service.configure(ScimSettings, oidc_claim="preferred_username", sign_in_by="user_name")
    provider.user("Otis@Example.org")
    assert sign_in(service, "pairwise 2", preferred_username="otis@example.ORG").username == "otis@example.org"


def test_a_person_of_the_directory_is_known_by_the_name(service, provider):
    provider.user("Grace")
    assert sign_in(service, "entry", source="ldap", preferred_username="grace").username == "grace"
    assert service.ada.get("/api/users/grace").json["source"] == "ldap"


def test_with_roles_of_groups_what_the_sign_in_says_does_not_count(service, provider, mapped):
    provider.group("Ops", provider.user("grace", externalId="00u1")["id"])
    assert sign_in(service, "00u1", role="admin").role == "operator"
    assert sign_in(service, "00u1", role=None).role == "operator"


def test_without_them_it_does(service, provider):
    user = provider.user("grace", externalId="00u1")
    assert sign_in(service, "00u1", role="operator").role == "operator"
    with pytest.raises(Problem, match="no role"):
        sign_in(service, "00u1", role=None)
    provider.patch("/Users/" + user["id"], {"op": "Replace", "path": "active", "value": "False"})
    with pytest.raises(Problem, match="disabled"):  # a role is there again, and the provider has said no
        sign_in(service, "00u1", role="operator")
    provider.patch("/Users/" + user["id"], {"op": "Replace", "path": "active", "value": "True"})
    assert sign_in(service, "00u1", role="operator").role == "operator"


def test_who_signed_in_before_is_adopted_where_the_claim_says_who_it_is(service, provider):
    service.configure(ScimSettings, oidc_claim="oid")
    sign_in(service, "pairwise", role="operator", preferred_username="grace", oid="00u1")
    user = provider.user("another.name", externalId="00u1")
    adopted = service.ada.get("/api/audit?action=user.adopt").json
    assert [(entry["target"], entry["username"]) for entry in adopted] == [("grace", "scim:Entra ID")]
    provider.patch("/Users/" + user["id"], {"op": "Replace", "path": "active", "value": "False"})
    assert row(service, "grace") == ("operator", True)


def test_with_the_subject_as_external_id_the_issuer_of_the_settings_says_who_it_is(service, provider):
    service.configure(OidcSettings, issuer="https://id.example")
    sign_in(service, "00u1", role="operator", preferred_username="grace")
    provider.user("grace", externalId="00u1")
    assert service.ada.get("/api/audit?action=user.adopt").json[0]["target"] == "grace"


@pytest.mark.attack
def test_who_signed_in_before_is_not_adopted_by_the_name(service, provider):
    sign_in(service, "of somebody else", preferred_username="grace")
    provider.user("grace", externalId="00u1", status=409)
    provider.user("grace", status=409)
    service.configure(OidcSettings, issuer="https://id.example")
    sign_in(service, "00u9", role="admin", preferred_username="boss")
    assert "admin" in provider.user("boss", externalId="00u9", status=409)["detail"]


def test_who_turns_out_to_be_a_person_of_the_provider_has_one_user_from_then_on(service, provider):
    """Who signed in with a version that did not know the claim."""
    service.configure(ScimSettings, oidc_claim="oid")
    sign_in(service, "pairwise", role="operator", preferred_username="grace")
    user = provider.user("grace@example.org", externalId="object-1")
    assert row(service, "grace@example.org") == ("viewer", False)
    assert sign_in(service, "pairwise", role="operator", oid="object-1").username == "grace"
    service.ada.get("/api/users/grace@example.org", status=404)
    provider.patch("/Users/" + user["id"], {"op": "Replace", "path": "active", "value": "False"})
    assert row(service, "grace") == ("operator", True)


@pytest.mark.attack
def test_an_admin_who_signs_in_is_not_joined(service, provider):
    service.configure(ScimSettings, oidc_claim="oid")
    sign_in(service, "pairwise", role="admin", preferred_username="boss")
    provider.user("boss@example.org", externalId="object-1")
    sign_in(service, "pairwise", role="admin", oid="object-1")
    assert row(service, "boss@example.org") == ("viewer", False)
    assert row(service, "boss") == ("admin", False)


# -- teams by groups


def team(service, **said):
    return service.ada.post_json("/api/teams", {"name": "Shop", "see": ["shop"], **said}, status=201).json["id"]


def sees(service, username):
    sight = service.read(lambda root: sight_for(root, username))
    return None if sight is None else set(sight.see)


def test_a_group_of_the_provider_is_a_team_where_the_team_names_it(service, provider):
    user = provider.user("grace")["id"]
    assert sees(service, "grace") is None
    group = provider.group("Shop people", user)
    team_id = team(service, groups=["shop PEOPLE"])
    assert sees(service, "grace") == {"shop"}
    assert service.ada.get(f"/api/teams/{team_id}").json["by_groups"] == 1
    assert service.ada.get("/api/teams").json[0]["by_groups"] == 1
    other = provider.user("otis")["id"]
    provider.patch("/Groups/" + group["id"], {"op": "add", "path": "members", "value": [{"value": other}]})
    assert sees(service, "otis") == {"shop"}
    assert service.ada.delete(f"/api/teams/{team_id}", status=409).json["code"] == "team_has_members"
    service.ada.put_json(f"/api/teams/{team_id}", {"groups": []})
    assert sees(service, "grace") is None  # an admin has said so


@pytest.mark.attack
def test_who_loses_the_last_team_of_a_directory_sees_nothing_until_an_admin_decides(service, provider):
    user = provider.user("grace")["id"]
    team_id = team(service, groups=["Shop"])
    group = provider.group("Shop", user)
    assert sees(service, "grace") == {"shop"}
    provider.patch("/Groups/" + group["id"], {"op": "remove", "path": "members"})
    assert sees(service, "grace") == set()
    service.ada.put_json(f"/api/teams/{team_id}", {"members": ["grace"]})
    assert sees(service, "grace") == {"shop"}
    service.ada.put_json(f"/api/teams/{team_id}", {"members": []})
    assert sees(service, "grace") is None


def test_groups_of_a_sign_in_are_teams_and_follow_it(service):
    team(service, groups=["shop"], members=["vera"] if service.vera.get("/api/me") else [])
    sign_in(service, "1", groups=["shop", "another"], preferred_username="grace")
    assert sees(service, "grace") == {"shop"}
    sign_in(service, "1", groups=["another"])
    assert sees(service, "grace") == set()
    assert sees(service, "vera") == {"shop"}


def test_a_stream_ends_when_a_group_changes_what_is_seen(service, provider):
    user = provider.user("grace")["id"]
    team(service, groups=["Shop"])
    token = service.transact(lambda root: open_session(root, "grace", service.clock.now(), "127.0.0.1", "t"))
    bearer = {"Authorization": "Bearer " + token}
    assert service.anonymous.get("/api/agents", headers=bearer).json == []
    provider.group("Shop", user)
    assert (
        service.anonymous.get("/api/healing/effectiveness", headers=bearer, status=403).json["code"] == "not_for_teams"
    )


# -- many, and again


def test_one_member_more_writes_a_part_of_a_group_of_thousands(service, provider):
    ids = [service.transact(add_person, number) for number in range(2000)]
    group = provider.group("All")
    of_all = written(service, lambda: provider.patch("/Groups/" + group["id"], add(*ids)))
    assert len(members(provider, group)) == 2000
    one = provider.user("one more")["id"]
    of_one = written(service, lambda: provider.patch("/Groups/" + group["id"], add(one)))
    assert 0 < 20 * sum(of_one) < sum(of_all)  # how full its part of the tree is, ids decide
    whole = service.read(lambda root: len(OOTreeSet(provisioned_groups_of(root)[group["id"]].members)))
    assert whole == 2001
    page = provider.get("/Users?startIndex=1901&count=200")
    assert (page["totalResults"], page["itemsPerPage"]) == (2001, 101)


def add(*member_ids):
    return {"op": "Add", "path": "members", "value": [{"value": member_id} for member_id in member_ids]}


def add_person(root, number):
    return provision_user(root, ProvisionedPerson(f"person{number}"), SHELL).__name__


def written(service, deed):
    """The sizes of the objects that a deed has stored."""
    storage = service.node.store.db.storage
    before = storage.lastTransaction()
    deed()
    records = [record for part in storage.iterator(before) if part.tid != before for record in part]
    return [len(record.data) for record in records if record.data]


def test_a_sync_that_is_killed_half_way_and_sent_again_ends_the_same(service, provider):
    def sync():
        known = {}
        for name in ("a", "b", "c"):
            found = provider.found("Users", f'userName eq "{name}"')
            known[name] = (found[0] if found else provider.user(name))["id"]
            yield
        found = provider.found("Groups", 'displayName eq "Shop"')
        group = found[0] if found else provider.group("Shop")
        yield
        for member_id in known.values():
            provider.patch("/Groups/" + group["id"], add(member_id))
            yield
        provider.patch("/Users/" + known["c"], {"op": "Replace", "path": "active", "value": "False"})

    for steps in range(7):
        for _, _ in zip(range(steps), sync(), strict=False):
            pass
    list(sync())
    whole = service.read(lambda root: [entry for entry in users_of(root).values() if entry.source == "scim"])
    assert len(whole) == 3
    (group,) = provider.get("/Groups")["Resources"]
    assert len(group["members"]) == 3
    assert [row["active"] for row in sorted(provider.get("/Users")["Resources"], key=lambda row: row["userName"])] == [
        True,
        True,
        False,
    ]
