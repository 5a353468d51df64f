"""Where a message goes, when a failed delivery is tried again, and what may be told of an error."""

from __future__ import annotations

import re
from urllib.parse import unquote

from opsapp.lib.visible import clip
from opsapp.notify.records import ChannelRecord

from .settings import RetrySettings
from .texts import MessageContent

HIDDEN = "[redacted]"
CHANNEL = "channel:"  # a tag that begins so names the channel that is meant
_PARTS = re.compile(r"[/:@?&=#,;|]+")
_SHORTEST_PART = 4
_LONGEST_ERROR = 500


def takes(channel: ChannelRecord, message: MessageContent) -> bool:
    """One of its severities, and one of its tags, if it has any. A message that names its channels (tags
    `channel:NAME`) goes to those, whatever else they are for."""
    named = [tag[len(CHANNEL) :] for tag in message.tags if tag.startswith(CHANNEL)]
    if named:
        return channel.enabled and channel.name in named
    if not channel.enabled or message.severity not in channel.severities:
        return False
    return not channel.tags or not set(channel.tags).isdisjoint(message.tags)


def retry_at(attempts: int, created_at: float, now: float, retry: RetrySettings) -> float | None:
    """None: it is given up."""
    pause = min(retry.longest_s, retry.first_s * 2 ** min(attempts - 1, 30))
    return None if now + pause > created_at + retry.for_s else now + pause


def without_address(text: str, url: str) -> str:
    """The text without anything of the channel's URL: hosts and path segments are tokens with many services."""
    rest = url.partition("://")[2]
    parts = {part for part in (*_PARTS.split(rest), *_PARTS.split(unquote(rest))) if len(part) >= _SHORTEST_PART}
    for part in sorted({rest, unquote(rest), *parts} - {""}, key=len, reverse=True):
        text = text.replace(part, HIDDEN)
    text = re.sub(rf"(?:{re.escape(HIDDEN)}[/:@?&=#,;|.]*){{2,}}", HIDDEN, text)
    return clip(text, _LONGEST_ERROR)
