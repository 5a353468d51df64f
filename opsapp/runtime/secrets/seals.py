"""Secrets at rest: sealed with the master key (AES-256-GCM), in a file beside the data and never in the store.

The file has a key a line, the present one first; older ones open what they sealed until `rekey` is through. A sealed
value is bound to what it is for, so that it cannot be moved to another place.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import logging
import os
import secrets
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from opsapp.lib.problems import Unavailable
from opsapp.runtime.base import NodeBase, base_of
from opsapp.runtime.store.settings import Settings
from opsapp.tree.root import KEY, Root

log = logging.getLogger(__name__)

ENVIRONMENT = "OPSAPP_SECRET_FILE"
NAME = "secret.key"
SHORTEST = 32
LOOK_S = 2.0
REREAD_S = 1.0
GRACE_S = 6.0
REGISTRY_KEY = "opsapp.seal"
CHECK = "seal_check"
Reseal = Callable[[str, str], str]


class Seal:
    """Seals with the present key, opens with any. `again` reads the file anew, for a key that is not known yet."""

    def __init__(self, lines: list[str], again: Callable[[], list[str]] | None = None):
        self._again = again
        self._read_at = -REREAD_S
        self.take(lines)

    def take(self, lines: list[str]) -> None:
        """These keys and no others; the first is the present one."""
        keys = [hashlib.sha256(b"opsapp master key\0" + line.encode()).digest() for line in lines]
        self._keys = {_name(key): key for key in keys}
        self.present = _name(keys[0]) if keys else None

    @property
    def has_keys(self) -> bool:
        return bool(self._keys)

    @property
    def can_seal(self) -> bool:
        return self.present in self._keys

    def knows(self, name: str) -> bool:
        """Whether the key is known, if need be from the file as it is now."""
        if name not in self._keys:
            self.look_again()
        return name in self._keys

    def look_again(self) -> None:
        """Read the file anew, but not more often than once a second."""
        if self._again is not None and time.monotonic() - self._read_at >= REREAD_S:
            self._read_at = time.monotonic()
            lines = self._again()
            if lines:
                self.take(lines)

    def follow(self, name: str) -> None:
        """The store goes by the key of this name: seal with it, or with none."""
        if self.present != name:
            self.present = name if self.knows(name) else None

    def _key(self, name: str | None) -> bytes:
        key = self._keys.get(name or "")
        if key is None:
            raise no_key()
        return key

    def seal(self, plain: str, purpose: str) -> str:
        present = self.present
        nonce = os.urandom(12)
        sealed = AESGCM(self._key(present)).encrypt(nonce, plain.encode(), purpose.encode())
        return f"{present}.{base64.urlsafe_b64encode(nonce + sealed).decode()}"

    def derived(self, purpose: str) -> bytes:
        """A secret for this purpose that every node with the same master key has."""
        return _derived(self._key(self.present), purpose)

    def all_derived(self, purpose: str) -> list[bytes]:
        """The keys derived of every key: while one takes the place of another, nodes have both."""
        return [_derived(key, purpose) for key in self._keys.values()]

    def open(self, sealed: str, purpose: str) -> str:
        name, _, text = sealed.partition(".")
        self.knows(name)
        key = self._key(name)
        raw = base64.urlsafe_b64decode(text)
        try:
            return AESGCM(key).decrypt(raw[:12], raw[12:], purpose.encode()).decode()
        except InvalidTag:
            raise Unavailable(
                "A stored secret cannot be opened: it was damaged or moved.", code="seal_broken"
            ) from None


def _derived(key: bytes, purpose: str) -> bytes:
    return hmac.new(key, b"derived\0" + purpose.encode(), hashlib.sha256).digest()


def _name(key: bytes) -> str:
    """Which key a value was sealed with, without a hint at the key."""
    return hashlib.sha256(b"name\0" + key).hexdigest()[:12]


def no_key() -> Unavailable:
    return Unavailable(
        f"This node does not have the master key that secrets are sealed with: see {ENVIRONMENT}.", code="no_master_key"
    )


def seal_of(root: Any) -> Seal:
    """The seal of the node in whose transaction this is; `root` may be any stored object.

    It seals with the key that the store goes by. If another key takes its place meanwhile, the transaction meets a
    conflict, so nothing is sealed with a key that is about to go.
    """
    connection = root._p_jar
    seal = base_of(root).registry[REGISTRY_KEY]
    if connection.before is None:
        system = connection.root()[KEY].system
        connection.readCurrent(system)
        if system.get(CHECK) is not None:
            seal.follow(system[CHECK])
    return seal


def opener_of(item: Any) -> Seal:
    seal: Seal = base_of(item).registry[REGISTRY_KEY]
    return seal


def key_file(settings: Settings) -> Path | None:
    """The master key's file as the environment says, else beside the data; None for a store elsewhere."""
    return Path(os.environ[ENVIRONMENT]) if os.environ.get(ENVIRONMENT) else file_beside(settings)


