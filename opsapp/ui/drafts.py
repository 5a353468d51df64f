"""A page that is a draft: the API says what would be done with what is filled in, and nothing is saved or lost until
somebody saves it. Must not: know a page."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from pyramid.request import Request

from opsapp.lib.problems import Conflict, Forbidden, Invalid, Problem
from opsapp.web import idempotency
from opsapp.web.answers import Deferred
from opsapp.web.subrequests import value_of

from . import repeats
from .apicalls import ask
from .builder import filled
from .pages import see_other
from .questions import Draft, Question
from .reader import Answers, Reader

REDRAW, SAVE = "draft", "save"


class Redrawn(NamedTuple):
    answers: Answers
    given: Mapping[str, str]
    wrong: Mapping[str, str] = {}
    problem: str = ""

    def read_by(self, reader: Reader) -> Reader:
        return reader._replace(given=self.given, wrong=self.wrong, problem=self.problem)


Draw = Callable[[Redrawn], Any]


def drawn(request: Request, draft: Draft, form: Mapping[str, str], ids: Mapping[str, str], draw: Draw) -> Any:
    if form.get("do") == SAVE and draft.save is not None:
        return _saved(request, draft, draft.save(form, ids), ids, Redrawn(Answers(), form), draw)
    answers = Answers()
    wrong: dict[str, str] = {}
    late: dict[str, Deferred] = {}
    asked: set[str] = set()
    for _ in range(2):
        for question in draft.questions(form, ids, answers):
            if question.name in asked:
                continue
            asked.add(question.name)
            try:
                answer = _asked(request, question)
            except (Invalid, Forbidden, Conflict) as problem:
                wrong.update(_fields(problem))
                continue
            if isinstance(answer, Deferred):
                late[question.name] = answer
            else:
                answers[question.name] = value_of(answer)
    if not late:
        return draw(Redrawn(answers, form, wrong))
    return Deferred(lambda: draw(_with_late(Redrawn(answers, form, wrong), late)))


def _with_late(known: Redrawn, late: Mapping[str, Deferred]) -> Redrawn:
    """With the answers that are made outside of the transaction, and what is wrong with those."""
    answers, wrong = Answers(known.answers), dict(known.wrong)
    for name, deferred in late.items():
        try:
            answers[name] = value_of(deferred)
        except (Invalid, Forbidden, Conflict) as problem:
            wrong.update(_fields(problem))
    return known._replace(answers=answers, wrong=wrong)


def _asked(request: Request, question: Question) -> Any:
    method, path = question.api.split(" ")
    return ask(request, method, path, body=question.body)


def _saved(
    request: Request, draft: Draft, question: Question, ids: Mapping[str, str], known: Redrawn, draw: Draw
) -> Any:
    sent = repeats.sent(request, known.given)
    if not sent.first_time:
        return see_other(repeats.again_led_to(sent, request.path_info))
    try:
        value = value_of(_asked(request, question))
    except (Invalid, Forbidden, Conflict) as problem:
        return draw(known._replace(wrong=_fields(problem), problem=problem.message))
    place = filled(draft.goes, {**ids, **question.body, **value}) or "/"
    idempotency.leads_to(request.root, sent, place)
    return see_other(place)


def _fields(problem: Problem) -> dict[str, str]:
    """By the names of the saved thing's fields, wherever in the question it stood."""
    if isinstance(problem, Invalid):
        return {
            name.removeprefix("rule.").removeprefix("rules.0."): message for name, message in problem.fields.items()
        }
    return {"": problem.message}
