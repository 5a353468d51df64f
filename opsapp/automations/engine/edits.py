"""Making, changing and removing automations, whole lists of them too: inside the caller's transaction."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, cast

from opsapp.agents.resources import agents_of
from opsapp.automations.interfaces import IAutomationEdited
from opsapp.automations.logic import references, workflow
from opsapp.automations.logic import settings as meaning
from opsapp.automations.logic.settings import AutomationSettings
from opsapp.automations.resources import Automation, Definition, automations_of, board_of, run_of, secrets_of, unusable
from opsapp.lib.addresses import public
from opsapp.lib.ids import digest, new_id, new_token
from opsapp.lib.jsontypes import JsonObject
from opsapp.lib.placeholders import places
from opsapp.lib.problems import Conflict, Forbidden, Invalid
from opsapp.notify.resources import channels_of
from opsapp.runtime.events import emit
from opsapp.runtime.node import node_of
from opsapp.runtime.projection import readable
from opsapp.runtime.wakes import wake_after_commit
from opsapp.tree.root import Root

from . import approval_requests, flow
from .schedules import CHANGED

KIND = "automation"
PLACE = "#"  # in an export the n-th automation of the list is called "#n"
Params = Callable[[str, Any], JsonObject]


def whole(root: Root, values: JsonObject, params: Params, own_id: str | None = None) -> AutomationSettings:
    """The settings as they are stored, or Invalid naming all that is wrong. `params` checks those of a type."""
    settings = {**values, "icon": values["icon"] or meaning.ICONS[values["type"]]}
    settings["schedule"] = values["schedule"] or None
    settings["params"] = {
        name: value for name, value in params(values["type"], values["params"]).items() if value is not None
    }
    settings = plain(settings)
    wrong = problems_of(root, settings, own_id)
    if wrong:
        raise Invalid(wrong)
    return cast(AutomationSettings, settings)


def plain(value: Any) -> Any:
    """As JSON has it, so that what was stored can be given again."""
    if isinstance(value, Mapping):
        return {name: plain(part) for name, part in value.items()}
    return [plain(part) for part in value] if isinstance(value, list | tuple) else value


def problems_of(
    root: Root, settings: JsonObject, own_id: str | None, *, params_are_sound: bool = True
) -> dict[str, str]:
    """What no single field shows. Of settings that are wrong elsewhere too, only the sound ones are given."""
    kind, params = settings["type"], settings["params"]
    wrong = {f"params.{name}": message for name, message in _target_problems(kind, params).items()}
    if kind == "workflow" and params_are_sound:
        wrong.update({f"params.{name}": message for name, message in workflow.step_problems(params).items()})
    if not wrong and kind in meaning.PARENTS and params_are_sound:
        wrong.update(_child_problems(root, kind, params, own_id))
    if _is_new_agent(root, params.get("agent_id"), own_id):
        wrong["params.agent_id"] = "there is no such agent"
    unknown = _new_channels(root, params.get("channels"), own_id) if kind == "notification" else []
    if unknown:
        wrong["params.channels"] = "there is no channel " + ", ".join(unknown)
    if not flow.may_run_here(root, settings):
        wrong["type"] = "programs on the server are switched off (automations.server_scripts): name an agent"
    if 0 < len(settings.get("approvers", ())) < settings.get("quorum", 1):
        wrong["quorum"] = "is more than the approvers"
    if params_are_sound:
        wrong.update(_script_problems(kind, params))
        wrong.update(_secret_problems(root, params, own_id))
    return wrong | _input_problems(settings)


def _secret_problems(root: Root, params: JsonObject, own_id: str | None) -> dict[str, str]:
    """A secret is for the automations that an admin has allowed. Whoever changes something else is not stopped by one
    that has been taken back since."""
    present = automations_of(root).get(own_id) if own_id else None
    given = plain({name: value for name, value in params.items() if value is not None})
    if present is not None and present.definition.params == given:
        return {}
    used = {name for kind_of, name in places(params) if kind_of == "secret"}
    refused = unusable(root, used, own_id)
    if not refused:
        return {}
    name = refused[0]
    message = f"the secret {name} is not allowed for this automation: once it is there, an admin allows it"
    return {"params": f"{message} with POST /api/secrets/{name}/allow"}


def _script_problems(kind: str, params: JsonObject) -> dict[str, str]:
    """Placeholders where no value can be filled in safely."""
    script = meaning.script_of(kind, params)
    message = script and references.script_problem(script.text, script.shell)
    return {f"params.{script.field}": message} if script and message else {}


def _input_problems(settings: JsonObject) -> dict[str, str]:
    if "inputs" not in settings:
        return {}
    wrong, declared = {}, {declaration["name"] for declaration in settings["inputs"]}
    used = {name for kind_of, name in places(settings["params"]) if kind_of == "input"}
    if used - declared:
        wrong["inputs"] = "not declared: " + ", ".join(sorted(used - declared))
    if any(kind_of == "event" for kind_of, _ in places(settings["params"])):
        wrong["params"] = "{{event:…}} has no value here: declare an input, and give it when you ask for the run"
    required = [
        declaration["name"]
        for declaration in settings["inputs"]
        if declaration["required"] and declaration["default"] is None
    ]
    if settings.get("schedule") and required:
        wrong["schedule"] = "nobody is there to give the required inputs: " + ", ".join(required)
    return wrong


def _target_problems(kind: str, params: JsonObject) -> dict[str, str]:
    given = [name for name in meaning.TARGETS if params.get(name)]
    if len(given) > 1:
        return {name: "give only one of agent_id, hostname and tag" for name in given}
    if kind == "agent_command" and not given:
        return {"agent_id": "is required (or hostname, or tag)"}
    return {}


def _is_new_agent(root: Root, agent_id: Any, own_id: str | None) -> bool:
    """An unknown agent; not one that was deleted since: other changes of its automation are none of its business."""
    if not isinstance(agent_id, str) or agent_id in agents_of(root):
        return False
    present = automations_of(root).get(own_id) if own_id else None
    return present is None or present.definition.params.get("agent_id") != agent_id


def _new_channels(root: Root, channels: Any, own_id: str | None) -> list[str]:
    """Unknown channels; not those that were deleted since the automation was written."""
    if not isinstance(channels, list | tuple):
        return []
    present = automations_of(root).get(own_id) if own_id else None
    kept = set(present.definition.params.get("channels") or ()) if present is not None else set()
    return sorted({str(name) for name in channels if channels_of(root).named(name) is None} - kept)


def _child_problems(root: Root, kind: str, params: JsonObject, own_id: str | None) -> dict[str, str]:
    known, parts = automations_of(root), meaning.children(kind, params)
    place = "automations" if kind == "composite" else "steps"
    wrong = {
        f"params.{place}.{n}": "there is no such automation" for n, child in enumerate(parts) if child not in known
    }
    if wrong:
        return wrong

    def below(name: str) -> list[str]:
        return list(known[name].definition.children) if name in known else []

    if own_id is not None and (own_id in parts or any(workflow.contains(part, below, own_id) for part in parts)):
        return {f"params.{place}": "an automation cannot contain itself"}
    if workflow.depth(parts, below) > workflow.DEEPEST:
        return {f"params.{place}": f"is nested more than {workflow.DEEPEST} levels deep"}
    return {}


class Editor(NamedTuple):
    """Who changes an automation."""

    name: str
    is_admin: bool


class Made(NamedTuple):
    """A new automation and the token of its webhook, which is shown this once."""

    automation: Automation
    token: str

    @property
    def id(self) -> str:
        return self.automation.id


def create(root: Root, settings: AutomationSettings, by: str, now: float) -> Made:
    automation = Automation(Definition(settings, now), by, now)
    automations_of(root)[new_id()] = automation
    token = new_webhook_token(root, automation, by)
    _changed(root, automation.id)
    return Made(automation, token)


def new_webhook_token(root: Root, automation: Automation, by: str) -> str:
    """The old one is worth nothing from the commit on. Only its digest is kept."""
    index = board_of(root).webhooks
    index.pop(automation.token_digest, None)
    board_of(root).calls.pop(automation.id, None)  # they are counted for each token
    token = new_token()
    automation.token_digest = digest(token)
    automation.add_author(by)
    index[automation.token_digest] = automation.id
    return token


def update(root: Root, automation: Automation, changes: JsonObject, params: Params, editor: Editor, now: float) -> None:
    """Keys left out keep their value. Runs that were asked for before keep the settings of then."""
    if not editor.is_admin and meaning.loosens_gate(automation.definition.settings, changes):
        raise Forbidden(
            "Only an admin may take the approval away, change who approves, or let fewer people do.",
            code="gate_loosened",
        )
    values = {**automation.definition.settings, **changes}
    if "type" in changes and "icon" not in changes and changes["type"] != automation.definition.kind:
        values["icon"] = None
    if automation.redefine(whole(root, values, params, automation.id), now):
        automation.add_author(editor.name)
        if not editor.is_admin:
            for _, secret in readable(secrets_of(root), "secret"):
                secret.lapse(automation.id)
        _changed(root, automation.id)
        for _, edited in node_of(root).registry.getUtilitiesFor(IAutomationEdited):
            edited(root, automation.id, now)


def remove(root: Root, automation: Automation, now: float) -> None:
    """With what it still had to run: what waits in the queue is ended by whoever works it, for that may be much. Its
    past runs stay, for whoever knows their ids."""
    others = readable(automations_of(root), KIND)
    users = [other.name for _, other in others if automation.id in other.definition.children]
    if users:
        raise Conflict("It is part of " + ", ".join(sorted(users)[:5]) + ".", code="in_use")
    board, automation_id = board_of(root), automation.id
    current = run_of(root, automation.state.current) if automation.state.current else None
    board.webhooks.pop(automation.token_digest, None)
    board.calls.pop(automation_id, None)
    del automations_of(root)[automation_id]  # first of all, so that nothing of it begins any more
    for secret in secrets_of(root).values():
        secret.take_back(automation_id)
    for run in [*approval_requests.waiting_for(root, automation_id), *([current] if current is not None else [])]:
        flow.cancel(root, run, by="", why="the automation was deleted", now=now)
    _changed(root, automation_id)
    wake_after_commit(root, flow.QUEUE)


def _changed(root: Root, automation_id: str) -> None:
    emit(root, CHANGED, {"id": automation_id})


# -- whole lists


def export(root: Root, hostname_of: Callable[[str], str]) -> list[JsonObject]:
    """All of them without ids, tokens and secrets; those that others are made of are called by their place."""
    ordered = sorted(automations_of(root).values(), key=lambda automation: (automation.created_at, automation.id))
    places = {automation.id: f"{PLACE}{n}" for n, automation in enumerate(ordered)}
    return [_exported(automation, places, hostname_of) for automation in ordered]


def _exported(automation: Automation, places: dict[str, str], hostname_of: Callable[[str], str]) -> JsonObject:
    settings = public(automation.definition.settings)
    kind, params = settings["type"], settings["params"]
    params = meaning.with_children(kind, params, [places[child] for child in meaning.children(kind, params)])
    if params.get("agent_id"):
        params["hostname"] = hostname_of(params.pop("agent_id"))
    return {**settings, "params": params}


def import_all(
    root: Root, listed: Mapping[int, JsonObject], wrong: Mapping[str, str], params: Params, by: str, now: float
) -> list[str]:
    """New automations from an export, in an order in which parts come before those made of them; all or nothing. With
    `wrong`, what is so of entries that are not `listed` for it, every mistake is told at once."""
    waiting, wrong = dict(listed), dict(wrong)
    made = {place: place for place in (PLACE + field.partition(".")[0] for field in wrong)}
    while waiting:
        ready = [n for n, entry in waiting.items() if all(part in made for part in _places_in(entry))]
        if not ready:
            lost = {f"{n}.params": "names an automation that is not in the list, or itself" for n in waiting}
            raise Invalid(wrong | lost)
        for n in ready:
            values = waiting.pop(n)
            try:
                made[f"{PLACE}{n}"] = create(root, whole(root, _resolved(values, made), params), by, now).id
            except Invalid as invalid:
                wrong.update({f"{n}.{name}": message for name, message in invalid.fields.items()})
                made[f"{PLACE}{n}"] = f"{PLACE}{n}"
    if wrong:
        raise Invalid(wrong)
    return [made[f"{PLACE}{n}"] for n in range(len(made))]


def _parts(values: JsonObject) -> list[str]:
    """The children, of params that nobody has checked yet."""
    params, parts = values["params"], []
    if values["type"] == "composite" and isinstance(params.get("automations"), list):
        parts = params["automations"]
    elif values["type"] == "workflow" and isinstance(params.get("steps"), list):
        parts = [step.get("automation_id") for step in params["steps"] if isinstance(step, dict)]
    return [part for part in parts if isinstance(part, str)]


def _places_in(values: JsonObject) -> list[str]:
    return [part for part in _parts(values) if part.startswith(PLACE)]


def _resolved(values: JsonObject, made: Mapping[str, str]) -> JsonObject:
    params = dict(values["params"])
    if _places_in(values):
        if values["type"] == "composite":
            params["automations"] = [_named(automation, made) for automation in params["automations"]]
        else:
            params["steps"] = [
                {**step, "automation_id": _named(step.get("automation_id"), made)} if isinstance(step, dict) else step
                for step in params["steps"]
            ]
    return {**values, "params": params}


def _named(part: Any, made: Mapping[str, str]) -> Any:
    return made.get(part, part) if isinstance(part, str) else part
