"""Records of which a part is sealed in the store: what `opsapp.lib.addresses` hides of the fields that a class names.

In memory such a record is whole. In the state that ZODB stores, the hidden parts are taken out, sealed together, and
bound to this one object.

A node that cannot open them may show the record (`***`) and change what is not hidden; the sealed parts stay. It must
do nothing with it: `opsapp.tree.damage.load` raises `Unopened`, so lists and projections treat it like a damaged
record. Where nothing but showing is ever done (`only_shown`), nothing is raised.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

from persistent import Persistent
from ZODB.utils import u64

from opsapp.lib.addresses import Parts, at_path, joined, split
from opsapp.lib.problems import Unavailable, Unopened

from .seals import Seal, opener_of, seal_of

SEALED = "sealed_parts"  # the attribute of the stored state; in memory, a record that could not be opened has it
CLASSES: list[type[SealedFields]] = []


class SealedParts(NamedTuple):
    """`places`: by field, where each hidden part has its place; `sealed`: all of them."""

    places: dict[str, list[list[str | int]]]
    sealed: str


class SealedFields(Persistent):
    sealed_fields: ClassVar[tuple[str, ...]] = ()
    only_shown: ClassVar[bool] = False
    _v_shut: Unopened | None = None
    _v_seen: Mapping[str, Any] = {}

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        CLASSES.append(cls)

    @property
    def unopened(self) -> Unopened | None:
        """Why nothing may be done with this record. It is loaded again once the key is there."""
        if self.only_shown or self._v_shut is None:
            return None
        key_name = SealedParts(*self.__dict__[SEALED]).sealed.partition(".")[0]
        if opener_of(self).knows(key_name):
            self._p_deactivate()
        return None if self._v_shut is None else self._v_shut.with_traceback(None)

    def has_hidden_parts(self) -> bool:
        """Whether it has anything that is sealed when it is stored."""
        return any(split(self.__dict__.get(name)).hidden for name in self.sealed_fields)

    def __getstate__(self) -> Any:
        state = super().__getstate__()
        if self._p_jar is None:  # it is not stored yet
            return state
        if SEALED in state:
            if self._has_kept(state):
                return state
            if self.unopened is not None:
                raise self.unopened
            del state[SEALED]
        parts = {name: split(state.get(name)) for name in self.sealed_fields}
        hidden = {name: split_field.hidden for name, split_field in parts.items() if split_field.hidden}
        if hidden:
            state |= {name: parts[name].seen for name in hidden}
            self._seal(state, hidden)
        return state

    def _seal(self, state: dict[str, Any], hidden: dict[str, list[tuple[list[str | int], Any]]]) -> None:
        places = {name: [path for path, _ in hidden_parts] for name, hidden_parts in hidden.items()}
        values = {name: [value for _, value in hidden_parts] for name, hidden_parts in hidden.items()}
        try:
            sealed = seal_of(self).seal(json.dumps(values), purpose(self._p_oid))
        except Unavailable:
            if not self.only_shown:
                raise
            return
        state[SEALED] = tuple(SealedParts(places, sealed))

    def _has_kept(self, state: dict[str, Any]) -> bool:
        """Whether every hidden part's place is as it was loaded: what is sealed still fits."""
        places = SealedParts(*state[SEALED]).places
        return all(
            at_path(state.get(name), path) == at_path(self._v_seen.get(name), path)
            for name, paths in places.items()
            for path in paths
        )

    def __setstate__(self, state: dict[str, Any]) -> None:
        if SEALED not in state or self._p_jar is None:
            super().__setstate__(state)
            return
        try:
            values = opened(opener_of(self), self._p_oid, state)
        except Unavailable as problem:
            self._set_without(state, problem)
            return
        whole = {name: value for name, value in state.items() if name != SEALED}
        for name, paths in SealedParts(*state[SEALED]).places.items():
            whole[name] = joined(Parts(state[name], list(zip(paths, values[name], strict=True))))
        super().__setstate__(whole)

    def _set_without(self, state: dict[str, Any], problem: Unavailable) -> None:
        """Its hidden parts stay sealed. The past is only read."""
        super().__setstate__(state)
        self._v_seen = {name: state[name] for name in SealedParts(*state[SEALED]).places}
        if self._p_jar.before is None:
            name = _name_in(state, self.sealed_fields)
            self._v_shut = Unopened(problem.message, code=problem.code, name=name)


def opened(seal: Seal, oid: bytes, state: Mapping[str, Any]) -> dict[str, list[Any]]:
    parts = SealedParts(*state[SEALED])
    return dict(json.loads(seal.open(parts.sealed, purpose(oid))))


def purpose(oid: bytes) -> str:
    """What binds the sealed parts to their object: moved to another, they cannot be opened."""
    return f"hidden parts of object {u64(oid):x}"


def _name_in(state: Mapping[str, Any], fields: tuple[str, ...]) -> str:
    """What people call the record, as far as that may be seen."""
    values = (state.get(name) for name in fields)
    return next((str(value["name"]) for value in values if isinstance(value, dict) and "name" in value), "")
