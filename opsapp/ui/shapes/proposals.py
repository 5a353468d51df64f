"""What an assistant proposes, what exactly would be done, and what it would have done. The assistant's words are shown
as its, never as the service's."""

from __future__ import annotations

import json
from typing import NamedTuple

from opsapp.approvals.records import ApprovalRecord, PlanShown
from opsapp.assistants.engine import FiringInShort, HoldsNow, PastInShort
from opsapp.healing.records import NewRule, RuleStep, RuleTargets
from opsapp.ui.sentences import Word, count, place_of, sentence_of, span, target_words
from opsapp.wire.records import made


class Fact(NamedTuple):
    """One line of what exactly would be done."""

    name: str
    word: Word
    more: str = ""
    why: Word | str = ""  # the case that asked for it


class WouldFire(NamedTuple):
    at: int
    words: str


class PastOfProposal(NamedTuple):
    lines: tuple[str, ...]
    firings: tuple[WouldFire, ...]


def asker(record: ApprovalRecord) -> list[Fact]:
    """Whose words the reason is; nothing where a person or a rule asks."""
    about = record.assistant
    if about is None:
        return []
    program = f"{about.client}, " if about.client else ""
    return [Fact("Proposed by", Word(f"the assistant {about.name}", strong=True), f"{program}key of {about.username}")]


def facts(plan: PlanShown) -> list[Fact]:
    return _of_rule(made(NewRule, plan.rule)) if plan.rule is not None else _of_action(plan)


def _of_action(plan: PlanShown) -> list[Fact]:
    told = [Fact("Runs on", Word(plan.hostname or "", place_of("agent", plan.host or "")), "once")]
    told += [Fact("For", Word(target_words(plan.target)))] if plan.target != plan.hostname else []
    return [*told, Fact("While", Word(plan.condition, code=True))]


def _of_rule(rule: NewRule) -> list[Fact]:
    told = [Fact("Rule", Word(rule.id or "gets an id", strong=True), rule.severity)]
    told.append(Fact("When", Word(rule.condition, code=True), f"for {rule.hold}" if rule.hold else ""))
    told += [Fact("Does", Word(_step(step), code=True)) for step in rule.steps]
    targets = rule.targets or RuleTargets()
    named = [*targets.agents, *targets.monitors]
    told.append(Fact("For", Word(", ".join(named) or "every host and monitor that the condition fits")))
    level = Word(rule.initial_level)
    return [*told, Fact("Begins at", level, f"its trust may rise to {rule.trust_ceiling}")]


def _step(step: RuleStep) -> str:
    given = [value for value in step.params.values() if value is not None]
    return " ".join([step.action, *(value if isinstance(value, str) else json.dumps(value) for value in given)])


def what_if(record: ApprovalRecord) -> PastOfProposal | None:
    """None of a run: of what it would have done nothing is known."""
    if record.assistant is None or not record.assistant.whatif:
        return None
    known = made(PastInShort, record.assistant.whatif)
    firings = tuple(WouldFire(firing.at, _fired(firing)) for firing in reversed(known.firings))
    return PastOfProposal(tuple(_lines(known)), firings)


def _lines(known: PastInShort) -> list[str]:
    told = [_now(known.now)] if known.now else []
    if known.total is None:
        return [*told, sentence_of(known.why)]
    fired = f"In the last {span(known.until - known.since)} it would have fired {count(known.total, 'time')}"
    alone = known.over_by_itself
    told.append(f"{fired}, {alone} of them over without help." if alone is not None and known.total else f"{fired}.")
    told += [f"Stopped by {stop.by}: {count(stop.firings, 'time')}." for stop in known.stopped_by]
    if saved := known.expected_saved_minutes:
        told.append(f"Expected to save {saved.value:.0f} minutes ({saved.low:.0f} to {saved.high:.0f}).")
    return [*told, sentence_of(known.why)] if known.why else told


def _now(now: HoldsNow) -> str:
    unknown = f", and nobody knows on {now.unknown}" if now.unknown else ""
    return f"When it was proposed, the condition was true on {now.holds} and false on {now.false}{unknown}."


def _fired(firing: FiringInShort) -> str:
    lasted = f", for {span(firing.lasted_s)}" if firing.lasted_s is not None else ""
    return f"{target_words(firing.target)}{lasted}"
