"""What is checked of an id_token besides what oic checks: each of these alone must keep somebody out."""

import pytest
from oic.oic.message import IdToken

from opsapp.auth.engine.provider import ProviderRefused, check

GOOD = {"iss": "https://id.example", "sub": "s", "aud": ["opsapp"], "exp": 2, "iat": 1, "nonce": "n"}


def token(header=None, **claims):
    made = IdToken(**{name: value for name, value in (GOOD | claims).items() if value is not None})
    made.jws_header = {"alg": "RS256", "kid": "one"} | (header or {})
    return made


def is_refused(made):
    try:
        check(made, "https://id.example", "opsapp", "n", now=2)
    except ProviderRefused:
        return True
    return False


def test_a_good_one_passes():
    assert not is_refused(token())
    assert not is_refused(token(nbf=1.5))
    assert not is_refused(token(nbf=62))
    assert not is_refused(token({"alg": "ES256"}, aud=["opsapp", "other"], azp="opsapp"))


@pytest.mark.parametrize("alg", ["none", "None", "HS256", "HS512", "", None, "RS1"])
def test_only_signatures_by_private_keys_count(alg):
    assert is_refused(token({"alg": alg}))


@pytest.mark.parametrize("name", ["jku", "jwk", "x5u", "x5c"])
def test_a_token_does_not_bring_its_key(name):
    assert is_refused(token({name: "x"}))


@pytest.mark.parametrize(
    "claims",
    [
        {"iss": "https://id.example/"},
        {"aud": ["other"]},
        {"aud": ["opsapp", "other"], "azp": "other"},
        {"nonce": "m"},
        {"nonce": None},
        {"nonce": ""},
        {"exp": 1},
        {"nbf": 100},
        {"nbf": "soon"},
        {"sub": None},
        {"sub": ""},
    ],
)
def test_claims_that_are_for_something_else(claims):
    assert is_refused(token(**claims))


def test_what_is_no_id_token():
    for made in ({}, "text", None):
        assert is_refused(made)
    unsigned = IdToken(**GOOD)
    unsigned.jws_header = None
    assert is_refused(unsigned)
