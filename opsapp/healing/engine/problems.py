"""Problems: counted with every verified heal, opened with the last one that it takes, closed by a person or by quiet.
Opening and closing tell people, and are audited.

Must not: hold a rule back; the stages do that.
"""

from __future__ import annotations

from datetime import date, datetime, time
from typing import NamedTuple
from zoneinfo import ZoneInfo

from opsapp.audit.engine import THE_SERVICE, note
from opsapp.auth.resources import find_enabled
from opsapp.healing.config import HealingSettings, ProblemSettings
from opsapp.healing.logic.problems import ProblemFacts
from opsapp.healing.logic.rules import names_of
from opsapp.healing.records import ProblemRecord
from opsapp.healing.resources import healing_of
from opsapp.healing.resources.problems import RecurringProblem
from opsapp.lib.durations import whole
from opsapp.lib.jsontypes import JsonObject
from opsapp.lib.problems import Conflict, Invalid
from opsapp.notify.engine import tell
from opsapp.runtime.cluster import leases
from opsapp.runtime.node import Node, node_of
from opsapp.tree.damage import Damage
from opsapp.tree.root import Root
from opsapp.wire.spoken import spoken_target

from .context import PipelineContext

DAY = 86400.0
AT_ONCE = 500
NOTED = ("rule_id", "target", "state", "due", "owner", "note")


def seen(context: PipelineContext, rule_id: str, target: str) -> None:
    """What comes back is not quiet, whatever is done about it."""
    context.healing.problems.seen(rule_id, target, context.now)


def healed(context: PipelineContext, rule_id: str, target: str) -> None:
    problems = context.healing.problems
    settings = context.settings.problems
    recurrence = problems.healed(rule_id, target, context.now)
    heals = recurrence.since(context.now - settings.window_s)
    if heals < settings.heals or (rule_id, target) in problems.open_on:
        return
    due = None if settings.due_s is None else context.now + settings.due_s
    problem = problems.open(ProblemFacts(rule_id, target, context.now, due=due))
    _opened(context.root, problem, heals, settings, context.now)


def _opened(root: Root, problem: RecurringProblem, heals: int, settings: ProblemSettings, now: float) -> None:
    facts = problem.facts
    text = f"{_healed(facts, heals, settings)} A heal does not take the cause away: somebody has to look for it."
    _tell(root, problem, "heal.problem", "warning", f"{spoken_target(facts.target)}: healed again and again", text, now)
    note(root, THE_SERVICE, "healing.problem.open", problem.__name__, after=noted(problem))


def _close(root: Root, problem: RecurringProblem, facts: ProblemFacts, why: str, now: float) -> None:
    """Close the problem with the heals that it had at last, so that they are not counted again."""
    problems = healing_of(root).problems
    problems.keep(problem, facts._replace(heals=_heals(root, facts, now)))
    target = spoken_target(facts.target)
    text = f"Rule {facts.rule_id} on {target}: {why}."
    _tell(root, problem, "heal.problem_closed", "info", f"{target}: the problem is closed", text, now)


def _healed(facts: ProblemFacts, heals: int, settings: ProblemSettings) -> str:
    target = spoken_target(facts.target)
    return f"Rule {facts.rule_id} healed {target} {heals} times within {settings.window_s / DAY:g} days."


def _tell(root: Root, problem: RecurringProblem, kind: str, severity: str, title: str, text: str, now: float) -> None:
    key = f"problem:{problem.__name__}"
    ids = {"problem": problem.__name__, "rule": problem.facts.rule_id}
    tell(root, now, key=key, kind=kind, severity=severity, title=title, text=text, tags=("healing",), ids=ids)


def noted(problem: RecurringProblem) -> dict[str, str | float | None]:
    """Return what the audit record notes of the problem."""
    facts = problem.facts
    return {"title": f"{facts.rule_id} on {facts.target}", **{name: getattr(facts, name) for name in NOTED}}


def close_quiet(root: Root, now: float) -> None:
    leases.check(root, "healing")
    problems = healing_of(root).problems
    settings = node_of(root).config[HealingSettings].problems
    quiet = set(problems.quiet(now - settings.quiet_s))
    if not quiet:
        return
    for problem_id, problem in problems.items():
        if problem_id in quiet:
            before = noted(problem)
            why = f"it was quiet for {settings.quiet_s / DAY:g} days"
            _close(root, problem, problem.facts.becomes("closed", now), why, now)
            note(root, THE_SERVICE, "healing.problem.close", problem_id, before=before, after=noted(problem))


