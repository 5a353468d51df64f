"""Looking for a cause: at most LOOK_S in all, in a thread of its own, because what is looked at may hang.

Reads only. What does not answer in time, or breaks, is unknown. Must not: judge whether a step can help.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from typing import Any, Callable, List, Optional

from opsapp.wire.causes import LOOK_S, HostCause, LookSubject, cause_of

from . import diskcauses, unitcauses
from .storage import certificate_file
from .unitcauses import Budget

log = logging.getLogger("looks")
AT_ONCE = 4  # threads that may hang in a look; beyond, everything is unknown at once
APART_S = 2.0  # clocks that differ by less are as good as equal: the way of a message takes a while
RESERVE_S = 0.2  # of the time of a look: what was found is told within it
Find = Callable[[LookSubject, Budget], Optional[HostCause]]


class CauseLooks:
    def __init__(self, find: Find, patience_s: float = LOOK_S):
        self._find = find
        self._patience_s = patience_s
        self._room = threading.BoundedSemaphore(AT_ONCE)

    def __call__(self, subject: LookSubject) -> Optional[HostCause]:
        if not self._room.acquire(blocking=False):
            return None
        answers: List[Optional[HostCause]] = []
        thread = threading.Thread(target=self._look, args=(subject, answers), daemon=True, name="looking")
        thread.start()
        thread.join(self._patience_s)
        return answers[0] if answers else None

    def _look(self, subject: LookSubject, answers: List[Optional[HostCause]]) -> None:
        until = time.monotonic() + self._patience_s - min(RESERVE_S, self._patience_s / 2)
        try:
            answers.append(self._find(subject, Budget(lambda: until - time.monotonic())))
        except Exception as error:  # noqa: BLE001  whatever is wrong with the host, a heal goes on without a cause
            log.warning("looked for a cause in vain: %s: %s", type(error).__name__, error)
        finally:
            self._room.release()


def finder(host: Any) -> Find:
    """The narrowest thing first."""

    def find(subject: LookSubject, budget: Budget) -> Optional[HostCause]:
        cause = _clock_apart(host.clock_ahead_s(), budget) if subject.clock else None
        if cause is None and subject.domain:
            cause = _expired(subject.domain, host, budget)
        if cause is None and subject.service and host.capabilities.usable("systemctl"):
            cause = unitcauses.look(subject.service, budget)
        if cause is None and subject.mount and os.path.ismount(subject.mount):
            cause = diskcauses.look(subject.mount, budget.going)
        return cause

    return find


def _clock_apart(ahead_s: Optional[float], budget: Budget) -> Optional[HostCause]:
    """Whose clock is wrong is not known here; whether this one is synchronised shows it mostly."""
    if ahead_s is None or abs(ahead_s) < APART_S:
        return None
    is_synchronised = unitcauses.is_synchronised(budget)
    said = "whether it is synchronised is unknown"
    if is_synchronised is not None:
        said = "it says that it is synchronised" if is_synchronised else "it is not synchronised"
    side = "ahead of" if ahead_s > 0 else "behind"
    return cause_of("clock_apart", seconds=round(abs(ahead_s)), side=side, synchronised=said)


def _expired(domain: str, host: Any, budget: Budget) -> Optional[HostCause]:
    """Asked only of a certificate whose file is known."""
    path = certificate_file(domain, host)
    code, output = budget.ask(["openssl", "x509", "-noout", "-enddate", "-checkend", "0", "-in", path])
    ended = next((line.partition("=")[2] for line in output.splitlines() if line.startswith("notAfter=")), "")
    return cause_of("certificate_expired", path, domain=domain, ended=ended) if code == 1 and ended else None
