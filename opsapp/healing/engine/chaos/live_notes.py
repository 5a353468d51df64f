"""What is live now and would make real hosts fare otherwise than the simulated ones: said beside a result, in words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from opsapp.healing.config import HealingSettings
from opsapp.healing.engine.pipeline import world_now
from opsapp.healing.logic import brake
from opsapp.healing.logic.windows import ActiveWindow
from opsapp.lib.jsontypes import JsonObject
from opsapp.tree.root import Root

EFFECTS = {"suppress": "suppresses healing", "queue": "queues healing until it ends"}
ELSEWHERE = ("rules", "dependencies", "default_rules", "protected", "chaos")  # no part of them is used in a rehearsal


def notes(root: Root) -> list[str]:
    """Kill switch, windows, brake."""
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
    """Settings that are not the document's: a scenario that fails may fail for their sake."""
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
