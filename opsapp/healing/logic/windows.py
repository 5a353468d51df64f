"""Decides what the windows of a target permit: the most restrictive wins."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

from .levels import LEVELS, lowest
from .stakes import OF_WINDOWS


class ActiveWindow(NamedTuple):
    """A window of either family that is active. `targets` None: everything."""

    id: str
    targets: frozenset[str] | None
    effect: str  # suppress, queue, the level it caps at, or the kind of a stake
    ends: float | None
    reason: str = ""
    by: str = ""
    zone: str = "UTC"  # in which its end is told


class WindowEffect(NamedTuple):
    effect: str  # suppress, queue, or "" when events go through
    cap: str  # the highest level allowed
    ends: float | None  # when the deciding window ends
    reasons: tuple[str, ...]


def effect_of(action: str) -> str:
    return {"disabled": "suppress", "notify_only": "notify"}.get(action, action)


def touching(windows: Iterable[ActiveWindow], names: Collection[str]) -> Iterator[ActiveWindow]:
    """`names`: its own, its hostname, its ids."""
    return (window for window in windows if window.targets is None or not window.targets.isdisjoint(names))


def permitted(windows: Iterable[ActiveWindow], names: Collection[str]) -> WindowEffect:
    """What only lowers the level by one (`stakes`) is decided there."""
    applying = [window for window in touching(windows, names) if window.effect not in OF_WINDOWS]
    reasons = tuple(
        f"window {window.id}: {window.effect}" + (f" ({window.reason})" if window.reason else "") for window in applying
    )
    for effect in ("suppress", "queue"):
        ends = [window.ends for window in applying if window.effect == effect]
        if ends:
            known = [end for end in ends if end is not None]
            return WindowEffect(effect, LEVELS[0], max(known) if len(known) == len(ends) else None, reasons)
    caps = [window.effect for window in applying]
    return WindowEffect("", lowest(LEVELS[-1], *caps), None, reasons)
