"""What an agent sends by itself: reports by polling."""

from __future__ import annotations

from typing import Any

from pyramid.request import Request

from opsapp.agents.engine import reports, session_store
from opsapp.agents.engine.memory import memory_of
from opsapp.agents.engine.policies import shown_key
from opsapp.agents.resources import Agent
from opsapp.lib.problems import Invalid
from opsapp.runtime.wakes import after_commit
from opsapp.web import api
from opsapp.web.bodies import RAW, read_object
from opsapp.wire.commands import read_report
from opsapp.wire.fields import WireError
from opsapp.wire.messages import PollAnswer
from opsapp.wire.reports import HostReport


@api.act(Agent, "report", role="agent", body=RAW, takes=HostReport, returns=PollAnswer)
def report(context: Agent, request: Request) -> Any:
    """An agent's report. Fields that nobody here knows are ignored; a missing number is unknown."""
    try:
        checked = read_report(read_object(request, optional=False))
    except WireError as wrong:
        raise Invalid(wrong.fields or {"report": str(wrong)}) from None
    node, key = request.node, shown_key(request.headers["X-Agent-Key"])
    try:
        answer = reports.take_poll(request.root, context, checked, key=key, ip=request.client_ip or "")
    except reports.Clone:
        request.after_abort(session_store.flag_clone, context.id)
        raise
    if not checked.stopped:
        after_commit(request.root, node.post, memory_of(node).observe, context.id, checked, node.clock.now())
    return answer
