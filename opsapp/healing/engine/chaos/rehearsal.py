"""The pipeline on a stage of its own: the real stages and the real store's content, simulated hosts, a virtual clock.

Nothing here reaches a host, waits, or writes to the store. Must not: decide anything that the pipeline decides.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from zope.interface.registry import Components

from opsapp.healing.engine.declared import complete
from opsapp.healing.engine.pipeline import HealingEngine, IHealingEngine
from opsapp.healing.engine.reach import IReach, Place, Places
from opsapp.healing.engine.world import IWindowSource
from opsapp.healing.logic import chain
from opsapp.healing.logic.windows import Window
from opsapp.healing.resources import healing_of
from opsapp.healing.resources.cases import CaseBook
from opsapp.healing.resources.rules import drop_rule, put_rule
from opsapp.lib.ids import new_id
from opsapp.runtime.clock import Clock
from opsapp.runtime.node import Node
from opsapp.tree.root import Root

if TYPE_CHECKING:
    from opsapp.runtime.node import Node as LiveNode

TOOLS = frozenset({"systemctl", "podman", "journalctl", "sh"})
REST = 200
AS_DOCUMENTED: dict[str, Any] = {
    "absorption_window_s": 60,
    "hold_s": 5,
    "queue_spread_s": 0,
    "command_expiry_s": 60,
    "answer_wait_s": 900,
    "breaker": {"failures": 3, "window_s": 3600},
    "brake": {"max_heals_per_hour": {"fleet": 1000, "site": 1000, "rule": 1000}, "max_unhealthy_percent": 100},
}


class VirtualClock(Clock):
    def __init__(self, now: float):
        self._began = self._now = now

    def now(self) -> float:
        return self._now

    def monotonic(self) -> float:
        return self._now - self._began

    def advance(self, seconds: float) -> None:
        self._now += seconds


class SimulatedHost:
    """A host that answers as an agent does. `effects` says what an action does to its `values`."""

    def __init__(self, name: str, usable: frozenset[str] = TOOLS):
        self.name = name
        self.agent_id = f"simulated-{name}"
        self.usable = usable
        self.values: dict[str, Any] = {}
        self.effects: dict[str, Callable[[dict[str, Any]], None]] = {}
        self.silent = False
        self.did: list[str] = []  # actions performed
        self.undone: list[str] = []
        self._before: dict[str, Any] = {}

    @property
    def subject(self) -> str:
        return f"agent:{self.agent_id}"

    def place(self) -> Place:
        return Place(self.subject, self.name, self.agent_id, (self.name, self.agent_id), usable=self.usable)

    def perform(self, params: dict[str, Any]) -> dict[str, Any]:
        phase, action = params["phase"], params.get("action_type", "")
        data: dict[str, Any] = {}
        if phase == "snapshot":
            self._before = dict(self.values)
            data = {"snapshot": {"kind": "simulated", "state": dict(self.values)}}
        elif phase == "execute":
            self.did.append(action)
            self.effects.get(action, lambda _: None)(self.values)
        elif phase == "rollback":
            self.undone.append(action)
            self.values = dict(self._before)
            data = {"restored": True}
        return {"status": "done", "exit_code": 0, "output": "", "reason": None, "data": data}


class SimulatedFleet:
    """An `IReach` over simulated hosts: what is sent is performed by the next turn."""

    def __init__(self) -> None:
        self.hosts: dict[str, SimulatedHost] = {}
        self.commands: dict[str, tuple[str, dict[str, Any]]] = {}
        self.answers: dict[str, dict[str, Any]] = {}

    def places(self, root: Root) -> Places:
        return Places(host.place() for host in self.hosts.values())

    def send(
        self, root: Root, agent_id: str, kind: str, params: dict[str, Any], *, timeout: int, expiry: float, by: str
    ) -> str:
        command_id = new_id()
        self.commands[command_id] = (agent_id, params)
        return command_id

    def answer(self, root: Root, agent_id: str, command_id: str) -> dict[str, Any] | None:
        return self.answers.get(command_id)

    def knows(self, root: Root, subject: str) -> bool:
        return any(host.subject == subject for host in self.hosts.values())

    def recall(self, root: Root, agent_id: str, command_id: str) -> bool:
        return self.commands.pop(command_id, None) is not None

    def doubtful(self, node: LiveNode, subject: str) -> bool:
        return False

    def recheck(self, node: LiveNode, subject: str, done: Callable[[float], None]) -> None:
        """No monitors here."""

    def perform(self) -> None:
        for command_id, (agent_id, params) in list(self.commands.items()):
            self.answers[command_id] = self.hosts[agent_id].perform(params)
            del self.commands[command_id]


class Rehearsal:
    """One scenario's stage. `expect` writes down what ought to be and what is."""

    def __init__(self, live: LiveNode, database: Any):
        self.clock = VirtualClock(live.clock.now())
        config = copy.deepcopy(live.config)
        config["healing"] = {**config["healing"], **AS_DOCUMENTED}
        registry = Components("rehearsal", bases=(live.registry,))
        self.node = Node({"": database}, registry, name="rehearsal", clock=self.clock, config=config)
        self.fleet = SimulatedFleet()
        self.windows: list[Window] = []
        self.expectations: list[dict[str, Any]] = []
        registry.registerUtility(self.fleet, IReach)
        for name, _ in list(live.registry.getUtilitiesFor(IWindowSource)):
            registry.registerUtility(lambda *_: [], IWindowSource, name)
        registry.registerUtility(self._windows, IWindowSource, "rehearsal")
        self.engine = HealingEngine(self.node)
        registry.registerUtility(self.engine, IHealingEngine)
        self.engine.watch()
        self.node.transact(clear)
        self.node.leases.want("healing")
        self.node.leases.step()
        self.last_before = self.node.transact(_last_entry)

    def _windows(self, root: Root, now: float) -> list[Window]:
        return [window for window in self.windows if window.ends is None or window.ends > now]

    # -- setting the stage

    def host(self, name: str, **changes: Any) -> SimulatedHost:
        host = SimulatedHost(name, **changes)
        self.fleet.hosts[host.agent_id] = host
        self.engine.refreshed_at = float("-inf")
        return host

    def rule(
        self, rule_id: str, condition: str, *steps: str, level: str = "execute", holds: int = 0, **more: Any
    ) -> None:
        chained = [{"action": action, "params": {}} for action in steps]
        more = {"for": holds, **more}
        fields = complete({"condition": condition, "escalation_chain": chained, "initial_level": "notify", **more})
        self.node.transact(_write_rule, rule_id, fields, level, self.clock.now())
        self.engine.refreshed_at = float("-inf")

    def depend(self, *entries: dict[str, Any]) -> None:
        self.node.transact(lambda root: healing_of(root)["dependencies"].declare(list(entries), "api"))

    # -- letting it play

    def run(self, seconds: float, step: float = 1.0) -> None:
        """Time passes: hosts do what they are told and report, the pipeline works."""
        left = seconds
        while left > 0:
            self.clock.advance(min(step, left))
            left -= step
            self.turn()

    def turn(self) -> None:
        self.node.leases.renewed_at = self.clock.monotonic()
        self.fleet.perform()
        for host in self.fleet.hosts.values():
            if not host.silent:
                self.engine.sight.live.update(host.subject, dict(host.values), self.clock.now())
        for _ in range(REST):
            looked = self.engine.look()
            if not self.engine.work() and not looked:
                return
        raise RuntimeError("the pipeline does not come to rest")

    # -- looking

    @property
    def entries(self) -> list[dict[str, Any]]:
        """What the ledger has learned from this scenario, oldest first."""
        return self.node.transact(_entries_after, self.last_before)

    def outcomes(self) -> list[str]:
        return [entry["outcome"] or entry["state"] for entry in self.entries]

    def expect(self, check: str, expected: Any, actual: Any) -> None:
        self.expectations.append(
            {"check": check, "expected": expected, "actual": actual, "passed": bool(expected == actual)}
        )

    def expect_sound_ledger(self) -> None:
        """What holds after every scenario: each event has one outcome, and the new links of the chain are whole."""
        entries = self.entries
        self.expect("every entry is final", [], [entry["id"] for entry in entries if entry["state"] != "final"])
        ordered = self.node.transact(_chained_after, {entry["id"] for entry in entries})
        self.expect("the hash chain is whole", [], [row["id"] for row in ordered if not _linked(row)])


