"""The pipeline in an environment of its own: the real stages, an empty store, simulated hosts, a virtual clock.

Nothing live takes part but, perhaps, the settings; nothing reaches a host, waits, or writes to the store. Must not:
decide anything that the pipeline decides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from typing import Any

import ZODB
from ZODB.DemoStorage import DemoStorage
from zope.interface.registry import Components

from opsapp.approvals.config import ApprovalSettings
from opsapp.approvals.engine import IApprovalKind
from opsapp.healing.config import HealingSettings
from opsapp.healing.engine.approval_kind import HealApproval
from opsapp.healing.engine.inventory import IFleetAccess, Inventory, Member
from opsapp.healing.engine.pipeline import HealingEngine, IHealingEngine
from opsapp.healing.engine.world import IWindowSource
from opsapp.healing.logic import chain
from opsapp.healing.logic.graph import Dependency
from opsapp.healing.logic.windows import ActiveWindow
from opsapp.healing.records import ChainStep, RuleSettings
from opsapp.healing.resources import healing_of, ledgercheck
from opsapp.healing.resources.rules import put_rule
from opsapp.healing.stages.ledger import LedgerRecord
from opsapp.healing.whatif import Expectation
from opsapp.lib.ids import new_id
from opsapp.lib.jsontypes import JsonObject
from opsapp.runtime.clocks.clock import Clock
from opsapp.runtime.config import Configuration
from opsapp.runtime.node import Node
from opsapp.tree.evolve import evolve_next
from opsapp.tree.root import Root
from opsapp.wire.heals import HostAnswer

Values = dict[str, str | float]  # what a host reports
TOOLS = frozenset({"systemctl", "podman", "journalctl", "sh"})
REST = 200  # steps of the pipeline at one moment, beyond which it never comes to rest
LIMIT_S = 3600.0  # of virtual time, beyond which a scenario does not wait for the pipeline to finish
FINE_S = 60.0  # virtual time passes by the second so long, then by ten


class VirtualClock(Clock):
    def __init__(self, now: float):
        self._began = self._now = now

    def now(self) -> float:
        return self._now

    def monotonic(self) -> float:
        return self._now - self._began

    def advance(self, seconds: float) -> None:
        self._now += seconds


def seen(check: str, expected: Any, actual: Any) -> Expectation:
    """A set becomes a sorted list; lists are copied, for they grow with the scenario."""
    return Expectation(check, _said(expected), _said(actual), bool(expected == actual))


def _said(value: Any) -> object:
    return sorted(value) if isinstance(value, set) else copy(value)


class SimulatedHost:
    """`effects`: what an action does to its `values`."""

    def __init__(self, name: str, usable: frozenset[str] = TOOLS):
        self.name = name
        self.agent_id = f"simulated-{name}"
        self.usable = usable
        self.values: Values = {}
        self.effects: dict[str, Callable[[Values], None]] = {}
        self.silent = False
        self.did: list[str] = []  # actions performed
        self.undone: list[str] = []
        self._before: Values = {}

    @property
    def subject(self) -> str:
        return f"agent:{self.agent_id}"

    def member(self) -> Member:
        return Member(self.subject, self.name, self.agent_id, (self.name, self.agent_id), usable=self.usable)

    def mends(self, action: str, reading: str, value: str | float) -> None:
        self.effects[action] = lambda values: values.update({reading: value})

    def perform(self, phase: str, action: str) -> HostAnswer:
        if phase == "snapshot":
            self._before = dict(self.values)
            return HostAnswer("done", snapshot={"kind": "simulated", "state": dict(self.values)})
        if phase == "execute":
            self.did.append(action)
            self.effects.get(action, lambda _: None)(self.values)
        elif phase == "rollback":
            self.undone.append(action)
            self.values = dict(self._before)
        return HostAnswer("done", restored=phase == "rollback")


class SimulatedFleet:
    """An `IFleetAccess`: what is sent is performed by the next turn."""

    def __init__(self) -> None:
        self.hosts: dict[str, SimulatedHost] = {}
        self.commands: dict[str, tuple[str, str, str]] = {}  # host, phase, action
        self.answers: dict[str, HostAnswer] = {}
        self.asked: list[tuple[str, float, Callable[[float], None]]] = []  # reports that are due: of whom, since when

    def inventory(self, root: Root) -> Inventory:
        return Inventory(host.member() for host in self.hosts.values())

    def send(
        self, root: Root, agent_id: str, kind: str, params: JsonObject, *, timeout: int | None, expiry: float
    ) -> str:
        command_id = new_id()
        self.commands[command_id] = (agent_id, params["phase"], params.get("action_type", ""))
        return command_id

    def answer(self, root: Root, agent_id: str, command_id: str) -> HostAnswer | None:
        return self.answers.get(command_id)

    def intervened(self, root: Root, subject: str, agent_id: str | None, since: float) -> float | None:
        return None

    def knows(self, root: Root, subject: str) -> bool:
        return any(host.subject == subject for host in self.hosts.values())

    def recall(self, root: Root, agent_id: str, command_id: str) -> bool:
        return self.commands.pop(command_id, None) is not None

    def doubtful(self, node: Node, subject: str) -> bool:
        return False

    def recheck(self, node: Node, subject: str, done: Callable[[float], None]) -> None:
        self.asked.append((subject, node.clock.now(), done))

    def reported(self) -> None:
        silent = {host.subject for host in self.hosts.values() if host.silent}
        asked, self.asked = self.asked, [request for request in self.asked if request[0] in silent]
        for subject, at, done in asked:
            if subject not in silent:
                done(at)

    def perform(self) -> None:
        for command_id, (agent_id, *wanted) in list(self.commands.items()):
            self.answers[command_id] = self.hosts[agent_id].perform(*wanted)
            del self.commands[command_id]


@contextmanager
def empty_store(live: Node, clock: VirtualClock, config: Configuration) -> Iterator[Node]:
    """Over a store in memory that is made as a new one is made."""
    database = ZODB.DB(DemoStorage(), pool_size=2)
    node = Node({"": database}, Components("rehearsal"), name="rehearsal", clock=clock, config=config)
    steps = live.registry.opsapp_evolve_steps
    try:
        while node.store.transact(evolve_next, (steps,), root_from=lambda connection: connection.root()):
            pass
        yield node
    finally:
        database.close()


class Rehearsal:
    """The environment of one scenario. `expect` notes what should be and what is."""

    def __init__(self, node: Node, clock: VirtualClock):
        self.node = node
        self.clock = clock
        self.settings = node.config[HealingSettings]
        self.approval_expiry_s = node.config[ApprovalSettings].expiry_s
        self.fleet = SimulatedFleet()
        self.windows: list[ActiveWindow] = []
        self.expectations: list[Expectation] = []
        node.registry.registerUtility(self.fleet, IFleetAccess)
        node.registry.registerUtility(self._windows, IWindowSource, "rehearsal")
        node.registry.registerUtility(HealApproval(), IApprovalKind, "heal")
        self.engine = HealingEngine(node)
        node.registry.registerUtility(self.engine, IHealingEngine)
        self.engine.watch()
        node.leases.want("healing")
        node.leases.step()

    def _windows(self, root: Root, now: float) -> list[ActiveWindow]:
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
        chain = tuple(map(ChainStep, steps))
        rule = RuleSettings(condition, escalation_chain=chain, initial_level="notify", hold=holds, **more)
        self.node.transact(_write_rule, rule_id, rule, level, self.clock.now())
        self.engine.refreshed_at = float("-inf")

    def depend(self, *entries: Dependency) -> None:
        self.node.transact(lambda root: healing_of(root).dependencies.declare(entries, "api"))

    # -- letting it play

    def run(self, seconds: float, step: float = 1.0) -> None:
        left = seconds
        while left > 0:
            self.clock.advance(min(step, left))
            left -= step
            self.turn()

    def wait(self, done: Callable[[], bool]) -> None:
        """Whatever the settings say about how long that takes."""
        passed = 0.0
        while passed < LIMIT_S:
            step = 1.0 if passed < FINE_S else 10.0
            self.run(step)
            passed += step
            if done():
                return

    def finish(self) -> None:
        """Wait until no case is under way and every entry is final."""
        self.wait(lambda: not self.node.transact(_under_way))
        if self.node.transact(_under_way):
            raise RuntimeError(f"a case is still under way after {LIMIT_S:.0f} s")

    def turn(self) -> None:
        self.node.leases.renewed_at = self.clock.monotonic()
        self.fleet.perform()
        for host in self.fleet.hosts.values():
            if not host.silent:
                self.engine.readings.live.update(host.subject, dict(host.values), self.clock.now())
        self.fleet.reported()
        for _ in range(REST):
            looked = self.engine.look()
            if not self.engine.work() and not looked:
                return
        raise RuntimeError("the pipeline does not come to rest")

    # -- looking

    @property
    def entries(self) -> list[LedgerRecord]:
        """Oldest first."""
        return self.node.transact(lambda root: [entry.record for entry in healing_of(root).ledger.entries.values()])

    def outcomes(self, rule_id: str | None = None) -> list[str]:
        """Oldest first."""
        entries = [entry for entry in self.entries if rule_id in (None, entry.rule_id)]
        return [entry.outcome or entry.state for entry in entries]

    def expect(self, check: str, expected: Any, actual: Any) -> None:
        self.expectations.append(seen(check, expected, actual))

    def expect_sound_ledger(self) -> None:
        """Expect, after every scenario, that each event has one outcome and that the chain is whole and would show a
        change of any entry."""
        open_ids = [entry.id for entry in self.entries if not entry.is_final]
        self.expect("every entry is final", [], open_ids)
        verdict, rows = self.node.transact(_checked)
        self.expect("the hash chain is whole", True, verdict.valid)
        self.expect("no two links of the chain are the same", len(rows), len({row["hash"] for row in rows}))
        unseen = [row["id"] for at, row in enumerate(rows) if chain.verify(_forged(rows, at)).valid]
        self.expect("the chain shows a change of any entry", [], unseen)


def _forged(rows: list[JsonObject], at: int) -> list[JsonObject]:
    return [*rows[:at], {**rows[at], "outcome": f"not {rows[at]['outcome']}"}, *rows[at + 1 :]]


# -- transactions on the store of the rehearsal ------------------------------------------------------------------------


def _write_rule(root: Root, rule_id: str, rule: RuleSettings, level: str, now: float) -> None:
    put_rule(root, rule_id, rule, source="api", now=now)
    state = healing_of(root).trust[rule_id]
    state.trust = state.trust._replace(current_level=level)


def _under_way(root: Root) -> bool:
    healing = healing_of(root)
    return bool(healing.book.messages) or bool(healing.book.open_on) or bool(healing.ledger.open)


def _checked(root: Root) -> tuple[chain.LedgerVerdict, list[JsonObject]]:
    ledger = healing_of(root).ledger
    return ledgercheck.verdict(ledger, b""), [dict(row) for row in ledgercheck.chained(ledger)]
