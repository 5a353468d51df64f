"""Runs made of other runs: which comes next, what the whole came to, and that no automation contains itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

DEEPEST = 10
GOOD = "done"


class Step(NamedTuple):
    """What to do next: run this automation as this step; or, with no automation, end as `status`."""

    name: str | None
    automation_id: str | None
    status: str = ""
    reason: str | None = None


def first(kind: str, params: Mapping[str, Any]) -> Step:
    if kind == "composite":
        return Step("0", params["automations"][0])
    return _step(params, params.get("start") or params["steps"][0]["id"])


def following(kind: str, params: Mapping[str, Any], done: list[tuple[str, str]]) -> Step:
    """After these steps ({name, status} in their order), the last of which has just ended."""
    name, status = done[-1]
    if kind == "composite":
        return _next_of_list(params, done, int(name), status)
    steps = {step["id"]: step for step in params["steps"]}
    goes_to = steps[name].get("on_success" if status == GOOD else "on_failure")
    if goes_to:
        return _step(params, goes_to)
    return Step(None, None, GOOD) if status == GOOD else Step(None, None, "failed", f"step {name} ended {status}")


def _step(params: Mapping[str, Any], name: str) -> Step:
    return Step(name, next(step["automation_id"] for step in params["steps"] if step["id"] == name))


def _next_of_list(params: Mapping[str, Any], done: list[tuple[str, str]], at: int, status: str) -> Step:
    if status != GOOD and params.get("stop_on_failure", True):
        return Step(None, None, "failed", f"step {at + 1} ended {status}")
    if at + 1 < len(params["automations"]):
        return Step(str(at + 1), params["automations"][at + 1])
    bad = [int(name) + 1 for name, how in done if how != GOOD]
    if not bad:
        return Step(None, None, GOOD)
    return Step(None, None, "failed", "failed steps: " + ", ".join(map(str, bad)))


def step_problems(params: Mapping[str, Any]) -> dict[str, str]:
    """What is wrong with a workflow's steps among themselves, by field."""
    names = [step["id"] for step in params["steps"]]
    wrong = {}
    if len(set(names)) != len(names):
        wrong["steps"] = "two steps have the same id"
    if params.get("start") and params["start"] not in names:
        wrong["start"] = "is no step"
    for n, step in enumerate(params["steps"]):
        for way in ("on_success", "on_failure"):
            if step.get(way) and step[way] not in names:
                wrong[f"steps.{n}.{way}"] = "is no step"
    if not wrong and _circle(params):
        wrong["steps"] = "lead in a circle"
    return wrong


def _circle(params: Mapping[str, Any]) -> bool:
    ways = {
        step["id"]: [step[way] for way in ("on_success", "on_failure") if step.get(way)] for step in params["steps"]
    }
    return any(contains(name, lambda each: ways[each], name) for name in ways)


def contains(start: str, parts: Callable[[str], Iterable[str]], wanted: str) -> bool:
    """Whether `wanted` is among the parts of `start`, or of its parts, at any depth."""
    seen: set[str] = set()
    waiting = list(parts(start))
    while waiting:
        name = waiting.pop()
        if name == wanted:
            return True
        if name not in seen:
            seen.add(name)
            waiting += parts(name)
    return False


def depth(start: Iterable[str], parts: Callable[[str], Iterable[str]]) -> int:
    """How many levels of automations there are below; more than DEEPEST is not counted further."""
    level, levels = set(start), 0
    while level and levels <= DEEPEST:
        levels += 1
        level = {part for name in level for part in parts(name)}
    return levels
