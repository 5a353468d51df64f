"""One act on many rows of a list. A row that the API refuses stops none of the others. Must not: know a page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from pyramid.request import Request
from pyramid.response import Response

from opsapp.lib.jsontypes import JsonObject
from opsapp.lib.problems import Forbidden, Invalid, Problem
from opsapp.web.answers import Deferred
from opsapp.web.refusals import UNDO
from opsapp.web.subrequests import value_of

from .apicalls import ask
from .builder import filled, names_of
from .formvalues import body_of, given_to
from .pages import render
from .plan import Act

MANY, CHOSEN, SURE = "many", "pick:", "sure"
UNCONFIRMED = "confirm"  # the code of the refusal that asks for the password first

PageFrame = Mapping[str, object]  # what the templates of every page are given


class Chosen(NamedTuple):
    key: str
    name: str


class RowOutcome(NamedTuple):
    name: str
    refusal: str = ""
    undo: str | None = None  # by which it can be put back, where it was deleted


def chosen_of(form: Mapping[str, str]) -> tuple[Chosen, ...]:
    """A tick's name holds the key, its value the name to show."""
    return tuple(Chosen(name[len(CHOSEN) :], text) for name, text in form.items() if name.startswith(CHOSEN))


def needs_asking(act: Act, form: Mapping[str, str]) -> bool:
    """Whether the act takes something away or needs more to know."""
    return SURE not in form and bool(act.grave or act.warns or act.fields)


def asked_first(act: Act, form: Mapping[str, str], frame: PageFrame, problem: Invalid | None = None) -> Response:
    known = {"title": act.label, "act": act, "chosen": chosen_of(form), "problem": problem, "sure": SURE}
    known |= {"given": given_to(act, form), "wrong": problem.fields if problem else {}, "many": MANY}
    return render("many.jinja2", {**frame, **known}, 422 if problem else 200)


def carried_out(request: Request, act: Act, form: Mapping[str, str], frame: PageFrame) -> Response | Deferred:
    try:
        body = body_of(act, form, {}, request.node.config.timezone)
    except Invalid as problem:
        return asked_first(act, form, frame, problem)
    [field] = names_of(act)
    rows = chosen_of(form)
    answers = [_done_to(request, act, {field: row.key}, body) for row in rows]
    if any(isinstance(answer, Deferred) for answer in answers):
        return Deferred(lambda: _told(act, rows, [_awaited(answer) for answer in answers], frame))
    return _told(act, rows, answers, frame)


def _done_to(request: Request, act: Act, row: dict[str, str], body: JsonObject) -> Response | Problem:
    """The API's answer, or its refusal with nothing of it left in the transaction."""
    before, refusals = request.tm.savepoint(), len(request.left_behind)
    try:
        return ask(request, act.method, filled(act.path, row) or "", body=body)
    except Problem as problem:
        if isinstance(problem, Forbidden) and problem.code == UNCONFIRMED:
            raise
        before.rollback()
        for fn, noted in request.left_behind[refusals:]:
            fn(request.root, *noted)
        del request.left_behind[refusals:]
        return problem


def _awaited(answer: Response | Problem) -> Response | Problem:
    if isinstance(answer, Deferred):
        try:
            value_of(answer)
        except Problem as problem:
            return problem
    return answer


def _told(act: Act, rows: tuple[Chosen, ...], answers: list[Response | Problem], frame: PageFrame) -> Response:
    outcomes = [
        RowOutcome(row.name, words_of(answer))
        if isinstance(answer, Problem)
        else RowOutcome(row.name, undo=answer.headers.get(UNDO))
        for row, answer in zip(rows, answers, strict=True)
    ]
    refused = [outcome for outcome in outcomes if outcome.refusal]
    known = {"title": act.label, "act": act, "outcomes": outcomes, "refused": len(refused)}
    return render("many_done.jinja2", {**frame, **known})


def words_of(problem: Problem) -> str:
    fields = problem.fields if isinstance(problem, Invalid) else {}
    return " ".join([problem.message, *(f"{name}: {text}" for name, text in fields.items())])
