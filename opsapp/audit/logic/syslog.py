"""An audit entry as a JSON line, and as a syslog message (RFC 5424) that holds it. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime, timezone

from . import KeptEntry

FACILITY = 13  # log audit
NOTICE, WARNING = 5, 4
LONGEST = 8000  # bytes of a message: rsyslog cuts at 8 KiB unless it is told otherwise
CLIPPED = 120  # characters of each text in one that is too long; so it fits, however they are escaped


def line(entry: KeptEntry, instead: Mapping[str, object] = {}) -> str:
    """The entry as the API answers it, in ASCII, so that no receiver needs to know more."""
    return json.dumps({**entry, **instead, "time": int(entry["time"])}, separators=(",", ":"))


def message(entry: KeptEntry, host: str) -> bytes:
    """What is too long has neither `before` nor `after`, and says that it was cut."""
    severity = WARNING if entry["result"] == "refused" else NOTICE
    at = datetime.fromtimestamp(entry["time"], timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    head = f"<{8 * FACILITY + severity}>1 {at} {host} opsapp - audit - "
    text = line(entry)
    if len(head) + len(text) > LONGEST:
        clipped = {name: value[:CLIPPED] for name, value in entry.items() if isinstance(value, str)}
        text = line(entry, {**clipped, "before": None, "after": None, "cut": True})
    return (head + text).encode("ascii")


def frame(sent: bytes) -> bytes:
    """A frame of a stream, by octet counting (RFC 6587)."""
    return b"%d %s" % (len(sent), sent)
