"""Whether the targets that others depend on were measured since an alert, and are well.

Only what was asked for after the alert counts: what merely arrives then may have been measured before. Must not:
decide; stages do.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property

from opsapp.healing.logic.rules import part_of, target_of
from opsapp.healing.records import RuleRecord
from opsapp.wire.conditions import Condition

from .alerts import WatchedRule, watched_rules
from .inventory import Inventory, Member
from .readings import LiveReadings, Samples, instances, read

REPORT_TAKES_S = 2.0  # a report that nobody asked for was measured so long before it arrived, at most
UP = "up"


class Measurements:
    """The measurements for one transaction: each target is judged once."""

    def __init__(self, readings: LiveReadings, inventory: Inventory, rules: Iterable[RuleRecord], now: float):
        self.readings = readings
        self.inventory = inventory
        self._records = rules
        self.now = now
        self._verdicts: dict[tuple[str, str], bool] = {}

    @cached_property
    def _rules(self) -> list[WatchedRule]:
        return watched_rules(self._records)

    def unmeasured(self, target: str, since: float, subject: str | None) -> bool:
        """Something measures it, and has not since then. The one that raised the alert has."""
        others = [measuring for measuring in self.inventory.measuring(target) if measuring != subject]
        return any(not self._is_measured(measuring, since) for measuring in others)

    def well(self, target: str, since: float, subject: str | None) -> bool:
        """Measured since, and everything measured of it is well."""
        subjects = self.inventory.measuring(target)
        if not subjects or self.unmeasured(target, since, subject):
            return False
        return all(self._is_well(self.inventory.by_subject[measuring], target) for measuring in subjects)

    def _is_measured(self, subject: str, since: float) -> bool:
        """A report that was not compared with the rules yet does not count."""
        if subject in self.readings.unseen:
            return False
        if self.readings.checked.get(subject, float("-inf")) >= since:
            return True
        return subject.startswith("agent:") and self.readings.newest(subject) >= since + REPORT_TAKES_S

    def _is_well(self, member: Member, target: str) -> bool:
        key = (member.subject, target)
        if key not in self._verdicts:
            self._verdicts[key] = self._look(member, target)
        return self._verdicts[key]

    def _look(self, member: Member, target: str) -> bool:
        """A monitor: it is up. An agent: no rule about the target holds, and one at least is known not to."""
        samples = self.readings.samples(member.subject)
        if not member.is_agent:
            return samples.get("status", (None, 0.0))[0] == UP
        conditions = self._about(member, part_of(target), samples)
        verdicts = {read(samples, condition, self.now, member.interval).verdict for condition in conditions}
        return False in verdicts and True not in verdicts

    def _about(self, member: Member, part: str | None, samples: Samples) -> Iterator[Condition]:
        """About the host itself, or about a part of it."""
        for rule in self._rules:
            if rule.applies(member):
                bound = instances(rule.condition, member, samples)
                yield from (condition for condition in bound if part_of(target_of(member.name, condition)) == part)
