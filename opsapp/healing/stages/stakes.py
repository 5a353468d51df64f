"""What is at stake for a target at one decision: error budgets, and what people have said. Every decision asks here.
Must not: lower a level itself (`logic.stakes`)."""

from __future__ import annotations

from collections.abc import Collection

from opsapp.healing.logic.stakes import KINDS, OF_WINDOWS, Stake, of_budget
from opsapp.healing.logic.windows import ActiveWindow, touching
from opsapp.healing.records import RuleSettings
from opsapp.lib.zones import wall

from .case import CaseRecord
from .world import Host, World


def at_stake(case: CaseRecord, host: Host | None, world: World) -> tuple[Stake, ...]:
    """`host`: where it would be done; what holds for it counts too."""
    names = {*case.about.called, case.about.agent_id or "", *(() if host is None else _names(host))}
    return of_target(world.rules[case.rule_id], names, case.about.subject, world)


def of_target(rule: RuleSettings, names: Collection[str], subject: str | None, world: World) -> tuple[Stake, ...]:
    told = [_told(window) for window in touching(world.windows, names) if window.effect in OF_WINDOWS]
    budget = rule.budget
    spent = None if budget is None else of_budget(budget, world.budget(budget, subject, frozenset(names)))
    told += [] if spent is None else [spent]
    return tuple(sorted(told, key=lambda stake: KINDS.index(stake.kind)))


def _names(host: Host) -> tuple[str, ...]:
    return (host.agent_id, host.hostname, host.label)


def _told(window: ActiveWindow) -> Stake:
    said = OF_WINDOWS[window.effect] + (f" by {window.by}" if window.by else "")
    if window.ends is not None:
        said += f" until {wall(window.ends, window.zone)}"
    said += f" ({window.reason})" if window.reason else ""
    return Stake(window.effect, said, window.by, None if window.ends is None else int(window.ends))
