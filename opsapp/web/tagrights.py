"""What a limited person may do to the tags of a thing: by them others see it. Must not: know what has tags."""

from __future__ import annotations

from collections.abc import Collection

from opsapp.tree.rights import Sight


def wrong_tags(sight: Sight | None, before: Collection[str], after: Collection[str]) -> dict[str, str]:
    """Problems by field. Tags come or go only where the teams may change them, and one of these tags must remain."""
    if sight is None:
        return {}
    barred = sorted((set(before) ^ set(after)) - sight.change)
    if barred:
        return {"tags": "your team may not give or take these: " + ", ".join(barred)}
    return {} if sight.may("change", after) else {"tags": "needs one that your team may change"}
