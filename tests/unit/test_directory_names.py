"""Escaping, the places of a filter, and how the names of groups are compared."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ldap3.operation.search import parse_filter
from ldap3.protocol.convert import prepare_filter_for_sending
from ldap3.utils.dn import escape_rdn

from opsapp.auth.engine.directory import asked_name
from opsapp.auth.ldapconfig import GROUPS, LdapSettings
from opsapp.auth.logic import directory

GROUP = "cn=admins,ou=groups,dc=example,dc=org"


def assertion_of(text):
    """The value of the one comparison in a filter, as ldap3 sends it."""
    (part,) = parse_filter(text, None, False, True, None, False).elements
    return prepare_filter_for_sending(part.assertion["value"])


@given(st.text(min_size=1, max_size=40))
def test_what_a_person_types_is_one_value_and_no_filter(typed):
    text = directory.filled("(uid={username})", {"username": typed})
    assert assertion_of(text) == typed.encode()


@given(st.binary(min_size=1, max_size=40))
def test_an_id_of_any_bytes_is_one_value(raw):
    text = directory.of_ids("(uid={username})", "entryUUID", [raw])
    assert text.count("(") == text.count(")") == 4
    assert assertion_of(f"(entryUUID={directory.escaped(raw)})") == raw


@pytest.mark.attack
@pytest.mark.parametrize("typed", ["*", "grace)(uid=*", "a\\2a", "(&)", "\0", "{dn}", "{username}"])
def test_known_injections(typed):
    assert assertion_of(directory.filled("(uid={username})", {"username": typed, "dn": GROUP})) == typed.encode()
    assert asked_name(typed) is None


@pytest.mark.parametrize(("typed", "name"), [("Grace", "grace"), ("g.h@example.org", "g.h@example.org"), ("a b", None)])
def test_one_name_has_one_counter(typed, name):
    assert asked_name(typed) == name


@pytest.mark.parametrize(
    ("template", "wrong"),
    [
        ("(uid={username})", None),
        ("(&(objectClass=person)(|(uid={username})(mail={username})))", None),
        ("(uid=grace)", "needs the place"),
        ("(uid={user})", "may have the places"),
        ("(uid={username}", "one filter"),
        ("uid={username}", "one filter"),
        ("(uid={username})(a=b)", "one filter"),
        ("(uid={username}))(", "one filter"),
    ],
)
def test_what_is_wrong_with_a_filter(template, wrong):
    names = frozenset({"username"})
    said = directory.filter_problem(template, names, names)
    assert (said is None) if wrong is None else (wrong in said)


def test_the_usual_filters_are_sound():
    both = frozenset({"username", "dn"})
    assert directory.filter_problem(GROUPS, both, both) is None
    parse_filter(directory.filled(GROUPS, {"dn": GROUP, "username": "grace"}), None, False, True, None, False)


@pytest.mark.parametrize(
    "same",
    [
        "CN=Admins,OU=Groups,DC=Example,DC=org",
        " cn = admins , ou = groups , dc=example,dc=org",
        r"cn=\61dmins,ou=groups,dc=example,dc=org",
    ],
)
def test_names_that_are_the_same_group(same):
    assert directory.normal_dn(same) == directory.normal_dn(GROUP)


@pytest.mark.attack
@pytest.mark.parametrize(
    "other",
    [
        r"cn=admins\,ou=groups,dc=example,dc=org",
        r"cn=admins\2cou=groups,dc=example,dc=org",
        "cn=admins,ou=mine,ou=groups,dc=example,dc=org",
        "cn=admins+ou=groups,dc=example,dc=org",
        "cn=admins,ou=groups,dc=example",
        "ou=groups,dc=example,dc=org",
        "cn=admins,ou=groups,dc=example,dc=org,cn=admins",
    ],
)
def test_names_that_only_look_like_it(other):
    assert directory.normal_dn(other) != directory.normal_dn(GROUP)


@pytest.mark.parametrize("wrong", ["admins", "=a", "cn=a,,dc=b", "cn=a,", 'cn="a,b",dc=c', "cn=a;dc=b", "cn=\\"])
def test_what_is_no_dn(wrong):
    with pytest.raises(ValueError, match="is no DN"):
        directory.normal_dn(wrong)
    assert directory.normal_dns([wrong]) == frozenset()


@given(st.text(min_size=1, max_size=30).filter(str.strip), st.text(min_size=1, max_size=30).filter(str.strip))
def test_a_value_that_is_escaped_comes_back(one, other):
    names = [directory.normal_dn(f"cn={escape_rdn(value)},dc=org") for value in (one, other)]
    same = " ".join(one.lower().split()) == " ".join(other.lower().split())
    assert (names[0] == names[1]) is same


def test_two_names_in_one_step_have_no_order():
    assert directory.normal_dn("cn=a+sn=b,dc=c") == directory.normal_dn("SN=b+CN=a,DC=c")
    assert directory.normal_dn("  ") == ()
    assert directory.normal_dns(["", " "]) == frozenset()
    assert directory.normal_dn(r"cn=\ff,dc=c") != directory.normal_dn(r"cn=\fe,dc=c")


def test_the_highest_role_of_all_groups_counts():
    roles = {"admin": (GROUP,), "operator": ("cn=ops,dc=org",), "viewer": ("cn=staff,dc=org", "cn=guests,dc=org")}
    groups = directory.normal_dns(["cn=guests,dc=org", "cn=ops,dc=org", "cn=others,dc=org"])
    assert directory.role_of(groups, roles) == "operator"
    assert directory.role_of(groups - directory.normal_dns(["cn=ops,dc=org"]), roles) == "viewer"
    assert directory.role_of(frozenset(), roles) is None


@pytest.mark.parametrize(
    ("uri", "place"),
    [
        ("ldaps://ldap.example.org", ("ldap.example.org", 636, True)),
        ("ldap://127.0.0.1:1389/", ("127.0.0.1", 1389, False)),
        ("ldaps://[::1]:99", ("::1", 99, True)),
        ("https://ldap.example.org", None),
        ("ldaps://", None),
        ("ldaps://a/dc=org", None),
        ("ldaps://me:secret@a", None),
        ("ldaps://a:99999", None),
    ],
)
def test_addresses_of_directories(uri, place):
    if place is None:
        with pytest.raises(ValueError, match=r"."):
            directory.place_of(uri)
    else:
        assert directory.place_of(uri) == place


@pytest.mark.parametrize(
    ("said", "wrong"),
    [
        ({}, set()),
        ({"uri": "ldap://a"}, {"uri"}),
        ({"uri": "ldap://a", "start_tls": True}, set()),
        ({"uri": "ldap://a", "allow_plain": True}, set()),
        ({"start_tls": True}, {"start_tls"}),
        ({"uri": None}, {"uri"}),
        ({"base": None}, {"base"}),
        ({"role_map": {"admin": []}}, {"role_map"}),
        ({"bind_dn": "cn=a"}, {"bind_password"}),
        ({"bind_password": "a"}, {"bind_password"}),
        ({"member_of": None}, {"member_of"}),
        ({"member_of": None, "group_base": "dc=a"}, set()),
        ({"enabled": False, "uri": None}, set()),
    ],
)
def test_what_must_be_said_together(said, wrong):
    whole = {"enabled": True, "uri": "ldaps://a", "base": "dc=a", "role_map": {"admin": [GROUP]}}
    whole |= {"member_of": "memberOf"}
    assert set(LdapSettings.across(whole | said)) == wrong
