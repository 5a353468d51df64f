"""Looks for damaged objects in the file of an embedded store: each is loaded as the service would load it.

A text whose letters were overwritten still reads well, so nobody can see that. Must not: write, or need the lock of the
store.
"""

from __future__ import annotations

import io
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from persistent import Persistent
from ZODB.broken import Broken
from ZODB.utils import u64

from opsapp.lib.problems import Unavailable
from opsapp.runtime.internals import PersistentUnpickler, read_only_file, record_ids
from opsapp.runtime.secrets.sealedfields import SEALED, opened
from opsapp.runtime.secrets.seals import Seal
from opsapp.tree.classes import stored_class
from opsapp.tree.damage import is_damage, reason_of


class Referred(NamedTuple):
    """`key`: where a B-tree holds it."""

    oid: bytes
    cls: Any
    key: str | None


class ObjectRecord(NamedTuple):
    cls: Any
    state: Any
    refers: list[Referred]


def damaged(path: Path) -> list[str]:
    """The objects that cannot be read, by the name under which each is kept, and why."""
    storage = read_only_file(path)
    try:
        broken = _broken(storage)
        names = _names(storage, broken.keys()) if broken else {}
        return [f"{names.get(oid, 'an object')} (0x{u64(oid):x}): {reason}" for oid, reason in sorted(broken.items())]
    finally:
        storage.close()


def unopened(path: Path, seal: Seal) -> list[str]:
    """The names of objects with a sealed part that these keys do not open."""
    storage = read_only_file(path)
    try:
        shut = [oid for oid in record_ids(storage) if _is_shut(storage.load(oid)[0], oid, seal)]
        names = _names(storage, shut) if shut else {}
        return [f"{names.get(oid, 'an object')} (0x{u64(oid):x})" for oid in sorted(shut)]
    finally:
        storage.close()


def _is_shut(data: bytes, oid: bytes, seal: Seal) -> bool:
    """What cannot be read at all is damaged: `damaged` names it."""
    if SEALED.encode() not in data:
        return False
    try:
        state = read(data).state
        if isinstance(state, dict) and SEALED in state:
            opened(seal, oid, state)
    except Unavailable:
        return True
    except Exception as problem:
        if not is_damage(problem):
            raise
    return False


def _broken(storage: Any) -> dict[bytes, str]:
    broken: dict[bytes, str] = {}
    for oid in record_ids(storage):
        try:
            record = read(storage.load(oid)[0])
            _revive(record)
        except Exception as problem:
            if not is_damage(problem):
                raise
            broken[oid] = reason_of(problem)
            continue
        broken.update(
            {reference.oid: "it is missing" for reference in record.refers if reference.oid not in record_ids(storage)}
        )
    return broken


def read(data: bytes) -> ObjectRecord:
    """Two pickles, of the class and of the state. A bare object stands in for what they name."""
    refers: list[Referred] = []
    stands_for: dict[int, Referred] = {}

    def persistent_load(reference: Any) -> Any:
        oid, cls = _of(reference)
        bare = Persistent() if cls is None else cls.__new__(cls)
        if oid is not None:
            stands_for[id(bare)] = Referred(oid, cls, None)
            kept.append(bare)
        return bare

    kept: list[Any] = []  # so that no id is used twice
    unpickler = PersistentUnpickler(_class_of, persistent_load, io.BytesIO(data))
    meta, state = unpickler.load(), unpickler.load()
    keys = dict(_keyed(state))
    for number, referred in stands_for.items():
        refers.append(referred._replace(key=keys.get(number)))
    return ObjectRecord(meta[0] if isinstance(meta, tuple) else meta, state, refers)


def _class_of(module: str, name: str) -> Any:
    cls = stored_class(module, name)
    if isinstance(cls, type) and issubclass(cls, Broken):
        raise TypeError(f"there is no class {module}.{name}")
    return cls


def _of(reference: Any) -> tuple[bytes | None, Any]:
    """The id and class of a reference; no id for one into another database, or a weak one."""
    if isinstance(reference, tuple):
        return reference[0], reference[1]
    if isinstance(reference, list):
        return None, None
    if len(reference) != 8:
        raise ValueError("a reference is no object id")
    return reference, None


def _keyed(state: Any) -> Iterable[tuple[int, str]]:
    """(id of the bare object, key) of what a bucket of a B-tree holds under texts."""
    while isinstance(state, tuple) and len(state) in (1, 2) and isinstance(state[0], tuple):
        state = state[0]
    if isinstance(state, tuple):
        for key, value in zip(state[::2], state[1::2], strict=False):
            if isinstance(key, str) and isinstance(value, Persistent):
                yield id(value), key


def _revive(record: ObjectRecord) -> None:
    cls = record.cls[0] if isinstance(record.cls, tuple) else record.cls
    item = cls.__new__(cls)
    if record.state is not None:
        item.__setstate__(record.state)


def _names(storage: Any, oids: Iterable[bytes]) -> dict[bytes, str]:
    """`Monitor 4f2a…`, or `State of Monitor 4f2a…` for what only another object holds."""
    held: dict[bytes, tuple[str, str | None, bytes]] = {}  # class, key, by whom
    wanted = set(oids)
    for _ in range(2):  # those that are damaged, then who holds them
        holders: set[bytes] = set()
        for oid in record_ids(storage):
            for reference in _referred(storage, oid):
                if reference.oid in wanted and reference.oid not in held:
                    held[reference.oid] = (reference.cls.__name__ if reference.cls else "object", reference.key, oid)
                    holders.add(oid)
        wanted = holders

    def name(oid: bytes, further: int = 2) -> str:
        if oid not in held:
            return f"object 0x{u64(oid):x}"
        cls, key, holder = held[oid]
        if key is not None:
            return f"{cls} {key}"
        return f"{cls} of {name(holder, further - 1)}" if further else cls

    return {oid: name(oid) for oid in oids}


def _referred(storage: Any, oid: bytes) -> list[Referred]:
    try:
        return read(storage.load(oid)[0]).refers
    except Exception as problem:
        if not is_damage(problem):
            raise
        return []
