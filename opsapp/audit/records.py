"""What is answered about the audit record, declared once (`wire.records`). Must not: know the store."""

from __future__ import annotations

from typing import Annotated

from opsapp.wire.dataclass import frozen
from opsapp.wire.kinds import Anything
from opsapp.wire.records import AT_TIMES


@frozen
class AuditEntry:
    id: str
    time: int
    username: str | None
    ip: str | None
    action: str
    target: str
    result: str
    reason: str | None
    before: Annotated[object | None, Anything()]
    after: Annotated[object | None, Anything()]


@frozen
class AuditVerdict:
    valid: bool
    entries: int
    first_bad: str | None
    reason: Annotated[str | None, AT_TIMES] = None
