"""`request.shown(value)`: what the caller may see of a value that holds addresses. See `opsapp.lib.addresses`."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from pyramid.config import Configurator
from pyramid.request import Request

from opsapp.lib.addresses import public
from opsapp.tree.acl import Permission

from .jsontext import dumps, loads


def may_edit(request: Request) -> bool:
    """Operators and admins see what they may edit."""
    return bool(request.has_permission(Permission.operate))


def shown(request: Request, value: Any) -> Any:
    return value if request.may_edit else public(value)


@lru_cache(maxsize=256)
def public_json(text: str) -> str:
    """The public part of an event's JSON text. An event goes to thousands of streams, and is judged once."""
    return dumps(public(loads(text)))


def includeme(config: Configurator) -> None:
    config.add_request_method(may_edit, "may_edit", reify=True)
    config.add_request_method(shown, "shown")