def _linked(row: dict[str, Any]) -> bool:
    return bool(row["hash"] == chain.link(row["prev_hash"], row))


# -- transactions on the overlay ---------------------------------------------------------------------------------------


def clear(root: Root) -> None:
    """Other rules, cases, windows and dependencies than those of the scenario play no part in it."""
    healing = healing_of(root)
    for rule_id in list(healing["rules"].keys()):
        drop_rule(root, rule_id)
    healing["dependencies"].entries = {}
    healing.book, healing.begun = CaseBook(), ()
    healing.switch = {"paused": False, "by": None, "at": None}
    root.system["agent-outcomes"].clear()


def _write_rule(root: Root, rule_id: str, fields: dict[str, Any], level: str, now: float) -> None:
    put_rule(root, rule_id, fields, source="api", now=now)
    state = healing_of(root)["trust"][rule_id]
    state.trust = state.trust._replace(current_level=level)


def _last_entry(root: Root) -> int:
    entries = healing_of(root)["ledger"].entries
    return int(entries.maxKey()) if entries else 0


def _entries_after(root: Root, last: int) -> list[dict[str, Any]]:
    ledger = healing_of(root)["ledger"]
    return [ledger.record(entry_id) for entry_id in ledger.entries.keys(last + 1)]


def _chained_after(root: Root, ids: set[int]) -> list[dict[str, Any]]:
    ledger = healing_of(root)["ledger"]
    return [dict(ledger.entries[entry_id].fields) for entry_id in ids if ledger.entries[entry_id].fields["hash"]]
