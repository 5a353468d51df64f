"""/api/automations: the automations themselves."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pyramid.request import Request

from opsapp.automations import schemas
from opsapp.automations.engine import FROM, edits, records, request_run
from opsapp.automations.engine.reach import narrowed_automation
from opsapp.automations.records import AutomationRecord, AutomationRow
from opsapp.automations.resources import Automation, Automations
from opsapp.monitoring.resources import Incident
from opsapp.web import api
from opsapp.web.bodies import RAW
from opsapp.web.deletions import undoable
from opsapp.web.listpages import in_order, page_of
from opsapp.web.schemas import Deleted, Updated

from . import bodies
from .runs import seen_runs


@api.get(Automations, query=schemas.AutomationList, returns=[AutomationRow], teams="filtered")
def list_automations(context: Automations, request: Request) -> Any:
    """All automations. `sort`: by a field, with "-" the other way round; what has no value stands last. `uses`: those
    that run on this host or are made of this automation (ids), send to this channel or ask this approver (names). Who
    is in a team gets those that run on hosts that it sees, and nowhere else."""
    query = request.valid_query
    rows = records.rows(request.root, query["q"], query.get("uses"), seen_runs(request))
    return request.shown(page_of(request, in_order(rows, query["sort"])))


@api.create(
    Automations,
    body=AutomationRecord,
    also=bodies.also_wrong,
    returns=schemas.AutomationCreated,
    audit="automation.create",
)
def create_automation(context: Automations, request: Request) -> Any:
    """A new automation. The token of its webhook is shown this once."""
    return bodies.create(request, edits.whole(request.root, request.valid_body), "automation.create")


@api.get(Automation, returns=AutomationRecord, teams="see")
def get_automation(context: Automation, request: Request) -> Any:
    """One automation."""
    asks = bodies.needs_admin(request, context.settings.type, context.params.place)
    record, seen = replace(records.record(request.root, context), needs_admin=asks), seen_runs(request)
    return request.shown(record if seen is None else narrowed_automation(record, seen))


@api.update(
    Automation,
    body=AutomationRecord,
    also=bodies.also_wrong,
    stored=lambda automation: automation.definition.settings,
    read_only=(AutomationRecord, schemas.NewToken),
    returns=Updated,
    audit="automation.update",
)
def update_automation(context: Automation, request: Request) -> Updated:
    """Changes what is given, and leaves the rest."""
    before, settings = context.definition.settings, edits.with_changes(request.root, context, request.valid_body)
    bodies.require_author(request, context.settings, settings)
    editor = edits.Editor(request.caller.name, request.caller.role == "admin")
    edits.update(request.root, context, settings, editor, request.now)
    request.audit("automation.update", context.id, before=before, after=context.definition.settings)
    return Updated()


@api.delete(Automation, returns=Deleted, audit="automation.delete", undoes=True)
def delete_automation(context: Automation, request: Request) -> Deleted:
    """The automation is gone; a run that waits or is under way is cancelled."""
    request.audit("automation.delete", context.id, before=context.definition.settings)
    gone = edits.remove(request.root, context, request.now)
    undoable(request, "automation", context.settings.name, context.id, gone)
    return Deleted()


@api.act(
    Automation,
    "run",
    body=RAW,
    takes=schemas.RUN_INPUTS,
    idempotent=True,
    returns=schemas.RunStarted,
    audit="automation.run",
    teams="act",
)
def run_automation(context: Automation, request: Request) -> Any:
    """At once, whatever its schedule says. The body gives the inputs."""
    given, now = bodies.inputs(request, context), request.now
    run = request_run(request.root, now, context.id, inputs=given, by=request.caller.name, origin="manual")
    told = {"name": context.name, "run_id": run["run_id"], "status": run["status"]}
    request.audit("automation.run", context.id, after=told)
    return run


@api.act(Incident, "runs", body=schemas.RunFromIncident, returns=schemas.RunStarted, audit="automation.run")
def run_from_incident(context: Incident, request: Request) -> Any:
    """Runs an automation for this incident, whose war room shows the run."""
    asked, now, origin = request.valid_body, request.now, f"{FROM}{context.id}"
    run = request_run(
        request.root, now, asked["automation_id"], inputs=asked["inputs"], by=request.caller.name, origin=origin
    )
    request.audit("automation.run", asked["automation_id"], after={"run_id": run["run_id"], "status": run["status"]})
    return run


@api.act(Automation, "webhook-token", returns=schemas.NewToken, audit="automation.webhook_token")
def replace_webhook_token(context: Automation, request: Request) -> Any:
    """A new token, shown this once; the old one is refused from now on."""
    token = edits.new_webhook_token(request.root, context, request.caller.name)
    request.audit("automation.webhook_token", context.id)
    return bodies.webhook(token)
