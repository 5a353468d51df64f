"""Suggestions out of what just happened. Each names its evidence, so that a dismissed one does not come back for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opsapp.healing.logic.rules import ineffective
from opsapp.healing.resources import Healing
from opsapp.healing.resources.ledger import held
from opsapp.healing.resources.suggestions import Suggestions
from opsapp.healing.stages import trust as governor
from opsapp.healing.stages.trust import Trust

RECURRING = 10
WEEK = 7 * 86400.0


def breaker_tripped(suggestions: Suggestions, rule_id: str, entry_id: int, now: float) -> None:
    suggestions.suggest(
        "circuit_breaker",
        "warning",
        f"Rule {rule_id} failed verification again and again and only notifies now: see ledger entry {entry_id}.",
        rule_id=rule_id,
        evidence=str(entry_id),
        now=now,
    )


def after_trigger(suggestions: Suggestions, trust: Trust, now: float) -> None:
    """A rule that only watches and would have fired often could do more, but only a person may let it."""
    triggers = governor.triggers_at_level(trust, now)
    if trust.current_level in ("observation", "dry-run") and triggers >= governor.TRIGGERS:
        suggestions.suggest(
            "trust_promotion",
            "info",
            f"Rule {trust.rule_id} at {trust.current_level} would have fired {triggers} times in 7 days.",
            rule_id=trust.rule_id,
            evidence=f"{trust.current_level}:{trust.since:.0f}",
            now=now,
        )


def after_outcome(healing: Healing, record: Mapping[str, Any], now: float) -> None:
    """Something was executed: does it come back all the time, does it help at all?"""
    suggestions, ledger = healing["suggestions"], healing["ledger"]
    rule_id, action, condition = record["rule_id"], record["action_type"], record["condition"]
    verified, total = ledger.statistics(action, condition)
    if ineffective(verified, total):
        suggestions.suggest(
            "low_effectiveness",
            "warning",
            f"{action} resolved {condition!r} in {verified} of {total} cases: the step is skipped from now on.",
            rule_id=rule_id,
            evidence=f"{action}|{condition}",
            now=now,
        )
    heals = _heals_within(healing, rule_id, record["target"], now - WEEK)
    if heals >= RECURRING:
        suggestions.suggest(
            "recurring_issue",
            "warning",
            f"{record['target']} was healed by {rule_id} {heals} times within 7 days: look for the cause.",
            rule_id=rule_id,
            evidence=f"{record['target']}:{int(now // WEEK)}",
            now=now,
        )


def _heals_within(healing: Healing, rule_id: str, target: str, since: float) -> int:
    """Executed heals of a rule on a target, counted no further than it matters."""
    index = held(healing["ledger"].by_both, (rule_id, target))
    found = 0
    for entry_id in index.newest(0, 10 * RECURRING) if index else ():
        fields = healing["ledger"].entries[entry_id].fields
        if fields["created_at"] < since:
            break
        found += fields["executed"]
    return found
