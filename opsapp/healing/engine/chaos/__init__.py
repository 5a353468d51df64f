"""Chaos: does the pipeline do what it should when things break? Rehearsed on a stage, or on hosts that are tagged so.

    overlay     a store over the store
    rehearsal   simulated hosts, a virtual clock, the real pipeline
    scenarios   the twelve, and what each expects
    injecting   faults on real hosts, and their end

Must not: write to the store in a rehearsal, or touch a host that is not tagged `chaos`.
"""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Any

from . import injecting
from .overlay import overlay
from .rehearsal import Rehearsal
from .scenarios import SCENARIOS, Scenario

if TYPE_CHECKING:
    from opsapp.runtime.node import Node

log = logging.getLogger(__name__)


def listed() -> list[dict[str, str]]:
    return [{"name": one.name, "description": one.description, "inject": one.inject} for one in SCENARIOS.values()]


def rehearse(node: Node, name: str) -> dict[str, Any]:
    """Outside any transaction: the scenario on a stage of its own. In a lane's thread, so that nothing waits for it."""
    return node.lane("chaos", 1).run(_rehearse, node, SCENARIOS[name])


def _rehearse(node: Node, scenario: Scenario) -> dict[str, Any]:
    started_at, began = int(node.clock.now()), time.perf_counter()
    with overlay(node.store.db) as database:
        stage = Rehearsal(node, database)
        try:
            scenario.play(stage)
            stage.expect_sound_ledger()
        except Exception as broken:
            log.exception("rehearsal broke scenario=%s", scenario.name)
            stage.expect("the pipeline goes on", "no error", type(broken).__name__)
    return result(scenario.name, True, started_at, time.perf_counter() - began, stage.expectations)


def provoke(node: Node, name: str) -> dict[str, Any]:
    """Outside any transaction: the scenario's fault on every agent tagged `chaos`."""
    started_at, began = int(node.clock.now()), node.clock.monotonic()
    found = injecting.perform(node, name, SCENARIOS[name].real)
    return result(name, False, started_at, node.clock.monotonic() - began, found)


def result(
    name: str, dry_run: bool, started_at: int, duration: float, expectations: list[dict[str, Any]]
) -> dict[str, Any]:
    passed = bool(expectations) and all(one["passed"] for one in expectations)
    return {
        "name": name,
        "dry_run": dry_run,
        "status": "passed" if passed else "failed",
        "started_at": started_at,
        "duration_s": round(duration, 3),
        "expectations": [
            {**one, "expected": _plain(one["expected"]), "actual": _plain(one["actual"])} for one in expectations
        ],
    }


def _plain(value: Any) -> Any:
    return sorted(value) if isinstance(value, set) else value
