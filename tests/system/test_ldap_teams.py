"""Groups of a real slapd as teams: at a sign-in, at the look of each hour, and with users whom a provider has made."""

import pytest

from opsapp.auth.engine import directorycheck
from opsapp.auth.ldapconfig import LdapSettings
from opsapp.auth.resources.teams import sight_for
from opsapp.auth.scimconfig import ScimRoleMap, ScimSettings
from tests.support.directory import GROUPS, PASSWORD, dn_of
from tests.support.scim import Provider

pytestmark = pytest.mark.system


@pytest.fixture
def service(directory_service):
    return directory_service


def sign_in(service, username, status=200):
    return service.anonymous.post_json("/api/login", {"username": username, "password": PASSWORD}, status=status).json


def bearer(answer):
    return {"Authorization": "Bearer " + answer["token"]}


def sees(service, username):
    sight = service.read(lambda root: sight_for(root, username))
    return None if sight is None else set(sight.see)


def teams(service, **groups):
    """By name: the DN of its group, as an admin writes it."""
    return {
        name: service.ada.post_json("/api/teams", {"name": name, "groups": [dn], "see": [name]}, status=201).json["id"]
        for name, dn in groups.items()
    }


def test_membership_follows_at_the_sign_in(service, slapd):
    slapd.add("tess", "operators", "shop-people")
    teams(service, shop=f"CN=Shop-People, OU=Groups,{GROUPS.partition(',')[2]}", bank=f"cn=bank-people,{GROUPS}")
    sign_in(service, "tess")
    assert sees(service, "tess") == {"shop"}
    slapd.join("bank-people", dn_of("tess"))
    sign_in(service, "tess")
    assert sees(service, "tess") == {"shop", "bank"}
    sign_in(service, "otis")
    assert sees(service, "otis") is None
    sign_in(service, "grace")
    assert sees(service, "grace") is None


def test_membership_follows_the_hourly_look_and_the_last_team_that_is_lost_blinds(service, slapd):
    for name in ("joan", "lost"):
        slapd.add(name, "operators")
    slapd.join("crew", dn_of("lost"))
    slapd.join("crew", dn_of("vic"))  # so that the group stays
    teams(service, shop=f"cn=crew,{GROUPS}")
    signed_in = {name: bearer(sign_in(service, name)) for name in ("joan", "lost")}
    assert (sees(service, "joan"), sees(service, "lost")) == (None, {"shop"})
    slapd.join("crew", dn_of("joan"))
    slapd.leave("crew", dn_of("lost"))
    directorycheck.check(service.node)
    assert (sees(service, "joan"), sees(service, "lost")) == ({"shop"}, set())
    for headers in signed_in.values():  # the session stays, and sees what it may now
        assert service.anonymous.get("/api/audit", headers=headers, status=403)
        service.anonymous.get("/api/healing/effectiveness", headers=headers, status=403)


def test_an_error_of_the_directory_takes_nobody_out_of_a_team(service, slapd):
    slapd.add("kept", "operators", "keepers")
    teams(service, shop=f"cn=keepers,{GROUPS}")
    sign_in(service, "kept")
    sign_in(service, "otis")
    service.configure(LdapSettings, base=GROUPS)
    directorycheck.check(service.node)
    assert sees(service, "kept") == {"shop"}


def test_who_was_put_in_by_hand_stays(service, slapd):
    slapd.add("hand", "operators")
    sign_in(service, "hand")
    (team_id,) = teams(service, shop=f"cn=nobodys,{GROUPS}").values()
    service.ada.put_json(f"/api/teams/{team_id}", {"members": ["hand"]})
    directorycheck.check(service.node)
    assert sees(service, "hand") == {"shop"}


def test_who_is_gone_is_out_whatever_role_a_provider_gives(service, slapd):
    service.configure(ScimSettings, role_map=ScimRoleMap(operator=("Ops",)))
    provider = Provider(service)
    for name in ("left", "rest"):
        slapd.add(name, "staff")
    provider.group("Ops", *(provider.user(name)["id"] for name in ("left", "rest")))
    left, rest = (bearer(sign_in(service, name)) for name in ("left", "rest"))
    slapd.remove("left")
    directorycheck.check(service.node)
    service.anonymous.get("/api/me", headers=left, status=401)
    assert service.anonymous.get("/api/me", headers=rest).json["role"] == "operator"


def test_a_provider_makes_the_user_and_the_directory_signs_in(service, slapd):
    slapd.add("prue", "operators")
    provider = Provider(service)
    user = provider.user("Prue", externalId="1")
    signed_in = bearer(sign_in(service, "prue"))
    shown = service.ada.get("/api/users/prue").json
    assert (shown["source"], shown["role"]) == ("ldap", "operator")
    provider.patch("/Users/" + user["id"], {"op": "Replace", "path": "active", "value": "False"})
    service.anonymous.get("/api/me", headers=signed_in, status=401)
    sign_in(service, "prue", status=401)
    directorycheck.check(service.node)
    sign_in(service, "prue", status=401)
    provider.patch("/Users/" + user["id"], {"op": "Replace", "path": "active", "value": "True"})
    sign_in(service, "prue")
