"""Browser sessions: the session's token in a cookie, and the token that shows that a change comes from our own page.

A page of another site can make a browser send the cookie, but cannot read our page: so every unsafe request that is
known by its cookie alone carries `X-CSRF-Token` (or the form field `csrf_token`). What only reads under /api needs
none, because an EventSource could not send it: there the browser's own word on who asks counts.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Callable
from typing import Any

from pyramid.config import Configurator
from pyramid.request import Request
from pyramid.security import NO_PERMISSION_REQUIRED
from webob.cookies import make_cookie

from opsapp.auth.engine import browsers
from opsapp.auth.engine.signin import Client
from opsapp.lib.ids import digest
from opsapp.lib.problems import Forbidden, Unavailable
from opsapp.runtime.node import Node
from opsapp.runtime.secrets.seals import REGISTRY_KEY
from opsapp.web.address import same_origin
from opsapp.web.bodies import UNSAFE
from opsapp.web.forms import first_look, is_form, read_form

SESSION = "opsapp_session"
MASK = 32  # bytes; a token is as long
HALF = MASK // 2  # of it; what follows is its signature
PURPOSE = "forms"
FIELD, HEADER = "csrf_token", "X-CSRF-Token"

View = Callable[[Any, Request], Any]


def cookie(name: str, value: str | None, *, secure: bool, max_age: int | None = None, path: str = "/") -> str:
    """A Set-Cookie value that no script reads and no other site sends along; None takes it away."""
    return make_cookie(name, value, max_age=max_age, path=path, secure=secure, httponly=True, samesite="Lax")


def known_browser_cookie(node: Node, username: str, *, secure: bool) -> str:
    """This user has just signed in here: others' attempts do not lock the browser out."""
    sealed, life = browsers.sealed_for(node, username)
    return cookie(browsers.cookie_name(username), sealed, secure=secure, max_age=life, path="/login")


def client_of(request: Request) -> Client:
    return Client(request.client_ip, request.user_agent or "", browsers.held_of(request.cookies))


def form_key(node: Node) -> bytes | None:
    """Signs the tokens of forms for people with a session; None: there is no master key here."""
    try:
        return node.registry[REGISTRY_KEY].derived(PURPOSE)
    except Unavailable:
        return None


def csrf_token(secret: str) -> bytes:
    return bytes.fromhex(digest("csrf\0" + secret))[:HALF]


def masked_token(secret: str, key: bytes | None = None) -> str:
    """Signed where there is a key, so that it is known as ours when its session has ended. Each time in other letters:
    a compressed page's length says nothing of it."""
    mask, token = secrets.token_bytes(MASK), csrf_token(secret)
    token += _signature(key, token) if key else secrets.token_bytes(HALF)
    return (mask + bytes(a ^ b for a, b in zip(mask, token, strict=True))).hex()


def _signature(key: bytes, token: bytes) -> bytes:
    return hmac.digest(key, token, "sha256")[:HALF]


def _given(request: Request) -> bytes:
    """Unmasked; the rest of a form is not read for it."""
    given = request.headers.get(HEADER) or first_look(request, FIELD)
    try:
        masked = bytes.fromhex(given)
    except ValueError:
        return b""
    return bytes(a ^ b for a, b in zip(masked[:MASK], masked[MASK:], strict=True)) if len(masked) == 2 * MASK else b""


def carries(request: Request, secret: str) -> bool:
    return hmac.compare_digest(_given(request)[:HALF], csrf_token(secret))


def is_of_our_page(request: Request, ended: str | None = None) -> bool:
    """Whether this service has shown that token to somebody with a session, and the request comes from a page of ours:
    as the browser says, else as the cookie of that ended session does. The cookie alone shows nothing: anybody can
    make one up, and the token to it."""
    token = _given(request)
    keys = request.registry[REGISTRY_KEY].all_derived(PURPOSE)
    if not any(hmac.compare_digest(token[HALF:], _signature(key, token[:HALF])) for key in keys):
        return False
    site, origin = request.headers.get("Sec-Fetch-Site"), request.headers.get("Origin")
    if site is not None:
        return site == "same-origin"
    if origin is not None:  # of an address that is not https, a browser says no more
        return same_origin(origin, request.scheme, request.host)
    return bool(ended) and carries(request, ended or "")


class StaleForm(Forbidden):
    """A form with the token of an older session of this browser. `kept`: what it says; `token`: what it needs now."""

    code = "csrf"

    def __init__(self, kept: dict[str, str], token: str):
        super().__init__("You have signed in again since this form was opened.")
        self.kept, self.token = kept, token


def refused(request: Request, secret: str) -> Forbidden:
    """What another site's page sends is never shown for sending again."""
    if is_form(request) and request.headers.get(HEADER) is None and is_of_our_page(request):
        kept = {name: text for name, text in read_form(request).items() if name != FIELD}
        return StaleForm(kept, masked_token(secret, form_key(request.node)))
    return Forbidden("This did not come from a page of this service.", code="csrf")


def is_from_elsewhere(request: Request) -> bool:
    """Whether a page of another site reads this: from another host of the same site the browser sends the cookie along.
    A followed link is nothing that a page reads."""
    site = request.headers.get("Sec-Fetch-Site")
    if site is not None:
        return site not in ("same-origin", "none") and request.headers.get("Sec-Fetch-Mode") != "navigate"
    origin = request.headers.get("Origin")
    return origin is not None and not same_origin(origin, request.scheme, request.host)


def csrf_deriver(view: View, info: Any) -> View:
    """Public views do not ask who it is."""
    if info.exception_only or info.options.get("permission") == NO_PERMISSION_REQUIRED:
        return view

    def wrapped(context: Any, request: Request) -> Any:
        secret = getattr(request, "cookie_secret", None)
        if secret is not None and request.method in UNSAFE and not carries(request, secret):
            raise refused(request, secret)
        return view(context, request)

    return wrapped


def includeme(config: Configurator) -> None:
    config.add_view_deriver(csrf_deriver, "csrf", under="audited", over="secured_view")
