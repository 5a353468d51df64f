"""Moves the times of healing when a clock was set, under the pipeline's lease: the few at once, cases and all else in
pieces."""

from __future__ import annotations

from opsapp.healing.resources import clockmoves, healing_of
from opsapp.maintenance.engine import move_healing
from opsapp.runtime.clocks.pieces import ClockPieces, WaitingKind
from opsapp.runtime.cluster import leases
from opsapp.runtime.node import now_of
from opsapp.tree.root import Root

LEASE = QUEUE = "healing"


def move(root: Root, by: float) -> None:
    """Cases are written down for `move_on`, as is what hangs on them."""
    leases.check(root, LEASE)
    PIECES.begin(root, by)
    healing_of(root).move(by, now_of(root))
    move_healing(root, by)


def move_on(root: Root) -> bool:
    """Whether there is more."""
    leases.check(root, LEASE)
    if healing_of(root).book.to_move:
        return clockmoves.go_on(healing_of(root).book) or PIECES.is_left(root)
    return PIECES.go_on(root)


def is_left(root: Root) -> bool:
    """Whether something is still to be moved: nothing is worked before."""
    return bool(healing_of(root).book.to_move) or PIECES.is_left(root)


def _since(root: Root, by: float) -> float:
    return clockmoves.since(by, now_of(root))


def _deeds(root: Root) -> list[str]:
    book = healing_of(root).deeds_of_outages
    return [] if book is None else list(book.deeds)


PIECES = ClockPieces(
    LEASE,
    QUEUE,
    {
        "trials": WaitingKind(
            lambda root, _: healing_of(root).trials.open, lambda root, key, by: healing_of(root).trials.shift(key, by)
        ),
        "coins": WaitingKind(
            lambda root, _: healing_of(root).trials.coins,
            lambda root, key, by: healing_of(root).trials.shift_coins(key, by),
        ),
        "dependencies": WaitingKind(
            lambda root, _: healing_of(root).edges.trials, lambda root, key, by: healing_of(root).edges.shift(key, by)
        ),
        "waves": WaitingKind(lambda root, _: _deeds(root), lambda root, key, by: healing_of(root).waves.shift(key, by)),
        "unhealed": WaitingKind(
            lambda root, by: clockmoves.unhealed(healing_of(root).book, _since(root, by)),
            lambda root, key, by: clockmoves.shift_unhealed(healing_of(root).book, key, by),
        ),
        "faults": WaitingKind(
            lambda root, _: [name for _, name in healing_of(root).injections.open],
            lambda root, name, by: healing_of(root).injections.shift(name, by),
        ),
        "ends": WaitingKind(
            lambda root, by: clockmoves.ends(healing_of(root).book, _since(root, by)),
            lambda root, key, by: clockmoves.shift_end(healing_of(root).book, key, by),
        ),
    },
)
