"""/answer/{token}: a link in a message, for one act, without a session. Opening it changes nothing, because programs
that look into mail open links; its button does. Must not: decide anything (`notify.engine.answers`), or let the
token into the tree, a log or the record."""

from __future__ import annotations

from collections.abc import Callable

from pyramid.request import Request
from pyramid.response import Response

from opsapp.approvals import engine as approvals
from opsapp.approvals.resources import approvals_of
from opsapp.audit.engine import Actor, admits, note, note_refusal
from opsapp.lib.addresses import public
from opsapp.lib.problems import Gone, NotFound, Problem
from opsapp.monitoring.resources import incidents_of
from opsapp.notify.engine import HeldLink, count_wrong_link, held_link
from opsapp.runtime.node import Node
from opsapp.tree.folder import Facet, NamedFacets, add_facet
from opsapp.tree.root import Root
from opsapp.ui.pages import render
from opsapp.ui.reader import Reader
from opsapp.ui.shapes.answers import LinkQuestion, of_approval, of_incident
from opsapp.web import api
from opsapp.web.answers import Deferred
from opsapp.web.errors import headers_of, status_of
from opsapp.web.forms import first_look

FIELD = "act"  # of the form: a program that posts to every address it finds decides nothing
DONE = {
    "acknowledge": "You have taken it over",
    "approve": "Approved",
    "reject": "Rejected",
    "pending": "Your vote is counted. More votes are needed",
}


class AnswerPage(Facet):
    url = "/answer/{token}"

    def __init__(self, parent: AnswerLinks, token: str):
        super().__init__(parent, "link")
        self.token = token


class AnswerLinks(NamedFacets):
    """/answer"""

    of = AnswerPage


add_facet(Root, "answer", AnswerLinks)


@api.get(AnswerPage, role="public", returns="text/html")
def ask(context: AnswerPage, request: Request) -> Response | Deferred:
    """What would be done, and its button."""
    return _with_link(context, request, lambda held: _question(request, held))


@api.submit(AnswerPage, role="public", returns="text/html")
def answer(context: AnswerPage, request: Request) -> Response | Deferred:
    def decide(held: HeldLink) -> Response:
        return _done(request, held) if first_look(request, FIELD) == held.link.act else _question(request, held)

    return _with_link(context, request, decide)


def _with_link(context: AnswerPage, request: Request, fn: Callable[[HeldLink], Response]) -> Response | Deferred:
    node, ip = request.node, request.client_ip
    try:
        held = held_link(request.root, context.token)
        refusal = held.answer.refusal(request.root, held.link.thing_id, held.by)
        return _over(Gone(refusal)) if refusal is not None else fn(held)
    except NotFound as unknown:
        no_link = unknown
        return Deferred(lambda: _wrong(node, ip, no_link))
    except Problem as problem:
        return _over(problem)


def _wrong(node: Node, ip: str, problem: Problem) -> Response:
    try:
        count_wrong_link(node, ip)
    except Problem as too_many:
        return _over(too_many)
    return _over(problem)


def _done(request: Request, held: HeldLink) -> Response:
    root, thing_id, now = request.root, held.link.thing_id, request.now
    actor = Actor(held.by.name, request.client_ip)
    try:
        done = held.answer.done(root, thing_id, held.by, now, request.after_abort)
    except Problem as problem:
        if admits(request.node, actor, held.answer.audit, problem.code):
            request.after_abort(note_refusal, actor, held.answer.audit, thing_id, problem.code)
        raise
    note(root, actor, held.answer.audit, thing_id, after={**done, "by_link": held.channel})
    waits = done.get("status") == "pending"
    return _page(title=DONE["pending" if waits else held.link.act], by=held.by.name)


def _question(request: Request, held: HeldLink) -> Response:
    asked, label = _asked(request, held), held.answer.label
    return _page(title=asked.title, asked=asked, label=label, act=held.link.act, by=held.by.name)


def _asked(request: Request, held: HeldLink) -> LinkQuestion:
    root, thing_id, now = request.root, held.link.thing_id, request.now
    reader = Reader(now, request.node.config.timezone, held.by.name, held.by.role, {}, lambda _call: True)
    if held.answer.noun == "incident":
        return of_incident(public(incidents_of(root)[thing_id].summary(now)), reader)
    shown = approvals.shown(root, approvals_of(root)[thing_id], approvals.Voter(*held.by))
    return of_approval(public(shown), reader)


def _over(problem: Problem) -> Response:
    """Why nothing is asked any more."""
    title = "Nothing to answer here" if isinstance(problem, NotFound | Gone) else "That did not work"
    response = _page(status_of(problem), title=title, problem=problem.message)
    response.headers.update(headers_of(problem))
    return response


def _page(status: int = 200, **values: object) -> Response:
    response = render("answer.jinja2", {"asked": None, "problem": None, "by": None, **values}, status)
    response.headers.update({"Referrer-Policy": "no-referrer", "X-Robots-Tag": "noindex"})
    return response
