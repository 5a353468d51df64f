"""/api/monitoring/endpoints and the push addresses."""

from __future__ import annotations

from pyramid.request import Request

from opsapp.lib.jsontypes import JsonObject
from opsapp.lib.problems import Forbidden, NotFound
from opsapp.monitoring import schemas
from opsapp.monitoring.engine import changes, monitorlists, past, pushes, requestedchecks
from opsapp.monitoring.logic.settings import NOTHING, MonitorSettings, NewMonitor, needs_admin
from opsapp.monitoring.pushaddresses import PushAddress, PushSignal
from opsapp.monitoring.queries import MonitorQuery
from opsapp.monitoring.records import MonitorRecord, TriedMonitor
from opsapp.monitoring.resources import Monitor, Monitors
from opsapp.tree.acl import Permission
from opsapp.web import api
from opsapp.web.answers import Deferred, later
from opsapp.web.bodies import RAW
from opsapp.web.deletions import undoable
from opsapp.web.fields import AsOf
from opsapp.web.listpages import counted
from opsapp.web.schemas import Created, Deleted, Updated
from opsapp.web.sight import require_present
from opsapp.web.taglists import TagQuery, TagRow, tags_in
from opsapp.wire.records import changed, made

from . import teams


@api.get(Monitors, "tags", query=TagQuery, returns=[TagRow], teams="filtered")
def monitor_tags(context: Monitors, request: Request) -> list[TagRow]:
    """The tags that monitors have. `q` is a part of the name."""
    return tags_in(request, monitorlists.tags_of_all(request.node, request.root, request.sight))


@api.get(Monitors, query=MonitorQuery, returns=[MonitorRecord], teams="filtered")
def list_monitors(context: Monitors, request: Request) -> list[MonitorRecord]:
    """Answered from memory, however many there are; as of a time, from the tree of that time."""
    query, secrets = made(MonitorQuery, request.valid_query), request.may_edit
    require_present(request, query.as_of)
    if query.as_of is not None:
        records, count = request.node.transact_at(query.as_of, past.page, query, secrets)
    else:
        records, count = monitorlists.page(request.node, request.root, query, secrets=secrets, sight=request.sight)
    return counted(request, [teams.narrowed(request, record) for record in records], count)


def also_wrong(monitors: Monitors, request: Request, sound: JsonObject) -> dict[str, str]:
    """Of a new one, what its fields among themselves and the store tell."""
    settings = changes.with_defaults(request.root, sound)
    return changes.misfits(request.root, NOTHING, settings) | teams.misfits(request, NOTHING, settings)


def also_changed(monitor: Monitor, request: Request, sound: JsonObject) -> dict[str, str]:
    before = monitor.record
    settings = changed(before, teams.whole(request, before, sound))
    return changes.misfits(request.root, before, settings) | teams.misfits(request, before, settings)


@api.create(Monitors, body=NewMonitor, also=also_wrong, returns=Created, audit="monitor.create", teams="filtered")
def create_monitor(context: Monitors, request: Request) -> Created:
    """A new monitor."""
    node = request.node
    settings = changes.with_defaults(request.root, request.valid_body)
    require_author(request, NOTHING, settings)
    monitor_id = changes.create(request.root, settings, node.series.numbers.take()[0], node.clock.now())
    request.audit("monitor.create", monitor_id, after=settings.stored())
    return Created(monitor_id)


@api.act(
    Monitors, "check", body=NewMonitor, also=also_wrong, returns=TriedMonitor, audit="monitor.try", teams="filtered"
)
def try_monitor(context: Monitors, request: Request) -> Deferred:
    """One check with these settings, now. The monitor is not made, and nothing but the audit entry is stored."""
    node = request.node
    settings = changes.with_defaults(request.root, request.valid_body)
    require_author(request, NOTHING, settings)
    request.audit("monitor.try", settings.name, after=settings.stored())
    return later(lambda: requestedchecks.try_out(node, settings))


