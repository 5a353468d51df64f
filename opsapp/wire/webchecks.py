"""How answers of the web are judged, by server and agents alike. Must not: send anything."""

from __future__ import annotations

import json
import operator
from typing import Any, Callable, Dict, NamedTuple, Optional, Tuple
from urllib.parse import urlsplit

from .jsonpath import PathMissing, read_path, same_value, shown
from .typesettings import COMPARISONS, JsonSettings, KeywordSettings

# What is wrong with a body, or nothing: (settings of the type, body, whether it was cut). Asked if the status is right.
BodyCheck = Callable[[Any, bytes, bool], str]
_BODY_HEADERS = {"content-length", "content-type", "transfer-encoding"}
# Sent to other origins too. Any other header may be a secret, or be for the first origin alone.
_PUBLIC_HEADERS = _BODY_HEADERS | {
    "accept", "accept-encoding", "accept-language", "cache-control", "pragma", "user-agent",
}  # fmt: skip
_PORTS = {"http": 80, "https": 443}
STATUS_RANGE = r"[1-5]\d\d(-[1-5]\d\d)?"
MOST_BODY = 20_000  # characters of a request's
_ORDERS = {">": operator.gt, ">=": operator.ge, "<": operator.lt, "<=": operator.le}


def ranges_problem(ranges: Tuple[str, ...]) -> Optional[str]:
    wrong = [text for text in ranges if not _lowest(text) <= _highest(text)]
    return f"{wrong[0]} ends before it begins" if wrong else None


def _lowest(text: str) -> int:
    return int(text[:3])


def _highest(text: str) -> int:
    return int(text[-3:])


def status_problem(status: int, expected: Optional[int], accepted: Tuple[str, ...] = ()) -> str:
    if accepted:
        fits = any(_lowest(text) <= status <= _highest(text) for text in accepted)
        return "" if fits else f"HTTP {status}, expected {', '.join(accepted)}"
    if expected is not None:
        return "" if status == expected else f"HTTP {status}, expected {expected}"
    return "" if 200 <= status < 400 else f"HTTP {status}"


def keyword_problem(own: KeywordSettings, body: bytes, _cut: bool) -> str:
    is_there = own.keyword in body.decode("utf-8", errors="replace")
    if is_there == own.keyword_absent:
        return f"the text {own.keyword!r} {'is there' if is_there else 'is missing'}"
    return ""


def json_problem(own: JsonSettings, body: bytes, cut: bool) -> str:
    if cut:
        return f"the JSON body is larger than {len(body) // 1024} KiB"
    path, expected = own.json_path, own.expected_value
    try:
        value = read_path(json.loads(body), path)
    except (ValueError, RecursionError):
        return "the body is not JSON"
    except PathMissing as missing:
        return str(missing)
    if compares(own.comparison, value, expected):
        return ""
    sign = "" if own.comparison == COMPARISONS[0] else own.comparison + " "
    return f"{path} is {shown(value)}, expected {sign}{shown(expected)}"


def compares(comparison: str, value: Any, expected: Any) -> bool:
    """Only numbers are more or less than another; `contains` looks into texts and lists."""
    if comparison in _ORDERS:
        numbers = all(isinstance(side, (int, float)) and not isinstance(side, bool) for side in (value, expected))
        return numbers and bool(_ORDERS[comparison](value, expected))
    if comparison == "contains":
        if isinstance(value, str):
            return isinstance(expected, str) and expected in value
        return isinstance(value, list) and any(same_value(part, expected) for part in value)
    return same_value(value, expected) == (comparison == COMPARISONS[0])


class NextRequest(NamedTuple):
    method: str
    headers: Dict[str, str]
    keeps_body: bool


def after_redirect(status: int, method: str, headers: Dict[str, str], first: str, after: str) -> NextRequest:
    """The request after a redirect: a form that was sent is not sent again; headers stay with the origin that they were
    written for."""
    names = {name.lower() for name in headers}
    dropped = set() if _same_origin(first, after) else names - _PUBLIC_HEADERS
    becomes_get = status == 303 or (status in (301, 302) and method == "POST")
    if becomes_get:
        dropped |= _BODY_HEADERS
        method = "HEAD" if method == "HEAD" else "GET"
    kept = {name: value for name, value in headers.items() if name.lower() not in dropped}
    return NextRequest(method, kept, not becomes_get)


def _same_origin(first: str, after: str) -> bool:
    """A host that leads to its own https has the same secrets, better protected."""
    try:
        before, then = _origin(first), _origin(after)
    except ValueError:  # it names no port: there is nothing to be asked there
        return False
    return before == then or (before, then) == (("http", then[1], 80), ("https", before[1], 443))


def _origin(url: str) -> Tuple[str, Optional[str], Optional[int]]:
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port or _PORTS.get(parts.scheme)
