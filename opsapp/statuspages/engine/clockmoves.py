"""How messages to subscribers go with a clock that was set: when each is due, since when it is tried, and how old the
news in it are."""

from __future__ import annotations

from opsapp.runtime.clocks.pieces import ClockPieces, WaitingKind
from opsapp.statuspages.resources import store_of
from opsapp.tree.root import Root

from .settings import LEASE

Waiting = tuple[str, float, str]  # the way by which it leaves, when, and its row
Tried = tuple[str, str]
ATTEMPTS = "attempts"


def _waiting(root: Root) -> list[Waiting]:
    queues = store_of(root).queues.items()
    return [(kind, at, row) for kind, queue in queues for rows in (queue.first, queue.rows) for at, row in rows]


def _shift(root: Root, waiting: Waiting, by: float) -> int:
    kind, at, row = waiting
    agenda = store_of(root).queues[kind].agenda(row)
    if (at, row) not in agenda.rows:
        return 0
    agenda.discard(at, row)
    agenda.add(at + by, row)
    return 1


def _tried(root: Root) -> list[Tried]:
    return [(kind, row) for kind, queue in store_of(root).queues.items() for row in queue.attempts]


def _shift_tried(root: Root, tried: Tried, by: float) -> int:
    kind, row = tried
    attempts = store_of(root).queues[kind].attempts
    if row not in attempts:
        return 0
    count, since = attempts[row]
    attempts[row] = (count, since + by)
    return 1


def _shift_news(root: Root, announcement_id: str, by: float) -> int:
    announcement = store_of(root).announcements.get(announcement_id)
    if announcement is None:
        return 0
    announcement.at += by
    return 1


PIECES = ClockPieces(
    LEASE,
    "letters",
    {
        "rows": WaitingKind(lambda root, _: _waiting(root), _shift),
        ATTEMPTS: WaitingKind(lambda root, _: _tried(root), _shift_tried),
        "news": WaitingKind(lambda root, _: store_of(root).awaited(), _shift_news),
    },
)