@api.act(Monitor, "check", returns=TriedMonitor, audit="monitor.check", teams="act")
def check_monitor(context: Monitor, request: Request) -> Deferred:
    """One check of this monitor, now, which counts like any other."""
    node, monitor_id = request.node, context.id
    request.audit("monitor.check", monitor_id)
    return later(lambda: requestedchecks.check_now(node, monitor_id))


@api.get(Monitor, query=AsOf, returns=MonitorRecord, teams="see")
def get_monitor(context: Monitor, request: Request) -> MonitorRecord:
    """One monitor."""
    at = request.valid_query["as_of"]
    require_present(request, at)
    if at is not None:
        then: MonitorRecord = request.node.transact_at(at, past.one, context.id, request.may_edit)
        return then
    record = monitorlists.one(request.node, request.root, context.id, secrets=request.may_edit)
    return teams.narrowed(request, record)


@api.update(
    Monitor,
    body=MonitorSettings,
    also=also_changed,
    stored=lambda monitor: monitor.settings,
    read_only=MonitorRecord,
    returns=Updated,
    audit="monitor.update",
    teams="change",
)
def update_monitor(context: Monitor, request: Request) -> Updated:
    """Changes what is given, and leaves the rest."""
    said = teams.whole(request, context.record, request.valid_body)
    before, settings = context.settings, changed(context.record, said)
    require_author(request, context.record, settings)
    changes.update(request.root, context, settings, request.now)
    request.audit("monitor.update", context.id, before=before, after=context.settings)
    return Updated()


@api.delete(Monitor, role="admin", returns=Deleted, audit="monitor.delete", undoes=True)
def delete_monitor(context: Monitor, request: Request) -> Deleted:
    """The monitor is gone with its history."""
    changes.take_out(request.root, context, request.now)
    undoable(request, "monitor", context.name, context.id, context)
    request.audit("monitor.delete", context.id, before=context.settings)
    return Deleted()


def require_author(request: Request, before: MonitorSettings, after: MonitorSettings) -> None:
    """Whether the caller may write this: a command for a host, and where it is run, are for admins."""
    if needs_admin(before, after) and not request.has_permission(Permission.administer):
        raise Forbidden(
            "A plugin monitor runs a command on a host, so only an admin may make one, or change its command or hosts.",
            code="plugin_needs_admin",
        )


@api.get(PushAddress, role="public", body=RAW, returns=schemas.PushTaken, audit=False)
@api.act(PushAddress, role="public", body=RAW, returns=schemas.PushTaken, audit=False)
def take_push(context: PushAddress, request: Request) -> schemas.PushTaken:
    """The address is the secret. A `status` other than `up` says that the run has failed, and `msg` why, as scripts for
    Uptime Kuma do; nothing else that is sent matters."""
    if context.monitor_id is None:
        raise NotFound("There is nothing here.")
    return hear(request, context.monitor_id, 0 if request.GET.get("status", "") in pushes.WELL else None)


@api.get(PushSignal, role="public", body=RAW, returns=schemas.PushTaken, audit=False)
@api.act(PushSignal, role="public", body=RAW, returns=schemas.PushTaken, audit=False)
def take_signal(context: PushSignal, request: Request) -> schemas.PushTaken:
    """`start`: a run begins. `fail`, or its exit code from 0 to 255: it has ended, and `msg` says why it failed."""
    monitor_id, code = context.__parent__.monitor_id, pushes.exit_code(context.__name__)
    if monitor_id is None or (code is None and context.__name__ not in (pushes.START, pushes.FAIL)):
        raise NotFound("There is nothing here.")
    if context.__name__ == pushes.START:
        pushes.begin(request.root, monitor_id, request.now)
        return schemas.PushTaken()
    return hear(request, monitor_id, code)


def hear(request: Request, monitor_id: str, code: int | None) -> schemas.PushTaken:
    """A run has ended with this exit code; None: it has failed."""
    took = pushes.end(request.root, monitor_id, request.now)
    outcome = pushes.ended(code, took, request.GET.get("msg", ""))
    request.node.spawn(pushes.called, request.node, monitor_id, outcome)
    return schemas.PushTaken()
