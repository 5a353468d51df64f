"""The second factor that a role demands (`web.login.second_factor`): a user without one can sign in and set it up, and
can do nothing else. API keys keep working: only a user with a second factor can make one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyramid.config import Configurator
from pyramid.request import Request
from pyramid.security import NO_PERMISSION_REQUIRED

from opsapp.auth.config import LoginSettings
from opsapp.lib.problems import Forbidden

from .resources import find_enabled

PAGE = "/second-factor"
ME, ALLOWED = "/api/me", ("", "/settings", "/confirm", "/totp", "/totp/confirm")
SETS_UP = frozenset((PAGE, "/logout", "/api/logout", *(ME + place for place in ALLOWED)))
View = Callable[[Any, Request], Any]


class FactorDemanded(Forbidden):
    code = "second_factor"


def must_set_up(request: Request) -> bool:
    """Users of an identity provider need not: it looks after that."""
    caller = request.caller
    if caller is None or caller.role not in request.node.config[LoginSettings].second_factor:
        return False
    user = find_enabled(request.root, caller.name)
    return (
        user is not None and user.totp is None and user.source != "oidc" and (caller.session_id or "") in user.sessions
    )


def demanded_deriver(view: View, info: Any) -> View:
    if info.exception_only or info.options.get("permission") == NO_PERMISSION_REQUIRED:
        return view

    def wrapped(context: Any, request: Request) -> Any:
        if request.path_info not in SETS_UP and must_set_up(request):
            raise FactorDemanded("Your role requires a second factor. Set it up first (POST /api/me/totp).")
        return view(context, request)

    return wrapped


def includeme(config: Configurator) -> None:
    config.add_view_deriver(demanded_deriver, "demanded", under="secured_view", over="confirmation")
