"""/api/oncall: schedules with their overrides, policies, escalations, and who is on call now."""

from __future__ import annotations

from typing import Any

from pyramid.request import Request
from pyramid.response import Response

from opsapp.lib.queries import NameQuery, SpanQuery
from opsapp.web import api
from opsapp.web.deletions import undoable
from opsapp.web.fields import Paging
from opsapp.web.listpages import counted, page_of
from opsapp.wire.records import changed, made, plain

from . import schemas
from .engine import AHEAD_S, calendar_of, on_call_now, plans, reach, shifts_of
from .records import EscalationRecord, OnCallRecord, OverrideRecord, PolicyRecord, ScheduleRecord, ShiftRecord
from .resources import (
    CalendarFeed,
    CallPolicies,
    CallPolicy,
    Escalation,
    Escalations,
    OnCall,
    Override,
    Overrides,
    Schedule,
    ScheduleCalendar,
    Schedules,
    oncall_of,
)

LONGEST_S = 62 * 86400.0


@api.get(OnCall, "now", query=Paging, returns=[OnCallRecord], teams="filtered")
def now(context: OnCall, request: Request) -> Any:
    """Who is on call by each schedule, by which channels this person is reached, and who is next. `user` null: nobody
    is on call. Who is in a team gets the schedules that call for what it sees, and no channels but their own."""
    seen = reach.seen_schedules(request.root, request.sight)
    rows = on_call_now(request.root, request.now, seen)
    return page_of(request, rows if seen is None else reach.without_contacts(rows, request.caller.name))


@api.get(Schedules, query=NameQuery, returns=[ScheduleRecord], teams="filtered")
def schedules(context: Schedules, request: Request) -> Any:
    """All schedules; `q` is a part of the name. Who is in a team gets those that call for what it sees."""
    query, seen = made(NameQuery, request.valid_query), reach.seen_schedules(request.root, request.sight)
    rows = [row for row in context.records() if query.has(row.name)]
    return page_of(request, rows if seen is None else [row for row in rows if row.id in seen])


@api.create(Schedules, body=ScheduleRecord, role="admin", returns=ScheduleRecord, audit="oncall.schedule.create")
def create_schedule(context: Schedules, request: Request) -> Any:
    """A new schedule."""
    schedule = plans.create_schedule(request.root, made(ScheduleRecord, request.valid_body))
    request.audit("oncall.schedule.create", schedule.__name__, after=schedule.fields)
    return schedule.record


@api.get(Schedule, returns=ScheduleRecord, teams="see")
def schedule(context: Schedule, request: Request) -> Any:
    """One schedule."""
    return context.record


@api.update(Schedule, body=ScheduleRecord, read_only=ScheduleRecord, role="admin", returns=ScheduleRecord,
            audit="oncall.schedule.update")  # fmt: skip
def change_schedule(context: Schedule, request: Request) -> Any:
    """Changes what is given, and leaves the rest. Layers are replaced whole; overrides stay."""
    before = context.fields
    plans.change_schedule(request.root, context, changed(context.record, request.valid_body))
    request.audit("oncall.schedule.update", context.__name__, before=before, after=context.fields)
    return context.record


@api.delete(Schedule, role="admin", returns=schemas.Removed, audit="oncall.schedule.delete", undoes=True)
def delete_schedule(context: Schedule, request: Request) -> schemas.Removed:
    """The schedule is gone. 409 as long as a policy calls by it."""
    plans.delete_schedule(request.root, context)
    undoable(request, "schedule", context.record.name, context.__name__, context)
    request.audit("oncall.schedule.delete", context.__name__, before=context.fields)
    return schemas.Removed()


@api.get(Schedule, "shifts", query=SpanQuery, returns=[ShiftRecord], teams="see")
def shifts(context: Schedule, request: Request) -> Any:
    """Who is on call between `since` and `until` (left out: the two weeks from now), without a gap: `user` null says
    that nobody is. At most 62 days."""
    since, until = made(SpanQuery, request.valid_query).span(request.now, AHEAD_S, LONGEST_S)
    return page_of(request, shifts_of(request.root, context.record, since, until) if since < until else [])


@api.create(Overrides, body=schemas.OverrideGiven, returns=OverrideRecord, audit="oncall.override.create")
def add_override(context: Overrides, request: Request) -> Any:
    """Somebody is on call for a while, whatever the layers say."""
    given = made(schemas.OverrideGiven, request.valid_body)
    override = plans.add_override(request.root, context.__parent__, given, request.caller.name)
    request.audit("oncall.override.create", context.__parent__.__name__, after=plain(override))
    return override


