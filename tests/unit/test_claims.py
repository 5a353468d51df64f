"""Claims of an identity provider: where the role is, which one it means, what a user is called."""

import pytest

from opsapp.auth.logic.claims import mapped_role, username_for, values_at

ROLES = {"admin": "a", "operator": "o", "viewer": None}


@pytest.mark.parametrize(
    ("claims", "path", "values"),
    [
        ({"role": "a"}, "role", ["a"]),
        ({"role": ["a", 7, "b", None]}, "role", ["a", "b"]),
        ({"x": {"y": {"z": ["a"]}}}, "x.y.z", ["a"]),
        ({"https://x.example/roles": ["a"]}, "https://x.example/roles", ["a"]),
        ({"x": "a"}, "x.y", []),
        ({}, "role", []),
        ({"role": {"a": 1}}, "role", []),
        ({"role": True}, "role", []),
    ],
)
def test_values_of_a_claim(claims, path, values):
    assert values_at(claims, path) == values


@pytest.mark.parametrize(
    ("values", "role"), [(["o", "a"], "admin"), (["o"], "operator"), (["v"], None), ([], None), (["None"], None)]
)
def test_mapped_role(values, role):
    assert mapped_role(values, ROLES) == role


@pytest.mark.parametrize(
    ("claims", "taken", "name"),
    [
        ({"preferred_username": "Ada Lovelace"}, [], "ada-lovelace"),
        ({"preferred_username": "ada"}, ["ada", "ada-2"], "ada-3"),
        ({"preferred_username": "@@", "email": "Ada@example.org"}, [], "ada@example.org"),
        ({"sub": "7|x"}, [], "7-x"),
        ({"preferred_username": 7, "sub": "Ω"}, [], "user"),
        ({"sub": "x" * 80}, [], "x" * 64),
        ({"sub": "x" * 80}, ["x" * 64], "x" * 62 + "-2"),
    ],
)
def test_usernames(claims, taken, name):
    assert username_for(claims, lambda each: each in taken) == name
