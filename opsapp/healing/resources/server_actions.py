"""What the service itself does for a heal: webhooks and commands.

A row is `intended` with its step, `begun` in a commit before the effect, and has its answer in one after it: if the
process ends between, its result is unknown.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from BTrees.OOBTree import OOBTree
from persistent import Persistent

from opsapp.lib.ids import new_id
from opsapp.runtime.secrets.sealedfields import SealedFields
from opsapp.wire.heals import HostAnswer

LOST = "the service ended while it did this: nobody can tell whether it was done"


class WebhookCall(NamedTuple):
    url: str
    method: str
    body: object
    heal_id: str


class OwnCommand(NamedTuple):
    """Argument lists. Action and parameters say what else it touches."""

    steps: list[list[str]]
    action_type: str | None = None
    params: Mapping[str, object] = {}


KINDS: dict[str, type[WebhookCall | OwnCommand]] = {"webhook": WebhookCall, "argv": OwnCommand}


class ActionEnd(NamedTuple):
    """How a server action ended, in the form of an agent's answer."""

    status: str
    reason: str | None = None
    exit_code: int | None = None
    output: str = ""
    data: Mapping[str, object] | None = None


class ServerAction(NamedTuple):
    wanted: WebhookCall | OwnCommand
    timeout: float
    state: str = "intended"  # then begun, then answered
    token: int | None = None  # of the lease under which it was begun
    answer: Mapping[str, object] | None = None

    @classmethod
    def read(cls, kind: str, params: Mapping[str, Any], **row: Any) -> ServerAction:
        return cls(KINDS[kind](**params), **row)

    @property
    def kind(self) -> str:
        return next(kind for kind, record in KINDS.items() if isinstance(self.wanted, record))

    def stored(self) -> Mapping[str, object]:
        """The action as stored, in the form of a command to an agent."""
        kept = self._asdict()
        return {"kind": self.kind, "params": kept.pop("wanted")._asdict(), **kept}


class StoredAction(SealedFields):
    """Parameters may hold a credential."""

    sealed_fields = ("fields",)

    def __init__(self, fields: Mapping[str, Any]):
        self.fields = fields


class ServerActions(Persistent):
    """A row goes when its heal has read the answer."""

    def __init__(self) -> None:
        self.rows = OOBTree()

    def intend(self, wanted: WebhookCall | OwnCommand, timeout: float) -> str:
        action_id = new_id()
        self._write(action_id, ServerAction(wanted, timeout))
        return action_id

    def _write(self, action_id: str, action: ServerAction) -> None:
        self.rows[action_id] = StoredAction(action.stored())

    def _read(self, action_id: str) -> ServerAction | None:
        """Older stores hold the fields themselves."""
        row = self.rows.get(action_id)
        return None if row is None else ServerAction.read(**(row.fields if isinstance(row, StoredAction) else row))

    def begin(self, token: int, limit: int) -> list[tuple[str, ServerAction]]:
        """Rows begun under an older token are lost."""
        begun: list[tuple[str, ServerAction]] = []
        for action_id, row in list(self.rows.items()):
            action = self._read(action_id)
            if action is None or getattr(row, "unopened", None) is not None:
                continue  # it waits for a node that can open it
            if action.state == "begun" and action.token != token:
                self.finish(action_id, ActionEnd("lost", LOST))
            elif action.state == "intended" and len(begun) < limit:
                begun.append((action_id, action._replace(state="begun", token=token)))
                self._write(*begun[-1])
        return begun

    def finish(self, action_id: str, end: ActionEnd) -> bool:
        """Whether this was the first answer."""
        action = self._read(action_id)
        if action is None or action.state == "answered":
            return False
        self._write(action_id, action._replace(state="answered", answer=end._asdict()))
        return True

    def answer(self, action_id: str) -> HostAnswer | None:
        """None while it is open. A missing row is lost."""
        action = self._read(action_id)
        if action is None:
            return HostAnswer("lost", LOST)
        return None if action.answer is None else HostAnswer.read(action.answer)

    def drop(self, action_id: str) -> None:
        self.rows.pop(action_id, None)