@api.delete(Override, returns=schemas.Removed, audit="oncall.override.delete")
def delete_override(context: Override, request: Request) -> schemas.Removed:
    """The layers say again who is on call."""
    plans.delete_override(request.root, context)
    request.audit("oncall.override.delete", context.schedule.__name__, before=plain(context.record))
    return schemas.Removed()


@api.create(ScheduleCalendar, returns=schemas.CalendarMade, audit="oncall.calendar.create")
def make_calendar(context: ScheduleCalendar, request: Request) -> Any:
    """An address for calendar programs, which needs no session: whoever knows it reads who is on call. The one that
    there was is refused from now on."""
    schedule = context.__parent__
    token = plans.new_calendar(schedule)
    request.audit("oncall.calendar.create", schedule.__name__)
    return schemas.CalendarMade(f"/api/oncall/calendars/{token}")


@api.delete(ScheduleCalendar, returns=schemas.Removed, audit="oncall.calendar.delete")
def drop_calendar(context: ScheduleCalendar, request: Request) -> schemas.Removed:
    """The calendar's address is refused from now on."""
    plans.drop_calendar(context.__parent__)
    request.audit("oncall.calendar.delete", context.__parent__.__name__)
    return schemas.Removed()


@api.get(CalendarFeed, role="public", returns="text/calendar")
def calendar(context: CalendarFeed, request: Request) -> Response:
    """Who is on call from a week ago on, for 62 days: iCalendar."""
    schedule = context.schedule_in(oncall_of(request.root).schedules)
    text = calendar_of(request.root, schedule.record, request.now)
    return Response(text, content_type="text/calendar", charset="utf-8", cache_control="private, no-cache")


@api.get(CallPolicies, query=Paging, returns=[PolicyRecord], teams="filtered")
def policies(context: CallPolicies, request: Request) -> Any:
    """All policies. Who is in a team gets those for incidents that it may see."""
    if request.sight is None:
        return page_of(request, context.records())
    return page_of(request, reach.seen_policies(request.root, request.sight))


@api.create(CallPolicies, body=PolicyRecord, role="admin", returns=PolicyRecord, audit="oncall.policy.create")
def create_policy(context: CallPolicies, request: Request) -> Any:
    """A new policy. It is for incidents that open from now on."""
    policy = plans.create_policy(request.root, made(PolicyRecord, request.valid_body))
    request.audit("oncall.policy.create", policy.__name__, after=policy.fields)
    return policy.record


@api.get(CallPolicy, returns=PolicyRecord, teams="see")
def policy(context: CallPolicy, request: Request) -> Any:
    """One policy."""
    return context.record if request.sight is None else reach.narrowed(context.record, request.sight)


@api.update(CallPolicy, body=PolicyRecord, read_only=PolicyRecord, role="admin", returns=PolicyRecord,
            audit="oncall.policy.update")  # fmt: skip
def change_policy(context: CallPolicy, request: Request) -> Any:
    """Changes what is given, and leaves the rest. Incidents that call already go on by the new steps."""
    before = context.fields
    plans.change_policy(request.root, context, changed(context.record, request.valid_body))
    request.audit("oncall.policy.update", context.__name__, before=before, after=context.fields)
    return context.record


@api.delete(CallPolicy, role="admin", returns=schemas.Removed, audit="oncall.policy.delete", undoes=True)
def delete_policy(context: CallPolicy, request: Request) -> schemas.Removed:
    """The policy is gone, and calls by it end."""
    plans.delete_policy(request.root, context)
    undoable(request, "policy", context.record.name, context.__name__, context)
    request.audit("oncall.policy.delete", context.__name__, before=context.fields)
    return schemas.Removed()


@api.get(Escalations, query=schemas.EscalationQuery, returns=[EscalationRecord])
def escalations(context: Escalations, request: Request) -> Any:
    """Incidents that call people, and those that did, newest first."""
    query = made(schemas.EscalationQuery, request.valid_query)
    rows, count = context.page(query.status, query.limit, query.offset)
    return counted(request, [row.shown for row in rows], count)


@api.get(Escalation, returns=EscalationRecord)
def escalation(context: Escalation, request: Request) -> Any:
    """One of them: who was called when, by which channel, with which delivery."""
    return context.shown
