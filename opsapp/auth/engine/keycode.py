"""API keys as code, by user and name, never the key itself. A document cannot make a key, because it would act in the
user's name: it lists the keys that exist, and the others are ended."""

from __future__ import annotations

from collections.abc import Iterator

from opsapp.audit.engine import Actor
from opsapp.auth.records import KeyAsCode
from opsapp.auth.resources import all_keys_of, drop_key
from opsapp.lib.problems import Conflict
from opsapp.runtime.ascode.kinds import Awaited, StoredEntry
from opsapp.runtime.node import Node
from opsapp.tree.root import Root
from opsapp.wire.records import settings_of


def stored(_node: Node, root: Root) -> Iterator[StoredEntry]:
    for key in sorted(all_keys_of(root).whole(), key=lambda row: (row.username, row.created_at, row.__name__)):
        yield StoredEntry(key.__name__, settings_of(KeyAsCode(key.username, key.name, key.role, key.expires_at)))


def create(_node: Node, _root: Root, entry: KeyAsCode, _actor: Actor) -> str:
    raise Awaited(f"{entry.user} makes it: a key is shown once, to nobody else")


def update(_node: Node, _root: Root, _key_id: str, entry: KeyAsCode, _actor: Actor) -> None:
    raise Conflict(f"A key stays as it was made: {entry.user} ends it and makes another.", code="key_stays")


def delete(_node: Node, root: Root, key_id: str, _actor: Actor) -> None:
    drop_key(root, all_keys_of(root)[key_id])
