"""Chaos on real hosts, those tagged `chaos` and no other: a fault, what the pipeline makes of it, and its end.

A fault ends three times over: a watchdog that it starts on the host, a durable row that the service works off whatever
happens to it meanwhile, and the end of the run. Ending one that has ended does nothing.

What is injected: `unit` stops a running unit whose name begins with `chaos`, `container` stops such a container, `cpu`
keeps every processor busy. Nothing else on the host is touched.
"""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import gevent

from opsapp.healing.engine.reach import Place, reach_of
from opsapp.healing.resources import healing_of
from opsapp.lib.problems import Conflict, NotFound
from opsapp.runtime import leases
from opsapp.runtime.wakes import node_of, wake_after_commit
from opsapp.tree.root import Root

if TYPE_CHECKING:
    from opsapp.runtime.node import Node

TAG, QUEUE = "chaos", "healing-chaos"
NAMED = "chaos"
LOOK_S = 0.25
REVERT_PATIENCE_S = 30.0
KEEP_S = 86400.0
BURN = "while :; do :; done # opsapp-chaos"

Fault = tuple[str, str]  # (what breaks it, what mends it), for a shell
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
    return None if not names else _stopped("systemctl", shlex.quote(names[0]), seconds)


def _container(values: dict[str, Any], seconds: int) -> Fault | None:
    names = _names(values, "container", "running")
    runtime = "$(command -v podman || command -v docker)"
    return None if not names else _stopped(runtime, shlex.quote(names[0]), seconds)


def _stopped(tool: str, name: str, seconds: int) -> Fault:
    mend = f"{tool} start {name}"
    watchdog = f"setsid sh -c {shlex.quote(f'sleep {seconds}; {mend}')} >/dev/null 2>&1 </dev/null &"
    return f"{watchdog}\n{tool} stop {name}", mend


def _cpu(values: dict[str, Any], seconds: int) -> Fault | None:
    burn = f"setsid timeout {seconds} sh -c {shlex.quote(BURN)} >/dev/null 2>&1 </dev/null &"
    mend = "pkill -f 'done # opsapp-[c]haos' || true"
    return f"for one in $(seq $(nproc)); do {burn} done", mend


FAULTS: dict[str, Callable[[dict[str, Any], int], Fault | None]] = {"unit": _unit, "container": _container, "cpu": _cpu}


# -- the run -----------------------------------------------------------------------------------------------------------


def refuse_untagged(root: Root) -> None:
    if not tagged(root):
        raise Conflict("No agent is tagged chaos.", code="no_chaos_agent")


def tagged(root: Root) -> list[Place]:
    return [place for place in reach_of(root).places(root) if place.is_agent and TAG in place.tags]


def perform(node: Node, scenario: str, fault: str) -> Found:
    """Inject, watch the ledger, end it: what was expected and what was seen."""
    section = node.config["healing"]["chaos"]
    values = {place.subject: dict(node.series.live.get(place.subject)) for place in node.transact(tagged)}
    last, names, missing = node.transact(inject, scenario, fault, values, section["revert_after_s"])
    found: Found = [_expectation("a fault can be injected on every tagged agent", [], missing)]
    try:
        if names:
            _wait(node, section["watch_s"], lambda: node.transact(settled, names, last))
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
    now, healing, names, missing = node_of(root._p_jar).clock.now(), healing_of(root), [], []
    for place in tagged(root):
        made = FAULTS[fault](values.get(place.subject, {}), int(revert_after))
        if made is None or not place.online or place.agent_id is None:
            missing.append(place.name)
            continue
        broken, mend = made
        names.append(
            healing.injections.add(
                {
                    "scenario": scenario,
                    "agent_id": place.agent_id,
                    "hostname": place.name,
                    "subject": place.subject,
                    "command_id": _shell(root, place.agent_id, broken),
                    "revert": mend,
                    "due": now + revert_after,
                }
            )
        )
    entries = healing["ledger"].entries
    return (int(entries.maxKey()) if entries else 0), names, missing


def _shell(root: Root, agent_id: str, command: str) -> str:
    wanted = {"command": command}
    return reach_of(root).send(root, agent_id, "shell", wanted, timeout=60, expiry=60.0, by="healing")


def settled(root: Root, names: list[str], last: int) -> bool:
    """Whether each host's fault has led to an entry, and all of them have ended."""
    rows = [healing_of(root).injections.rows[name] for name in names]
    found = [_entries(root, row["hostname"], last) for row in rows]
    return all(one and all(entry["state"] == "final" for entry in one) for one in found)


def seen(root: Root, names: list[str], last: int) -> Found:
    """What the pipeline made of it, host by host."""
    found: Found = []
    for name in names:
        row = healing_of(root).injections.rows[name]
        host, entries = row["hostname"], _entries(root, row["hostname"], last)
        answer = reach_of(root).answer(root, row["agent_id"], row["command_id"])
        found.append(_expectation(f"{host}: the fault was injected", "done", answer and answer["status"]))
        found.append(_expectation(f"{host}: an event reached the pipeline", True, bool(entries)))
        open_ones = [entry["id"] for entry in entries if entry["state"] != "final"]
        found.append(_expectation(f"{host}: every entry has its terminal outcome", [], open_ones))
    return found


def _entries(root: Root, hostname: str, last: int) -> list[dict[str, Any]]:
    rows = healing_of(root)["ledger"].page(None, hostname, 100, 0)[1]
    return [row for row in rows if row["id"] > last]


def end(root: Root, names: list[str]) -> None:
    """End the faults now."""
    injections = healing_of(root).injections
    for name in names:
        if injections.rows[name]["reverted_by"] is None:
            injections.set(name, due=0.0)
    wake_after_commit(root, QUEUE)


def revert_due(root: Root) -> bool:
    """Under the lease: send what ends the faults that are due; forget those that ended long ago."""
    leases.check(root, "healing")
    injections, now = healing_of(root).injections, node_of(root._p_jar).clock.now()
    for name, row in list(injections.rows.items()):
        if row["reverted_by"] is not None and now - row["due"] > KEEP_S:
            injections.drop(name)
    due = injections.due(now)
    for name, row in due:
        try:
            injections.set(name, reverted_by=_shell(root, row["agent_id"], row["revert"]), due=now)
        except NotFound:  # the agent was deleted: its watchdog is what is left
            injections.drop(name)
    return bool(due)


def mended(root: Root, names: list[str]) -> bool:
    return not unmended(root, names)


def unmended(root: Root, names: list[str]) -> list[str]:
    """Hosts whose fault is not known to have ended."""
    found = []
    for name in names:
        row = healing_of(root).injections.rows.get(name)
        answer = row and row["reverted_by"] and reach_of(root).answer(root, row["agent_id"], row["reverted_by"])
        if not answer or answer["status"] != "done":
            found.append(row["hostname"] if row else name)
    return found
