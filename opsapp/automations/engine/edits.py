"""Making, changing and removing automations, whole lists of them too: inside the caller's transaction."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from opsapp.agents.resources import agents_of
from opsapp.automations.interfaces import IAutomationEdited
from opsapp.automations.logic import references, workflow
from opsapp.automations.logic import settings as meaning
from opsapp.automations.logic.inputs import Input
from opsapp.automations.logic.params import NotificationParams, Params, Targeted
from opsapp.automations.logic.settings import AutomationSettings, read_params
from opsapp.automations.logic.workflow import CompositeParams, WorkflowParams
from opsapp.automations.resources import (
    Automation,
    Definition,
    Secret,
    automations_of,
    board_of,
    run_of,
    secrets_of,
    unusable,
)
from opsapp.automations.resources.standing import PastRuns
from opsapp.lib.addresses import public
from opsapp.lib.ids import digest, new_id, new_token
from opsapp.lib.jsontypes import JsonObject
from opsapp.lib.placeholders import places
from opsapp.lib.problems import Conflict, Forbidden, Invalid
from opsapp.notify.resources import channels_of
from opsapp.runtime.events import emit
from opsapp.runtime.node import node_of
from opsapp.runtime.wakes import wake_after_commit
from opsapp.tree.root import Root
from opsapp.wire.records import made, plain

from . import approval_requests, flow
from .schedules import CHANGED

KIND = "automation"
PLACE = "#"  # in an export the n-th automation of the list is called "#n"


def whole(
    root: Root, values: JsonObject, own_id: str | None = None, *, secrets_later: bool = False
) -> AutomationSettings:
    """The settings, or Invalid naming all that is wrong. Params are read once more, by their type. `secrets_later`: the
    caller asks `refused_secret` when the secrets are known."""
    params, wrong = read_params(values["type"], values["params"])
    wrong |= {} if wrong else problems_of(root, values | {"params": params}, own_id, secrets_later=secrets_later)
    if wrong:
        raise Invalid(wrong)
    return complete(made(AutomationSettings, values | {"params": params}))


def complete(settings: AutomationSettings) -> AutomationSettings:
    """Settings without an icon get the icon of their type. An empty schedule becomes none."""
    icon = settings.icon or meaning.ICONS[settings.type]
    return replace(settings, icon=icon, schedule=settings.schedule or None)


def problems_of(
    root: Root, values: JsonObject, own_id: str | None, *, params_are_sound: bool = True, secrets_later: bool = False
) -> dict[str, str]:
    """What no single field shows. Of values that are wrong elsewhere too, only the sound ones are given."""
    kind, given = values["type"], values["params"]
    present = automations_of(root).get(own_id) if own_id else None
    before = None if present is None else present.params
    target = made(Targeted, given)
    wrong = {f"params.{name}": message for name, message in _target_problems(kind, target).items()}
    sound = made(meaning.PARAMS[kind], given) if params_are_sound else None
    if isinstance(sound, WorkflowParams):
        wrong.update({f"params.{name}": message for name, message in workflow.step_problems(sound).items()})
    if not wrong and sound is not None and sound.children:
        wrong.update(_child_problems(root, sound, own_id))
    if _is_new_agent(root, target, before):
        wrong["params.agent_id"] = "there is no such agent"
    unknown = _new_channels(root, given.get("channels"), before) if kind == "notification" else []
    if unknown:
        wrong["params.channels"] = "there is no channel " + ", ".join(unknown)
    if not flow.may_run_here(root, kind, target.place):
        wrong["type"] = "programs on the server are disabled (automations.server_scripts): name an agent"
    if 0 < len(values.get("approvers", ())) < values.get("quorum", 1):
        wrong["quorum"] = "is more than the approvers"
    if sound is not None:
        wrong.update(_script_problems(sound))
        # A secret that was taken back since stops no other change.
        refused = None if secrets_later or before == sound else refused_secret(root, sound, own_id)
        wrong.update({} if refused is None else {"params": refused})
    return wrong | (_input_problems(values) if "inputs" in values else {})


def refused_secret(root: Root, params: Params, own_id: str | None) -> str | None:
    """Why an automation with these params may not be written, because of a secret in them."""
    used = {name for kind_of, name in places(plain(params)) if kind_of == "secret"}
    refused = unusable(root, used, own_id)
    if not refused:
        return None
    name = refused[0]
    message = f"the secret {name} is not allowed for this automation: once it is there, an admin allows it"
    return f"{message} with POST /api/secrets/{name}/allow"


def _script_problems(params: Params) -> dict[str, str]:
    """Placeholders where no value can be filled in safely."""
    script = params.program
    message = script and references.script_problem(script.text, script.shell)
    return {f"params.{script.field}": message} if script and message else {}


def _input_problems(values: JsonObject) -> dict[str, str]:
    wrong, used = {}, places(values["params"])
    declared = [made(Input, declaration) for declaration in values["inputs"]]
    unknown = {name for kind_of, name in used if kind_of == "input"} - {declaration.name for declaration in declared}
    if unknown:
        wrong["inputs"] = "not declared: " + ", ".join(sorted(unknown))
    if any(kind_of == "event" for kind_of, _ in used):
        wrong["params"] = "{{event:…}} has no value here: declare an input, and give it when you ask for the run"
    required = [declaration.name for declaration in declared if declaration.required and declaration.default is None]
    if values.get("schedule") and required:
        wrong["schedule"] = "nobody is there to give the required inputs: " + ", ".join(required)
    return wrong


def _target_problems(kind: str, target: Targeted) -> dict[str, str]:
    if len(target.targets) > 1:
        return {name: "give only one of agent_id, hostname and tag" for name in target.targets}
    if kind == "agent_command" and not target.targets:
        return {"agent_id": "is required (or hostname, or tag)"}
    return {}


def _is_new_agent(root: Root, target: Targeted, before: Params | None) -> bool:
    """Whether it names an unknown agent; one deleted since hinders no other change."""
    agent_id = target.agent_id
    if agent_id is None or agent_id in agents_of(root):
        return False
    return not (isinstance(before, Targeted) and before.agent_id == agent_id)


def _new_channels(root: Root, channels: Any, before: Params | None) -> list[str]:
    """Unknown channels; those deleted since hinder no other change."""
    if not isinstance(channels, list | tuple):
        return []
    kept = set(before.channels) if isinstance(before, NotificationParams) else set()
    return sorted({str(name) for name in channels if channels_of(root).named(name) is None} - kept)


def _child_problems(root: Root, params: Params, own_id: str | None) -> dict[str, str]:
    known, parts = automations_of(root), params.children
    place = "automations" if isinstance(params, CompositeParams) else "steps"
    wrong = {
        f"params.{place}.{n}": "there is no such automation" for n, child in enumerate(parts) if child not in known
    }
    if wrong:
        return wrong

    def below(name: str) -> tuple[str, ...]:
        return known[name].params.children if name in known else ()

    if own_id is not None and (own_id in parts or any(workflow.contains(part, below, own_id) for part in parts)):
        return {f"params.{place}": "an automation cannot contain itself"}
    if workflow.depth(parts, below) > workflow.DEEPEST:
        return {f"params.{place}": f"is nested more than {workflow.DEEPEST} levels deep"}
    return {}


class Editor(NamedTuple):
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


def with_changes(
    root: Root, automation: Automation, changes: JsonObject, *, secrets_later: bool = False
) -> AutomationSettings:
    """Keys left out keep their value. Invalid as `whole` says."""
    values = automation.definition.settings | changes
    if "icon" not in changes and values["type"] != automation.settings.type:
        values["icon"] = None
    return whole(root, values, automation.id, secrets_later=secrets_later)


def update(root: Root, automation: Automation, settings: AutomationSettings, editor: Editor, now: float) -> None:
    """Runs that were asked for before keep the settings of then."""
    if not editor.is_admin and meaning.loosens_gate(automation.settings, settings):
        raise Forbidden(
            "Only an admin may take the approval away, change who approves, or let fewer people do.",
            code="gate_loosened",
        )
    if automation.redefine(settings, now):
        automation.add_author(editor.name)
        if not editor.is_admin:
            for secret in secrets_of(root).values():
                secret.lapse(automation.id)
        _changed(root, automation.id)
        _tell_who_runs_it(root, automation.id, now)


def _tell_who_runs_it(root: Root, automation_id: str, now: float) -> None:
    for _, edited in node_of(root).registry.getUtilitiesFor(IAutomationEdited):
        edited(root, automation_id, now)


class DeletedAutomation(NamedTuple):
    """`allowed`: the secrets that it might use."""

    automation: Automation
    runs: PastRuns
    allowed: tuple[Secret, ...]


def put_back(root: Root, gone: DeletedAutomation) -> None:
    """A secret that is another one by now stays closed to it."""
    automation, secrets = gone.automation, secrets_of(root)
    if _child_problems(root, automation.params, automation.id):
        raise Conflict("What it is made of is not there any more: put that back first.", code="cannot_undo")
    automations_of(root)[automation.id] = automation
    automations_of(root).standings.put(automation.id, gone.runs)
    board_of(root).webhooks[automation.token_digest] = automation.id
    for secret in gone.allowed:
        if secrets.get(secret.__name__) is secret:
            secret.allow(automation.id)
    _changed(root, automation.id)


def remove(root: Root, automation: Automation, now: float) -> DeletedAutomation:
    """What waits in the queue is ended by whoever works it, for that may be much. Its past runs stay, for whoever knows
    their ids."""
    users = [other.name for other in automations_of(root).values() if automation.id in other.params.children]
    if users:
        raise Conflict("It is part of " + ", ".join(sorted(users)[:5]) + ".", code="in_use")
    board, automation_id = board_of(root), automation.id
    allowed = tuple(secret for secret in secrets_of(root).values() if automation_id in secret.allowed_for)
    gone = DeletedAutomation(automation, automations_of(root).standings.taken(automation_id), allowed)
    current = run_of(root, automation.state.current) if automation.state.current else None
    board.webhooks.pop(automation.token_digest, None)
    board.calls.pop(automation_id, None)
    del automations_of(root)[automation_id]  # first of all, so that nothing of it begins any more
    for secret in secrets_of(root).values():
        secret.take_back(automation_id)
    waiting = [run for run in approval_requests.undecided(root) if run.automation_id == automation_id]
    for run in [*waiting, *([current] if current is not None else [])]:
        flow.cancel(root, run, by="", why="the automation was deleted", now=now)
    _changed(root, automation_id)
    _tell_who_runs_it(root, automation_id, now)
    wake_after_commit(root, flow.QUEUE)
    return gone


def _changed(root: Root, automation_id: str) -> None:
    emit(root, CHANGED, {"id": automation_id})


# -- whole lists


def export(root: Root, hostname_of: Callable[[str], str]) -> list[AutomationSettings]:
    """The automations without ids, tokens and secrets; those that others are made of are called by their place."""
    ordered = sorted(automations_of(root).whole(), key=lambda automation: (automation.created_at, automation.id))
    places = {automation.id: f"{PLACE}{n}" for n, automation in enumerate(ordered)}
    return [_exported(automation, places, hostname_of) for automation in ordered]


def _exported(automation: Automation, places: dict[str, str], hostname_of: Callable[[str], str]) -> AutomationSettings:
    settings = automation.settings.with_children(places[child] for child in automation.params.children)
    params = settings.params
    if isinstance(params, Targeted) and params.agent_id:
        settings = replace(settings, params=replace(params, agent_id=None, hostname=hostname_of(params.agent_id)))
    shown: AutomationSettings = public(settings)
    return shown


def import_all(
    root: Root, listed: Mapping[int, AutomationSettings], wrong: Mapping[str, str], by: str, now: float
) -> list[str]:
    """Import all or nothing, parts before those made of them. With `wrong`, what is so of entries that are not
    `listed`, every mistake is told at once."""
    waiting, wrong = dict(listed), dict(wrong)
    ids = {place: place for place in (PLACE + field.partition(".")[0] for field in wrong)}
    while waiting:
        ready = [
            n
            for n, entry in waiting.items()
            if all(part in ids for part in entry.params.children if part.startswith(PLACE))
        ]
        if not ready:
            lost = {f"{n}.params": "names an automation that is not in the list, or itself" for n in waiting}
            raise Invalid(wrong | lost)
        for n in ready:
            entry = waiting.pop(n)
            named = entry.with_children(ids.get(part, part) for part in entry.params.children)
            try:
                ids[f"{PLACE}{n}"] = create(root, whole(root, named.stored()), by, now).id
            except Invalid as invalid:
                wrong.update({f"{n}.{name}": message for name, message in invalid.fields.items()})
                ids[f"{PLACE}{n}"] = f"{PLACE}{n}"
    if wrong:
        raise Invalid(wrong)
    return [ids[f"{PLACE}{n}"] for n in range(len(ids))]
