"""Names and filters of a directory: escaping, placeholders of a template, DNs as they are compared."""

from __future__ import annotations

import re
import string
from collections.abc import Iterable, Mapping
from itertools import accumulate
from typing import NamedTuple
from urllib.parse import urlsplit

from .claims import HIGHEST_FIRST
from .names import username_problem

PLAIN = frozenset((string.ascii_letters + string.digits).encode())
USERNAME, DN = "username", "dn"
PLACES = re.compile(r"\{([^{}]*)\}")
PORTS = {"ldap": 389, "ldaps": 636}
TYPE = r"[A-Za-z][A-Za-z0-9-]*|[0-9]+(?:\.[0-9]+)*"
PART = re.compile(rf"\s*({TYPE})\s*=((?:\\[0-9A-Fa-f]{{2}}|\\[^0-9A-Fa-f]|[^\\,+;])*)", re.S)
ESCAPED = re.compile(r"\\(?:([0-9A-Fa-f]{2})|(.))", re.S)

NormalDn = tuple[frozenset[tuple[str, str]], ...]


class DirectoryPlace(NamedTuple):
    """Where a directory listens; `tls` from the first byte on."""

    host: str
    port: int
    tls: bool


def place_of(uri: str) -> DirectoryPlace:
    """ValueError for what is no address of a directory."""
    parts = urlsplit(uri)
    if parts.scheme not in PORTS or not parts.hostname or parts.username is not None:
        raise ValueError("must look like ldaps://ldap.example.org or ldap://ldap.example.org:389")
    if parts.path not in ("", "/") or parts.query or parts.fragment:
        raise ValueError("has more than a host and a port")
    return DirectoryPlace(parts.hostname, parts.port or PORTS[parts.scheme], parts.scheme == "ldaps")


def asked_name(typed: str) -> str | None:
    """Directories do not tell letters by their case, and one name must have one counter. None for what nobody can be
    called."""
    name = typed.lower()
    return None if username_problem(name) else name


def escaped(value: str | bytes) -> str:
    """For an assertion of a filter: no byte of it means anything there (RFC 4515)."""
    raw = value.encode() if isinstance(value, str) else value
    return "".join(chr(byte) if byte in PLAIN else f"\\{byte:02x}" for byte in raw)


def filled(template: str, values: Mapping[str, str]) -> str:
    return PLACES.sub(lambda match: escaped(values[match[1]]), template)


def of_anybody(template: str) -> str:
    """The filter that everybody matches who could be asked for by name."""
    return template.replace("{" + USERNAME + "}", "*")


def of_ids(template: str, attribute: str, ids: Iterable[bytes]) -> str:
    wanted = "".join(f"({attribute}={escaped(value)})" for value in ids)
    return f"(&{of_anybody(template)}(|{wanted}))"


def filter_problem(template: str, needs: frozenset[str], knows: frozenset[str]) -> str | None:
    """What is wrong with the template, as far as it shows without the directory."""
    given = set(PLACES.findall(template))
    if given - knows:
        return "may have the places " + " and ".join("{" + name + "}" for name in sorted(knows))
    if not given & needs:
        return "needs the place " + " or ".join("{" + name + "}" for name in sorted(needs))
    return None if _is_one(template) else "must be one filter in brackets: (uid={username})"


def _is_one(template: str) -> bool:
    """Whether its first bracket ends with its last."""
    depths = list(accumulate((char == "(") - (char == ")") for char in template))
    return template.startswith("(") and depths[-1] == 0 and min(depths[:-1]) > 0


def normal_dn(dn: str) -> NormalDn:
    """As DNs are compared: ValueError for what is none. Empty for the empty one."""
    parts: list[frozenset[tuple[str, str]]] = []
    pairs: list[tuple[str, str]] = []
    at = 0
    while dn.strip():
        match = PART.match(dn, at)
        if match is None or dn[match.end() : match.end() + 1] not in ("", ",", "+"):
            raise ValueError("is no DN: it must look like cn=admins,ou=groups,dc=example,dc=org")
        pairs.append((match[1].lower(), _normal_value(match[2])))
        at = match.end()
        mark = dn[at : at + 1]
        if mark != "+":
            parts.append(frozenset(pairs))
            pairs = []
        if not mark:
            break
        at += 1
    return tuple(parts)


def _normal_value(text: str) -> str:
    """Without escapes; case and runs of blanks do not count."""
    raw = ESCAPED.sub(lambda match: chr(int(match[1], 16)) if match[1] else _bytewise(match[2]), _bytewise(text))
    try:
        value = raw.encode("latin-1").decode()
    except UnicodeDecodeError:
        value = "bytes " + raw.encode("latin-1").hex()
    return " ".join(value.lower().split())


def _bytewise(text: str) -> str:
    """Each byte of its UTF-8 as a character: an escape stands for one byte."""
    return text.encode().decode("latin-1")


def dn_problem(dn: str) -> str | None:
    try:
        normal_dn(dn)
    except ValueError as problem:
        return str(problem)
    return None


def normal_dns(dns: Iterable[str]) -> frozenset[NormalDn]:
    """What is no DN matches nothing."""
    return frozenset(normal_dn(dn) for dn in dns if dn_problem(dn) is None) - {()}


def role_of(groups: frozenset[NormalDn], role_map: Mapping[str, Iterable[str]]) -> str | None:
    return next((role for role in HIGHEST_FIRST if groups & normal_dns(role_map[role])), None)
