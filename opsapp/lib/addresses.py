"""What of an address, and of what is sent to it, may be shown to viewers, in an export and in the audit record.

Scheme, host, port and path of an address. HIDDEN are its user name, password, query and fragment, wherever in a text it
stands; so are the values of `headers`, of a `body` and of `env`, the arguments of a `command` that is a list, and the
password of a connection string (`host=db password=x`). `{{secret:name}}` may be seen: it is only a name.

`restored` is the way back: HIDDEN that comes back from a reader keeps the stored value. `split` and `joined` take a
value apart for the store, which seals what is hidden of it.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict, deque
from collections.abc import Mapping
from dataclasses import is_dataclass
from typing import Any, NamedTuple

from opsapp.wire.records import made, plain, sealed_in

from .jsontypes import JsonObject
from .problems import Invalid

HIDDEN = "***"
SNMP = ("snmp_community", "snmp_auth_password", "snmp_privacy_password")
WHOLE = ("headers", "body", "env", "descriptors", *SNMP)  # fields of which every value is hidden
JSON_TEXTS = ("action_params",)  # of the ledger: an object, written as text
COMMAND = "command"  # the program may be seen
_LOOKED_INTO = {*WHOLE, COMMAND}  # fields that may hide what is no address
_HIDING_NOTHING = {int, float, bool, type(None)}

_ONE_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{0,30}://\S*")
# In a text: an address, or the password of a connection string. `$` begins the name of a variable.
_SPOT = re.compile(
    r"(?i)(?P<address>[a-z][a-z0-9+.-]{0,30}://[^\s\"'<>`]*)"
    r"|(?P<name>(?:password|passwd|pwd)=)(?P<value>'[^']*'|\"[^\"$]*\"|[^\s;&\"'$][^\s;&\"']*)"
)
_PASSWORD = re.compile(r"(?i)(?:password|passwd|pwd)=")
_PLACE = r"\{\{(?:secret|input|event):[^{}]*\}\}"
_ONLY_PLACES = re.compile(rf"(?i)(?:(?:bearer|basic|token) )?(?:{_PLACE})+")
_PLACES_IN_QUERY = re.compile(rf"\?(?:(?:[\w.\[\]-]+=)?(?:{_PLACE})+(?:&|$))+")
_PLACES_AS_USER = re.compile(rf"(?:{_PLACE})(?::{_PLACE})?")


def public_address(url: str) -> str:
    """The address without its user name, password, query and fragment."""
    scheme, mark, rest = url.partition("://")
    credentials, host, rest = _at_the_user(rest)
    if credentials and not _PLACES_AS_USER.fullmatch(credentials):
        credentials = HIDDEN
    begin = re.search(r"[?#]", rest)
    if begin and not _PLACES_IN_QUERY.fullmatch(rest[begin.start() :]):
        rest = rest[: begin.end()] + HIDDEN
    return f"{scheme}{mark}{credentials}{host}{rest}"


def _at_the_user(rest: str) -> tuple[str, str, str]:
    """What stands before the host, the sign between them, and the rest. A password may hold characters that end a
    host's name: what follows a colon and is no port is one, if there is an @ behind it."""
    authority = re.match(r"[^/?#]*", rest)
    assert authority is not None  # the pattern fits an empty text too
    host = authority[0]
    port = host.rpartition("@")[2].rpartition("]")[2].partition(":")[2]
    is_password = "@" not in host and port and not port.isdecimal() and not _ONLY_PLACES.fullmatch(port)
    end = rest.rfind("@") if is_password else host.rfind("@")
    return ("", "", rest) if end < 0 else (rest[:end], "@", rest[end + 1 :])


def public_text(text: str) -> str:
    if not _may_hide_text(text):
        return text
    return public_address(text) if _ONE_ADDRESS.fullmatch(text) else _SPOT.sub(_public_spot, text)


