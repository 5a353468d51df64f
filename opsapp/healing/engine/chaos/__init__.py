"""Chaos: does the pipeline do what it should when things break? Rehearsed on a stage, or on hosts that are tagged so.

    rehearsal   an empty store, simulated hosts, a virtual clock, the real pipeline
    scenarios   the twelve, and what each expects
    faults   faults on real hosts, and their end

Must not: write to the live store in a rehearsal, or touch a host that is not tagged `chaos`.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from dataclasses import asdict, replace
from typing import Any, Literal

from opsapp.healing.config import HealingSettings, HoldoutSettings
from opsapp.healing.engine.pipeline import world_now
from opsapp.healing.logic import brake
from opsapp.healing.logic.windows import ActiveWindow
from opsapp.healing.whatif import ChaosResult, Expectation, ScenarioRecord
from opsapp.lib.jsontypes import JsonObject
from opsapp.runtime.config import Configuration
from opsapp.runtime.node import Node
from opsapp.tree.root import Root

from . import faults
from .rehearsal import Rehearsal, VirtualClock, empty_store
from .scenarios import SCENARIOS, Scenario

log = logging.getLogger(__name__)

EFFECTS = {"suppress": "suppresses healing", "queue": "queues healing until it ends"}
ELSEWHERE = ("rules", "dependencies", "default_rules", "protected", "chaos")  # no part of them is used in a rehearsal
Settings = Literal["live", "default"]  # whose a rehearsal uses
LIVE: Settings = "live"


def listed() -> list[ScenarioRecord]:
    return [ScenarioRecord(scenario.name, scenario.description, scenario.inject) for scenario in SCENARIOS.values()]


def rehearse(node: Node, name: str, settings: Settings = LIVE) -> ChaosResult:
    """Outside any transaction, in a lane's thread."""
    now_live = node.transact(live_notes)
    return node.lane("chaos", 1).run(_rehearse, node, SCENARIOS[name], settings, now_live)


def _without_luck(settings: HealingSettings) -> HealingSettings:
    """No case of a rehearsal is left alone: how long it lasts would be chance."""
    return replace(settings, holdout=HoldoutSettings(share=0))


def _rehearse(node: Node, scenario: Scenario, settings: Settings, notes: list[str]) -> ChaosResult:
    started_at, began = int(node.clock.now()), time.perf_counter()
    documented = Configuration()
    config = documented if settings == "default" else node.config
    config = config.having(_without_luck(config[HealingSettings]))
    clock = VirtualClock(node.clock.now())
    with empty_store(node, clock, config) as own:
        stage = Rehearsal(own, clock)
        try:
            scenario.play(stage)
            stage.expect_sound_ledger()
        except Exception as broken:
            log.exception("rehearsal broke scenario=%s", scenario.name)
            stage.expect("the pipeline goes on", "no error", f"{type(broken).__name__}: {broken}")
    notes = [*notes, *changed(config[HealingSettings], _without_luck(documented[HealingSettings]))]
    duration = time.perf_counter() - began
    return result(scenario.name, True, started_at, duration, stage.expectations, settings, notes)


def provoke(node: Node, name: str) -> ChaosResult:
    """Outside any transaction."""
    started_at, began = int(node.clock.now()), node.clock.monotonic()
    notes = node.transact(live_notes)
    expectations = faults.perform(node, name, SCENARIOS[name].real)
    return result(name, False, started_at, node.clock.monotonic() - began, expectations, LIVE, notes)


def result(
    name: str,
    dry_run: bool,
    started_at: int,
    duration: float,
    expectations: list[Expectation],
    settings: Settings,
    notes: list[str],
) -> ChaosResult:
    passed = bool(expectations) and all(expectation.passed for expectation in expectations)
    status: Literal["passed", "failed"] = "passed" if passed else "failed"
    told = tuple(expectations), tuple(notes)
    return ChaosResult(name, dry_run, settings, status, started_at, round(duration, 3), *told)


# -- what is live now and would make real hosts fare otherwise than the simulated ones ---------------------------------


def live_notes(root: Root) -> list[str]:
    world, told = world_now(root), []
    if world.paused:
        told.append("Healing is paused now: on real hosts nothing is done until it is resumed.")
    told += [_window(window) for window in world.windows]
    pulled = brake.pulled(world.load("", "")._replace(rule=0), world.settings.brake)
    if pulled:
        told.append(f"The brake is on now ({pulled}): on real hosts everything only notifies.")
    return told


def _window(window: ActiveWindow) -> str:
    scope = "every target" if window.targets is None else f"{len(window.targets)} of the targets"
    does = EFFECTS.get(window.effect, f"limits every rule to {window.effect}")
    return f"The window {window.reason or window.id} is on now: on real hosts it {does} for {scope}."


def changed(settings: HealingSettings, documented: HealingSettings) -> list[str]:
    """A scenario may fail for the sake of settings that differ from the document's."""
    differences = _differences(asdict(settings), asdict(documented))
    return [f"The setting healing.{path} is {value}; the default is {usual}." for path, value, usual in differences]


def _differences(
    settings: JsonObject, documented: JsonObject, above: tuple[str, ...] = ()
) -> Iterator[tuple[str, Any, Any]]:
    for name, usual in sorted(documented.items()):
        value = settings[name]
        if not above and name in ELSEWHERE:
            continue
        if isinstance(usual, dict):
            yield from _differences(value, usual, (*above, name))
        elif value != usual:
            yield ".".join((*above, name)), value, usual
