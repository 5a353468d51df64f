"""`dataclass` of the standard library, made five times as fast, for every record of the house.

A process makes four hundred of these classes while it starts, and the standard library compiles six functions for
each: a quarter of the start. Here only the constructor is compiled.
Must not: mean anything else than the standard library does.
"""

from __future__ import annotations

import dataclasses
from functools import partial
from operator import attrgetter
from reprlib import recursive_repr
from typing import Any, Callable, Dict, List, Optional, Tuple

__all__ = ["dataclass", "frozen"]


def dataclass(cls: Optional[type] = None, **options: Any) -> Any:
    """What is not frozen, or asks for more than keywords, is made by the standard library."""

    def make(cls: type) -> type:
        if not options.get("frozen") or options.keys() - {"frozen", "kw_only"}:
            return dataclasses.dataclass(**options)(cls)
        return _frozen(cls, options.get("kw_only", False))

    return make if cls is None else make(cls)


frozen = partial(dataclass, frozen=True)


def _frozen(cls: type, kw_only: bool) -> type:
    written = dict(cls.__dict__)  # what the class says itself stays
    cls.__doc__ = cls.__doc__ or cls.__name__  # the standard library looks for its signature, which takes long
    more = {"kw_only": True} if kw_only else {}  # Python 3.9, which an agent may run on, has no such option
    made: Any = dataclasses.dataclass(init=False, repr=False, eq=False, **more)(cls)
    fields = dataclasses.fields(made)
    names = [field.name for field in fields if field.compare]
    for method in (*_SHARED, _constructor(made, fields), _comparing(names)):
        if method.__name__ not in written:
            setattr(made, method.__name__, method)
    if written.get("__hash__") is None and "__eq__" not in written:
        made.__hash__ = _hashing(names)
    return made


class _Factory:
    def __repr__(self) -> str:
        return "<factory>"


_MISSING = _Factory()


def _constructor(made: type, fields: Tuple[Any, ...]) -> Callable[..., None]:
    """Compiled, so that making a record costs what it does by hand."""
    known: Dict[str, Any] = {"_set": object.__setattr__, "_missing": _MISSING}
    places: List[str] = []
    keywords: List[str] = []
    lines = []
    for field in fields:
        name = field.name
        value = field.default if field.default_factory is dataclasses.MISSING else field.default_factory
        if value is not dataclasses.MISSING:
            known[f"_of_{name}"] = value
        anew = field.default_factory is not dataclasses.MISSING
        default = "_missing" if anew else f"_of_{name}" if field.default is not dataclasses.MISSING else ""
        (keywords if getattr(field, "kw_only", False) else places).append(f"{name}={default}" if default else name)
        lines.append(f" _set(self, {name!r}, {f'_of_{name}() if {name} is _missing else ' if anew else ''}{name})")
    asked = ", ".join(["self", *places, *(["*", *keywords] if keywords else [])])
    exec(f"def __init__({asked}):\n" + "\n".join(lines or [" pass"]), known)
    constructor: Callable[..., None] = known.pop("__init__")
    constructor.__module__, constructor.__qualname__ = made.__module__, f"{made.__qualname__}.__init__"
    constructor.__annotations__ = {**{field.name: field.type for field in fields}, "return": None}
    return constructor


def _values_of(names: List[str]) -> Callable[[Any], Any]:
    return attrgetter(*names) if names else lambda _record: ()


def _comparing(names: List[str]) -> Callable[[Any, Any], Any]:
    values_of = _values_of(names)

    def __eq__(self: Any, other: Any) -> Any:
        return values_of(self) == values_of(other) if other.__class__ is self.__class__ else NotImplemented

    return __eq__


def _hashing(names: List[str]) -> Callable[[Any], int]:
    values_of = _values_of(names)
    return lambda self: hash(values_of(self))


class _Methods:
    @recursive_repr()
    def __repr__(self) -> str:
        said = (f"{field.name}={getattr(self, field.name)!r}" for field in _fields_of(self) if field.repr)
        return f"{self.__class__.__qualname__}({', '.join(said)})"

    def __setattr__(self, name: str, value: Any) -> None:
        if _is_frozen(self, name):
            raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
        object.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> None:
        if _is_frozen(self, name):
            raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
        object.__delattr__(self, name)


_SHARED = [method for name, method in vars(_Methods).items() if name in ("__repr__", "__setattr__", "__delattr__")]


def _fields_of(record: Any) -> Tuple[Any, ...]:
    return dataclasses.fields(record)


def _is_frozen(record: Any, name: str) -> bool:
    """A class below a record that is none itself may have more than the fields."""
    return "__dataclass_params__" in type(record).__dict__ or name in record.__dataclass_fields__
