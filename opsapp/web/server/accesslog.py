"""The access log: one line a request, written many at a time, for one costs through `logging` as much as reading the
request. Handlers that are no plain streams with our looks get a record for each. Hub only."""

from __future__ import annotations

import logging
import time
from typing import Any

import gevent

from opsapp.web.logs import Fields, Line, LogEvent
from opsapp.web.redact import RedactFilter

access = logging.getLogger("opsapp.access")
WRITE_AFTER_S = 0.05
PLAIN = (logging.StreamHandler, logging.FileHandler)


class AccessLog:
    """Fields come in redacted (see `redact.target`)."""

    def __init__(self) -> None:
        self._lines: list[tuple[float, Fields]] = []

    def wanted(self) -> bool:
        return access.isEnabledFor(logging.INFO)

    def add(self, fields: Fields) -> None:
        self._lines.append((time.time(), fields))
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


def _message(fields: Fields) -> str:
    return " ".join([f"{name}={value}" for name, value in fields.items()])


def _write(handler: logging.Handler, lines: list[tuple[float, Fields]]) -> None:
    if handler.level > logging.INFO:
        return
    look = handler.formatter
    ours = all(isinstance(filter_, RedactFilter) for filter_ in handler.filters)
    if type(handler) in PLAIN and isinstance(look, Line) and ours:
        text = "".join([_line(look, at, fields) + "\n" for at, fields in lines])
        handler.acquire()
        try:
            handler.stream.write(text)  # type: ignore[attr-defined]
            handler.flush()
        except OSError:
            handler.handleError(_record(*lines[-1]))
        finally:
            handler.release()
        return
    for at, fields in lines:
        handler.handle(_record(at, fields))


def _line(look: Line, at: float, fields: Fields) -> str:
    return look.line(LogEvent(at, "info", access.name, _message(fields), fields=fields))


def _record(at: float, fields: Fields) -> logging.LogRecord:
    record = logging.LogRecord(access.name, logging.INFO, "", 0, _message(fields), None, None)
    record.created, record.fields = at, fields
    return record
