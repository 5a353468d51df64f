"""The one error table: which status and headers each problem of the domain has. Nothing else chooses an error status.
An answer never shows a stack trace, a path or HTML under /api."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Any, NamedTuple

from pyramid.config import Configurator
from pyramid.exceptions import PredicateMismatch, URLDecodeError
from pyramid.httpexceptions import HTTPException, HTTPForbidden, HTTPNotFound
from pyramid.request import Request
from pyramid.response import Response
from pyramid.security import NO_PERMISSION_REQUIRED
from transaction.interfaces import TransientError
from ZODB.FileStorage.format import CorruptedError
from ZODB.POSException import POSKeyError, StateLoadError
from zope.interface import Interface

from opsapp.lib import problems
from opsapp.runtime.store.transactions import AWAY
from opsapp.tree.acl import ROLES, role_for
from opsapp.tree.damage import reason_of

from .asked import Asked, BodyWanted
from .jsontext import dumps
from .sight import hidden, is_named, tags_of

log = logging.getLogger(__name__)
ROLE_TOO_LOW = "role_too_low"

STATUS: dict[type[problems.Problem], int] = {
    problems.Malformed: 400,
    problems.Unauthenticated: 401,
    problems.Forbidden: 403,
    problems.NotFound: 404,
    problems.WrongMethod: 405,
    problems.Conflict: 409,
    problems.Gone: 410,
    problems.PreconditionFailed: 412,
    problems.TooLarge: 413,
    problems.UnsupportedType: 415,
    problems.BeyondTheEnd: 416,
    problems.Invalid: 422,
    problems.TooMany: 429,
    problems.NotOffered: 501,
    problems.UpstreamFailed: 502,
    problems.Unavailable: 503,
}


class IErrorPage(Interface):
    """Utility: how a problem outside /api looks to a browser. Called with (asked, status, problem); a Response of that
    status, or one that leads to the page for signing in."""


class IErrorDocument(Interface):
    """Utility, named by the first part of a path: how a problem is said there. Called with (status, problem); text and
    content type."""


class ISignInAgain(Interface):
    """Utility: the page for who sent a form after the session had ended. Called with the request; None where nothing is
    to be kept."""


def status_of(problem: problems.Problem) -> int:
    for cls in type(problem).__mro__:
        if cls in STATUS:
            return STATUS[cls]
    return 500


def body_of(problem: problems.Problem) -> dict[str, Any]:
    body: dict[str, Any] = {"error": problem.message, "code": problem.code}
    if isinstance(problem, problems.Invalid):
        body["fields"] = problem.by_field()
    return body | problem.details.get("extra", {})


def headers_of(problem: problems.Problem) -> dict[str, str]:
    headers = {}
    if isinstance(problem, problems.Unauthenticated):
        headers["WWW-Authenticate"] = "Bearer"
    if isinstance(problem, problems.WrongMethod):
        headers["Allow"] = ", ".join(problem.details["allow"])
    if isinstance(problem, problems.BeyondTheEnd):
        headers["Content-Range"] = f"bytes */{problem.details['size']}"
    if isinstance(problem, problems.TooMany | problems.Unavailable):
        headers["Retry-After"] = str(max(1, int(problem.details.get("retry_after", 1))))
    return headers


def problem_of(error: BaseException) -> problems.Problem:
    """What nobody foresaw is logged and says nothing of itself."""
    if isinstance(error, problems.Problem):
        return error
    if isinstance(error, AWAY):
        return problems.StoreAway()
    if isinstance(error, TransientError):
        return problems.Unavailable("Too many changes at once. Try again.", code="busy", retry_after=1)
    if isinstance(error, UnicodeDecodeError):
        return problems.Malformed("The address is not valid UTF-8.")
    log.error("unforeseen error", exc_info=error)
    if isinstance(error, POSKeyError | StateLoadError | CorruptedError):
        return problems.Unreadable("A part of this", reason_of(error))
    return problems.Problem("Something went wrong here. It has been logged.", code="internal_error")


def answer(request: Request, problem: problems.Problem) -> Response:
    asked = Asked.of(request.environ)
    if not asked.is_api and asked.role is not None and request.sight is not None:
        asked = replace(asked, limited=True)  # the page's menu leads to nothing that its reader may not open
    return answer_to(request.registry, asked, problem)


def answer_to(registry: Any, asked: Asked, problem: problems.Problem) -> Response:
    status = status_of(problem)
    page = None if asked.is_api or asked.path == "/metrics" else registry.queryUtility(IErrorPage)
    response = page(asked, status, problem) if page is not None else _documented(registry, asked.path, status, problem)
    if response.status_int == status:
        response.headers.update(headers_of(problem))
    return response


def _documented(registry: Any, path: str, status: int, problem: problems.Problem) -> Response:
    document = registry.queryUtility(IErrorDocument, name=path.split("/", 2)[1])
    if document is None:
        return Response(dumps(body_of(problem)), status, content_type="application/json", charset="utf-8")
    text, content_type = document(status, problem)
    return Response(text.encode(), status, content_type=content_type)


def on_exception(error: Exception, request: Request) -> Response:
    problem = problem_of(error)
    if isinstance(problem, problems.Unreadable) and request.caller is not None and request.sight is not None:
        problem = hidden()  # nobody can tell whether a team would see it
    return answer(request, problem)


def on_body_wanted(error: BodyWanted, request: Request) -> Response:
    """Nobody sees this answer: what was done is undone, and the server asks again with the body."""
    return Response(status=202, headers={"X-Tm": "abort"})


def on_http_exception(error: HTTPException, request: Request) -> Response:
    """Pyramid's own redirects and errors; the service raises problems, so the latter are rare."""
    if error.status_int < 400:
        return error
    problem = problems.Problem(error.explanation or error.title, code=error.title.lower().replace(" ", "_"))
    response = answer(request, problem)
    response.status_int = error.status_int
    return response


