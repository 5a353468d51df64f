"""/invitation/{token}: who was invited chooses a password, without a session. Looking changes nothing, because programs
that look into mail open links."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import quote

from pyramid.request import Request
from pyramid.response import Response

from opsapp.auth import engine
from opsapp.auth.cookies import client_of
from opsapp.auth.records import InvitationRecord
from opsapp.lib.problems import Invalid, NotFound, Problem
from opsapp.tree.folder import Facet, NamedFacets, add_facet
from opsapp.tree.root import Root
from opsapp.web import api
from opsapp.web.answers import Deferred

from .signin import Form, checked, form_of


class InvitationLink(Facet):
    url = "/invitation/{token}"


class InvitationLinks(NamedFacets):
    """/invitation"""

    of = InvitationLink


add_facet(Root, "invitation", InvitationLinks)


def form_for(request: Request) -> Form:
    return form_of(request, "invitation.jinja2", "Welcome", "/")


def shown(form: Form, token: str, read: Callable[[], InvitationRecord], problem: Problem | None = None) -> Response:
    try:
        invited = read()
    except NotFound as gone:
        return form._replace(title="This link is not valid any more").again(problem or gone, username="")
    wrong = problem.fields.get("password", "") if isinstance(problem, Invalid) else ""
    return form.again(
        problem, username=invited.username, role=invited.role, path=f"/invitation/{quote(token)}", wrong=wrong
    )


@api.get(InvitationLink, role="public", returns="text/html")
def invitation(context: InvitationLink, request: Request) -> Response:
    token = context.__name__
    return shown(form_for(request), token, lambda: engine.read_invitation(request.root, token))


@api.submit(InvitationLink, role="public", returns="text/html")
def accept(context: InvitationLink, request: Request) -> Deferred:
    password, client = checked(request).get("password", "")[:1024], client_of(request)
    form, node, token = form_for(request), request.node, context.__name__

    def fn() -> Response:
        try:
            return form.well(node, engine.accept_invitation(node, token, password, client))
        except Problem as problem:
            return shown(form, token, lambda: node.transact(engine.read_invitation, token), problem)

    return Deferred(fn)
