"""A form that was sent to a page: how it is shown again, and where it leads. Must not: ask the API (`rooms` does)."""

from __future__ import annotations

from dataclasses import is_dataclass
from typing import Any, NamedTuple

from pyramid.request import Request
from pyramid.response import Response

from opsapp.lib.problems import Conflict, Forbidden, Invalid, OutcomeUnknown, Problem, UpstreamFailed
from opsapp.runtime.node import Node
from opsapp.ui import builder
from opsapp.ui.pages import frame_of, render, see_other
from opsapp.ui.plan import Act, Page
from opsapp.ui.reader import Reader, query_with, with_query
from opsapp.web import idempotency
from opsapp.web.answers import Deferred
from opsapp.web.config import WebSettings
from opsapp.web.errors import status_of
from opsapp.web.idempotency import SentForm
from opsapp.web.subrequests import value_of
from opsapp.wire.records import plain

REFUSALS = (Conflict, Forbidden)  # of what was filled in: the form is shown again with it


class SentAct(NamedTuple):
    """Its act on which row, what was filled in, how its page is drawn. `back`: where one goes on."""

    act: Act
    row: dict[str, object]
    given: dict[str, object]
    back: str
    values: dict[str, object]
    reader: Reader

    def shown_with(self, **more: object) -> dict[str, object]:
        return {**self.values, "act": self.act, "row": self.row, "given": self.given, "back": self.back, **more}


def sent_act(
    request: Request,
    page: Page,
    place: str,
    name: str,
    act: Act,
    row: dict[str, object],
    given: dict[str, object],
    back: str = "",
) -> SentAct:
    frame, server = frame_of(request), request.node.config[WebSettings].base_url or request.host_url
    values = {**frame._asdict(), "title": act.label, "page": page, "path": place, "name": name}
    values |= {"server": server.rstrip("/"), "sent": {}}
    return SentAct(act, row, given, back or again_at(request, place, said=name), values, frame.reader)


def late(answer: Deferred, with_form: SentAct, node: Node, sent: SentForm) -> Response:
    """Outside of the transaction. A refused form may be sent again as it is."""
    try:
        response = after(value_of(answer), with_form)
    except OutcomeUnknown:
        raise
    except Problem as problem:
        node.transact(idempotency.forget_form, sent)
        if isinstance(problem, Invalid) or (isinstance(problem, REFUSALS) and with_form.act.fields):
            return again(problem, with_form)
        if isinstance(problem, UpstreamFailed) and with_form.act.here:
            return see_other(with_form.back.replace("said=", "failed="))  # the page says why
        raise
    if response.status_int == 303:
        node.transact(idempotency.leads_to, sent, response.location)
    return response


def after(value: Any, sent: SentAct) -> Response:
    value, act = plain(value) if is_dataclass(value) else value, sent.act
    if act.shows:
        return render(act.result, sent.shown_with(value=value))
    known: Any = sent.row | (value if isinstance(value, dict) else {})
    return see_other(known["page"] if act.leads else builder.filled(act.goes, known) or sent.back)


def deleted_at(place: str, deletion_id: str | None) -> str:
    return place if deletion_id is None else f"{place}{'&' if '?' in place else '?'}undo={deletion_id}"


def again_at(request: Request, place: str, **said: str) -> str:
    return with_query(place, query_with(request.GET, **said))


def again(problem: Problem, sent: SentAct) -> Response:
    fields = problem.fields if isinstance(problem, Invalid) else {}
    return render("again.jinja2", sent.shown_with(problem=problem, fields=fields), status_of(problem))
