"""What the API answers of the service itself: its configuration, what is wrong around it, its store, what a document
changed."""

from __future__ import annotations

from typing import Annotated, Literal

from opsapp.wire.dataclass import frozen
from opsapp.wire.kinds import AnyValues, Text
from opsapp.wire.records import Between

Count = Annotated[int, Between(0)]
LongText = Annotated[str, Text(0, 10_000)]


@frozen
class PublicStatus:
    status: Literal["ok"]
    version: str
    uptime_s: Count


@frozen
class SettingShown:
    name: str
    value: LongText
    usual: LongText
    changed: bool


@frozen
class SettingsShown:
    from_file: bool
    settings: tuple[SettingShown, ...]


@frozen
class FindingShown:
    level: Literal["ok", "warn", "fail"]
    what: str
    said: str


@frozen
class Findings:
    findings: tuple[FindingShown, ...]


@frozen
class StoreState:
    sizes: dict[str, Count]
    packed_at: Count | None
    pack_problem: str | None


@frozen
class Packed:
    sizes: dict[str, Count]
    status: Literal["packed"] = "packed"


@frozen
class ChangeRecord:
    """`once` is shown to nobody else, and not again."""

    kind: str
    change: Literal["create", "update", "delete"]
    key: str
    id: str | None
    before: AnyValues
    after: AnyValues
    secrets: bool
    stamp: str
    once: dict[str, str]


@frozen
class WaitingRecord:
    kind: str
    key: str
    why: Annotated[str, Text(0, 2000)]


@frozen
class Applied:
    """What a document has changed, or would. `waiting`: what only somebody else can make."""

    changes: tuple[ChangeRecord, ...]
    unchanged: Count
    waiting: tuple[WaitingRecord, ...]
    dry_run: bool

    def of_kind(self, change: str) -> list[ChangeRecord]:
        return [row for row in self.changes if row.change == change]
