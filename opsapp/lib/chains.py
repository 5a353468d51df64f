"""Links of a chain of records: each is made of its content and the link before it, with a key that whoever edits the
store does not have. Without a key a link shows damage, and no forgery.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from typing import Any

GENESIS = "0" * 64


def link(key: bytes, previous: str, content: Any) -> str:
    text = json.dumps([previous, content], sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode("ascii")
    return hmac.new(key, text, hashlib.sha256).hexdigest() if key else hashlib.sha256(text).hexdigest()


def fits(key: bytes, given: str | None, previous: str, content: Any) -> bool:
    return given is not None and hmac.compare_digest(given, link(key, previous, content))
