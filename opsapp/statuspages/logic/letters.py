"""The words of a message to subscribers, the same for every carrier."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple
from zoneinfo import ZoneInfo

from opsapp.lib.pagenames import MAIN
from opsapp.lib.visible import clip

MOST_ITEMS = 20
STAGE_WORDS = {
    "investigating": "Investigating",
    "identified": "Identified",
    "monitoring": "Monitoring",
    "resolved": "Resolved",
}
BEGINS, UPDATE, OVER, CLOSED = "begins", "update", "over", "closed"
OPENED, ENDED = "opened", "ended"  # of an incident that was opened by hand
PLANNED, MOVED, CANCELLED = "planned", "moved", "cancelled"
MAINTENANCE = (PLANNED, MOVED, CANCELLED)
NOTICE, NOTICE_OVER = "notice", "notice_over"
NOTICES = (NOTICE, NOTICE_OVER)
SEVERITY_WORDS = {"info": "Notice", "warning": "Warning", "critical": "Critical"}


class NewsItem(NamedTuple):
    """One thing to tell. `story`: the incident's id, the window's uid, or the notice's id."""

    at: int
    what: str  # one of the words above
    story: str
    name: str
    monitors: tuple[str, ...]  # ids; of what people say themselves none: it is for everybody on the page
    stage: str = ""  # of a notice its severity
    message: str = ""
    start: int = 0
    end: int = 0
    pages: tuple[str, ...] = (MAIN,)  # ids, or what stands for several


class MessageWords(NamedTuple):
    subject: str
    text: str


def news(page: str, items: Sequence[NewsItem], home: str, zone: str) -> MessageWords:
    """One message of everything that is told together. `home`: where visitors see the page."""
    first = _title(items[0])
    more = len(items) - 1
    subject = f"[{page}] {first}" + (f" and {more} more" if more else "")
    blocks = ["\n".join(_lines(item, home, zone)) for item in items[:MOST_ITEMS]]
    if len(items) > MOST_ITEMS:
        blocks.append(f"And {len(items) - MOST_ITEMS} more: {home}")
    return MessageWords(one_line(subject), "\n\n".join(blocks))


def confirmation(page: str, link: str) -> MessageWords:
    text = (
        f"Somebody, probably you, asked for messages of {page} to this address.\n\n"
        f"To get them, open this page within 24 hours and confirm:\n{link}\n\n"
        "If it was not you, do nothing: you will hear no more."
    )
    return MessageWords(one_line(f"[{page}] Confirm your subscription"), text)


def known_already(page: str) -> MessageWords:
    text = (
        f"Somebody, probably you, asked for messages of {page} to this address. You have that subscription already; "
        "nothing was changed."
    )
    return MessageWords(one_line(f"[{page}] You are subscribed already"), text)


def one_line(words: str) -> str:
    """As a header takes it: no line breaks, no control characters, not too long."""
    return clip(" ".join("".join(character if character.isprintable() else " " for character in words).split()), 200)


def _title(item: NewsItem) -> str:
    if item.what == UPDATE:
        return f"{item.name}: {STAGE_WORDS.get(item.stage, item.stage)}"
    texts = {
        BEGINS: "is down",
        OVER: "is up again",
        CLOSED: "is watched no more",
        ENDED: "is over",
        PLANNED: "is planned",
        MOVED: "was moved",
        CANCELLED: "was cancelled",
    }
    if item.what == OPENED:
        return item.name
    if item.what in NOTICES:
        return f"{'Notice' if item.what == NOTICE else 'Notice is over'}: {item.name}"
    return f"{'Maintenance: ' if item.what in MAINTENANCE else ''}{item.name} {texts[item.what]}"


def _lines(item: NewsItem, home: str, zone: str) -> list[str]:
    lines = [_title(item)]
    if item.what in MAINTENANCE:
        return [*lines, f"{moment(item.start, zone)} to {moment(item.end, zone)}", f"{home}"]
    if item.what in NOTICES:
        return _notice_lines(item, home, zone)
    if item.message:
        lines.append(item.message)
    return [*lines, moment(item.at, zone), f"{home}/incidents/{item.story}"]


def _notice_lines(item: NewsItem, home: str, zone: str) -> list[str]:
    where = [moment(item.at, zone), f"{home}"]
    if item.what == NOTICE_OVER:
        return [_title(item), *where]
    return [f"{SEVERITY_WORDS[item.stage]}: {item.name}", *([item.message] if item.message else []), *where]


def moment(seconds: int, zone: str) -> str:
    return datetime.fromtimestamp(seconds, ZoneInfo(zone)).strftime("%Y-%m-%d %H:%M %Z")
