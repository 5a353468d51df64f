"""How requests come into the audit record. Every POST, PUT and DELETE of a person or an API key leaves an entry: the
view's own (`request.audit(…)`), or one with method and path; so does a refusal, after the abort, even of strangers.
`audit="thing.verb"` names a view's action for refusals, `audit=False` says that it changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyramid.config import Configurator
from pyramid.httpexceptions import HTTPForbidden
from pyramid.request import Request
from pyramid.viewderivers import INGRESS

from opsapp.lib.problems import Problem
from opsapp.web.answers import Answer
from opsapp.web.bodies import UNSAFE
from opsapp.web.peers import is_forwarded

from . import engine
from .engine import Actor
from .resources import ACCEPTED, OK

View = Callable[[Any, Request], Any]


def actor(request: Request) -> Actor:
    """`request.actor`: who asks, as plain values that may outlive the request."""
    return Actor(request.caller.name if request.caller else None, request.client_ip)


def audit(request: Request, action: str, target: str, *, before: Any = None, after: Any = None) -> None:
    request.audited = True
    engine.note(request.root, request.actor, action, target, before=before, after=after)


def audit_deriver(view: View, info: Any) -> View:
    wanted = info.options.get("audit")
    if wanted is False or info.exception_only:
        return view

    def wrapped(context: Any, request: Request) -> Any:
        caller = request.caller
        if request.environ["REQUEST_METHOD"] not in UNSAFE or (caller is not None and not caller.changes_things):
            return view(context, request)
        if is_forwarded(request):  # the node that was asked first has written it down
            return view(context, request)
        action = wanted or f"{request.method.lower()} {request.path_info}"
        try:
            response = view(context, request)
        except Problem as problem:
            note_refusal(request, action, problem.code)
            raise
        except HTTPForbidden:
            note_refusal(request, action, "unauthenticated" if caller is None else "role_too_low")
            raise
        if response.status_int >= 400:
            note_refusal(request, action, str(response.status_int))
        elif caller is not None and not getattr(request, "audited", False):
            note_default(request, action, ACCEPTED if isinstance(response, Answer) else OK)
        return response

    return wrapped


audit_deriver.options = ("audit",)  # type: ignore[attr-defined]


def note_default(request: Request, action: str, result: str) -> None:
    engine.note(request.root, request.actor, action, _target(request), result=result)


def note_refusal(request: Request, action: str, reason: str) -> None:
    if engine.admits(request.node, request.actor, action, reason):
        request.after_abort(engine.note_refusal, request.actor, action, _target(request), reason)


def _target(request: Request) -> str:
    return getattr(request.context, "__name__", None) or request.path_info


def includeme(config: Configurator) -> None:
    config.add_request_method(actor, "actor", reify=True)
    config.add_request_method(audit, "audit")
    config.add_view_deriver(audit_deriver, "audited", under=INGRESS, over="subpath")
