"""What waits in the inbox, in the flat form that the store has always held. Must not: know what it leads to
(`engine.arrivals`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from .case import RuleEvent


class ConditionOver(NamedTuple):
    """`tells`: a monitor's incident tells its own end."""

    rule_id: str
    condition: str
    target: str
    at: float
    measured_at: float | None = None
    tells: bool = True


class RequestDecided(NamedTuple):
    """A request for several targets was decided."""

    request: str


class DeedStopped(NamedTuple):
    """`after`: the case that was told of it last."""

    deed: str
    after: str = ""


class WaitsChanged(NamedTuple):
    """What waits on a rule or, without one, for the end of a window. `after`: how far it was looked at again."""

    rule_id: str | None
    after: str


class RollbackWanted(NamedTuple):
    """An admin wants an entry undone."""

    ledger_id: int
    request: str


NamedMessage = ConditionOver | RequestDecided | DeedStopped | WaitsChanged | RollbackWanted
Message = RuleEvent | NamedMessage
KINDS: dict[str, type[NamedMessage]] = {
    "over": ConditionOver,
    "decided": RequestDecided,
    "stopped": DeedStopped,
    "waits": WaitsChanged,
    "rollback": RollbackWanted,
}


def stored(message: Message) -> Mapping[str, object]:
    if isinstance(message, RuleEvent):
        return message.stored()
    kind = next(kind for kind, record in KINDS.items() if isinstance(message, record))
    return {"kind": kind, **message._asdict()}


def read(row: Mapping[str, Any]) -> Message:
    """What an older version left out has its default."""
    record = KINDS.get(row.get("kind", ""))
    if record is None:
        return RuleEvent.read(row)
    return record(**{name: row[name] for name in record._fields if name in row})
