"""/api/healing/problems: what is healed again and again, who looks for its cause, and until when."""

from __future__ import annotations

from typing import Any

from pyramid.request import Request

from opsapp.healing import answers, schemas
from opsapp.healing.engine import problems as engine
from opsapp.healing.resources.problems import Problems, RecurringProblem
from opsapp.lib.jsontypes import JsonObject
from opsapp.tree.damage import NAMELESS, Damage
from opsapp.web import api
from opsapp.web.listpages import page_of

UNREAD: JsonObject = {
    "rule_id": NAMELESS,
    "target": NAMELESS,
    "heals": 0,
    "window_s": 0,
    "opened_at": 0,
    "due": None,
    "due_day": None,
    "overdue": False,
    "owner": None,
    "state": "open",
    "note": "",
    "last_at": None,
    "quiet_until": None,
    "closed_at": None,
}


@api.get(Problems, query=schemas.ProblemQuery, returns=[answers.ProblemRecord])
def problems(context: Problems, request: Request) -> Any:
    """What rules heal on the same target again and again: open ones first, then the newest first."""
    damaged: list[Damage] = []
    now, listed = request.node.clock.now(), engine.listing(request.root, request.valid_query, damaged)
    unread = [{**UNREAD, "id": damage.id, "unreadable": damage.reason} for damage in damaged if damage.id]
    return request.shown(page_of(request, unread + [engine.plain(request.root, problem, now) for problem in listed]))


@api.get(RecurringProblem, returns=answers.ProblemRecord)
def problem(context: RecurringProblem, request: Request) -> Any:
    """One problem."""
    return request.shown(engine.plain(request.root, context, request.node.clock.now()))


@api.update(
    RecurringProblem,
    body=schemas.ProblemChange,
    read_only=answers.ProblemRecord,
    returns=answers.ProblemRecord,
    audit="healing.problem.update",
)
def change(context: RecurringProblem, request: Request) -> Any:
    """Sets who looks for the cause, until when, a note, and whether it is accepted or closed."""
    now, by = request.node.clock.now(), request.caller.name
    before, after = engine.change(request.root, context, request.valid_body, by, now)
    request.audit("healing.problem.update", context.__name__, before=before, after=after)
    return request.shown(engine.plain(request.root, context, now))
