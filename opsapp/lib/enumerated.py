"""Names in a sentence."""

from __future__ import annotations

from collections.abc import Sequence


def listed(names: Sequence[str], most: int | None = None) -> str:
    """ "a", "a and b", "a, b and c"; of more than `most` the rest is counted: "a, b and 4 more"."""
    if most is not None and len(names) > most:
        names = [*names[:most], f"{len(names) - most} more"]
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))
