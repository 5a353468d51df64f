"""Scanning for views without reading their source.

Lives here: how Pyramid and Venusian learn where a view is declared while the rooms are included. Must not: outlast it.
"""

from __future__ import annotations

import inspect
import linecache
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any


def _place(frame: FrameType, context: int = 1) -> Any:
    """What `inspect.getframeinfo` answers, with an empty line of source: file, line and function are known without
    searching all modules and reading files, which takes an eighth of a start."""
    return inspect.Traceback(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name, [""] * context, 0)


def _no_lines(filename: str, module_globals: Any = None) -> list[str]:
    """What `linecache.getlines` answers for a file that cannot be read. Pyramid asks for the line of every directive,
    and all files read for that would stay in memory."""
    return []


def _callers(frame: FrameType | None = None, limit: int | None = None) -> list[Any]:
    """What `traceback.extract_stack` answers, the innermost last and without lines of source. Pyramid asks for it with
    every directive."""
    frame = frame or getattr(inspect.currentframe(), "f_back", None)
    places: list[Any] = []
    while frame is not None and (limit is None or len(places) < limit):
        code = frame.f_code
        places.append((code.co_filename, frame.f_lineno, code.co_name, ""))
        frame = frame.f_back
    return places[::-1]


@contextmanager
def without_source() -> Iterator[None]:
    """Within it, whoever asks for a frame's place gets it without the line's text."""
    searching, reading, walking = inspect.getframeinfo, linecache.getlines, traceback.extract_stack
    inspect.getframeinfo, linecache.getlines = _place, _no_lines  # type: ignore[assignment]
    traceback.extract_stack = _callers  # type: ignore[assignment]
    try:
        yield
    finally:
        inspect.getframeinfo, linecache.getlines, traceback.extract_stack = searching, reading, walking
