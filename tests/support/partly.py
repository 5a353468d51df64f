"""A declared record of which a test says only what it needs: everything else is None."""

from opsapp.wire.kinds import ListOf
from opsapp.wire.records import DeclaredObject, parts_of


def partly(record, values):
    known = {part.name: part for part in parts_of(record)}
    assert not values.keys() - known.keys()
    return record(**{part.attribute: _made(part.kind, values.get(name)) for name, part in known.items()})


def _made(kind, value):
    if isinstance(kind, DeclaredObject) and isinstance(value, dict):
        return partly(kind.owner, value)
    if isinstance(kind, ListOf) and isinstance(value, list):
        return tuple(_made(kind.item.kind, item) for item in value)
    return value
