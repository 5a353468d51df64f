"""How a log line looks: one line an event, key=value or JSON, without secrets. The ini file says where lines go, the
YAML's `log` section how they look and from which level on."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from datetime import datetime, timezone
from types import MappingProxyType
from typing import Any, NamedTuple

from opsapp.runtime.atwork import at_hand

from .config import LogSettings
from .redact import RedactFilter, fields_of

Fields = Mapping[str, Any]
NO_FIELDS: Fields = MappingProxyType({})


class LogEvent(NamedTuple):
    """`fields` are the values that the message gives a name (`path=…`), `more` what it does not say itself."""

    at: float
    level: str
    logger: str
    message: str
    trace: str | None = None
    fields: Fields = NO_FIELDS
    more: Fields = NO_FIELDS


class Line(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        trace = _trace(self, record) if record.exc_info or record.exc_text else None
        level, message, fields = record.levelname.lower(), record.getMessage(), fields_of(record)
        work = at_hand()
        more = NO_FIELDS if work is None else {n: v for n, v in work.fields().items() if n not in fields}
        return self.line(LogEvent(record.created, level, record.name, message, trace, fields, more))

    def line(self, told: LogEvent) -> str:
        raise NotImplementedError


class TextLine(Line):
    """A traceback is folded into the same line. The message says its fields itself."""

    def line(self, told: LogEvent) -> str:
        tail = "".join(f" {name}={value}" for name, value in told.more.items()) if told.more else ""
        tail += f' trace="{_folded(told.trace)}"' if told.trace else ""
        return f"time={_time(told.at)} level={told.level} logger={told.logger} {_folded(told.message)}{tail}"


class JsonLine(Line):
    """One JSON object a line; each value that the message names is a field of its own too."""

    def line(self, told: LogEvent) -> str:
        said = {"time": _time(told.at), "level": told.level, "logger": told.logger, "message": told.message}
        line = {**told.more, **told.fields, **said}
        if told.trace:
            line["trace"] = told.trace
        return json.dumps(line, ensure_ascii=False)


def _trace(formatter: logging.Formatter, record: logging.LogRecord) -> str:
    return record.exc_text or formatter.formatException(record.exc_info or (None, None, None))


_second: list[Any] = [0, ""]


def _time(at: float) -> str:
    """ISO 8601 with milliseconds; the part up to the second is made once a second."""
    second = int(at)
    if second != _second[0]:
        _second[:] = [second, datetime.fromtimestamp(second, timezone.utc).isoformat()[:-6]]
    return f"{_second[1]}.{int(at * 1000) % 1000:03d}+00:00"


def _folded(text: str) -> str:
    if "\n" not in text and "\r" not in text:
        return text
    return text.replace("\\", "\\\\").replace("\r", "\\r").replace("\n", "\\n")


FORMATS: dict[str, type[logging.Formatter]] = {"text": TextLine, "json": JsonLine}


def apply(settings: LogSettings) -> None:
    """Give every handler of the root logger this look; done again at a reload."""
    root = logging.getLogger()
    root.setLevel(settings.level.upper())
    for handler in root.handlers:
        handler.setFormatter(FORMATS[settings.format]())
        if not any(isinstance(known, RedactFilter) for known in handler.filters):
            handler.addFilter(RedactFilter())
