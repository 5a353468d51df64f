"""Judges a wave as a trial: the targets that are healed are compared with those that wait; only the draw tells them
apart (docs/adr/111). Hosts and moment are fixed when the wave opens. At the moment both sides are measured, and no
wave opens before. Pure. Must not: read the store, or bet."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice, takewhile
from typing import NamedTuple

from opsapp.healing.logic.lift import Shares

from .waves import DeedMember
from .world import Reading

MOST = 20  # of each side: those next to the cut, which the draw makes as good as all
ANSWERS_S = 5.0  # so long after the moment a measurement is waited for; who is silent is not known to be well


class ComparedHost(NamedTuple):
    """`well`: by its first measurement since the moment."""

    case_id: str
    went: bool
    well: bool | None = None


class WaveTrial(NamedTuple):
    """`due`: the next look."""

    deed: str
    rule_id: str
    opened_at: float
    moment: float
    hosts: tuple[ComparedHost, ...]
    due: float

    @property
    def is_whole(self) -> bool:
        return all(host.well is not None for host in self.hosts)

    def is_over(self, now: float) -> bool:
        return self.is_whole or now > self.moment + ANSWERS_S

    @property
    def shares(self) -> Shares | None:
        """None: nobody was heard."""
        if all(host.well is None for host in self.hosts):
            return None
        return Shares(*(_share([host for host in self.hosts if host.went is went]) for went in (True, False)))

    def moved(self, by: float) -> WaveTrial:
        return self._replace(opened_at=self.opened_at + by, moment=self.moment + by, due=self.due + by)


def compared(went: Iterable[DeedMember], line: Iterable[DeedMember]) -> tuple[ComparedHost, ...]:
    """Those on both sides of the cut that were ready since the same draw: of others the order says when they came.
    Nobody, where a side is empty."""
    members = list(went)
    if not members:
        return ()
    late = members[-1].late
    treated = [member for member in members if member.late == late][-MOST:]
    alone = list(islice(takewhile(lambda member: member.late == late, line), MOST))
    hosts = (*(ComparedHost(member.case_id, True) for member in treated),
             *(ComparedHost(member.case_id, False) for member in alone))  # fmt: skip
    return hosts if alone else ()


def looked_at(host: ComparedHost, reading: Reading, trial: WaveTrial) -> ComparedHost:
    """The first measurement since the moment counts, and none from long after."""
    at = reading.measured_at
    if host.well is not None or at is None or not trial.moment <= at <= trial.moment + ANSWERS_S:
        return host
    return host._replace(well=reading.verdict is False)


def _share(hosts: list[ComparedHost]) -> float:
    return sum(bool(host.well) for host in hosts) / len(hosts)
