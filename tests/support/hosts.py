"""Hosts at the wire, for healing: places, reports and commands, with no agent behind them.

Commands are kept in the store like real ones, so a transaction that aborts sends nothing.
"""

from __future__ import annotations

from BTrees.OOBTree import OOBTree

from opsapp.healing.engine.inventory import Inventory, Member
from opsapp.lib.ids import new_id
from opsapp.wire.heals import HostAnswer

TOOLS = frozenset({"systemctl", "podman", "journalctl", "sh"})


def place(name="box-1", agent_id="a1", **changes):
    values = {
        "subject": f"agent:{agent_id}",
        "name": name,
        "agent_id": agent_id,
        "names": (name, agent_id),
        "usable": TOOLS,
    }
    return Member(**{**values, **changes})


class Hosts:
    """An `IFleetAccess`. `sent` lists what was committed; `finish` says how a command ended."""

    def __init__(self, node, *places):
        self.node = node
        self.here = list(places) or [place()]
        self.rechecked = []
        self.doubts = set()
        self.looks_back = True
        self.interventions = []  # (subject, when) of what people did there
        node.transact(self._set_up)

    @staticmethod
    def _set_up(root):
        if "test-commands" not in root.system:
            root.system["test-commands"] = OOBTree()

    # -- the interface

    def inventory(self, root):
        return Inventory(self.here)

    def send(self, root, agent_id, kind, params, *, timeout, expiry):
        command_id = new_id()
        if params.get("heal_id", "").endswith(".look") and self.looks_back:
            self._look(agent_id)
            return command_id
        tree = root.system["test-commands"]
        tree[command_id] = {
            "n": len(tree),
            "command_id": command_id,
            "agent_id": agent_id,
            "type": kind,
            "params": params,
            "answer": None,
        }
        return command_id

    def _look(self, agent_id):
        """A host that is asked how it is before a heal says what it said last."""
        live, subject = self.node.series.live, f"agent:{agent_id}"
        live.update(subject, {name: value for name, (value, _) in live.get(subject).items()}, self.node.clock.now())

    def answer(self, root, agent_id, command_id):
        ended = root.system["test-commands"][command_id]["answer"]
        return ended and HostAnswer.read(ended)

    def intervened(self, root, subject, agent_id, since):
        return min((at for on, at in self.interventions if on == subject and at >= since), default=None)

    def knows(self, root, subject):
        return any(host.subject == subject for host in self.here)

    def recall(self, root, agent_id, command_id):
        """Only a host that is away has not been given what it was sent."""
        command = root.system["test-commands"][command_id]
        away = any(host.agent_id == agent_id and not host.online for host in self.here)
        if away and command["answer"] is None:
            answer = {"status": "cancelled", "exit_code": None, "output": "", "reason": "recalled", "data": {}}
            root.system["test-commands"][command_id] = {**command, "answer": answer}
            return True
        return False

    def doubtful(self, node, subject):
        return subject in self.doubts

    def recheck(self, node, subject, done):
        self.rechecked.append((subject, done))

    # -- what tests ask and say

    @property
    def sent(self):
        return self.node.transact(
            lambda root: sorted(root.system["test-commands"].values(), key=lambda command: command["n"])
        )

    def phases(self):
        return [command["params"].get("phase") for command in self.sent]

    def waiting(self, phase):
        """The one unanswered command of a phase."""
        [waiting] = [
            command for command in self.sent if command["answer"] is None and command["params"].get("phase") == phase
        ]
        return waiting

    def finish(self, phase, status="done", exit_code=0, reason=None, among=None, output="", **data):
        command_id = (among or self.waiting(phase))["command_id"]
        answer = {"status": status, "exit_code": exit_code, "output": output, "reason": reason, "data": data}

        def write(root):
            tree = root.system["test-commands"]
            tree[command_id] = {**tree[command_id], "answer": answer}

        self.node.transact(write)
