"""Runs on agents, and messages: durable commands and rows written with the run, answers read from the store.

Nobody holds such a run: after a crash whoever looks next finds what the agents have answered.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from opsapp.agents import engine as agents
from opsapp.automations.logic.params import (
    AgentCommandParams,
    NotificationParams,
    ProgramParams,
    ScriptParams,
    ServiceParams,
)
from opsapp.automations.logic.references import Missing, Values
from opsapp.automations.resources import Run, board_of, forbidden, reveal
from opsapp.lib.addresses import public_text
from opsapp.lib.jsontypes import JsonObject
from opsapp.lib.masks import MASK, masked
from opsapp.lib.problems import Conflict, Invalid, NotFound, Unavailable, Unopened
from opsapp.notify.engine import CHANNEL, Confidential, tell
from opsapp.notify.resources import channels_of
from opsapp.runtime.wakes import after_commit
from opsapp.tree.damage import load
from opsapp.tree.root import Root

from . import targets
from .live_output import listeners_of
from .notices import write

LONGEST_COMMAND = 3600


def values(root: Root, run: Run) -> tuple[Values, list[str]]:
    """What the places of its params are filled with, and the secrets among that. Missing as well: secrets that the
    automation may not use, or that cannot be opened."""
    try:
        load(run)
        load(run.definition)
    except Unopened as closed:
        raise Missing(closed.message) from None
    names = run.definition.secret_names
    refused = forbidden(root, names, run.automation_id)
    if refused:
        raise Missing(f"the secret {refused[0]} is not allowed for this automation")
    secrets = revealed(root, names)
    return Values(run.inputs, secrets), list(secrets.values())


def revealed(root: Root, names: Iterable[str]) -> dict[str, str]:
    try:
        return reveal(root, names)
    except Unavailable as closed:  # sealed with a key that is not here
        raise Missing(closed.message) from None


def program(run: Run, filled: Values) -> tuple[str, dict[str, str], dict[str, str]]:
    """The text of the script or command, the environment that holds every value of it, and what it reads from
    descriptors."""
    params = run.params
    assert isinstance(params, ProgramParams)
    script = params.program
    assert script is not None
    text, references = filled.script(script.text, script.shell)
    env = params.env if isinstance(params, ScriptParams) else None
    own, apart = ({name: filled.plain(value) for name, value in (by or {}).items()} for by in (env, params.descriptors))
    return text, {**filled.inputs(), **own, **references}, apart


def begin(root: Root, run: Run) -> str | None:
    """A command for each agent that is meant; or why there can be none."""
    try:
        filled, secrets = values(root, run)
        kind, params = command(run, filled)
        hosts = targets.of_run(root, run)
    except (Missing, NotFound, Conflict) as problem:
        return getattr(problem, "message", str(problem))
    sent = []
    for target in hosts:
        try:
            command_id = agents.send_command(
                root, target.agent_id, kind, params, requested_by=f"run:{run.id}", hide=secrets
            )
        except Invalid as wrong:
            return json.dumps(wrong.fields)
        sent.append((target.agent_id, target.host, command_id, ""))
    run.commands = tuple(sent)
    if len(sent) == 1:
        after_commit(root, listeners_of(root).begin, run.id, sent[0][2], secrets)
    board_of(root).remote.insert(run.id)
    return None


def command(run: Run, filled: Values) -> tuple[str, JsonObject]:
    params, timeout = run.params, min(run.settings.timeout, LONGEST_COMMAND)
    if isinstance(params, ServiceParams):
        return "service", {"service": params.service, "action": params.action, "timeout": timeout}
    interpreter = params.interpreter if isinstance(params, ScriptParams) else None
    own = params.timeout if isinstance(params, AgentCommandParams) else None
    text, env, descriptors = program(run, filled)
    return "shell", {
        "command": text,
        "interpreter": interpreter or "/bin/sh",
        "env": env,
        "descriptors": descriptors or None,
        "timeout": min(own or timeout, timeout),
    }


def cancel(root: Root, run: Run) -> None:
    """Ask the agents to stop it; the run ends with their answers."""
    for agent_id, _, command_id, status in run.commands:
        if not status and agents.command_of(root, agent_id, command_id) is not None:
            agents.cancel_command(root, agent_id, command_id)
    board_of(root).remote.insert(run.id)


def notify(root: Root, run: Run, now: float) -> str | None:
    """Put the notification into the outbox, and the run is done; the reason when there can be none, else None."""
    params = run.params
    assert isinstance(params, NotificationParams)
    try:
        filled, secrets = values(root, run)
        title, text = filled.plain(params.title), filled.plain(params.message)
        hidden = Values(run.inputs, dict.fromkeys(run.definition.secret_names, MASK))
        shown = [masked(hidden.plain(field), secrets) for field in (params.title, params.message)]
    except Missing as missing:
        return str(missing)
    unknown = set(params.channels) - {channel.record.name for channel in channels_of(root).values()}
    if unknown:
        return "there is no channel " + ", ".join(sorted(unknown))
    tell(
        root,
        now,
        key=f"run:{run.id}",
        kind="automation.message",
        severity=params.severity,
        title=shown[0],
        text=shown[1],
        tags=("automation", *(CHANNEL + name for name in params.channels)),
        ids={"run": run.id, "automation": run.automation_id},
        confidential=Confidential(title, text, tuple(secrets)) if secrets else None,
    )
    write(root, run, public_text("\n".join([*shown, ""])), now)
    return None
