"""The hash that stands in for an unknown user's: it costs what a real one costs, and no password fits it."""

import pytest
from argon2 import PasswordHasher
from argon2.exceptions import VerifyMismatchError

from opsapp.auth.engine import passwords


@pytest.mark.parametrize("cost", [(1, 47_104, 1), (2, 64, 2)])
def test_nobodys_hash_is_as_dear_as_a_real_one(monkeypatch, cost):
    hasher = PasswordHasher(time_cost=cost[0], memory_cost=cost[1], parallelism=cost[2])
    monkeypatch.setattr(passwords, "HASHER", hasher)
    nobodys = passwords.placeholder_hash()
    assert not hasher.check_needs_rehash(nobodys)
    assert len(nobodys) == len(hasher.hash("a password"))
    with pytest.raises(VerifyMismatchError):  # and not: an invalid hash, which is found out at once
        hasher.verify(nobodys, "a password")
