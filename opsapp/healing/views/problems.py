"""/api/healing/problems: what is healed again and again, who looks for its cause, and until when."""

from __future__ import annotations

from typing import Any

from pyramid.request import Request

from opsapp.healing import records, schemas
from opsapp.healing.engine import problems as engine
from opsapp.healing.resources.problems import Problems, RecurringProblem
from opsapp.tree.damage import NAMELESS
from opsapp.web import api
from opsapp.web.listpages import page_of


@api.get(Problems, query=schemas.ProblemQuery, returns=[records.ProblemRecord])
def problems(context: Problems, request: Request) -> Any:
    """What rules heal on the same target again and again: open ones first, then the newest first."""
    now = request.now
    query = request.valid_query
    only = engine.ProblemFilter(query["state"], query["owner"], query["rule_id"], query["target"])
    listed, damaged = engine.listing(request.root, only)
    unread = [
        records.ProblemRecord(id=damage.id, rule_id=NAMELESS, target=NAMELESS, unreadable=damage.reason)
        for damage in damaged
        if damage.id
    ]
    rows = unread + [engine.shown(request.root, problem, now) for problem in listed]
    return request.shown(page_of(request, rows))


@api.get(RecurringProblem, returns=records.ProblemRecord)
def problem(context: RecurringProblem, request: Request) -> Any:
    """One problem."""
    return request.shown(engine.shown(request.root, context, request.now))


@api.update(
    RecurringProblem,
    body=schemas.ProblemChange,
    read_only=records.ProblemRecord,
    returns=records.ProblemRecord,
    audit="healing.problem.update",
)
def change(context: RecurringProblem, request: Request) -> Any:
    """Sets who looks for the cause, until when, a note, and whether it is accepted or closed."""
    now, by = request.now, request.caller.name
    before = engine.noted(context)
    engine.change(request.root, context, request.valid_body, by, now)
    request.audit("healing.problem.update", context.__name__, before=before, after=engine.noted(context))
    return request.shown(engine.shown(request.root, context, now))
