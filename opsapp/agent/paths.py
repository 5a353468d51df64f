"""Which paths may be read and written: the agent's own rules, which have the last word.

Every symlink is resolved, and the opened file's own name is judged again, so that a link swapped in between gains
nothing. Viewers read what everybody on the host may read: the agent may read more. Must not: read or write contents.
"""

from __future__ import annotations

import fnmatch
import os
import stat
from typing import Any, Iterable, Tuple

from .config import AgentConfig


class NotAllowed(PermissionError):
    """The agent's rules forbid this path."""


class PathRules:
    def __init__(self, config: AgentConfig):
        self._allow = _real(config.allow_paths)
        self._viewer = _real(config.viewer_paths)
        self._deny = config.deny_paths + _real(path for path in config.deny_paths if "*" not in path)

    def check(self, path: str, role: str) -> str:
        """Check that the path is allowed, and return its real path."""
        if not path.startswith("/") or "\0" in path:
            raise NotAllowed("the path must be absolute")
        real = os.path.realpath(path)
        for name in {path, os.path.normpath(path), real}:
            if self._denied(name):
                raise NotAllowed("this path is denied on the host")
        if not _within(real, self._allow):
            raise NotAllowed("this path is not allowed on the host")
        if role == "viewer" and not _within(real, self._viewer):
            raise NotAllowed("viewers may not read this path")
        return real

    def open_for_reading(self, path: str, role: str) -> Any:
        """Open a regular file, which is judged once more by the name the kernel gives the open handle."""
        real = self.check(path, role)
        handle = os.open(real, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            mode = os.fstat(handle).st_mode
            if not stat.S_ISREG(mode):
                raise NotAllowed("only regular files can be read")
            opened = self.check(os.readlink(f"/proc/self/fd/{handle}"), role)
            if role == "viewer" and not (mode & stat.S_IROTH and self._is_open_to_all(os.path.dirname(opened))):
                raise NotAllowed("viewers read what everybody on the host may read")
        except BaseException:
            os.close(handle)
            raise
        return os.fdopen(handle, "rb", buffering=0)

    def _is_open_to_all(self, directory: str) -> bool:
        """Whether everybody may pass through it and those above it, up to one that viewers are given by name."""
        if directory in self._viewer or not _within(directory, self._viewer):
            return True
        return bool(os.stat(directory).st_mode & stat.S_IXOTH) and self._is_open_to_all(os.path.dirname(directory))

    def _denied(self, path: str) -> bool:
        return any(_matches(path, rule) for rule in self._deny)


def _matches(path: str, rule: str) -> bool:
    if "*" in rule or "?" in rule or "[" in rule:
        return fnmatch.fnmatchcase(path, rule)
    return path == rule or path.startswith(rule.rstrip("/") + "/")


def _within(path: str, roots: Iterable[str]) -> bool:
    return any(root in ("/", path) or path.startswith(root + "/") for root in roots)


def _real(paths: Iterable[str]) -> Tuple[str, ...]:
    return tuple(os.path.realpath(path) for path in paths)
