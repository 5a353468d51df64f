"""The access log: one line a request, collected for a moment and written together. Hub only.

A line that goes through `logging` by itself costs as much as reading the request. Handlers that are plain streams with
one of our looks get the lines of a moment as one piece; any other handler gets a record for each.
"""

from __future__ import annotations

import logging
import time
from typing import Any

import gevent

from opsapp.web.logs import Line
from opsapp.web.redact import RedactFilter

access = logging.getLogger("opsapp.access")
WRITE_AFTER_S = 0.05
PLAIN = (logging.StreamHandler, logging.FileHandler)


class AccessLog:
    """Messages come in redacted (see `redact.target`)."""

    def __init__(self) -> None:
        self._lines: list[tuple[float, str]] = []

    def wanted(self) -> bool:
        return access.isEnabledFor(logging.INFO)

    def add(self, message: str) -> None:
        self._lines.append((time.time(), message))
        if len(self._lines) == 1:
            gevent.spawn_later(WRITE_AFTER_S, self.write)

    def write(self) -> None:
        """Everything that was collected."""
        lines, self._lines = self._lines, []
        if not lines:
            return
        logger: Any = access
        while logger is not None:
            for handler in logger.handlers:
                _write(handler, lines)
            logger = logger.parent if logger.propagate else None


def _write(handler: logging.Handler, lines: list[tuple[float, str]]) -> None:
    if handler.level > logging.INFO:
        return
    look = handler.formatter
    ours = all(isinstance(each, RedactFilter) for each in handler.filters)
    if type(handler) in PLAIN and isinstance(look, Line) and ours:
        text = "".join([look.line(at, "info", access.name, message) + "\n" for at, message in lines])
        handler.acquire()
        try:
            handler.stream.write(text)  # type: ignore[attr-defined]
            handler.flush()
        except OSError:
            handler.handleError(_record(*lines[-1]))
        finally:
            handler.release()
        return
    for at, message in lines:
        handler.handle(_record(at, message))


def _record(at: float, message: str) -> logging.LogRecord:
    record = logging.LogRecord(access.name, logging.INFO, "", 0, message, None, None)
    record.created = at
    return record
