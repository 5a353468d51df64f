"""Chaos on hosts that are tagged `chaos` and no other: a fault, what the pipeline makes of it, and its end.

It ends three times over: by a watchdog on the host, by a durable row, and at the end of the run. Ending is repeated
until the host has said that it is done: the watchdog goes with a host that is killed, and what is sent to one that is
away expires.

`unit` stops a running unit whose name begins with `chaos`, `container` such a container, `cpu` keeps every processor
busy.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from opsapp.healing.config import HealingSettings
from opsapp.healing.engine import clocks
from opsapp.healing.engine.inventory import Member, fleet_access, inventory_of
from opsapp.healing.engine.rollback import wait_for
from opsapp.healing.resources import healing_of
from opsapp.healing.resources.injections import Injection
from opsapp.healing.stages.ledger import LedgerRecord
from opsapp.healing.whatif import Expectation
from opsapp.lib.problems import Conflict
from opsapp.runtime.cluster import leases
from opsapp.runtime.node import Node, now_of
from opsapp.runtime.wakes import wake_after_commit
from opsapp.tree.root import Root
from opsapp.wire.heals import HostAnswer

from .rehearsal import seen

TAG, QUEUE = "chaos", "healing-chaos"
NAMED = "chaos"
LOOK_S = 0.25
REVERT_PATIENCE_S = 30.0
KEEP_S = 86400.0
AGAIN_S, AGAIN_MOST_S = 5.0, 3600.0  # before what did not end a fault is tried again; doubled each time
BURN = "while :; do :; done # opsapp-chaos"

Values = Mapping[str, tuple[Any, float]]  # what an agent has reported: name -> (value, time)


class Fault(NamedTuple):
    """Two shell commands, and the NAME in the target of events about what is broken."""

    breaks: str
    mends: str
    part: str


def _names(values: Values, family: str, state: str) -> list[str]:
    return sorted(
        name[len(family) + 1 : -len(".state")]
        for name, (value, _) in values.items()
        if name.startswith(f"{family}.{NAMED}") and name.endswith(".state") and value == state
    )


def _unit(values: Values, seconds: int) -> Fault | None:
    names = _names(values, "service", "active")
    return None if not names else _stopped("systemctl", names[0], seconds)


def _container(values: Values, seconds: int) -> Fault | None:
    names = _names(values, "container", "running")
    runtime = "$(command -v podman || command -v docker)"
    return None if not names else _stopped(runtime, names[0], seconds)


def _stopped(tool: str, name: str, seconds: int) -> Fault:
    quoted_name = shlex.quote(name)
    mend = f"{tool} start {quoted_name}"
    watchdog = f"setsid sh -c {shlex.quote(f'sleep {seconds}; {mend}')} >/dev/null 2>&1 </dev/null &"
    return Fault(f"{watchdog}\n{tool} stop {quoted_name}", mend, name)


def _cpu(values: Values, seconds: int) -> Fault | None:
    burn = f"setsid timeout {seconds} sh -c {shlex.quote(BURN)} >/dev/null 2>&1 </dev/null &"
    mend = "pkill -f 'done # opsapp-[c]haos' || true"
    return Fault(f"for cpu in $(seq $(nproc)); do {burn} done", mend, "")


FAULTS: dict[str, Callable[[Values, int], Fault | None]] = {"unit": _unit, "container": _container, "cpu": _cpu}


# -- the run -----------------------------------------------------------------------------------------------------------


def refuse_untagged(root: Root) -> None:
    if not tagged(root):
        raise Conflict("No agent is tagged chaos.", code="no_chaos_agent")


def tagged(root: Root) -> list[Member]:
    return [member for member in inventory_of(root).agents if TAG in member.tags]


def perform(node: Node, scenario: str, fault: str) -> list[Expectation]:
    section = node.config[HealingSettings].chaos
    values = {member.subject: dict(node.series.live.get(member.subject)) for member in node.transact(tagged)}
    last, names, missing = node.transact(inject, scenario, fault, values, section.revert_after_s)
    expectations = [seen("a fault can be injected on every tagged agent", [], missing)]
    try:
        if names:
            wait_for(node, lambda: node.transact(settled, names, last), patience_s=section.watch_s, every_s=LOOK_S)
            expectations += node.transact(outcomes, names, last)
    finally:
        node.transact(end, names)
    if names:
        wait_for(node, lambda: node.transact(mended, names), patience_s=REVERT_PATIENCE_S, every_s=LOOK_S)
        expectations.append(seen("the fault has been ended", [], node.transact(unmended, names)))
    return expectations


# -- transactions ------------------------------------------------------------------------------------------------------


def inject(
    root: Root, scenario: str, fault: str, values: Mapping[str, Values], revert_after: float
) -> tuple[int, list[str], list[str]]:
    """Inject the fault in one transaction and return the ledger's last id, the rows, and the hosts where there is
    nothing to break."""
    refuse_untagged(root)
    now, healing, names, missing = now_of(root), healing_of(root), [], []
    for member in tagged(root):
        made = FAULTS[fault](values.get(member.subject, {}), int(revert_after))
        if made is None or not member.online or member.agent_id is None:
            missing.append(member.name)
            continue
        injection = Injection(
            scenario=scenario,
            agent_id=member.agent_id,
            hostname=member.name,
            targets=(member.name, f"{member.name}/{made.part}"),
            subject=member.subject,
            command_id=_shell(root, member.agent_id, made.breaks),
            revert=made.mends,
            due=now + revert_after,
        )
        names.append(healing.injections.add(injection))
    entries = healing.ledger.entries
    return (int(entries.maxKey()) if entries else 0), names, missing


def _shell(root: Root, agent_id: str, command: str) -> str:
    wanted = {"command": command}
    return fleet_access(root).send(root, agent_id, "shell", wanted, timeout=60, expiry=60.0)


def _injections(root: Root, names: list[str]) -> list[Injection]:
    kept = (healing_of(root).injections.get(name) for name in names)
    return [injection for injection in kept if injection is not None]


def _answer(root: Root, injection: Injection) -> HostAnswer | None:
    return fleet_access(root).answer(root, injection.agent_id, injection.command_id)


def settled(root: Root, names: list[str], last: int) -> bool:
    """Each host has said how the injection ended, and all entries of it are final. A container may be healed while
    the command that stops it still waits. A withdrawn entry is about an earlier failure."""
    for injection in _injections(root, names):
        entries = [entry for entry in _entries(root, injection, last) if entry.outcome != "withdrawn"]
        ended = bool(entries) and all(entry.is_final for entry in entries)
        if not ended or _answer(root, injection) is None:
            return False
    return True


def outcomes(root: Root, names: list[str], last: int) -> list[Expectation]:
    expectations: list[Expectation] = []
    for injection in _injections(root, names):
        host, entries = injection.hostname, _entries(root, injection, last)
        answer = _answer(root, injection)
        open_ids = [entry.id for entry in entries if not entry.is_final]
        expectations += [
            seen(f"{host}: the fault was injected", "done", answer and answer.status),
            seen(f"{host}: an event reached the pipeline", True, bool(entries)),
            seen(f"{host}: every entry has its terminal outcome", [], open_ids),
        ]
    return expectations


def _entries(root: Root, injection: Injection, last: int) -> list[LedgerRecord]:
    """Only about what was broken, whatever else happens on the host."""
    rows = healing_of(root).ledger.page(None, injection.hostname, 100, 0)[1]
    return [row for row in rows if row.id > last and row.target in injection.targets]


def end(root: Root, names: list[str]) -> None:
    injections = healing_of(root).injections
    for name in names:
        injection = injections.get(name)
        if injection is not None and injection.reverted_by is None and injection.ended is None:
            injections.set(name, due=0.0)
    wake_after_commit(root, QUEUE)


def revert_due(root: Root) -> bool:
    """Revert under the lease the injections that are due, and return whether anything was sent."""
    leases.check(root, "healing")
    if clocks.is_left(root):  # the pipeline moves them with the clock first
        return False
    injections, now = healing_of(root).injections, now_of(root)
    injections.forget(now - KEEP_S)
    due = injections.due(now)
    agents = inventory_of(root).agents if due else ()
    online = {member.agent_id: member.online for member in agents}
    return any([_revert(root, name, injection, now, online.get(injection.agent_id)) for name, injection in due])


def _revert(root: Root, name: str, injection: Injection, now: float, online: bool | None) -> bool:
    """`online` is None if the agent was deleted: only its watchdog is left."""
    injections = healing_of(root).injections
    if online is None:
        injections.set(name, ended=now, gone=True)
    elif injection.reverted_by is not None:
        answer = fleet_access(root).answer(root, injection.agent_id, injection.reverted_by)
        if answer is not None and answer.status == "done":
            injections.set(name, ended=now)
        elif answer is not None:
            pause = min(AGAIN_MOST_S, AGAIN_S * 2 ** min(injection.tries, 20))
            injections.set(name, reverted_by=None, tries=injection.tries + 1, due=now + pause)
    elif online and _answer(root, injection) is not None:  # never before what it undoes
        injections.set(name, reverted_by=_shell(root, injection.agent_id, injection.revert))
        return True
    return False


def mended(root: Root, names: list[str]) -> bool:
    return not unmended(root, names)


def unmended(root: Root, names: list[str]) -> list[str]:
    """Hosts on which the fault may still be there."""
    hosts = []
    for name in names:
        injection = healing_of(root).injections.get(name)
        answer = None
        if injection is not None and injection.reverted_by is not None and not injection.gone:
            answer = fleet_access(root).answer(root, injection.agent_id, injection.reverted_by)
        if answer is None or answer.status != "done":
            hosts.append(name if injection is None else injection.hostname)
    return hosts
