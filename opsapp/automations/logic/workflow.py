"""Runs made of other runs: which comes next, what the whole came to, and that no automation contains itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from opsapp.lib.jsontypes import JsonObject

DEEPEST = 10
GOOD = "done"


class Step(NamedTuple):
    """What to do next: run this automation as this step; or, with no automation, end as `status`."""

    name: str | None
    automation_id: str | None
    status: str = ""
    reason: str | None = None


class WorkflowStep(NamedTuple):
    """A part of a workflow, and the steps that follow it."""

    id: str
    automation_id: str
    on_success: str | None = None
    on_failure: str | None = None

    def ways(self) -> list[str]:
        return [name for name in (self.on_success, self.on_failure) if name]


class Workflow(NamedTuple):
    steps: dict[str, WorkflowStep]
    start: str

    def step(self, name: str) -> Step:
        return Step(name, self.steps[name].automation_id)

    def following(self, done: list[tuple[str, str]]) -> Step:
        name, status = done[-1]
        goes_to = self.steps[name].on_success if status == GOOD else self.steps[name].on_failure
        if goes_to:
            return self.step(goes_to)
        return Step(None, None, GOOD) if status == GOOD else Step(None, None, "failed", f"step {name} ended {status}")


class Composite(NamedTuple):
    automations: list[str]
    stop_on_failure: bool
    start: str = "0"

    def step(self, name: str) -> Step:
        return Step(name, self.automations[int(name)])

    def following(self, done: list[tuple[str, str]]) -> Step:
        at, status = int(done[-1][0]), done[-1][1]
        if status != GOOD and self.stop_on_failure:
            return Step(None, None, "failed", f"step {at + 1} ended {status}")
        if at + 1 < len(self.automations):
            return self.step(str(at + 1))
        bad = [str(int(name) + 1) for name, ended in done if ended != GOOD]
        return Step(None, None, "failed", "failed steps: " + ", ".join(bad)) if bad else Step(None, None, GOOD)


def plan_of(kind: str, params: JsonObject) -> Composite | Workflow:
    """What a run is made of, from the params of its automation."""
    if kind == "composite":
        return Composite(list(params["automations"]), params.get("stop_on_failure", True))
    steps = _steps(params)
    return Workflow({step.id: step for step in steps}, params.get("start") or steps[0].id)


def _steps(params: JsonObject) -> list[WorkflowStep]:
    return [WorkflowStep(**{name: step.get(name) for name in WorkflowStep._fields}) for step in params["steps"]]


def first(kind: str, params: JsonObject) -> Step:
    plan = plan_of(kind, params)
    return plan.step(plan.start)


def following(kind: str, params: JsonObject, done: list[tuple[str, str]]) -> Step:
    """After these steps ({name, status} in their order), the last of which has just ended."""
    return plan_of(kind, params).following(done)


def step_problems(params: JsonObject) -> dict[str, str]:
    """What is wrong with a workflow's steps among themselves, by field."""
    steps, wrong = _steps(params), {}
    names = [step.id for step in steps]
    if len(set(names)) != len(names):
        wrong["steps"] = "two steps have the same id"
    if params.get("start") and params["start"] not in names:
        wrong["start"] = "is no step"
    for n, step in enumerate(steps):
        for field, name in (("on_success", step.on_success), ("on_failure", step.on_failure)):
            if name and name not in names:
                wrong[f"steps.{n}.{field}"] = "is no step"
    ways = {step.id: step.ways() for step in steps}
    if not wrong and any(contains(name, ways.__getitem__, name) for name in ways):
        wrong["steps"] = "lead in a circle"
    return wrong


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
