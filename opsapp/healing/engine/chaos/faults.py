"""Chaos on real hosts, those tagged `chaos` and no other: a fault, what the pipeline makes of it, and its end.

A fault ends three times over: a watchdog that it starts on the host, a durable row that the service works off whatever
happens to it meanwhile, and the end of the run. Ending one that has ended does nothing, so it is done again until the
host has said that it is done: the watchdog goes with a host that is killed, what is sent to one that is away expires.

What is injected: `unit` stops a running unit whose name begins with `chaos`, `container` stops such a container, `cpu`
keeps every processor busy. Nothing else on the host is touched.
"""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import gevent

from opsapp.healing.config import HealingSettings
from opsapp.healing.engine.fleet_access import fleet_access
from opsapp.healing.engine.inventory import Member
from opsapp.healing.resources import healing_of
from opsapp.lib.problems import Conflict
from opsapp.runtime import leases
from opsapp.runtime.node import node_of
from opsapp.runtime.wakes import wake_after_commit
from opsapp.tree.root import Root

if TYPE_CHECKING:
    from opsapp.runtime.node import Node

TAG, QUEUE = "chaos", "healing-chaos"
NAMED = "chaos"
LOOK_S = 0.25
REVERT_PATIENCE_S = 30.0
KEEP_S = 86400.0
AGAIN_S, AGAIN_MOST_S = 5.0, 3600.0  # before what did not end a fault is tried again; doubled each time
BURN = "while :; do :; done # opsapp-chaos"

Fault = tuple[str, str, str]  # (what breaks it, what mends it), for a shell; the NAME in the target of events about it
Found = list[dict[str, Any]]


def _names(values: dict[str, Any], family: str, state: str) -> list[str]:
    """Things of this family in this state that somebody named for it."""
    found = [
        name[len(family) + 1 : -len(".state")]
        for name, (value, _) in values.items()
        if name.startswith(f"{family}.{NAMED}") and name.endswith(".state") and value == state
    ]
    return sorted(found)


def _unit(values: dict[str, Any], seconds: int) -> Fault | None:
    names = _names(values, "service", "active")
    return None if not names else _stopped("systemctl", names[0], seconds)


def _container(values: dict[str, Any], seconds: int) -> Fault | None:
    names = _names(values, "container", "running")
    runtime = "$(command -v podman || command -v docker)"
    return None if not names else _stopped(runtime, names[0], seconds)


def _stopped(tool: str, name: str, seconds: int) -> Fault:
    thing = shlex.quote(name)
    mend = f"{tool} start {thing}"
    watchdog = f"setsid sh -c {shlex.quote(f'sleep {seconds}; {mend}')} >/dev/null 2>&1 </dev/null &"
    return f"{watchdog}\n{tool} stop {thing}", mend, name


def _cpu(values: dict[str, Any], seconds: int) -> Fault | None:
    burn = f"setsid timeout {seconds} sh -c {shlex.quote(BURN)} >/dev/null 2>&1 </dev/null &"
    mend = "pkill -f 'done # opsapp-[c]haos' || true"
    return f"for one in $(seq $(nproc)); do {burn} done", mend, ""


FAULTS: dict[str, Callable[[dict[str, Any], int], Fault | None]] = {"unit": _unit, "container": _container, "cpu": _cpu}


# -- the run -----------------------------------------------------------------------------------------------------------


def refuse_untagged(root: Root) -> None:
    if not tagged(root):
        raise Conflict("No agent is tagged chaos.", code="no_chaos_agent")


def tagged(root: Root) -> list[Member]:
    return [member for member in fleet_access(root).inventory(root) if member.is_agent and TAG in member.tags]


def perform(node: Node, scenario: str, fault: str) -> Found:
    """Inject, watch the ledger, end it: what was expected and what was seen."""
    section = node.config[HealingSettings].chaos
    values = {member.subject: dict(node.series.live.get(member.subject)) for member in node.transact(tagged)}
    last, names, missing = node.transact(inject, scenario, fault, values, section.revert_after_s)
    found: Found = [_expectation("a fault can be injected on every tagged agent", [], missing)]
    try:
        if names:
            _wait(node, section.watch_s, lambda: node.transact(settled, names, last))
            found += node.transact(seen, names, last)
    finally:
        node.transact(end, names)
    if names:
        _wait(node, REVERT_PATIENCE_S, lambda: node.transact(mended, names))
        found.append(_expectation("the fault has been ended", [], node.transact(unmended, names)))
    return found


def _wait(node: Node, seconds: float, done: Callable[[], bool]) -> None:
    end_at = node.clock.monotonic() + seconds
    while not done() and node.clock.monotonic() < end_at:
        (gevent.sleep if node.hub.is_here() else time.sleep)(LOOK_S)


def _expectation(check: str, expected: Any, actual: Any) -> dict[str, Any]:
    return {"check": check, "expected": expected, "actual": actual, "passed": bool(expected == actual)}


# -- transactions ------------------------------------------------------------------------------------------------------