def _public_spot(spot: re.Match[str]) -> str:
    if spot["address"] is not None:
        return public_address(spot["address"])
    return spot[0] if _ONLY_PLACES.fullmatch(spot["value"]) else spot["name"] + HIDDEN


def _may_hide_text(text: str) -> bool:
    return "://" in text or ("=" in text and _PASSWORD.search(text) is not None)


def public(value: Any) -> Any:
    """The public form of a JSON value, or a declared record."""
    if type(value) in _HIDING_NOTHING:  # most of what is asked: every write goes through here twice
        return value
    if isinstance(value, str):
        return public_text(value)
    if isinstance(value, Mapping):
        return {name: _public_field(name, part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [public(part) for part in value]
    if is_dataclass(value) and not isinstance(value, type):
        return made(type(value), public(plain(value)))
    return value


def _public_field(name: str, value: Any) -> Any:
    if name in WHOLE:
        return _hidden_values(value)
    if name == COMMAND and isinstance(value, list | tuple):
        return [public(value[0]), *map(_hidden, value[1:])] if value else []
    if name in JSON_TEXTS and isinstance(value, str):
        return json.dumps(public(json.loads(value)), sort_keys=True)
    return public(value)


def _hidden_values(value: Any) -> Any:
    """The names of an object may be seen."""
    return {name: _hidden(part) for name, part in value.items()} if isinstance(value, Mapping) else _hidden(value)


def _hidden(value: Any) -> Any:
    nothing = value is None or value == "" or (isinstance(value, str) and _ONLY_PLACES.fullmatch(value))
    return value if nothing else HIDDEN


def shown_settings(record: type, settings: JsonObject) -> JsonObject:
    """Those of a declared record: its secrets are HIDDEN."""
    return {**settings, **{name: settings[name] and HIDDEN for name in sealed_in(record)}}


# -- the way back


def restored(given: Any, stored: Any, field: str) -> Any:
    """The given value, with the stored one in every place that is HIDDEN; Invalid where none is known. `field` is its
    path, for the mistake."""
    if isinstance(given, str):
        return _restored_text(given, stored, field)
    if isinstance(given, Mapping):
        fields = stored if isinstance(stored, Mapping) else {}
        return {name: restored(part, fields.get(name), f"{field}.{name}") for name, part in given.items()}
    if isinstance(given, list | tuple):
        elements = stored if isinstance(stored, list | tuple) else ()
        return [
            restored(part, _same(part, elements, n), f"{field}.{n}") if _hides(part) else part
            for n, part in enumerate(given)
        ]
    return given


def _hides(value: Any) -> bool:
    if isinstance(value, str):
        return HIDDEN in value
    parts = value.values() if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else ()
    return any(_hides(part) for part in parts)


def _same(given: Any, stored: Any, place: int) -> Any:
    """The stored element that is shown as this one, wherever it has moved; else the one in its place."""
    known = stored[place] if place < len(stored) else None
    return next((element for element in (known, *stored) if public(element) == given), known)


def _restored_text(given: str, stored: Any, field: str) -> Any:
    if HIDDEN not in given or given == stored:
        return given
    if given == HIDDEN:
        if stored is None:
            raise _unknown(field)
        return stored
    known: dict[str, deque[str]] = defaultdict(deque)
    for spot in _spots(stored) if isinstance(stored, str) else ():
        known[public_text(spot)].append(spot)
    text, end = "", 0
    for start, spot in _placed(given):
        if HIDDEN in spot:
            if not known[spot]:
                raise _unknown(field)
            hidden = known[spot].popleft()
            text, end = text + given[end:start] + hidden, start + len(spot)
    return text + given[end:]


def _spots(text: str) -> list[str]:
    return [spot for _, spot in _placed(text)]


def _placed(text: str) -> list[tuple[int, str]]:
    """Where in the text something may be hidden, and what stands there."""
    if _ONE_ADDRESS.fullmatch(text):
        return [(0, text)]
    return [(spot.start(), spot[0]) for spot in _SPOT.finditer(text)]


def _unknown(field: str) -> Invalid:
    return Invalid({field: f"{HIDDEN} stands for a secret that was not shown: write it in"})


def restored_settings(record: type, given: JsonObject, stored: JsonObject | None) -> JsonObject:
    """A declared record's settings, as `restored`."""
    return {**given, **restored_fields({name: given[name] for name in sealed_in(record)}, stored)}


def restored_fields(given: JsonObject, stored: JsonObject | None) -> JsonObject:
    return {name: restored(value, (stored or {}).get(name), name) for name, value in given.items()}


def without_hidden(value: Any) -> Any:
    """The value for a copy that nothing is stored for: addresses lose what was hidden, fields and elements go."""
    if isinstance(value, str):
        return _without_hidden_text(value)
    if isinstance(value, Mapping):
        return {name: without_hidden(part) for name, part in value.items() if part != HIDDEN}
    return [without_hidden(part) for part in value if part != HIDDEN] if isinstance(value, list) else value


def _without_hidden_text(text: str) -> str:
    parts, end = [], 0
    for start, spot in _placed(text):
        bare = spot.replace(f"{HIDDEN}@", "").replace(f"?{HIDDEN}", "").replace(f"#{HIDDEN}", "")
        parts += [text[end:start], bare.replace(f"={HIDDEN}", "=")]
        end = start + len(spot)
    return "".join(parts) + text[end:]


# -- in the store


class Parts(NamedTuple):
    """A value without what is hidden of it, and that: (where it stood, what stood there)."""

    seen: Any
    hidden: list[tuple[list[str | int], Any]]


def split(value: Any) -> Parts:
    """What may be seen of a value, in containers of the same kind, and what is hidden of it."""
    hidden: list[tuple[list[str | int], Any]] = []
    if not _may_hide(value):
        return Parts(value, hidden)
    seen = _without(value, public(value), [], hidden)
    return Parts(seen if hidden else value, hidden)


def _may_hide(value: Any) -> bool:
    """A quick look, for values that are stored often and hide nothing."""
    kind = type(value)
    if kind is str:
        return _may_hide_text(value)
    if kind is dict:
        return any(_may_hide_field(name, part) for name, part in value.items())
    if kind is list or kind is tuple:
        return any(map(_may_hide, value))
    return kind not in _HIDING_NOTHING


def _may_hide_field(name: str, value: Any) -> bool:
    if name in JSON_TEXTS and isinstance(value, str):
        return value != "{}" and _may_hide(json.loads(value))
    return (name in _LOOKED_INTO and bool(value)) or _may_hide(value)


def _without(value: Any, shown: Any, path: list[str | int], hidden: list[tuple[list[str | int], Any]]) -> Any:
    if value is shown:
        return shown
    if isinstance(value, Mapping) and isinstance(shown, Mapping):
        return {name: _without(part, shown[name], [*path, name], hidden) for name, part in value.items()}
    if isinstance(value, list | tuple) and isinstance(shown, list):
        elements = [
            _without(part, seen, [*path, n], hidden) for n, (part, seen) in enumerate(zip(value, shown, strict=True))
        ]
        return elements if isinstance(value, list) else tuple(elements)
    if value != shown:
        hidden.append((path, value))
    return shown


def joined(parts: Parts) -> Any:
    value = parts.seen
    for path, part in parts.hidden:
        value = _put(value, path, part)
    return value


def at_path(value: Any, path: list[str | int]) -> Any:
    """What stands there now; None where there is no such place."""
    for place in path:
        try:
            value = value[place]
        except (LookupError, TypeError):
            return None
    return value


def _put(value: Any, path: list[str | int], part: Any) -> Any:
    if not path:
        return part
    place, *rest = path
    if isinstance(value, Mapping):
        return {**value, place: _put(value[place], rest, part)}
    elements = list(value)
    elements[int(place)] = _put(elements[int(place)], rest, part)
    return elements if isinstance(value, list) else tuple(elements)
