"""How Pyramid and Venusian learn where a view is declared without reading sources, while the rooms are included. Must
not: outlast it."""

from __future__ import annotations

import inspect
import linecache
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any


def _place(frame: FrameType, context: int = 1) -> Any:
    """Replaces `inspect.getframeinfo`, which searches all modules and reads files: an eighth of a start."""
    return inspect.Traceback(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name, [""] * context, 0)


def _no_lines(filename: str, module_globals: Any = None) -> list[str]:
    """Replaces `linecache.getlines`: Pyramid asks for each directive's line, and all files would stay in memory."""
    return []


def _callers(frame: FrameType | None = None, limit: int | None = None) -> list[Any]:
    """Replaces `traceback.extract_stack`; the innermost frame comes last, without lines of source."""
    frame = frame or getattr(inspect.currentframe(), "f_back", None)
    places: list[Any] = []
    while frame is not None and (limit is None or len(places) < limit):
        code = frame.f_code
        places.append((code.co_filename, frame.f_lineno, code.co_name, ""))
        frame = frame.f_back
    return places[::-1]


@contextmanager
def without_source() -> Iterator[None]:
    """Inside this context a frame's place comes without the text of its line."""
    searching, reading, walking = inspect.getframeinfo, linecache.getlines, traceback.extract_stack
    inspect.getframeinfo, linecache.getlines = _place, _no_lines  # type: ignore[assignment]
    traceback.extract_stack = _callers  # type: ignore[assignment]
    try:
        yield
    finally:
        inspect.getframeinfo, linecache.getlines, traceback.extract_stack = searching, reading, walking