def on_forbidden(error: HTTPForbidden, request: Request) -> Response:
    if request.caller is None:
        again = request.registry.queryUtility(ISignInAgain) if request.method == "POST" else None
        page = again(request) if again is not None else None
        return page if page is not None else answer(request, unauthenticated())
    permission = getattr(error.result, "permission", None)
    return answer(request, role_too_low(request.caller.role, role_for(permission)))


def role_too_low(role: str | None, needed: str | None) -> problems.Forbidden:
    """Says whom to ask. An agent has no role, and what is for agents no role may do."""
    if role is None or needed is None:
        return problems.Forbidden("Your role does not allow this.", code=ROLE_TOO_LOW)
    others = "an admin" if needed == ROLES[-1] else f"an {needed} or an admin"
    sentence = f"Your role ({role}) does not allow this: it takes the role {needed}. Ask {others} to do it."
    return problems.Forbidden(sentence, code=ROLE_TOO_LOW)


def on_not_found(error: HTTPNotFound, request: Request) -> Response:
    """404, 405 with Allow, or 401: without a credential nobody learns which paths exist."""
    try:
        views = views_here(request) if isinstance(error, PredicateMismatch) and not request.subpath else []
    except UnicodeDecodeError as bad:
        return answer(request, problem_of(bad))
    public = any(view.permission == NO_PERMISSION_REQUIRED for view in views)
    if Asked.of(request.environ).is_api and request.caller is None and not public:
        return answer(request, unauthenticated())
    if views and request.caller is not None and request.sight is not None and not _is_open(request):
        views = []  # to a limited person what is hidden has no methods
    if views:
        allow = sorted({method for view in views for method in view.methods})
        return answer(request, problems.WrongMethod(f"{request.method} is not possible here.", allow=allow))
    return answer(request, problems.NotFound("There is nothing here."))


def _is_open(request: Request) -> bool:
    """Whether a limited person may know of it: what they see, and what has no id."""
    return not is_named(request.context) or tags_of(request.registry, request.context) is not None


def unauthenticated() -> problems.Unauthenticated:
    return problems.Unauthenticated("Sign in first: the credential is missing, wrong, expired or revoked.")


class ViewHere(NamedTuple):
    permission: str | None
    methods: set[str]


def views_here(request: Request) -> list[ViewHere]:
    views = []
    for entry in request.registry.introspector.get_category("views", ()):
        view = entry["introspectable"]
        context = view["context"]
        if view["name"] == request.view_name and isinstance(context, type) and isinstance(request.context, context):
            methods = view["request_methods"] or ("GET", "HEAD")
            permission = next((r["value"] for r in entry["related"] if r.category_name == "permissions"), None)
            names = {methods} if isinstance(methods, str) else set(methods)
            also = {"HEAD"} if "GET" in names else set()  # Pyramid answers it wherever GET works
            views.append(ViewHere(permission, names | also))
    return views


def includeme(config: Configurator) -> None:
    config.add_exception_view(on_exception, context=Exception)
    config.add_exception_view(on_exception, context=URLDecodeError)
    config.add_exception_view(on_body_wanted, context=BodyWanted)
    config.add_exception_view(on_http_exception, context=HTTPException)
    config.add_forbidden_view(on_forbidden)
    config.add_notfound_view(on_not_found)
