"""/login, /login/totp and /logout. Before there is a session a form is protected by a cookie of its own: the hidden
field is made from it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple
from urllib.parse import quote

from pyramid.request import Request
from pyramid.response import Response

from opsapp.auth import demanded, engine, resources
from opsapp.auth.config import LoginSettings, OidcSettings
from opsapp.auth.cookies import (
    SESSION,
    StaleForm,
    carries,
    client_of,
    cookie,
    form_key,
    is_of_our_page,
    known_browser_cookie,
    masked_token,
)
from opsapp.auth.records import LoggedIn, SecondStepDue
from opsapp.lib.ids import new_token
from opsapp.lib.problems import Forbidden, Problem, UnsupportedType
from opsapp.runtime.node import Node
from opsapp.tree.folder import Facet, add_facet
from opsapp.tree.root import Root
from opsapp.ui import builder, keptforms
from opsapp.ui.pages import error_page, local_path, render, see_other
from opsapp.ui.reader import with_query
from opsapp.web import api
from opsapp.web.answers import Deferred, HasLeft, unless_left
from opsapp.web.asked import Asked
from opsapp.web.errors import headers_of, status_of
from opsapp.web.forms import is_form, read_form

FORM, PARTIAL = "opsapp_form", "opsapp_partial"
PARTIAL_S = 300
LONGEST_FORM = 64 * 1024  # the server judges who sends more before it takes it


class LoginPage(Facet):
    """Where a person signs in."""


add_facet(Root, "login", LoginPage)


class Form(NamedTuple):
    template: str
    title: str
    secret: str
    secure: bool
    next: str
    life: int
    kept: str = ""  # what was typed when the session had ended

    def again(self, problem: Problem | None = None, **values: Any) -> Response:
        token = masked_token(self.secret)
        known = {
            "title": self.title,
            "token": token,
            "next": self.next,
            "problem": problem,
            "kept": self.kept,
            **values,
        }
        response = render(self.template, known, status_of(problem) if problem else 200)
        response.headers.update(headers_of(problem) if problem else {})
        response.headerlist.append(("Set-Cookie", cookie(FORM, self.secret, secure=self.secure)))
        return response

    def well(self, node: Node, signed_in: LoggedIn | SecondStepDue) -> Response:
        if isinstance(signed_in, SecondStepDue):
            partial = cookie(PARTIAL, signed_in.partial_token, secure=self.secure, max_age=PARTIAL_S, path="/login")
            if self.kept:
                second = self._replace(template="login_totp.jinja2", title="Second step").again()
                second.headerlist.append(("Set-Cookie", partial))
                return second
            return see_other("/login/totp?next=" + quote(self.next, safe="/"), partial)
        if self.next == "/" and node.transact(first_steps_are_open, signed_in.username):
            return self._replace(next="/first-steps").signed_in(node, signed_in)
        return self.signed_in(node, signed_in)

    def signed_in(self, node: Node, signed_in: LoggedIn) -> Response:
        cookies = (
            known_browser_cookie(node, signed_in.username, secure=self.secure),
            cookie(SESSION, signed_in.token, secure=self.secure, max_age=self.life),
            cookie(PARTIAL, None, secure=self.secure, path="/login"),
            cookie(FORM, None, secure=self.secure),
        )
        if not self.kept:
            return see_other(self.next, *cookies)
        known = {"title": "You are signed in", "next": self.next, "fields": keptforms.fields_of(self.kept)}
        response = render("go_on.jinja2", known | {"csrf_of_form": masked_token(signed_in.token, form_key(node))})
        response.headerlist += [("Set-Cookie", cookie) for cookie in cookies]
        return response


def problem_page(registry: Any, asked: Asked, status: int, problem: Problem) -> Response:
    """Or, for a form of an older session, the way to go on with it. Who has to set up a second factor first is led
    there."""
    if isinstance(problem, demanded.FactorDemanded):
        return see_other(demanded.PAGE)
    kept = keptforms.typed_in(asked.path, problem.kept) if isinstance(problem, StaleForm) else None
    if not isinstance(problem, StaleForm) or not kept:
        pages = builder.known_of(registry)
        return error_page(pages.for_teams() if asked.limited else pages, asked, status, problem)
    known = {"title": problem.message, "next": asked.path, "fields": keptforms.fields_of(kept)}
    return render("go_on.jinja2", known | {"csrf_of_form": problem.token}, status)


def first_steps_are_open(root: Root, username: str) -> bool:
    """Another one chose the password, and the first steps are not put away."""
    user = resources.find_enabled(root, username)
    return user is not None and not user.own_password and resources.wishes_of(user).first_steps == "open"


def form_of(request: Request, template: str, title: str, next_page: str | None, kept: str = "") -> Form:
    life = int(request.node.config[LoginSettings].session_s)
    secret = request.cookies.get(FORM) or new_token()
    return Form(template, title, secret, request.scheme == "https", local_path(next_page), life, kept)


def checked(request: Request) -> dict[str, str]:
    """The fields of a form that came from our page; no other is read."""
    if not is_form(request):
        raise UnsupportedType("The body must be a form.")
    secret = request.cookies.get(FORM)
    if not secret or not carries(request, secret):
        raise Forbidden("This form is too old. Load the page again, and try once more.", code="csrf")
    return read_form(request)


def try_it(node: Node, form: Form, sign_in: Callable[[HasLeft], LoggedIn | SecondStepDue], **values: Any) -> Deferred:

    def fn(has_left: HasLeft) -> Response:
        try:
            return form.well(node, sign_in(has_left))
        except Problem as problem:
            return form.again(problem, **values)

    return unless_left(fn)


@api.get(LoginPage, role="public")
def login_form(context: LoginPage, request: Request) -> Response:
    form = form_of(request, "login.jinja2", "Sign in", request.GET.get("next"))
    return form.again(username="", sso=_sso(request))


@api.submit(LoginPage, role="public")
def login(context: LoginPage, request: Request) -> Deferred:
    values = checked(request)
    form = form_of(request, "login.jinja2", "Sign in", values.get("next"), values.get("kept", ""))
    node, client = request.node, client_of(request)
    username, password = values.get("username", "")[:256], values.get("password", "")[:1024]
    given = {"username": username, "sso": _sso(request)}
    return try_it(node, form, lambda left: engine.sign_in(node, username, password, client, left), **given)


def signed_out(request: Request) -> Response | None:
    """The form to sign in, with what was typed into a form of ours when the session had ended."""
    length = request.content_length
    if not is_form(request) or length is None or length > LONGEST_FORM:
        return None
    if not is_of_our_page(request, request.cookies.get(SESSION)):
        return None
    kept = keptforms.typed_in(request.path_info, read_form(request))
    if kept is None:
        return None
    place = with_query(request.path_info, request.query_string)
    form = form_of(request, "login.jinja2", "You are signed out", place, kept)
    response = form.again(username="", sso=_sso(request))
    response.status_int = 401
    response.headers["WWW-Authenticate"] = "Bearer"
    return response


def _sso(request: Request) -> bool:
    return request.node.config[OidcSettings].enabled


@api.get(LoginPage, "totp", role="public")
def totp_form(context: LoginPage, request: Request) -> Response:
    return form_of(request, "login_totp.jinja2", "Second step", request.GET.get("next")).again()


@api.submit(LoginPage, "totp", role="public")
def login_totp(context: LoginPage, request: Request) -> Deferred:
    values = checked(request)
    form = form_of(request, "login_totp.jinja2", "Second step", values.get("next"), values.get("kept", ""))
    node, client, partial = request.node, client_of(request), request.cookies.get(PARTIAL, "")
    code = values.get("code", "").strip()[:64]
    return try_it(node, form, lambda _left: engine.second_step(node, partial, code, client))


@api.submit(Root, "logout", audit="logout", teams="own")
def logout(context: Root, request: Request) -> Response:
    """Ends the session; a person without one is led to the form all the same."""
    resources.end_session(request.root, request.caller.name, request.caller.session_id)
    request.audit("logout", request.caller.name)
    return see_other("/login", cookie(SESSION, None, secure=request.scheme == "https"))
