"""Causes by intervention: when a parent alone was healed, its children that are down come back with it, or do not.

A learned edge that does not hold falls out; one that a person wrote becomes a suggestion.
"""

from __future__ import annotations

from collections.abc import Iterator

from opsapp.audit.engine import THE_SERVICE, note
from opsapp.healing.answers import SuggestionAbout
from opsapp.healing.logic import edges, survival
from opsapp.healing.logic.rules import names_of
from opsapp.healing.resources.edges import Edge, EdgeBook, EdgeTrial
from opsapp.notify.engine import tell
from opsapp.wire.records import plain

from .context import PipelineContext

AT_ONCE, LOOK_S = 200, 5.0


def healed(context: PipelineContext, parent: str) -> None:
    """Children that are down, and hang on nothing else that is, are followed."""
    graph, failing = context.world.graph, context.world.failing
    window_s = context.settings.edges.window_s
    for node in graph.nodes.values():
        if parent not in node.depends_on or node.target not in failing:
            continue
        others = graph.ancestors(node.target).keys() - {parent}
        if others.isdisjoint(failing):
            trial = EdgeTrial(node.target, parent, context.now, context.now + window_s)
            context.edges.follow(trial, context.now + LOOK_S)


def acts(context: PipelineContext, child: str) -> None:
    """Its parent's heal did not bring it back."""
    for trial in context.edges.of_child(child):
        _judge(context, trial, came_back=False)


def look(context: PipelineContext) -> None:
    for trial in context.edges.ready(context.now, AT_ONCE):
        if trial.parent not in context.world.graph.parents(trial.child) or _meddled(context, trial):
            context.edges.drop((trial.child, trial.parent))
        elif context.world.well(trial.child, trial.healed_at, None):
            _judge(context, trial, came_back=True)
        elif context.now < trial.ends_at:
            _look_again(context, trial)
        elif context.world.unmeasured(trial.child, trial.healed_at, None):
            context.edges.drop((trial.child, trial.parent))  # nobody can say
        else:
            _judge(context, trial, came_back=trial.child not in context.world.failing)


def _look_again(context: PipelineContext, trial: EdgeTrial) -> None:
    context.measure_above((trial.child,))
    context.edges.follow(trial, context.now + LOOK_S)


def _meddled(context: PipelineContext, trial: EdgeTrial) -> bool:
    """Something else was done meanwhile that may have brought it back."""
    host = names_of(trial.child)[-1]
    heals = (heal for heal in context.healing.acts(context.now) if heal.at > trial.healed_at)
    if any(names_of(heal.target)[-1] == host for heal in heals):
        return True
    subjects = context.inventory.measuring(trial.child)
    members = (context.inventory.by_subject[subject] for subject in subjects)
    return any(
        context.fleet.intervened(context.root, member.subject, member.agent_id, trial.healed_at) is not None
        for member in members
    )


def _judge(context: PipelineContext, trial: EdgeTrial, *, came_back: bool) -> None:
    book: EdgeBook = context.edges
    edge, half_life_s = (trial.child, trial.parent), context.settings.edges.half_life_s
    book.drop(edge)
    alone = _alone(context, trial)
    belief = edges.judged(book.belief(edge, context.now), came_back, alone, context.now, half_life_s)
    book.beliefs[edge] = belief
    sure = edges.confidence(belief, context.now, half_life_s)
    if sure < context.settings.edges.least:
        _falls_out(context, edge, sure, belief.stayed)


def _alone(context: PipelineContext, trial: EdgeTrial) -> float | None:
    """The share of its failures that are over by themselves within the window, where enough is known."""
    curves = [
        survival.curve(durations) for durations in _durations(context, trial) if len(durations) >= survival.ENOUGH
    ]
    return max((1 - survival.share_at(curve, trial.ends_at - trial.healed_at) for curve in curves), default=None)


def _durations(context: PipelineContext, trial: EdgeTrial) -> Iterator[tuple[survival.Duration, ...]]:
    rules = {rule_id for case in context.book.on_target(trial.child) for rule_id in case.events}
    for rule_id in rules:
        durations = context.trials.durations.get(rule_id)
        if durations is not None:
            yield durations.alone


def _falls_out(context: PipelineContext, edge: Edge, sure: float, stayed: int) -> None:
    child, parent = edge
    message = f"{child} stayed down {stayed} times when only {parent} was healed"
    learned, about = edge in context.edges.learned, SuggestionAbout(child, parent, confidence=round(sure, 4))
    if not learned or not context.healing.dependencies.remove_edge(child, parent):
        context.healing.suggestions.suggest(
            "dependency_doubt",
            "warning",
            f"{message}: it is only {sure:.0%} sure that it depends on it. Take the dependency out?",
            evidence=f"{child}|{parent}|{stayed // 10}",
            now=context.now,
            about=about,
        )
        return
    context.edges.forget(edge)
    note(context.root, THE_SERVICE, "healing.dependencies.remove", "dependencies", before=plain(about))
    tell(context.root, context.now, key=f"edge:{child}|{parent}", kind="heal.dependency", severity="info",
         title=f"{child} does not depend on {parent}", text=f"{message}: the learned dependency is taken out.",
         tags=("healing",))  # fmt: skip