def purge(node: Node, before: float) -> None:
    """Problems that were closed before then, and heals that are too old; page by page."""
    while node.transact(lambda root: healing_of(root).problems.purge(before, AT_ONCE)):
        pass
    after = node.transact(_purge_heals, None)
    while after is not None:
        after = node.transact(_purge_heals, after)


def _purge_heals(root: Root, after: tuple[str, str] | None) -> tuple[str, str] | None:
    node = node_of(root)
    before = node.clock.now() - node.config[HealingSettings].problems.window_s
    return healing_of(root).problems.forget(before, after, AT_ONCE)


def change(root: Root, problem: RecurringProblem, values: JsonObject, by: str, now: float) -> None:
    if isinstance(values.get("due"), str):
        values = {**values, "due": _end_of(values["due"], node_of(root).config.timezone)}
    problems = healing_of(root).problems
    before = problem.facts
    after = before._replace(**{name: value for name, value in values.items() if name != "state"})
    after = after.becomes(values.get("state", before.state), now)
    if after.owner != before.owner and after.owner is not None and find_enabled(root, after.owner) is None:
        raise Invalid({"owner": "there is no such user"})
    if problems.open_on.get((after.rule_id, after.target), problem.__name__) != problem.__name__ and after.is_open:
        raise Conflict("There is a newer problem of this rule and target.", code="newer_problem")
    if before.is_open and not after.is_open:
        _close(root, problem, after, f"{by} closed it", now)
        return
    problems.keep(problem, after)
    if after.is_open and not before.is_open:
        problems.seen(after.rule_id, after.target, now)
        title = f"{spoken_target(after.target)}: the problem is open again"
        _tell(root, problem, "heal.problem", "warning", title, f"Rule {after.rule_id}: {by} opened it again.", now)


def give_back(root: Root, username: str, now: float) -> None:
    """Those of a user who was disabled or deleted stand on the overview again."""
    problems = healing_of(root).problems
    for problem in [problems[problem_id] for problem_id in problems.open_on.values()]:
        if problem.facts.owner == username:
            known = noted(problem)
            problems.keep(problem, problem.facts._replace(owner=None))
            note(root, THE_SERVICE, "healing.problem.update", problem.__name__, before=known, after=noted(problem))


def _heals(root: Root, facts: ProblemFacts, now: float) -> int:
    """A closed problem keeps those that it had."""
    problems = healing_of(root).problems
    if (facts.rule_id, facts.target) not in problems.open_on:
        return facts.heals
    window_s = node_of(root).config[HealingSettings].problems.window_s
    return problems.recurrence(facts.rule_id, facts.target).since(now - window_s)


class ProblemFilter(NamedTuple):
    """None: any. `target`: the whole name, or that of its host."""

    state: str | None
    owner: str | None
    rule_id: str | None
    target: str | None


def listing(root: Root, only: ProblemFilter) -> tuple[list[RecurringProblem], list[Damage]]:
    """Open ones first, then the newest; and which cannot be read."""
    problems, damaged = healing_of(root).problems.parted()
    fitting = [problem for problem in problems if _fits(problem.facts, only)]
    fitting.sort(key=lambda problem: (not problem.facts.is_open, -problem.facts.opened_at, problem.__name__))
    return fitting, damaged


def _fits(facts: ProblemFacts, only: ProblemFilter) -> bool:
    is_among = only.target is None or only.target in names_of(facts.target)
    same = only.state in (None, facts.state) and only.owner in (None, facts.owner)
    return is_among and same and only.rule_id in (None, facts.rule_id)


def _end_of(day: str, zone: str) -> float:
    return datetime.combine(date.fromisoformat(day), time(23, 59, 59), ZoneInfo(zone)).timestamp()


def _day(at: float, zone: str) -> str:
    return datetime.fromtimestamp(at, ZoneInfo(zone)).date().isoformat()


def shown(root: Root, problem: RecurringProblem, now: float) -> ProblemRecord:
    facts, node = problem.facts, node_of(root)
    settings = node.config[HealingSettings].problems
    seen_at = int(healing_of(root).problems.recurrence(facts.rule_id, facts.target).seen_at)
    return ProblemRecord(
        id=problem.__name__,
        rule_id=facts.rule_id,
        target=facts.target,
        heals=facts.heals if not facts.is_open else _heals(root, facts, now),
        window_s=settings.window_s,
        opened_at=int(facts.opened_at),
        due=whole(facts.due),
        due_day=None if facts.due is None else _day(facts.due, node.config.timezone),
        overdue=facts.is_overdue(now),
        owner=facts.owner,
        state=facts.state,
        note=facts.note,
        last_at=seen_at if facts.is_open else None,
        quiet_until=int(seen_at + settings.quiet_s) if facts.is_open else None,
        closed_at=whole(facts.closed_at),
    )
