"""Runs: their records, their output as it is written, and their end."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pyramid.request import Request

from opsapp.automations import schemas
from opsapp.automations.engine import flow, records
from opsapp.automations.engine.output_stream import Follower
from opsapp.automations.engine.reach import SeenRuns, narrowed_record
from opsapp.automations.records import RunRecord, RunRow
from opsapp.automations.resources import Automation, Run, Runs
from opsapp.lib.addresses import HIDDEN
from opsapp.web import api, sse
from opsapp.web.listpages import counted


@api.get(Runs, query=schemas.RunList, returns=[RunRow], teams="filtered")
def list_runs(context: Runs, request: Request) -> Any:
    """Of all automations, newest first. Who is in a team gets runs on hosts that it sees, of the newest 2,000."""
    return page(request, None)


@api.get(Automation, "runs", query=schemas.RunList, returns=[RunRow], teams="see")
def list_runs_of_automation(context: Automation, request: Request) -> Any:
    """Newest first."""
    return page(request, context)


@api.get(Run, returns=RunRecord, teams="see")
def get_run(context: Run, request: Request) -> Any:
    """One run with its output; of a run on hosts viewers see `***`, as of any command."""
    record = records.run_record(request.root, context)
    seen = seen_runs(request)
    if seen is not None:
        record = narrowed_record(record, seen)
    shown: RunRecord = request.shown(replace(record, output=""))
    is_hidden = bool(record.output and context.commands) and not request.may_edit
    return replace(shown, output=HIDDEN if is_hidden else record.output)  # as the program wrote it, as in the stream


@api.act(Run, "cancel", returns=schemas.RunAfter, audit="run.cancel", teams="act")
def cancel_run(context: Run, request: Request) -> Any:
    """Ends a run that waits or is under way."""
    who, now = request.caller.name, request.now
    status = flow.cancel(request.root, context, by=who, why=f"cancelled by {who}", now=now)
    request.audit("run.cancel", context.id, after={"automation_id": context.automation_id})
    return {"run_id": context.id, "status": status}


@api.get(Run, "stream", returns=sse.CONTENT_TYPE, teams="see")
def stream_run(context: Run, request: Request) -> Any:
    """Its output as it is written: events `log`, `status`, then `end`. Last-Event-ID resumes. Of a run on hosts viewers
    have no `log`."""
    after = sse.last_event_id(request.headers, request.GET)
    retry = b"retry: %d\n\n" % sse.RETRY_MS
    whole = request.may_edit
    return sse.event_stream(Follower(request.node, context.id, after, sse.encode, retry, sse.COMMENT, whole=whole))


def seen_runs(request: Request) -> SeenRuns | None:
    """None for who is in no team."""
    return None if request.sight is None else SeenRuns(request.root, request.sight)


def page(request: Request, automation: Automation | None) -> Any:
    query = request.valid_query
    status, limit, offset = query["status"], query["limit"], query["offset"]
    runs, count = records.page(request.root, automation, status, limit, offset, seen_runs(request))
    return request.shown(counted(request, runs, count))
