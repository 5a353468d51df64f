"""Whole lists: export, import, and the built-in templates."""

from __future__ import annotations

from typing import Any

from pyramid.request import Request

from opsapp.agents import engine as agents
from opsapp.automations import schemas
from opsapp.automations.engine import edits
from opsapp.automations.logic import templates
from opsapp.automations.logic.params import Targeted
from opsapp.automations.logic.settings import ICONS, AutomationSettings
from opsapp.automations.records import AutomationRecord, TemplateRecord
from opsapp.automations.resources import Automations, Template, Templates
from opsapp.web import api
from opsapp.web.bodies import RAW, judge, read_object, refuse
from opsapp.web.declared import body_of
from opsapp.web.fields import Paging
from opsapp.web.listpages import page_of
from opsapp.wire.records import made, plain

from . import bodies


@api.get(Automations, "export", query=Paging, returns=[AutomationSettings])
def export_automations(context: Automations, request: Request) -> Any:
    """All of them, as an import takes them: without ids, tokens and secrets."""
    names = {host.agent_id: host.label or host.hostname for host in agents.hosts(request.root)}
    return page_of(request, edits.export(request.root, lambda agent_id: names.get(agent_id, agent_id)))


@api.act(
    Automations,
    "import",
    body=RAW,
    takes=[AutomationRecord],
    idempotent=True,
    returns=schemas.Imported,
    audit="automation.import",
)
def import_automations(context: Automations, request: Request) -> Any:
    """All of the list as new automations, or none of it."""
    who, now = request.caller.name, request.now
    entries, wrong = bodies.listed(request)
    bodies.require_author(request, *entries.values())
    ids = edits.import_all(request.root, entries, wrong, who, now)
    request.audit("automation.import", "automations", after={"imported": len(ids)})
    return {"imported": len(ids), "ids": ids}


@api.get(Templates, query=Paging, returns=[TemplateRecord])
def list_templates(context: Templates, request: Request) -> Any:
    """What an automation can be made from at once."""
    return page_of(request, [_shown(request, template) for template in templates.TEMPLATES])


@api.get(Template, returns=TemplateRecord)
def get_template(context: Template, request: Request) -> Any:
    """One template."""
    return _shown(request, templates.BY_ID[context.__name__])


def _shown(request: Request, template: templates.BuiltIn) -> TemplateRecord:
    kind, place = template.type, made(Targeted, template.params).place
    asks = bodies.needs_admin(request, kind, place)
    return made(TemplateRecord, {**plain(template), "icon": ICONS[kind], "needs_admin": asks})


@api.create(
    Template,
    "apply",
    body=RAW,
    takes=schemas.TemplateChange,
    partial=True,
    returns=schemas.AutomationCreated,
    audit="automation.apply_template",
)
def apply_template(context: Template, request: Request) -> Any:
    """An automation from the template; what the body gives takes the place of the template's."""
    template = templates.BY_ID[context.__name__]
    values = templates.applied(template, read_object(request, optional=True))
    sound, wrong = judge(body_of(AutomationSettings)(), values)
    refuse(bodies.also_wrong(context, request, sound) | wrong)
    return bodies.create(request, edits.whole(request.root, sound), "automation.apply_template")
