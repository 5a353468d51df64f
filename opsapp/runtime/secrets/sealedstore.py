"""All of the store that is sealed: sealing what an older version stored plainly, and sealing everything with a new key.

Both go through the whole store in its own order, a few hundred objects in a transaction, while other nodes work.
"""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

from ZODB.MappingStorage import MappingStorage
from ZODB.POSException import POSKeyError
from ZODB.utils import get_pickle_metadata, u64

from opsapp.lib.problems import Unavailable
from opsapp.runtime.base import NodeBase
from opsapp.runtime.cluster.nodes import node_records_of
from opsapp.tree.classes import stored_class
from opsapp.tree.damage import is_damage, load, reason_of
from opsapp.tree.root import Root

from .sealedfields import CLASSES
from .seals import CHECK, GRACE_S, REGISTRY_KEY, Reseal, Seal, key_file, no_key, read, write

log = logging.getLogger(__name__)

AT_ONCE = 200
DONE = "sealed_fields"


def set_up(root: Root) -> None:
    """Evolve step. An older version, which would read the rest for the whole, refuses this store."""
    root.system[DONE] = ()


def seal_stored(node: NodeBase) -> int:
    """Seal what was stored before its class named these fields, once for each field; how many records."""
    declared = tuple(sorted(f"{_dotted(cls)}.{name}" for cls in CLASSES for name in cls.sealed_fields))
    done = node.transact(lambda root: root.system[DONE])
    new = set(declared) - set(done)
    if not new:
        return 0
    classes = tuple(cls for cls in CLASSES if any(f"{_dotted(cls)}.{name}" in new for name in cls.sealed_fields))
    count = _store_again(node, classes)
    node.transact(lambda root: root.system.__setitem__(DONE, declared))
    if count:
        log.info("sealed the hidden parts of %d records; `opsapp pack` removes their old revisions", count)
    return count


def _dotted(cls: type) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"


def rekey(node: NodeBase) -> int:
    """Make a new master key and seal everything again; how many values. May be repeated after a crash: old keys leave
    the file only when nothing needs them.

    Nodes read the file when they meet the new key, and every two seconds. First the file has the new key; then the
    store names it, and every node seals with it or not at all; then all is sealed again; when all nodes have had time
    to read the file, the old keys go.
    """
    path = key_file(node.registry.settings)
    old = read(path)
    if path is None or not old:
        raise no_key()
    lines = [secrets.token_hex(32), *old]
    write(path, lines)
    seal = node.registry[REGISTRY_KEY] = Seal(lines)
    others = node.transact(_go_by, seal.present, node.name)
    count = node.transact(_reseal_values, list(node.registry.opsapp_sealed), seal)
    count += _store_again(node, tuple(CLASSES))
    if others:
        time.sleep(GRACE_S)
    write(path, lines[:1])
    node.registry[REGISTRY_KEY] = Seal(lines[:1])
    return count


def _reseal_values(root: Root, rooms: list[Callable[[Root, Reseal], None]], seal: Seal) -> int:
    count = 0

    def reseal(sealed: str, purpose: str) -> str:
        nonlocal count
        count += 1
        return seal.seal(seal.open(sealed, purpose), purpose)

    for room in rooms:
        room(root, reseal)
    return count


def _go_by(root: Root, name: str, own: str) -> bool:
    """Make the store go by this key from now on; whether other nodes may be running."""
    root.system[CHECK] = name
    return any(known != own for known in node_records_of(root))


def _store_again(node: NodeBase, classes: tuple[type, ...]) -> int:
    """Store again the records that have a hidden part, so that it is sealed with the present key; how many there
    are."""
    count, lot = 0, list[bytes]()
    for oid in _of_class(node.store.db.storage, classes):
        lot.append(oid)
        if len(lot) == AT_ONCE:
            count += node.transact(_store_lot, lot)
            lot = []
    return count + (node.transact(_store_lot, lot) if lot else 0)


def _of_class(storage: Any, classes: tuple[type, ...]) -> Iterator[bytes]:
    """The ids of current records of these classes. A storage in memory is new at each start; any other that cannot be
    gone through is refused: what it holds would keep the old key, or no seal."""
    if isinstance(storage, MappingStorage):
        return
    if not hasattr(storage, "record_iternext"):
        raise Unavailable(
            "the objects of this kind of storage cannot be listed: nothing was sealed", code="store_not_listed"
        )
    position: Any = None
    while True:
        oid, _, data, position = storage.record_iternext(position)
        if issubclass(_class_named(*get_pickle_metadata(data)), classes):
            yield oid
        if position is None:
            return


@lru_cache
def _class_named(module: str, name: str) -> type:
    """A record may be stored under a name that its class had in an older version."""
    named: type = stored_class(module, name)
    return named


def _store_lot(root: Root, oids: list[bytes]) -> int:
    connection: Any = root._p_jar
    count = 0
    for oid in oids:
        try:
            record = load(connection.get(oid))
        except POSKeyError:  # it was packed away meanwhile
            continue
        except Exception as problem:
            if not is_damage(problem):
                raise
            log.error("not sealed, because it cannot be read: object 0x%x: %s", u64(oid), reason_of(problem))
            continue
        if record.has_hidden_parts():
            record._p_changed = True
            count += 1
    return count
