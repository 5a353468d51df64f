"""The text of a link that answers: what it is for, readable, and a signature. Pure.

Must not: know the key, or whether what it names is still so.
"""

from __future__ import annotations

import hmac
import json
import re
from collections.abc import Iterable
from typing import NamedTuple

from opsapp.lib.ids import digest

LIFE_S = 86_400
_SHAPE = re.compile(r"([a-z]{1,20})\.([0-9a-f]{1,40})\.([0-9a-f]{1,40})\.([0-9a-f]{1,12})\.([0-9a-f]{32})")


class AnswerLink(NamedTuple):
    """`bound`: a digest of who answers, where the link was sent, and what was asked."""

    act: str
    thing_id: str
    channel_id: str
    until: int
    bound: str

    def token(self, key: bytes) -> str:
        text = f"{self.act}.{self.thing_id}.{self.channel_id}.{self.until:x}.{self.bound}"
        return f"{text}.{hmac.digest(key, text.encode(), 'sha256').hex()}"


def read(token: str, keys: Iterable[bytes]) -> AnswerLink | None:
    """The token's link, if one of these keys has signed it."""
    shape = _SHAPE.fullmatch(token.rpartition(".")[0])
    if shape is None or not token.isascii():
        return None
    act, thing_id, channel_id, until, bound = shape.groups()
    link = AnswerLink(act, thing_id, channel_id, int(until, 16), bound)
    return link if any(hmac.compare_digest(link.token(key), token) for key in keys) else None


def bound_to(*values: str) -> str:
    return digest(json.dumps(values))[:32]
