"""Notices that people put on the public status page: what each says, and what is stored under /api/monitoring/notices.

One that is over stays for a while, for who is signed in. Must not: know what visitors see.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, ClassVar, Literal

from BTrees.OOBTree import OOTreeSet

from opsapp.lib.ids import id_from
from opsapp.lib.pagenames import MAIN, is_on
from opsapp.lib.visible import name_kind
from opsapp.maintenance.records import Wall
from opsapp.monitoring.records import PublicNotice, Severity
from opsapp.monitoring.shownon import MOST_NAMED, PageName, paths_of
from opsapp.tree.folder import Folder, Record
from opsapp.tree.places import ApiPlace
from opsapp.tree.root import Root, root_above
from opsapp.wire.dataclass import frozen
from opsapp.wire.kinds import Text
from opsapp.wire.records import FormField, InAnswers, Since, Told, made, settings_of

KIND = "notice"
MOST_OPEN, MOST_ENDED = 50, 500


@frozen
class NoticeSettings:
    """What visitors of the status page read until somebody ends it, or its time comes."""

    component: ClassVar[str] = "Notice"
    sample: ClassVar[dict[str, str]] = {"title": "The phones move on Sunday", "severity": "info"}

    title: Annotated[str, name_kind(), FormField("Title", hint="Visitors of the status page read it on top")]
    text: Annotated[str, Text(0, 5000), FormField("Text", "area")] = ""
    severity: Severity = "info"
    until: Annotated[
        Wall | None, InAnswers(Text(1, 40), null=True), FormField("Until", "moment", "Empty: until somebody ends it.")
    ] = None
    pages: Annotated[
        tuple[PageName, ...],
        MOST_NAMED,
        FormField("On these status pages", "list", "public is the page of all, * is every page", "public"),
    ] = (MAIN,)


@frozen(kw_only=True)
class NoticeRecord(NoticeSettings):
    id: Told[str]
    ends_at: Told[Since | None]
    status: Told[Literal["open", "ended"]]
    created_at: Told[Since]
    created_by: Told[str]
    ended_at: Told[Since | None]
    ended_by: Told[str | None]


class StatusNotice(Record):
    """/api/monitoring/notices/{id}. `fields`: as it is stored, with the ids of its pages. `ends_at`: when it is over by
    itself."""

    url = "/api/monitoring/notices/{notice_id}"

    def __init__(self, said: NoticeSettings, ends_at: float | None, user: str, now: float):
        self.fields = settings_of(said)
        self.ends_at = ends_at
        self.created_at, self.created_by = int(now), user
        self.ended_at: int | None = None
        self.ended_by: str | None = None

    @property
    def id(self) -> str:
        return self.__name__

    @property
    def said(self) -> NoticeSettings:
        """As people say it: with the paths of its pages."""
        stored = self.stored
        return replace(stored, pages=paths_of(root_above(self), stored.pages))

    @property
    def stored(self) -> NoticeSettings:
        return made(NoticeSettings, self.fields)

    def over_at(self, now: float) -> int | None:
        """When it ended; None while it is open."""
        if self.ended_at is not None:
            return self.ended_at
        return int(self.ends_at) if self.ends_at is not None and self.ends_at <= now else None

    def record(self, now: float) -> NoticeRecord:
        over = self.over_at(now)
        return NoticeRecord(
            **vars(self.said),
            id=self.id,
            ends_at=self.ends_at,
            status="open" if over is None else "ended",
            created_at=self.created_at,
            created_by=self.created_by,
            ended_at=over,
            ended_by=self.ended_by,
        )

    def public(self) -> PublicNotice:
        said = self.stored
        return PublicNotice(self.id, said.title, said.text, said.severity, self.created_at, self.ends_at)


class StatusNotices(Folder):
    """/api/monitoring/notices. Ids begin with the time. `open`: neither ended nor out of time when one was written
    last."""

    url = "/api/monitoring/notices"
    holds = KIND

    def __init__(self) -> None:
        super().__init__()
        self.open = OOTreeSet()

    def on_page(self, page: str, now: float) -> list[StatusNotice]:
        """The open ones of this page, newest first."""
        return [notice for notice in self.open_ones(now) if is_on(notice.stored.pages, page)]

    def open_ones(self, now: float) -> list[StatusNotice]:
        """Newest first."""
        return [notice for notice in self.some(list(self.open)[::-1]) if notice.over_at(now) is None]

    def page(self, status: str, limit: int | None, offset: int, now: float) -> tuple[list[StatusNotice], int]:
        open_ones = self.open_ones(now)
        if status != "open":
            ended = {notice.id for notice in open_ones} if status == "ended" else set()
            names = [name for name in self if name not in ended][::-1]
            return list(self.some(names[offset:][:limit])), len(names)
        return open_ones[offset:][:limit], len(open_ones)

    def add(self, notice: StatusNotice, now: float) -> None:
        """Add a notice, and forget what is long over."""
        self[id_from(now, self)] = notice
        self.open.insert(notice.id)
        self._settle(now)
        over = [name for name in self if name not in self.open]
        for name in over[: max(0, len(over) - MOST_ENDED)]:
            del self[name]

    def end(self, notice: StatusNotice, user: str, now: float) -> None:
        notice.ended_at, notice.ended_by = int(now), user
        self.open.remove(notice.id)

    def drop(self, notice: StatusNotice) -> None:
        self.open.discard(notice.id)
        del self[notice.id]

    def _settle(self, now: float) -> None:
        """Those whose time has come are open no more."""
        for name, notice in list(self.some_items(list(self.open))):
            if notice.over_at(now) is not None:
                self.open.remove(name)


notices_place = ApiPlace[StatusNotices]("monitoring", "notices")


def set_up(root: Root) -> None:
    """Evolve step."""
    if not notices_place.is_there(root):
        notices_place.put(root, StatusNotices())


def notices_of(root: Root) -> StatusNotices | None:
    """None in the past of a store that had none yet."""
    return notices_place(root) if notices_place.is_there(root) else None
