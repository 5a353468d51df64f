"""Looks that may take a while, in a thread of their own: name resolution, tunnels, the age of backups.

What the last look saw is left out once it is too old: unknown. Must not: change anything.
"""

from __future__ import annotations

import logging
import threading
import time
from typing import Callable, Dict, List, Optional, Tuple

from . import backups, resolver
from .config import AgentConfig
from .vpn import Tunnels

log = logging.getLogger("lookouts")
OLD_AFTER = 3  # looks; as for everything else that conditions read
SLACK_S = 10.0
PATIENCE_S = 20.0  # how long a look is waited for


class Lookouts:
    def __init__(self, config: AgentConfig, monotonic: Callable[[], float] = time.monotonic):
        self._config = config
        self._monotonic = monotonic
        self._tunnels = Tunnels(config.vpn_interfaces)
        self._found: Dict[str, Tuple[float, Dict[str, float]]] = {}
        self._looking: Dict[str, List[threading.Thread]] = {}
        self._since = float("-inf")  # what was looked at before says nothing any more
        self._lock = threading.Lock()
        self._stopping = False
        self._wake = threading.Event()
        self._kinds: List[Tuple[str, Callable[[], Dict[str, float]]]] = [
            ("dns", self._dns),
            ("vpn", self._vpn),
            *((f"backup {name}", lambda name=name: self._backup(name)) for name in sorted(config.backups)),
        ]

    def run(self) -> None:
        while not self._stopping:
            self.look()
            self._wake.wait(self._config.lookout_s)
            self._wake.clear()

    def stop(self) -> None:
        self._stopping = True
        self._wake.set()

    def acted(self) -> None:
        """Forget what was seen, looks under way included, because the host was changed."""
        self._forget()
        self._wake.set()

    def look(self) -> None:
        """Take the looks one after the other; while one hangs, the rest goes on."""
        for name, kind in self._kinds:
            look = self._begin(name, kind, beside=0)
            if look:
                look.join(PATIENCE_S)

    def look_now(self) -> None:
        """Take the looks side by side; what hangs is unknown."""
        self._forget()
        looks = [look for look in (self._begin(*pair, beside=1) for pair in self._kinds) if look]
        until = time.monotonic() + PATIENCE_S
        for look in looks:
            look.join(max(0.0, until - time.monotonic()))

    def values(self) -> Dict[str, float]:
        oldest = self._monotonic() - OLD_AFTER * self._config.lookout_s - SLACK_S
        with self._lock:
            return {key: value for at, seen in self._found.values() if at >= oldest for key, value in seen.items()}

    def _begin(self, name: str, kind: Callable[[], Dict[str, float]], beside: int) -> Optional[threading.Thread]:
        """Begin a look; None while more than `beside` of this kind hang, so that they do not pile up."""
        with self._lock:
            looking = self._looking[name] = [look for look in self._looking.get(name, ()) if look.is_alive()]
            if len(looking) > beside:
                return None
            look = threading.Thread(target=self._look_at, args=(name, kind), daemon=True, name="look")
            looking.append(look)
            look.start()
            return look

    def _forget(self) -> None:
        with self._lock:
            self._found.clear()
            self._since = self._monotonic()

    # ---- what is looked at
    def _look_at(self, name: str, kind: Callable[[], Dict[str, float]]) -> None:
        began = self._monotonic()
        try:
            seen = kind()
        except OSError as error:  # leaves nothing behind but what was seen before, until that is too old
            log.warning("%s: %s", name, error)
            return
        with self._lock:
            if began >= self._since and self._found.get(name, (began,))[0] <= began:
                self._found[name] = (began, seen)

    def _dns(self) -> Dict[str, float]:
        works = resolver.works(self._config.dns_names)
        return {} if works is None else {"dns_ok": float(works)}

    def _vpn(self) -> Dict[str, float]:
        return {f"vpn.{name}.up": float(up) for name, up in self._tunnels.states().items()}

    def _backup(self, name: str) -> Dict[str, float]:
        age = backups.age_hours(self._config.backups[name])
        return {} if age is None else {f"backup.{name}.age_hours": age}
