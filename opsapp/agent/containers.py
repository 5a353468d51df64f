"""Containers of podman and docker: name → state, asked rarely, because asking podman costs a tenth of a second.

Must not: change anything.
"""
from __future__ import annotations

import json
import logging
import shutil
from typing import Any, Callable, Dict, Optional

from .services import ask

log = logging.getLogger("containers")
RUNTIMES = ("podman", "docker")


class Containers:
    """Keeps the last answer until it is too old or told that something changed."""

    def __init__(self, every_s: float, monotonic: Callable[[], float]):
        self._every_s = every_s
        self._monotonic = monotonic
        self._states: Dict[str, str] = {}
        self._asked_at = float("-inf")

    def stale(self) -> None:
        self._asked_at = float("-inf")

    def states(self) -> Dict[str, str]:
        if self._monotonic() - self._asked_at >= self._every_s:
            self._states = look()
            self._asked_at = self._monotonic()
        return self._states


def inspect(name: str) -> Optional[Dict[str, Any]]:
    """What a runtime says of a container, with the runtime's name in it; None when none knows it."""
    for runtime in RUNTIMES:
        code, said = ask([runtime, "inspect", "--type", "container", "--", name])
        if code != 0:
            continue
        try:
            return {"runtime": runtime, **json.loads(said)[0]}
        except (ValueError, IndexError, TypeError):
            log.warning("%s inspect %s cannot be read: %s", runtime, name, said.strip()[:200])
    return None


def look() -> Dict[str, str]:
    found: Dict[str, str] = {}
    for runtime in RUNTIMES:
        if shutil.which(runtime):
            code, said = ask([runtime, "ps", "--all", "--format", "{{json .}}" if runtime == "docker" else "json"])
            if code == 0:
                found.update(parse(said))
            else:
                log.debug("%s ps: %s", runtime, said.strip()[:200])
    return found


def parse(said: str) -> Dict[str, str]:
    """podman writes one array, docker one object a line."""
    try:
        one = said.lstrip().startswith("[")
        rows = json.loads(said) if one else [json.loads(line) for line in said.splitlines() if line]
    except ValueError:
        return {}
    states = {}
    for row in rows:
        names = row.get("Names") or []
        name = names[0] if isinstance(names, list) and names else names
        if isinstance(name, str) and name:
            states[name.split(",")[0]] = str(row.get("State") or "unknown").lower()
    return states
