"""Reading what is no plain object of known keys: params by type, inputs of a run, a list of automations."""

from __future__ import annotations

from typing import Any

from pyramid.request import Request

from opsapp.agents import engine as agents
from opsapp.automations.engine import edits
from opsapp.automations.logic.settings import AutomationSettings, read_params, runs_programs
from opsapp.automations.resources import Automation
from opsapp.lib.addresses import without_hidden
from opsapp.lib.jsontypes import JsonObject
from opsapp.lib.problems import Invalid, Malformed, TooLarge
from opsapp.tree.acl import Permission
from opsapp.web.bodies import read_object, require_plain_json
from opsapp.web.jsontext import loads
from opsapp.wire.kinds import DeclaredField, ListOf
from opsapp.wire.records import DeclaredObject, made

from . import IMPORT_LIMIT

MOST = 10_000


def also_wrong(context: Any, request: Request, sound: JsonObject) -> dict[str, str]:
    """What the store and the fields among themselves tell, with what is wrong with single fields."""
    present = context.definition.settings if isinstance(context, Automation) else {}
    values = {**present, **sound}
    if "type" not in values or "params" not in values:
        return {}
    values["params"], wrong = read_params(values["type"], values["params"])
    own_id = context.id if present else None
    return edits.problems_of(request.root, values, own_id, params_are_sound=not wrong) | wrong


def require_author(request: Request, *settings: AutomationSettings) -> None:
    """Whether the caller may write what runs on the service's own machine, if any of these does."""
    if any(runs_programs(setting.type, setting.params.place) for setting in settings):
        agents.require_author(request.node, is_admin=bool(request.has_permission(Permission.administer)))


def needs_admin(request: Request, kind: str, place: str) -> bool:
    """Whether `require_author` asks for an admin: forms say so before anything is typed."""
    return agents.needs_admin(request.node) and runs_programs(kind, place)


def webhook(token: str) -> dict[str, str]:
    """The token, for whoever has made it."""
    return {"webhook_token": token, "webhook_url": f"/api/automations/webhook/{token}"}


def create(request: Request, settings: AutomationSettings, action: str) -> dict[str, str]:
    """`action`: as the audit log calls it."""
    require_author(request, settings)
    made = edits.create(request.root, settings, request.caller.name, request.now)
    request.audit(action, made.id, after=settings.stored())
    return {"id": made.id, "status": "created", **webhook(made.token)}


def inputs(request: Request, automation: Automation) -> JsonObject:
    """The run's inputs: `{"inputs": {…}}`, or the body's own keys."""
    body = read_object(request, optional=True)
    if set(body) == {"inputs"} and "inputs" not in automation.settings.gives:
        given = body["inputs"]
        if given is not None and not isinstance(given, dict):
            raise Invalid({"inputs": "must be an object"})
        return given or {}
    return body


def webhook_inputs(request: Request, automation: Automation) -> JsonObject:
    """Others send what they like: an automation without inputs takes none of it."""
    given = inputs(request, automation)
    return given if automation.settings.inputs else {}


def listed(request: Request) -> tuple[dict[int, AutomationSettings], dict[str, str]]:
    """The sound entries of an exported JSON array, and what is wrong with others. What the export did not show is left
    out."""
    if (request.content_length or 0) > IMPORT_LIMIT:
        raise TooLarge(f"The list is larger than {IMPORT_LIMIT} bytes.")
    raw = request.body
    if raw:
        require_plain_json(request)
    values = loads(raw) if raw else None
    if not isinstance(values, list):
        raise Malformed("The body must be a JSON array.", code="malformed_json")
    if len(values) > MOST:
        raise Invalid({"list": f"has more than {MOST} entries"})
    wrong: dict[str, str] = {}
    sound = ListOf(DeclaredField("", DeclaredObject(AutomationSettings)), MOST).read(
        [*map(without_hidden, values)], "", wrong
    )
    return {n: made(AutomationSettings, value) for n, value in enumerate(sound) if value is not None}, wrong
