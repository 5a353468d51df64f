"""What was going on on a host, a monitor, in an incident or a case. Times in seconds; what nobody knows is None or
`unknown`. Must not: read a store, word a page."""

from __future__ import annotations

from typing import Annotated, Literal

from opsapp.wire.dataclass import frozen
from opsapp.wire.kinds import Text
from opsapp.wire.records import Between, Most

KINDS = ("hosts", "monitors", "incidents", "cases")
Kind = Literal["hosts", "monitors", "incidents", "cases"]
Row = Literal["planned", "deployed", "run", "outage", "people", "machine"]
Words = Annotated[str, Text(0, 4000)]
At = Annotated[int, Between(0)]


@frozen
class MomentCurve:
    """A value for each of the moment's `times`."""

    name: str
    values: tuple[float | None, ...]


@frozen
class MomentLane:
    """Readings with one unit. `gap_s`: values further apart do not belong together."""

    name: str
    unit: Literal["milliseconds", "percent", "plain", "rate"]
    curves: tuple[MomentCurve, ...]
    gap_s: float
    limit: float | None = None


@frozen
class StateStretch:
    since: At
    until: At
    state: str


@frozen
class StateRow:
    """How a monitor stood, or whether a host reported."""

    name: str
    place: str
    stretches: tuple[StateStretch, ...]


@frozen
class MomentMark:
    """`look`: its glyph; `place`: the page about it."""

    row: Row
    since: At
    until: At | None
    look: str
    words: Words
    place: str = ""


@frozen
class RuleThen:
    """A condition over the five minutes around the moment; None: nobody knows. `read`: what it read, or why nothing is
    known. `did`: what its case was about."""

    rule_id: str
    condition: Words
    holds: bool | None
    read: Words
    did: Words


@frozen
class Moment:
    """`at`: under the crosshair. Values are means of `step` seconds. `left_out`: marks too many to be told. `causes`:
    as hosts said them then."""

    kind: Kind
    id: str
    name: str
    agent_id: str | None
    since: At
    until: At
    at: At
    step: At
    live: bool
    times: tuple[At, ...]
    lanes: tuple[MomentLane, ...]
    states: tuple[StateRow, ...]
    marks: Annotated[tuple[MomentMark, ...], Most(1000)]
    left_out: At
    causes: tuple[Words, ...]
    rules: tuple[RuleThen, ...]
