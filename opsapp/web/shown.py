"""`request.shown(value)`: what the caller may see of a value that holds addresses. See `opsapp.lib.addresses`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyramid.config import Configurator
from pyramid.request import Request

from opsapp.lib.addresses import public
from opsapp.tree.acl import Permission


def may_edit(request: Request) -> bool:
    """Operators and admins see what they may edit."""
    return bool(request.has_permission(Permission.operate))


def what_is_shown(request: Request) -> Callable[[Any], Any]:
    """The function that `shown` is, for an answer that outlasts its request."""
    return _as_it_is if request.may_edit else public


def _as_it_is(value: Any) -> Any:
    return value


def shown(request: Request, value: Any) -> Any:
    return what_is_shown(request)(value)


def includeme(config: Configurator) -> None:
    config.add_request_method(may_edit, "may_edit", reify=True)
    config.add_request_method(shown, "shown")
