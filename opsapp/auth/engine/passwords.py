"""Password hashes: argon2id, in a lane of its own, so that neither the hub nor a transaction waits for one."""

from __future__ import annotations

import secrets
from base64 import b64encode

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError
from argon2.low_level import ARGON2_VERSION

from opsapp.auth.logic.names import normal
from opsapp.runtime.fair import Whose
from opsapp.runtime.node import Node

# OWASP's first choice: 46 MiB, one pass, one thread, so that two at once leave the hub its share of two cores.
HASHER = PasswordHasher(time_cost=1, memory_cost=47_104, parallelism=1)
THREADS = 2


def hash_password(node: Node, password: str) -> str:
    return node.lane("passwords", THREADS).run(HASHER.hash, normal(password))


def verify_password(node: Node, whose: Whose, password_hash: str | None, password: str) -> bool:
    """Takes the same time for an unknown user (None or empty) as for a wrong password."""
    return node.lane("passwords", THREADS).run_for(whose, _verify, password_hash, password)


def placeholder_hash() -> str:
    """No password's: chance, written as HASHER writes a hash. To check one against it takes as long as against any."""
    salt, digest = (b64encode(secrets.token_bytes(size)).rstrip(b"=").decode() for size in (16, 32))
    cost = f"m={HASHER.memory_cost},t={HASHER.time_cost},p={HASHER.parallelism}"
    return f"$argon2id$v={ARGON2_VERSION}${cost}${salt}${digest}"


def _verify(password_hash: str | None, password: str) -> bool:
    try:
        return HASHER.verify(password_hash or placeholder_hash(), normal(password)) and bool(password_hash)
    except (VerificationError, InvalidHashError):
        return False
