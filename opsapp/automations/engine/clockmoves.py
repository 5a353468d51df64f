"""How runs go with a clock that was set: each moment that waits, and with a time-out the beginning of its attempt."""

from __future__ import annotations

from opsapp.automations.resources import board_of, run_of
from opsapp.runtime.clocks.pieces import ClockPieces, WaitingKind
from opsapp.tree.root import Root

from .flow import TIMEOUT

LEASE = "automations"

Moment = tuple[float, str, str]
SAME_S = 0.001


def _shift(root: Root, moment: Moment, by: float) -> int:
    board, (at, run_id, why) = board_of(root), moment
    if moment not in board.moments:
        return 0
    board.agenda.discard(at, run_id, why)
    board.agenda.add(at + by, run_id, why)
    run = run_of(root, run_id) if why == TIMEOUT else None
    if run is not None and run.began is not None and abs(run.began + run.settings.timeout - at) <= SAME_S:
        run.began += by  # of an attempt before, the moment stays behind
    return 1


PIECES = ClockPieces(LEASE, "runs", {"moments": WaitingKind(lambda root, _: board_of(root).moments, _shift)})
