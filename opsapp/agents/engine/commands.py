"""Commands from whoever asks to the agent that answers: written, handed out, acknowledged, finished. Transactions only.

Must not: send anything. `sessions` and the report's answer carry what is handed out here, after the commit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from opsapp.agents.config import AgentSettings
from opsapp.agents.logic import is_private_log
from opsapp.agents.records import CommandRecord
from opsapp.agents.resources import Agent, Command, agents_of, at_work, find_agent, keep_index
from opsapp.lib.jsontypes import JsonObject
from opsapp.lib.problems import Invalid
from opsapp.runtime.cluster.fence import store_id
from opsapp.runtime.events import emit
from opsapp.runtime.node import Node, node_of, now_of
from opsapp.runtime.secrets.seals import seal_of
from opsapp.runtime.wakes import wake_after_commit
from opsapp.tree.root import Root
from opsapp.wire.commands import CommandSent, check_params
from opsapp.wire.fields import WireError, dumps
from opsapp.wire.records import plain
from opsapp.wire.reports import CommandResult

from . import clockmoves

QUEUE, RESULTS = "agent-commands", "command-results"
EVENT = "command"
MOST_AT_ONCE = 50
Step = tuple[Callable[..., Any], tuple[Any, ...]]
MOST_BYTES_AT_ONCE = 1_500_000
UNKNOWN = {
    "status": "lost",
    "exit_code": None,
    "output": "",
    "truncated": False,
    "reason": "there is no such agent or command any more",
    "data": None,
}


def is_private_unit(node: Node, unit: str) -> bool:
    """Whether what this unit logs is for admins alone."""
    return is_private_log(unit, node.config[AgentSettings].private_logs)


def send_command(
    root: Root,
    agent_id: str,
    kind: str,
    params: JsonObject,
    *,
    requested_by: str,
    timeout: int | None = None,
    expiry: float | None = None,
    hide: Sequence[str] = (),
) -> str:
    """Send a durable command in the caller's transaction; it leaves once that is committed. What is in `hide` reaches
    the agent and is shown nowhere: not in the record's parameters, not in its output."""
    agent, node = find_agent(root, agent_id), node_of(root)
    given = {**params} if timeout is None else {"timeout": timeout, **params}
    now, patience = node.clock.now(), node.config[AgentSettings].command_expiry_s if expiry is None else expiry
    clockmoves.settle(root, agent)
    command = agent.commands.add(kind, checked(kind, given), requested_by, now, now + patience)
    if hide:
        command.conceal(seal_of(root), hide)
    keep_index(root, agent)
    wake_after_commit(root, QUEUE)
    return command.__name__


def checked(kind: str, params: JsonObject) -> JsonObject:
    """The parameters as checked; Invalid names each wrong one."""
    try:
        return check_params(kind, dict(params))
    except WireError as wrong:
        if wrong.code == "unknown_type":
            raise Invalid(wrong.fields) from None
        raise Invalid(
            {f"params.{name}": message for name, message in wrong.fields.items()} or {"params": str(wrong)}
        ) from None


def changed_since(root: Root, agent_id: str, since: float, without: str) -> float | None:
    """The time at which somebody first asked this agent, from then on, for something that may change its host; None:
    nobody has. What `without` asks for is its own, but for what it undoes, which a person may have wanted. A command
    that cannot be read may be one, so it counts."""
    agent = agents_of(root).get(agent_id)
    if agent is None:
        return None

    def changed_at(command: Command) -> float | None:
        return command.created_at if _changes(command, without) else None

    times = agent.commands.page_rows(agent.commands.since(since), changed_at, lambda _: since)
    return next((at for at in times if at is not None), None)


def _changes(command: Command, without: str) -> bool:
    if command.type == "heal":
        return command.requested_by != without or command.params.get("phase") == "rollback"
    if command.type == "service":
        return bool(command.params.get("action") != "status")
    return command.type == "shell" and command.requested_by != without


def _find(root: Root, agent_id: str, command_id: str) -> Command | None:
    agent = agents_of(root).get(agent_id)
    return None if agent is None else agent.commands.get(command_id)


def command_of(root: Root, agent_id: str, command_id: str) -> CommandRecord | None:
    command = _find(root, agent_id, command_id)
    return None if command is None else command.record


