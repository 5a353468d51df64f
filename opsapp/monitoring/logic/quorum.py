"""One verdict from several vantage points. Pure."""

from __future__ import annotations

from collections.abc import Sequence


def decide(seen: Sequence[bool | None], quorum: int) -> bool | None:
    """False when at least `quorum` saw it down; True when some saw it up and too few saw it down; else nobody knows."""
    if seen.count(False) >= quorum:
        return False
    return True if True in seen else None
