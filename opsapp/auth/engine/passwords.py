"""Password hashes: argon2id, in a lane of its own, so that neither the hub nor a transaction waits."""

from __future__ import annotations

import math
import secrets
import threading
import time
from base64 import b64encode
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError
from argon2.low_level import ARGON2_VERSION

from opsapp.auth.logic.names import normal
from opsapp.lib.problems import Unavailable
from opsapp.runtime.node import Node
from opsapp.runtime.threads.fair import Whose

# OWASP's first choice: 46 MiB, one pass, one thread, so that two at once leave the hub its share of two cores.
HASHER = PasswordHasher(time_cost=1, memory_cost=47_104, parallelism=1)
THREADS = 2
MOST_WAIT_S = 2.0  # of hashing: who comes behind so much is asked to come again
FIRST_COST_S = 0.04
NEWS = 0.1  # the weight of the latest hash in what one costs
KEY = "opsapp.auth.hashing"


class HashingBusy(Unavailable):
    """This one would wait too long. Nothing was counted."""

    code = "sign_in_busy"

    def __init__(self, wait: float):
        super().__init__("Too many people sign in now. Try again in a moment.", retry_after=math.ceil(wait))


class ClientLeft(Unavailable):
    code = "client_left"


class Hashing:
    """Checks under way by group, and what one costs lately. One per node."""

    def __init__(self) -> None:
        self._under_way: Counter[str] = Counter()
        self._lock = threading.Lock()
        self.cost = FIRST_COST_S

    @contextmanager
    def admitted(self, whose: Whose) -> Iterator[None]:
        """HashingBusy: known browsers and sessions never wait behind other groups."""
        with self._lock:
            wait = self._under_way[whose.group] * self.cost / THREADS
            if wait > MOST_WAIT_S:
                raise HashingBusy(wait)
            self._under_way[whose.group] += 1
        try:
            yield
        finally:
            with self._lock:
                self._under_way[whose.group] -= 1

    def note(self, seconds: float) -> None:
        self.cost += NEWS * (seconds - self.cost)


def hashing_of(node: Node) -> Hashing:
    hashing: Hashing = node.registry.setdefault(KEY, Hashing())
    return hashing


def hash_password(node: Node, password: str) -> str:
    return node.lane("passwords", THREADS).run(HASHER.hash, normal(password))


def verify_password(
    node: Node, whose: Whose, password_hash: str | None, password: str, has_left: Callable[[], bool]
) -> bool:
    """Takes the same time for an unknown user (None or empty). ClientLeft where the asker has gone before his turn."""
    return node.lane("passwords", THREADS).run_for(
        whose, _verify_for, hashing_of(node), has_left, password_hash, password
    )


def placeholder_hash() -> str:
    """No password's: to check against it takes as long as against any."""
    salt, digest = (b64encode(secrets.token_bytes(size)).rstrip(b"=").decode() for size in (16, 32))
    cost = f"m={HASHER.memory_cost},t={HASHER.time_cost},p={HASHER.parallelism}"
    return f"$argon2id$v={ARGON2_VERSION}${cost}${salt}${digest}"


def _verify_for(hashing: Hashing, has_left: Callable[[], bool], password_hash: str | None, password: str) -> bool:
    if has_left():
        raise ClientLeft("Nobody waits for this answer any more.")
    began = time.monotonic()
    try:
        return _verify(password_hash, password)
    finally:
        hashing.note(time.monotonic() - began)


def _verify(password_hash: str | None, password: str) -> bool:
    try:
        return HASHER.verify(password_hash or placeholder_hash(), normal(password)) and bool(password_hash)
    except (VerificationError, InvalidHashError):
        return False
