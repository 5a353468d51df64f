"""What running commands write, for those who watch, in few messages however it was written.

Must not: keep what a result keeps; this is for the moment only.
"""

from __future__ import annotations

import codecs
import threading
import time
from typing import Any, Callable, Dict, Optional

EVERY_S = 0.1
PIECE = 32768


class Writing:
    def __init__(self) -> None:
        self.decoder: Any = codecs.getincrementaldecoder("utf-8")("replace")
        self.waiting = ""
        self.sent_at = float("-inf")
        self.seq = -1


class Outputs:
    def __init__(self, send: Callable[[str, int, str], None], clock: Callable[[], float] = time.monotonic):
        self._send = send
        self._clock = clock
        self._lock = threading.Lock()
        self._open: Dict[str, Writing] = {}

    def put(self, name: str, data: bytes) -> bool:
        """The first words go at once, what follows on their heels together. Whether something has begun to wait."""
        with self._lock:
            writing = self._open.setdefault(name, Writing())
            begins = not writing.waiting
            writing.waiting += writing.decoder.decode(data)
            if len(writing.waiting) >= PIECE or (writing.waiting and self._clock() - writing.sent_at >= EVERY_S):
                self._let_go(name, writing)
            return begins and bool(writing.waiting)

    def due_in(self) -> Optional[float]:
        """The seconds until output is due; None when nothing waits."""
        with self._lock:
            ages = [self._clock() - writing.sent_at for writing in self._open.values() if writing.waiting]
            return max(0.0, EVERY_S - max(ages)) if ages else None

    def flush(self) -> None:
        with self._lock:
            for name, writing in self._open.items():
                if writing.waiting and self._clock() - writing.sent_at >= EVERY_S:
                    self._let_go(name, writing)

    def end(self, name: str) -> None:
        """The command is over: the rest of it."""
        with self._lock:
            writing = self._open.pop(name, None)
            if writing and writing.waiting:
                self._let_go(name, writing)

    def _let_go(self, name: str, writing: Writing) -> None:
        text, writing.waiting, writing.sent_at = writing.waiting, "", self._clock()
        for start in range(0, len(text), PIECE):
            writing.seq += 1
            self._send(name, writing.seq, text[start : start + PIECE])
