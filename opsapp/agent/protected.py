"""Processes that are never acted upon: the agent's own list, and what the server adds. Kept for when it is away.

Must not: ever let the server take a name off the agent's own list.
"""

from __future__ import annotations

import logging
import os
from typing import Optional, Sequence, Set, Tuple

from opsapp.wire.fields import WireError, dumps, loads

from .disk import write_whole

log = logging.getLogger("protected")


class ProtectedNames:
    """`names` is one set for the whole life of the program: whoever acts looks into it at the time."""

    def __init__(self, directory: str, own: Sequence[str]):
        self._path = os.path.join(directory, "protected.json")
        self._own = frozenset(own)
        self._given: frozenset = frozenset()
        self.names: Set[str] = set(own)
        self._take(self._kept())

    def take(self, names: Optional[Tuple[str, ...]]) -> None:
        """Take the names that the server protects; `names` is None when it does not say."""
        if names is not None and frozenset(names) != self._given:
            self._take(frozenset(names))
            try:
                write_whole(self._path, dumps(sorted(self._given)))
            except OSError as error:
                log.warning("the protected names cannot be kept: %s", error)

    def _take(self, names: frozenset) -> None:
        self._given = names
        self.names.update(names)
        self.names.intersection_update(self._own | names)

    def _kept(self) -> frozenset:
        try:
            with open(self._path, "rb") as file:
                names = loads(file.read())
        except FileNotFoundError:
            return frozenset()
        except (OSError, WireError) as error:
            log.error("the kept protected names cannot be read: %s", error)
            return frozenset()
        return frozenset(name for name in names if isinstance(name, str)) if isinstance(names, list) else frozenset()