def answer_of(root: Root, agent_id: str, command_id: str) -> JsonObject | None:
    """The command's answer, None while it is open. What is gone is lost."""
    command = _find(root, agent_id, command_id)
    if command is None:
        return dict(UNKNOWN)
    return {name: getattr(command, name) for name in UNKNOWN} if command.final else None


def cancel_command(root: Root, agent_id: str, command_id: str) -> str:
    """Cancel a command and return its status, which is `cancelled` at once when nobody else can have it."""
    agent = find_agent(root, agent_id)
    command = agent.commands[command_id]
    agent.commands.cancel(command, now_of(root))
    settle(root, agent, ended=[command_id] if command.final else [])
    wake_after_commit(root, QUEUE)
    return command.status


def recall_command(root: Root, agent_id: str, command_id: str) -> bool:
    """Recall a command that nobody has been given, instead of stopping one that somebody may have begun."""
    command = _find(root, agent_id, command_id)
    if command is None or command.status != "queued" or command.offered_to is not None:
        return False
    return cancel_command(root, agent_id, command_id) == "cancelled"


def settle(root: Root, agent: Agent, *, ended: Sequence[str]) -> None:
    """Called after a change of an agent's commands. It keeps the index, and wakes who waits for results."""
    keep_index(root, agent)
    if ended:
        wake_after_commit(root, RESULTS)
        tell(root, agent, ended)


def tell(root: Root, agent: Agent, ended: Sequence[str] = ()) -> None:
    """Tell clients of /api/stream that a command of this agent has begun, or that these are over."""
    emit(root, EVENT, {"agent_id": agent.id, "label": agent.label, "ended": list(ended)})


def claim(root: Root, sessions: Mapping[str, str]) -> dict[str, tuple[list[CommandSent], list[str]]]:
    """What has to go out on these sessions ({agent: session id}) now. It is marked as offered by the commit, before it
    is sent: from then on only the agent knows."""
    now, offers = now_of(root), {}
    for agent in at_work(root, sessions):
        session, machine = sessions[agent.id], agent.state.machine_id
        clockmoves.settle(root, agent)
        offered = agent.commands.offer(session, now, again=False, store=store_id(root), machine=machine)
        if offered[0] or offered[1]:
            offers[agent.id] = offered
    return offers


def fitting(commands: list[CommandSent]) -> list[CommandSent]:
    """The first of the commands, as many as one answer carries."""
    chosen: list[CommandSent] = []
    room = MOST_BYTES_AT_ONCE
    for command in commands[:MOST_AT_ONCE]:
        room -= len(dumps(plain(command)))
        if room < 0 and chosen:
            break
        chosen.append(command)
    return chosen


def acknowledged(root: Root, agent_id: str, command_id: str) -> None:
    agent = agents_of(root).get(agent_id)
    if agent is not None:
        agent.commands.acknowledge(command_id, now_of(root))


def started(root: Root, agent_id: str, command_id: str, at: float) -> None:
    agent = agents_of(root).get(agent_id)
    if agent is not None:
        agent.commands.start(command_id, at, now_of(root))
        tell(root, agent)


def take_result(root: Root, agent_id: str, result: CommandResult, session: str) -> None:
    """Take a result once: what comes again, or for a command that is over or unknown, changes nothing; nor does what a
    session says that is no longer the agent's, or of another machine than the one that has the command."""
    agent = agents_of(root).get(agent_id)
    if agent is not None and agent.state.session == session:
        now, machine = now_of(root), agent.state.machine_id
        ended = agent.commands.finish(result, now, machine)
        settle(root, agent, ended=[result.command_id] if ended else [])


def take_steps(root: Root, steps: list[Step]) -> None:
    """Take the steps in one transaction, in their order."""
    for fn, values in steps:
        fn(root, *values)


def refused(root: Root, agent_id: str, command_id: str, code: str, message: str, session: str) -> None:
    """Note that the agent refused a command, which will not run."""
    reason = f"refused by the agent: {code}" + (f": {message}" if message else "")
    take_result(root, agent_id, CommandResult(command_id, "failed", reason=reason[:2000]), session)
