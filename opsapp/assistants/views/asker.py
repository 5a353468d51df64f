"""Who calls. There is no session to keep: its id, which the client sends back, is the client's name: a label that
people read, and no credential. Must not: be believed for anything."""

from __future__ import annotations

import re

from pyramid.request import Request

from opsapp.assistants.resources import Asker
from opsapp.auth.assistants import KIND
from opsapp.auth.resources import all_keys_of

SESSION = "Mcp-Session-Id"
LONGEST = 100
_ID = re.compile(r"[0-9a-f]{1,64}\.([0-9a-f]{0,800})")


def session_for(own: str, params: dict[str, object]) -> str:
    about = params.get("clientInfo")
    name = about.get("name") if isinstance(about, dict) else None
    return f"{own}.{_printable(name if isinstance(name, str) else '').encode().hex()}"


def client_of(request: Request) -> str:
    known = _ID.fullmatch(request.headers.get(SESSION, ""))
    name = bytes.fromhex(known[1]).decode("utf-8", "replace") if known and len(known[1]) % 2 == 0 else ""
    return _printable(name or request.user_agent or "")


def _printable(text: str) -> str:
    return "".join(letter for letter in text if letter.isprintable())[:LONGEST].encode("utf-8", "replace").decode()


def asker_of(request: Request) -> Asker | None:
    """None where it is no key of an assistant: a person, or another program."""
    caller = request.caller
    if caller.kind != KIND:
        return None
    key = all_keys_of(request.root)[caller.session_id]
    return Asker(key.__name__, key.name, key.username, client_of(request), request.client_ip)