def file_beside(settings: Settings) -> Path | None:
    """Where the key is unless the environment says another place: beside the data."""
    if settings.get("opsapp.data"):
        return Path(settings["opsapp.data"]) / NAME
    uri = settings.get("zodbconn.uri", "")
    return Path(uri[len("file://") :].partition("?")[0]).parent / NAME if uri.startswith("file://") else None


def prepare(node: NodeBase) -> None:
    """Called at start-up: read or make the key, and check that this store's secrets were sealed with it."""
    path = key_file(node.registry.settings)
    known = node.transact(lambda root: root.system.get(CHECK))
    if path is not None and not path.exists() and known is None:
        write(path, [secrets.token_hex(32)], fresh=True)
    seal = node.registry[REGISTRY_KEY] = Seal(read(path), lambda: read(path))
    if seal.present is not None:
        known = node.transact(_agree, seal.present)
    trouble = _trouble(seal, known)
    if trouble is not None:
        log.error("%s. Put the file back: %s", trouble, path or f"set {ENVIRONMENT}")
    elif seal.present is None:
        log.warning("there is no master key: no secret can be stored. Set %s", ENVIRONMENT)


def trouble(root: Any) -> str | None:
    return _trouble(base_of(root).registry[REGISTRY_KEY], root.system.get(CHECK))


def _trouble(seal: Seal, known: str | None) -> str | None:
    """`known`: the key of the store's secrets. A store without any is in no trouble."""
    if known is None or seal.knows(known):
        return None
    wrong = "is not the one that this store's secrets were sealed with" if seal.has_keys else "is missing"
    return f"the master key {wrong}: second factors, channels and stored secrets cannot be opened"


def _agree(root: Root, name: str) -> str:
    """The key that this store goes by: the first that came."""
    return root.system.setdefault(CHECK, name)


def read(path: Path | None) -> list[str]:
    if path is None or not path.exists():
        return []
    if path.stat().st_mode & 0o077:
        log.warning("the master key can be read by others than its owner: chmod 600 %s", path.name)
    return [line.strip() for line in path.read_text().splitlines() if len(line.strip()) >= SHORTEST]


def write(path: Path, lines: list[str], *, fresh: bool = False) -> None:
    """The file is written in one step: a reader has the old keys or the new. `fresh`: another process that was first
    wins."""
    part = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write("\n".join(lines) + "\n")
        file.flush()
        os.fsync(file.fileno())
    try:
        os.link(part, path) if fresh else os.replace(part, path)
    except FileExistsError:
        log.info("another process made the master key")
    finally:
        part.unlink(missing_ok=True)


def start(node: NodeBase) -> None:
    """Runs on every node: it takes a key that has come into the file, and drops one that has left it."""
    path = key_file(node.registry.settings)
    seen: list[Any] = [None]
    node.supervisor.add("master-key", lambda: node.lane("looking", 1).run(_look, node, path, seen), every=LOOK_S)


def _look(node: NodeBase, path: Path | None, seen: list[Any]) -> None:
    mark = path.stat().st_mtime_ns if path is not None and path.exists() else None
    if mark is None and seen[0] is not None:
        log.error("the file of the master key is gone: put it back before the next start: %s", path)
        seen[0] = None
    if mark is not None and mark != seen[0]:
        lines = read(path)
        if lines:
            node.registry[REGISTRY_KEY].take(lines)
        seen[0] = mark


def add_sealed(config: Any, fn: Any) -> None:
    """Directive: `fn(root, reseal)` puts `reseal(sealed, purpose)` in the place of every sealed value of a room."""
    config.registry.opsapp_sealed.append(config.maybe_dotted(fn))


def includeme(config: Any) -> None:
    config.registry.opsapp_sealed = []
    config.registry[REGISTRY_KEY] = Seal([])
    config.add_directive("add_sealed", add_sealed)