def inject(
    root: Root, scenario: str, fault: str, values: dict[str, dict[str, Any]], revert_after: float
) -> tuple[int, list[str], list[str]]:
    """The rows and the commands, together. (the ledger's last id, rows, hosts where there is nothing to break)"""
    refuse_untagged(root)
    now, healing, names, missing = node_of(root).clock.now(), healing_of(root), [], []
    for member in tagged(root):
        made = FAULTS[fault](values.get(member.subject, {}), int(revert_after))
        if made is None or not member.online or member.agent_id is None:
            missing.append(member.name)
            continue
        broken, mend, part = made
        names.append(
            healing.injections.add(
                {
                    "scenario": scenario,
                    "agent_id": member.agent_id,
                    "hostname": member.name,
                    "targets": (member.name, f"{member.name}/{part}"),
                    "subject": member.subject,
                    "command_id": _shell(root, member.agent_id, broken),
                    "revert": mend,
                    "due": now + revert_after,
                }
            )
        )
    entries = healing["ledger"].entries
    return (int(entries.maxKey()) if entries else 0), names, missing


def _shell(root: Root, agent_id: str, command: str) -> str:
    wanted = {"command": command}
    return fleet_access(root).send(root, agent_id, "shell", wanted, timeout=60, expiry=60.0, by="healing")


def settled(root: Root, names: list[str], last: int) -> bool:
    """Whether each host has said how its fault's injection ended, and the fault has led to entries that all have ended.
    A container may be healed while the command that stops it still waits for it. An entry that was withdrawn is about
    an earlier failure, for this fault has not ended: what it leads to is still to come."""
    rows = [healing_of(root).injections.rows[name] for name in names]
    found = [[entry for entry in _entries(root, row, last) if entry.get("outcome") != "withdrawn"] for row in rows]
    answered = all(fleet_access(root).answer(root, row["agent_id"], row["command_id"]) is not None for row in rows)
    return answered and all(one and all(entry["state"] == "final" for entry in one) for one in found)


def seen(root: Root, names: list[str], last: int) -> Found:
    """What the pipeline made of it, host by host."""
    found: Found = []
    for name in names:
        row = healing_of(root).injections.rows[name]
        host, entries = row["hostname"], _entries(root, row, last)
        answer = fleet_access(root).answer(root, row["agent_id"], row["command_id"])
        found.append(_expectation(f"{host}: the fault was injected", "done", answer and answer["status"]))
        found.append(_expectation(f"{host}: an event reached the pipeline", True, bool(entries)))
        open_ones = [entry["id"] for entry in entries if entry["state"] != "final"]
        found.append(_expectation(f"{host}: every entry has its terminal outcome", [], open_ones))
    return found


def _entries(root: Root, row: dict[str, Any], last: int) -> list[dict[str, Any]]:
    """What has come since about what was broken. Whatever else happens on the host meanwhile says nothing about it."""
    rows = healing_of(root)["ledger"].page(None, row["hostname"], 100, 0)[1]
    return [each for each in rows if each["id"] > last and each["target"] in row["targets"]]


def end(root: Root, names: list[str]) -> None:
    """End the faults now."""
    injections = healing_of(root).injections
    for name in names:
        row = injections.rows[name]
        if row["reverted_by"] is None and row["ended"] is None:
            injections.set(name, due=0.0)
    wake_after_commit(root, QUEUE)


def revert_due(root: Root) -> bool:
    """Under the lease: send what ends the faults that are due, until it was done. Whether anything was sent."""
    leases.check(root, "healing")
    injections, now = healing_of(root).injections, node_of(root).clock.now()
    injections.forget(now - KEEP_S)
    due = injections.due(now)
    inventory = fleet_access(root).inventory(root) if due else ()
    online = {member.agent_id: member.online for member in inventory if member.is_agent}
    return any([_revert(root, name, row, now, online.get(row["agent_id"])) for name, row in due])


def _revert(root: Root, name: str, row: dict[str, Any], now: float, online: bool | None) -> bool:
    """One step towards a fault's end. `online` is None where the agent was deleted: its watchdog is what is left."""
    injections, reach = healing_of(root).injections, fleet_access(root)
    if online is None:
        injections.set(name, ended=now, gone=True)
    elif row["reverted_by"] is not None:
        answer = reach.answer(root, row["agent_id"], row["reverted_by"])
        if answer is not None and answer["status"] == "done":
            injections.set(name, ended=now)
        elif answer is not None:
            tries = row.get("tries", 0)
            pause = min(AGAIN_MOST_S, AGAIN_S * 2 ** min(tries, 20))
            injections.set(name, reverted_by=None, tries=tries + 1, due=now + pause)
    elif online and reach.answer(root, row["agent_id"], row["command_id"]) is not None:  # never before what it undoes
        injections.set(name, reverted_by=_shell(root, row["agent_id"], row["revert"]))
        return True
    return False


def mended(root: Root, names: list[str]) -> bool:
    return not unmended(root, names)


def unmended(root: Root, names: list[str]) -> list[str]:
    """Hosts whose fault is not known to have ended."""
    found = []
    for name in names:
        row = healing_of(root).injections.rows.get(name)
        sent = row and row["reverted_by"] and not row["gone"]
        answer = fleet_access(root).answer(root, row["agent_id"], row["reverted_by"]) if sent else None
        if not answer or answer["status"] != "done":
            found.append(row["hostname"] if row else name)
    return found
