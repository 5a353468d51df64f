"""Two demands of a view beyond a credential, because a stolen session or key must not be enough: a person's own
session (`own_session=True`), and a session that was confirmed a short time ago (`confirmed=True`). Must not: check the
proof (`engine.confirmation` does)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyramid.config import Configurator
from pyramid.request import Request

from opsapp.auth.config import LoginSettings
from opsapp.lib.problems import Forbidden

from .resources import session_of

View = Callable[[Any, Request], Any]


def confirmation_deriver(view: View, info: Any) -> View:
    confirmed = bool(info.options.get("confirmed"))
    if not confirmed and not info.options.get("own_session"):
        return view

    def wrapped(context: Any, request: Request) -> Any:
        if confirmed:
            require_confirmation(request)
        else:
            require_session(request)
        return view(context, request)

    return wrapped


def require_session(request: Request) -> None:
    """Forbidden where the caller is a key."""
    if request.caller.kind != "session":
        raise Forbidden("Only somebody who is signed in can do this, not an API key.", code="session_required")


def require_confirmation(request: Request) -> None:
    """Also `request.require_confirmation()`. Forbidden unless this is a person who has proved it a short time ago."""
    require_session(request)
    if not is_confirmed(request):
        raise Forbidden(
            "Confirm that it is you: send your password or a code to POST /api/me/confirm, or sign in again.",
            code="confirm",
        )


confirmation_deriver.options = ("confirmed", "own_session")  # type: ignore[attr-defined]


def is_confirmed(request: Request) -> bool:
    session = session_of(request.root, request.caller.name, request.caller.session_id)
    life = request.node.config[LoginSettings].confirm_s
    return session is not None and request.now < session.confirmed_until(life)


def includeme(config: Configurator) -> None:
    config.add_request_method(require_confirmation)
    config.add_view_deriver(confirmation_deriver, "confirmation", under="secured_view", over="decorated_view")
