"""Taking credentials out of every log line, in one place for URLs, headers and messages."""

from __future__ import annotations

import logging
import re
from typing import Any
from urllib.parse import unquote

HIDDEN = "[redacted]"

_NAMES = r"token|partial_token|access_token|id_token|refresh_token|key|ticket|secret|client_secret|password"
_PAIR = re.compile(rf"(?i)((?<![a-z0-9])(?:{_NAMES})=|(?<=[?&])(?:code|state)=)[^&\s\"'#]+")
_JSON_PAIR = re.compile(rf"(?i)([\"'](?:{_NAMES}|current|new)[\"']\s*:\s*)([\"'])(?:\\.|(?!\2).)*\2")
_BEARER = re.compile(r"(?i)\b((?:bearer|basic)\s+)[^\s\"',]+")
_HEADER = re.compile(
    r"(?i)\b((?:x-agent-key|authorization|cookie|set-cookie)[\"']?\s*[:=]\s*[\"']?)(?!bearer|basic)[^\r\n\"']+"
)
_PATH_SECRET = re.compile(
    r"(/api/+monitoring/+push/+|/api/+automations/+webhook/+|/api/+healing/+events/+|/answer/+)[^/?\s\"']+"
)
_SECRETS = re.compile(r"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])")


def redact(text: str) -> str:
    for pattern, kept in _RULES:
        text = pattern.sub(kept, text)
    return text


_RULES = [
    (_PAIR, rf"\1{HIDDEN}"),
    (_JSON_PAIR, rf"\1\2{HIDDEN}\2"),
    (_BEARER, rf"\1{HIDDEN}"),
    (_HEADER, rf"\1{HIDDEN}"),
    (_PATH_SECRET, rf"\1{HIDDEN}"),
    (_SECRETS, HIDDEN),
]


def target(path: str, query: str) -> str:
    if "%" in query:
        query = _ENCODED_NAME.sub(_without_value, query)
    whole = f"{path}?{query}" if query else path
    if not _ORDINARY.fullmatch(whole):
        whole = "".join(char if "!" <= char <= "~" else f"%{ord(char) & 0xFF:02X}" for char in whole)
    return redact(whole) if query or _PATH_SECRET.search(whole) or len(whole) >= 64 else whole


def _without_value(pair: re.Match[str]) -> str:
    """`%74oken` is a token too."""
    name = unquote(pair[1])
    return f"{pair[1]}={HIDDEN}" if _PAIR.fullmatch(f"{name}=x") else pair[0]


_ENCODED_NAME = re.compile(r"(?<![^&])([^=&]*%[^=&]*)=[^&]*")
_ORDINARY = re.compile(r"[!-~]*")


_NAMED = re.compile(r"(?:(?<![^\s])(?P<name>[a-z_]+)=)?%(?P<kind>[-#0-9.+ ]*[a-zA-Z])")


def fields_of(record: logging.LogRecord) -> dict[str, Any]:
    known = getattr(record, "fields", None)
    if known is not None:
        return known
    args = record.args if isinstance(record.args, tuple) else ()
    places = list(_NAMED.finditer(str(record.msg)))
    if len(places) != len(args):
        return {}
    return {
        place["name"]: value if isinstance(value, int | float | bool) else str(value)
        for place, value in zip(places, args, strict=True)
        if place["name"]
    }


class RedactFilter(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        message = record.getMessage()
        clean = redact(message)
        if clean != message:
            fields = fields_of(record)
            record.fields = {name: _clean(name, value) for name, value in fields.items()}
            record.msg, record.args = clean, None
        if record.exc_info and not record.exc_text:
            record.exc_text = redact(logging.Formatter().formatException(record.exc_info))
        return True


def _clean(name: str, value: Any) -> Any:
    """The name may be what tells that the value is secret."""
    return redact(f"{name}={value}").partition("=")[2] if isinstance(value, str) else value


def install() -> None:
    for handler in logging.getLogger().handlers:
        if not any(isinstance(known, RedactFilter) for known in handler.filters):
            handler.addFilter(RedactFilter())
