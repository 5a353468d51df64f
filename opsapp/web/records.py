"""What the API answers of the service itself: its configuration, what is wrong around it, its store, what a document
changed."""

from __future__ import annotations

from typing import Annotated, Literal

from opsapp.wire.dataclass import dataclass
from opsapp.wire.kinds import AnyValues, Text
from opsapp.wire.records import Between

Count = Annotated[int, Between(0)]
LongText = Annotated[str, Text(0, 10_000)]


@dataclass(frozen=True)
class PublicStatus:
    status: Literal["ok"]
    version: str
    uptime_s: Count


@dataclass(frozen=True)
class SettingShown:
    name: str
    value: LongText
    usual: LongText
    changed: bool


@dataclass(frozen=True)
class SettingsShown:
    from_file: bool
    settings: tuple[SettingShown, ...]


@dataclass(frozen=True)
class FindingShown:
    level: Literal["ok", "warn", "fail"]
    what: str
    said: str


@dataclass(frozen=True)
class Findings:
    findings: tuple[FindingShown, ...]


@dataclass(frozen=True)
class StoreState:
    sizes: dict[str, Count]
    packed_at: Count | None
    pack_problem: str | None


@dataclass(frozen=True)
class Packed:
    sizes: dict[str, Count]
    status: Literal["packed"] = "packed"


@dataclass(frozen=True)
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


@dataclass(frozen=True)
class WaitingRecord:
    kind: str
    key: str
    why: Annotated[str, Text(0, 2000)]


@dataclass(frozen=True)
class Applied:
    """What a document has changed, or would. `waiting`: what only somebody else can make."""

    changes: tuple[ChangeRecord, ...]
    unchanged: Count
    waiting: tuple[WaitingRecord, ...]
    dry_run: bool

    def of_kind(self, change: str) -> list[ChangeRecord]:
        return [row for row in self.changes if row.change == change]
