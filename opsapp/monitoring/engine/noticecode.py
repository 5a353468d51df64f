"""Open notices of the status page as code (`opsapp.runtime.ascode`), by title. What is over is in no document, and is
not put up again.
"""

from __future__ import annotations

from collections.abc import Iterator

from opsapp.monitoring.notices import NoticeSettings, StatusNotices, notices_of
from opsapp.runtime.ascode.kinds import Awaited, StoredEntry
from opsapp.runtime.node import Node
from opsapp.tree.root import Root
from opsapp.wire.records import settings_of

from . import notices

BY = "code"


def stored(node: Node, root: Root) -> Iterator[StoredEntry]:
    """The one that was put up first comes first."""
    known, now = _notices(root), node.clock.now()
    for notice in [known[name] for name in known.open]:
        if notice.over_at(now) is None:
            yield StoredEntry(notice.id, settings_of(notice.said))


def create(node: Node, root: Root, entry: NoticeSettings) -> str:
    if notices.wrong_end(root, entry.until):
        raise Awaited(f"was over at {entry.until}")
    return notices.put(root, _notices(root), entry, BY, node.clock.now()).id


def update(node: Node, root: Root, notice_id: str, entry: NoticeSettings) -> None:
    notices.change(root, _notices(root)[notice_id], entry, node.clock.now())


def delete(node: Node, root: Root, notice_id: str) -> None:
    """It is over, and can still be read by whoever is signed in."""
    known = _notices(root)
    notices.end(root, known, known[notice_id], BY, node.clock.now())


def _notices(root: Root) -> StatusNotices:
    known = notices_of(root)
    assert known is not None  # only in the past is there none
    return known
