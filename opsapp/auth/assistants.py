"""The key of an assistant opens the door for assistants, and nothing else (`assistants=True` of a view). What is read
behind it is asked with `BY_ASSISTANT` in the environ, which no client can put there: then the key is that of a
viewer who looks (GET)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyramid.config import Configurator
from pyramid.request import Request
from pyramid.security import NO_PERMISSION_REQUIRED

from opsapp.lib.problems import Forbidden

KIND = "assistant"
BY_ASSISTANT = "opsapp.by_assistant"
ROLE = "viewer"  # of every such key

View = Callable[[Any, Request], Any]


def assistants_deriver(view: View, info: Any) -> View:
    if (
        info.exception_only
        or info.options.get("assistants")
        or info.options.get("permission") == NO_PERMISSION_REQUIRED
    ):
        return view

    def wrapped(context: Any, request: Request) -> Any:
        caller = request.caller
        if caller is not None and caller.kind == KIND and not _looks(request):
            raise Forbidden("The key of an assistant opens /api/mcp and nothing else.", code="assistant_key")
        return view(context, request)

    return wrapped


assistants_deriver.options = ("assistants",)  # type: ignore[attr-defined]


def _looks(request: Request) -> bool:
    return request.method == "GET" and bool(request.environ.get(BY_ASSISTANT))


def includeme(config: Configurator) -> None:
    config.add_view_deriver(assistants_deriver, "assistants", under="secured_view", over="demanded")
