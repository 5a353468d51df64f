"""Suggestions from what just happened. The same evidence makes no second one."""

from __future__ import annotations

from opsapp.healing.config import HealingSettings, PromotionSettings
from opsapp.healing.logic import effectiveness
from opsapp.healing.logic.rules import names_of
from opsapp.healing.resources import Healing
from opsapp.healing.resources.ledger import held
from opsapp.healing.resources.suggestions import Suggestions
from opsapp.healing.stages import trust as governor
from opsapp.healing.stages.ledger import LedgerRecord
from opsapp.healing.stages.trust import LevelChange, Trust

DEMOTED = {  # by cause: what a suggestion says of the rule
    governor.BREAKER: "failed several times in a row within a short time and only notifies now",
    governor.BAD: "helps too seldom and asks for approval now",
    governor.NO_LIFT: "hardly helps and asks for approval now",
    governor.NEEDLESS: "may have become needless and asks for approval now",
}


def demoted(suggestions: Suggestions, change: LevelChange, why: str, evidence: str, now: float) -> None:
    suggestions.suggest(
        "circuit_breaker",
        "warning",
        f"Rule {change.rule_id} {DEMOTED[change.cause]}: {why}.",
        rule_id=change.rule_id,
        evidence=evidence,
        now=now,
    )


def after_trigger(suggestions: Suggestions, trust: Trust, promotion: PromotionSettings, now: float) -> None:
    """It could do more, but only a person may allow it."""
    triggers = governor.triggers_at_level(trust, now, promotion)
    if trust.current_level in ("observation", "dry-run") and triggers >= promotion.triggers:
        suggestions.suggest(
            "trust_promotion",
            "info",
            f"Rule {trust.rule_id} at {trust.current_level} would have fired {triggers} times in "
            f"{governor.in_days(promotion)}.",
            rule_id=trust.rule_id,
            evidence=f"{trust.current_level}:{trust.since:.0f}",
            now=now,
        )


def after_outcome(healing: Healing, record: LedgerRecord, settings: HealingSettings, now: float) -> None:
    """Does the problem come back again and again, and does the action help at all?"""
    suggestions, ledger = healing.suggestions, healing.ledger
    rule_id, action, condition = record.rule_id, record.action_type, record.condition
    own, fleet = ledger.history(action, condition, record.target)
    doubt = effectiveness.against(own, fleet, now, settings.skip)
    if doubt:
        host = names_of(record.target)[-1]
        suggestions.suggest(
            "low_effectiveness",
            "warning",
            f"{action} against {condition!r} is skipped on {host} from now on: {doubt}.",
            rule_id=rule_id,
            evidence=f"{action}|{condition}|{host}",
            now=now,
        )
    recurrence = settings.recurrence
    heals = _heals_within(healing, rule_id, record.target, now - recurrence.window_s, recurrence.heals)
    if heals >= recurrence.heals:
        suggestions.suggest(
            "recurring_issue",
            "warning",
            f"{record.target} was healed by {rule_id} {heals} times within "
            f"{recurrence.window_s / 86400:g} days: look for the cause.",
            rule_id=rule_id,
            evidence=f"{record.target}:{int(now // recurrence.window_s)}",
            now=now,
        )


def _heals_within(healing: Healing, rule_id: str, target: str, since: float, enough: int) -> int:
    index = held(healing.ledger.by_both, (rule_id, target))
    heals = 0
    for record in healing.ledger.records(index.newest(0, 10 * enough) if index else ()):
        if record.created_at < since:
            break
        heals += record.executed
    return heals
