"""Runs made of other runs: which comes next, what the whole came to, and that no automation contains itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Annotated, NamedTuple

from opsapp.wire.dataclass import frozen
from opsapp.wire.records import FormField, Most, SaidAs

from .params import ID, Params

DEEPEST = 10
GOOD = "done"
Used = Annotated[str, ID, SaidAs("automation_id"), FormField("Automation", "name", of="automation")]


class Step(NamedTuple):
    """Run this automation as this step; or, with no automation, end as `status`."""

    name: str | None
    automation_id: str | None
    status: str = ""
    reason: str | None = None


@frozen
class WorkflowStep:
    """A part of a workflow, and the steps that follow it."""

    id: Annotated[str, ID, FormField("Its name", hint="A short word, like backup")]
    automation_id: Used
    on_success: Annotated[str | None, ID, FormField("After success, start", clears=True)] = None
    on_failure: Annotated[str | None, ID, FormField("After failure, start", clears=True)] = None

    def ways(self) -> list[str]:
        return [name for name in (self.on_success, self.on_failure) if name]


@frozen
class CompositeParams(Params):
    automations: Annotated[tuple[Used, ...], Most(50, least=1), FormField("Automations, in order", "rows")]
    stop_on_failure: Annotated[bool, FormField("Stop when one fails", "flag")] = True

    @property
    def children(self) -> tuple[str, ...]:
        return self.automations

    def with_children(self, ids: Iterable[str]) -> CompositeParams:
        return replace(self, automations=tuple(ids))

    def first(self) -> Step:
        return self._step(0)

    def _step(self, at: int) -> Step:
        return Step(str(at), self.automations[at])

    def following(self, done: list[tuple[str, str]]) -> Step:
        at, status = int(done[-1][0]), done[-1][1]
        if status != GOOD and self.stop_on_failure:
            return Step(None, None, "failed", f"step {at + 1} ended {status}")
        if at + 1 < len(self.automations):
            return self._step(at + 1)
        bad = [str(int(name) + 1) for name, ended in done if ended != GOOD]
        return Step(None, None, "failed", "failed steps: " + ", ".join(bad)) if bad else Step(None, None, GOOD)


@frozen(kw_only=True)
class WorkflowParams(Params):
    start: Annotated[str | None, ID, FormField("First step", hint="Empty: the first of the list")] = None
    steps: Annotated[
        tuple[WorkflowStep, ...],
        Most(100, least=1),
        FormField("Steps", "rows", "Each step names the one that comes next. Empty: the workflow ends there."),
    ]

    @property
    def children(self) -> tuple[str, ...]:
        return tuple(step.automation_id for step in self.steps)

    def with_children(self, ids: Iterable[str]) -> WorkflowParams:
        steps = zip(self.steps, ids, strict=True)
        return replace(self, steps=tuple(replace(step, automation_id=automation_id) for step, automation_id in steps))

    def first(self) -> Step:
        return self._step(self.start or self.steps[0].id)

    def _named(self, name: str) -> WorkflowStep:
        return {step.id: step for step in self.steps}[name]

    def _step(self, name: str) -> Step:
        return Step(name, self._named(name).automation_id)

    def following(self, done: list[tuple[str, str]]) -> Step:
        name, status = done[-1]
        goes_to = self._named(name).on_success if status == GOOD else self._named(name).on_failure
        if goes_to:
            return self._step(goes_to)
        return Step(None, None, GOOD) if status == GOOD else Step(None, None, "failed", f"step {name} ended {status}")


def step_problems(params: WorkflowParams) -> dict[str, str]:
    """What is wrong with a workflow's steps among themselves, by field."""
    steps, wrong = params.steps, {}
    names = [step.id for step in steps]
    if len(set(names)) != len(names):
        wrong["steps"] = "two steps have the same id"
    if params.start and params.start not in names:
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
    """Whether `wanted` is a part of `start` at any depth."""
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
