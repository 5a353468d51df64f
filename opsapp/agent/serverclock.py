"""What time it is by the server's clock, while it is away too: policies expire by that one, not by this host's.

The last time that the server said is kept with the time since this machine's boot, which no change of the host's clock
moves; after a boot, with the difference between the two clocks.
"""

from __future__ import annotations

import logging
import time
from typing import Callable, NamedTuple, Optional

from opsapp.wire.fields import WireError, dumps, loads

from .disk import write_whole
from .steady import since_boot

log = logging.getLogger("clock")
UNSURE_S = 1.0  # a difference that is not worth a write


class HeardTime(NamedTuple):
    """The server's time when it was heard, and what this host's clocks showed then."""

    server: float
    running: float
    wall: float
    boot_id: str


class ServerClock:
    def __init__(
        self,
        path: str,
        boot_id: str,
        *,
        wall: Callable[[], float] = time.time,
        running: Callable[[], float] = since_boot,
    ):
        self._path = path
        self._boot_id = boot_id
        self._wall = wall
        self._running = running
        self._kept = self._load()

    def heard(self, server: Optional[float]) -> None:
        if server is None or (self._is_of_this_boot() and abs(self.now() - server) < UNSURE_S):
            return
        self._kept = HeardTime(server, self._running(), self._wall(), self._boot_id)
        try:
            write_whole(self._path, dumps(self._kept._asdict()))
        except OSError as error:
            log.warning("the server's time is not kept over a restart: %s", error)

    def now(self) -> float:
        """The server's time now, as far as it was ever heard."""
        kept = self._kept
        if not kept:
            return self._wall()
        if self._is_of_this_boot():
            return kept.server + self._running() - kept.running
        return kept.server + self._wall() - kept.wall

    def ahead_s(self) -> Optional[float]:
        """The seconds by which this host's clock is ahead; None while the server was not heard since this boot."""
        return self._wall() - self.now() if self._is_of_this_boot() else None

    def _is_of_this_boot(self) -> bool:
        return self._kept is not None and self._kept.boot_id == self._boot_id

    def _load(self) -> Optional[HeardTime]:
        try:
            with open(self._path, "rb") as file:
                kept = loads(file.read())
            server, running, wall = (float(kept[name]) for name in HeardTime._fields[:3])
            return HeardTime(server, running, wall, str(kept["boot_id"]))
        except FileNotFoundError:
            return None
        except (OSError, WireError, KeyError, TypeError, ValueError) as error:
            log.error("the server's time is not known until it says it again: %s", error)
            return None
