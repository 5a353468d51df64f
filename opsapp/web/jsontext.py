"""JSON text in and out: strict UTF-8, no NaN, no infinity, no duplicate keys, bounded depth. Declared records are
written wherever they stand."""

from __future__ import annotations

import json
import math
import re
from dataclasses import is_dataclass
from typing import Any

from opsapp.lib.problems import Malformed
from opsapp.wire.records import encodable

MOST_DIGITS = 1000
ROWS = 100  # encoded at once: no other thread gets the interpreter meanwhile
_HALVES = re.compile("[\ud800-\udfff]")
_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=encodable)


def dumps(value: Any) -> str:
    """Text that can always be encoded: half of a character (a lone surrogate) stays the escape that it came as."""
    text = _in_portions(value)
    return text if text.isascii() or not _HALVES.search(text) else _HALVES.sub(_escaped, text)


def _in_portions(value: Any) -> str:
    """Writes long lists some rows at a time: other threads get turns in between."""
    if is_dataclass(value):
        value = encodable(value)
    if _is_long(value):
        portions = (_ENCODER.encode(value[at : at + ROWS])[1:-1] for at in range(0, len(value), ROWS))
        return f"[{','.join(portions)}]"
    if isinstance(value, dict) and any(
        isinstance(member, list | tuple) and len(member) > ROWS for member in value.values()
    ):
        members = (_ENCODER.encode({name: 0})[1:-2] + _in_portions(member) for name, member in value.items())
        return "{" + ",".join(members) + "}"
    return _ENCODER.encode(value)


def _is_long(value: Any) -> bool:
    return isinstance(value, list | tuple) and len(value) > ROWS


def _escaped(half: re.Match[str]) -> str:
    return f"\\u{ord(half[0]):04x}"


def loads(raw: bytes | str) -> Any:
    try:
        text = raw.decode("utf-8") if isinstance(raw, bytes) else raw
        return json.loads(
            text, parse_constant=_refuse, parse_int=_short, parse_float=_finite, object_pairs_hook=_no_twins
        )
    except RecursionError:
        raise Malformed("The JSON is nested too deeply.", code="malformed_json") from None
    except UnicodeDecodeError as problem:
        raise Malformed(f"This is not UTF-8: see byte {problem.start}.", code="malformed_json") from None
    except ValueError as problem:
        raise Malformed(f"This is not JSON: {problem}", code="malformed_json") from None


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON number")


def _short(text: str) -> int:
    """Python would refuse it in a programmer's words, after a time that grows with the square."""
    if len(text) > MOST_DIGITS:
        raise ValueError("a number has too many digits")
    return int(text)


def _finite(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise ValueError("a number is too large")
    return value


def _no_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise ValueError("an object has a key twice")
    return result
