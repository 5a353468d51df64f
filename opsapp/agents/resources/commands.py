"""Commands as stored: a durable queue per agent, oldest first, in which each command comes to exactly one end.

`offered_to` says which session (or "poll") a command was handed to, committed before it leaves: from then on nobody but
the agent knows whether it runs, so it can no longer simply be cancelled or expire.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from BTrees.OOBTree import OOTreeSet

from opsapp.agents.logic import is_final, may_follow
from opsapp.agents.records import CommandRecord
from opsapp.lib.durations import whole
from opsapp.lib.jsontypes import JsonObject
from opsapp.lib.masks import everywhere, masked
from opsapp.runtime.secrets.sealedfields import SealedFields
from opsapp.runtime.secrets.seals import Reseal, Seal, seal_of
from opsapp.tree.counted import LAST, descending
from opsapp.tree.folder import Folder, Record
from opsapp.wire.commands import ASKING, CommandSent
from opsapp.wire.reports import CommandResult, HeldCommand

KEPT, FEW = 200, 20
SHOWN = 100
FORSAKEN_S = 86_400.0  # an agent that is silent for so long after a command's time is up is not waited for
POLL = "poll"
PURPOSE = "agent-command"


class Command(SealedFields, Record):
    url = "/api/agents/{agent_id}/commands/{command_id}"
    sealed_fields = ("params",)
    sealed: str | None = None
    machine = ""  # that it was handed to; empty when nobody has it, or its agent does not say

    def __init__(self, kind: str, params: JsonObject, requested_by: str, now: float, expires_at: float):
        self.type = kind
        self.params = params
        self.requested_by = requested_by
        self.status = "queued"
        self.created_at = now
        self.expires_at = expires_at
        self.offered_to: str | None = None
        self.cancel_requested = False
        self.cancel_to: str | None = None
        self.delivered_at: float | None = None
        self.started_at: float | None = None
        self.finished_at: float | None = None
        self.exit_code: int | None = None
        self.output = ""
        self.truncated = False
        self.reason: str | None = None
        self.data: JsonObject | None = None

    @property
    def only_asks(self) -> bool:
        return self.type == "heal" and self.params.get("phase") in ASKING

    def conceal(self, seal: Seal, hide: Sequence[str]) -> None:
        """Show the parameters without these; the true ones are sealed until the command is over."""
        self.sealed = seal.seal(json.dumps([self.params, list(hide)]), PURPOSE)
        self.params = everywhere(self.params, hide)

    def _concealed(self) -> tuple[JsonObject, list[str]]:
        """(the parameters for the agent, what is hidden)."""
        if self.sealed is None:
            return self.params, []
        params, hide = json.loads(seal_of(self).open(self.sealed, PURPOSE))
        return params, hide

    def take(self, result: CommandResult) -> None:
        """Take the result; a secret is dropped when its command ends."""
        hide = self._concealed()[1]
        self.exit_code, self.truncated = result.exit_code, result.truncated
        self.output = masked(result.output, hide)
        self.reason = None if result.reason is None else masked(result.reason, hide)
        self.data = everywhere(result.data, hide)
        if self.sealed is not None:
            self.sealed = None

    def may_be_ended_by(self, machine: str | None) -> bool:
        """Whether this machine has it. None: it is the service that ends it."""
        return machine is None or self.machine in ("", machine)

    @property
    def final(self) -> bool:
        return is_final(self.status)

    @property
    def record(self) -> CommandRecord:
        return CommandRecord(
            command_id=self.__name__,
            type=self.type,
            params=self.params,
            status=self.status,
            exit_code=self.exit_code,
            output=self.output,
            truncated=self.truncated,
            reason=self.reason,
            data=self.data,
            cancel_requested=self.cancel_requested,
            created_at=int(self.created_at),
            delivered_at=whole(self.delivered_at),
            started_at=whole(self.started_at),
            finished_at=whole(self.finished_at),
            requested_by=self.requested_by,
        )

    def on_the_wire(self, store: str | None) -> CommandSent:
        """Without what is null: an older agent refuses a parameter that it does not know."""
        params = {name: value for name, value in self._concealed()[0].items() if value is not None}
        return CommandSent(self.__name__, self.type, params, store)

    def began(self, at: float, now: float) -> None:
        """Note when the command began by the host's clock, which may be a day off; we may hear of the delivery later
        than it began."""
        self.started_at = min(max(at, self.created_at), now)
        self.delivered_at = min(self.delivered_at or now, self.started_at)

    def become(self, status: str, now: float) -> bool:
        """Whether the state allowed it."""
        if not may_follow(self.status, status):
            return False
        self.status = status
        if self.delivered_at is None and status in ("delivered", "running"):
            self.delivered_at = now
        if is_final(status):
            self.finished_at = now
        return True


class Commands(Folder):
    """Ids grow, so the order of ids is the order of asking."""

    url = "/api/agents/{agent_id}/commands"
    holds = "command"

    def __init__(self) -> None:
        super().__init__()
        self.open = OOTreeSet()

    def add(self, kind: str, params: JsonObject, requested_by: str, now: float, expires_at: float) -> Command:
        command = Command(kind, params, requested_by, now, expires_at)
        name = self._next_id(now)
        self[name] = command
        self.open.insert(name)
        self._prune()
        return command

    def _next_id(self, now: float) -> str:
        """16 hex digits: time in ms, then chance; always beyond the newest."""
        number = (int(now * 1000) << 20) + secrets.randbelow(1 << 20)
        if self._children:
            number = max(number, int(self._children.maxKey(), 16) + 1)
        return f"{number:016x}"

    def _prune(self) -> None:
        """The oldest that are over go, a few at a time: first of what healing has only asked a host."""
        surplus = len(self._children) - KEPT
        if surplus > FEW:
            over = [name for name in self._children if name not in self.open]
            asked = {command.__name__ for command in self.some(over[:-FEW]) if command.only_asks}
            for name in sorted(over, key=lambda name: name not in asked)[:surplus]:
                del self._children[name]

    def latest(self, count: int = SHOWN) -> list[Command]:
        """What healing only asks a host does nothing there, and is told with its case: it is not among them."""
        newest = self.some(descending(self._children, None, LAST, count))
        return list(islice((command for command in newest if not command.only_asks), count))

    def since(self, at: float) -> Iterable[str]:
        """The ids of those asked for from then on, oldest first."""
        ids: Iterable[str] = self._children.keys(f"{int(at * 1000) << 20:016x}")
        return ids

    def unfinished(self) -> Iterator[Command]:
        """The commands that have not ended, as far as they can be read."""
        return self.some(list(self.open))

    def offer(
        self, to: str, now: float, *, again: bool, store: str = "", machine: str = ""
    ) -> tuple[list[CommandSent], list[str]]:
        """(commands, ids to cancel) for this session; with `again` those sent before, too. `store` is the service's
        identity, which goes with each. What another machine has been given is its own: nobody but that machine knows
        whether it runs."""
        sent, cancels = [], []
        for command in self.unfinished():
            if command.unopened is not None:  # it waits for a node that can open its parameters
                continue
            if command.status == "queued" and (again or command.offered_to != to):
                if command.expires_at <= now and command.offered_to is None:
                    continue
                if command.offered_to is not None and not command.may_be_ended_by(machine):
                    continue
                if command.offered_to != to:
                    command.offered_to, command.machine = to, machine
                sent.append(command.on_the_wire(store or None))
            if command.cancel_requested and command.offered_to and (again or command.cancel_to != to):
                if command.cancel_to != to:
                    command.cancel_to = to
                cancels.append(command.__name__)
        return sent, cancels

    def acknowledge(self, name: str, now: float) -> None:
        """It is on the agent's disk."""
        command = self.get(name)
        if command is not None:
            command.become("delivered", now)

    def start(self, name: str, started_at: float, now: float) -> None:
        command = self.get(name)
        if command is not None and command.become("running", now):
            command.began(started_at, now)

    def finish(self, result: CommandResult, now: float, machine: str | None = None) -> bool:
        """Finish a command; False when that changes nothing: it is unknown or over, or another machine has it."""
        command = self.get(result.command_id)
        if command is None or not command.may_be_ended_by(machine) or not command.become(result.status, now):
            return False
        command.delivered_at = command.delivered_at or now
        if result.started_at:
            command.began(result.started_at, now)
        began = command.started_at or command.created_at
        command.finished_at = min(max(result.finished_at or now, began), now)
        command.take(result)
        self.open.remove(result.command_id)
        return True

    def end(self, command: Command, status: str, reason: str, now: float) -> bool:
        return self.finish(CommandResult(command.__name__, status, reason=reason), now)

    def reconcile(
        self, held: Iterable[HeldCommand], now: float, *, delivered_before: float, machine: str | None = None
    ) -> list[str]:
        """What the agent still holds, against what it should. The ids of those that ended here. One that it
        acknowledged (before that time) and does not hold is lost; one never acknowledged is sent again, unless somebody
        wanted it cancelled: then it is certain now that it did not run."""
        states = {command.command_id: command.state for command in held}
        ended = []
        for command in self.unfinished():
            name = command.__name__
            if not command.may_be_ended_by(machine):
                continue
            if name in states:
                command.become("delivered", now)
                if states[name] == "running":
                    command.become("running", now)
            elif command.status == "queued":
                if command.cancel_requested and self.end(command, "cancelled", "cancelled before it ran", now):
                    ended.append(name)
            elif (command.delivered_at or 0) <= delivered_before:
                self.end(command, "lost", "the agent reconnected and does not have it", now)
                ended.append(name)
        return ended

    def cancel(self, command: Command, now: float) -> None:
        """A command that was offered to nobody ends at once. Otherwise the agent is asked."""
        if command.offered_to is None:
            self.end(command, "cancelled", "cancelled before it was sent", now)
            command.delivered_at = None
        command.cancel_requested = True

    def expire(self, now: float, last_seen: float) -> list[str]:
        """Ends what cannot end by itself any more; their ids."""
        ended = []
        for command in self.unfinished():
            status, reason = _overdue(command, now, last_seen)
            if status and self.end(command, status, reason, now):
                if status == "expired":
                    command.delivered_at = None
                ended.append(command.__name__)
        return ended


def _overdue(command: Command, now: float, last_seen: float) -> tuple[str, str]:
    if command.status == "queued" and command.expires_at <= now:
        if command.offered_to is None:
            return "expired", "not delivered in time"
        return "lost", "sent, but never acknowledged"
    timeout = command.params.get("timeout") or 0
    patience = max(command.delivered_at or 0, last_seen) + timeout + FORSAKEN_S
    if command.status in ("delivered", "running") and patience <= now:
        return "lost", "the agent has not reconnected"
    return "", ""


def reseal_open(agents: Iterable[Any], reseal: Reseal) -> None:
    """`opsapp rekey`: the commands that are not over yet."""
    for agent in agents:
        for command in agent.commands.unfinished():
            if command.sealed is not None:
                command.sealed = reseal(command.sealed, PURPOSE)
