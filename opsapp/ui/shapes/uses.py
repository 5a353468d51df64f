"""Says what uses a thing before the thing is deleted. The deletion takes nothing out of what uses it (a rule without
its last target would act everywhere): that finds nothing, or fails at this step and says why."""

from __future__ import annotations

from collections.abc import Iterable

from opsapp.automations.records import AutomationRow
from opsapp.healing.records import RuleRecord
from opsapp.maintenance.records import WindowRecord
from opsapp.ui.sentences import count, listed

FEW = 5  # so many are named, the rest is counted


def of_channel(automations: Iterable[AutomationRow]) -> list[str]:
    """`automations`, here and below: those that use it."""
    return _told(
        [row.name for row in automations],
        "automation sends to it and fails without it",
        "automations send to it and fail without it",
    )


def of_automation(automation_id: str, rules: Iterable[RuleRecord], automations: Iterable[AutomationRow]) -> list[str]:
    running = [rule.id for rule in rules if automation_id in rule.automations]
    made_of = [row.name for row in automations]
    return [
        *_told(running, "rule runs it and fails at that step", "rules run it and fail at that step"),
        *_told(made_of, "automation has to be changed first", "automations have to be changed first"),
    ]


def of_host(rules: list[str], automations: Iterable[AutomationRow]) -> list[str]:
    """`rules`: those that name it."""
    there = [row.name for row in automations]
    return [
        *_told(rules, "rule names it and finds nothing there", "rules name it and find nothing there"),
        *_told(there, "automation runs on it and fails without it", "automations run on it and fail without it"),
    ]


def of_monitor(monitor_id: str, windows: Iterable[WindowRecord]) -> list[str]:
    """Windows cover monitors by their ids."""
    covering = [window.name for window in windows if monitor_id in window.scope]
    return _told(covering, "window covers it and stays as it is", "windows cover it and stay as they are")


def _told(names: list[str], singular: str, plural: str) -> list[str]:
    if not names:
        return []
    return [f"{count(len(names), singular, plural)}: {listed(names, FEW)}."]
