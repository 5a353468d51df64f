"""Paths such as `$.a.b[0]["odd key"]` into a JSON value. A small language on purpose: no wildcards, no filters."""

from __future__ import annotations

import json
import re
from typing import Any, List, Union

_STEP = re.compile(r"""\.([A-Za-z_][\w-]*)|\[(-?\d+)\]|\[("(?:[^"\\]|\\.)*"|'[^'\\]*')\]""")


class PathMissing(Exception):
    """The text names the step."""


def parse_path(path: str) -> List[Union[str, int]]:
    """The steps of a path; ValueError with a message for people when it is no path."""
    if not path.startswith("$"):
        raise ValueError("a path starts with $, as in $.a.b[0]")
    steps: List[Union[str, int]] = []
    position = 1
    while position < len(path):
        match = _STEP.match(path, position)
        if not match:
            raise ValueError(f"cannot read the path at {path[position : position + 10]!r}; it looks like $.a.b[0]")
        name, index, quoted = match.groups()
        if name is not None:
            steps.append(name)
        elif index is not None:
            steps.append(int(index))
        else:
            steps.append(json.loads(quoted) if quoted.startswith('"') else quoted[1:-1])
        position = match.end()
    return steps


def read_path(value: Any, path: str) -> Any:
    for step in parse_path(path):
        try:
            if isinstance(step, int) != isinstance(value, list) or not isinstance(value, (list, dict)):
                raise KeyError(step)
            value = value[step]  # type: ignore[index]
        except (KeyError, IndexError):
            raise PathMissing(f"{path}: nothing at {step!r}") from None
    return value


def shown(value: Any, longest: int = 80) -> str:
    """Text that can be sent, stored and shown, whatever a target has made of it."""
    text = json.dumps(value, ensure_ascii=False)
    text = text if len(text) <= longest else text[: longest - 1] + "…"
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def same_value(value: Any, expected: Any) -> bool:
    """JSON equality, in which true is not 1; an expected text also matches a number or boolean written so."""
    if isinstance(value, bool) != isinstance(expected, bool):
        return isinstance(expected, str) and json.dumps(value) == expected
    if value == expected:
        return True
    return isinstance(expected, str) and isinstance(value, (bool, int, float)) and json.dumps(value) == expected
