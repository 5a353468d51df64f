"""One outage, one deed: its targets are healed in waves, and the next wave waits for the verdict of the one before.

A deed is what one rule does about one outage. Who goes first is drawn by the keyed coin of each case. The deed stops at
the first heal that failed or made something worse, and where nobody can tell what a wave has come to. Pure: the engine
keeps deeds, and asks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple, TypeVar

from opsapp.healing.logic.waves import WaveSizes

from .attempt import FAILED
from .case import AwaitingCase, CaseRecord, PlanningCase
from .moves import EndCase, JoinDeed
from .trust import SAME_OUTAGE_S
from .world import World

STOPPED = "wave_stopped"  # how the reason begins of what was withdrawn because its deed has stopped
WELL, HARM, UNKNOWN, LEFT = "well", "harm", "unknown", "left"  # LEFT: nothing was done about it
LOOK_S = 60.0  # how often a case is looked at that waits for the verdict of a wave
GATHER_LOOK_S = 1.0  # how often, while others of its outage are on their way
GATHER_S = 60.0  # so long a request for approval waits at most for others of its outage that are on their way
Deciding = TypeVar("Deciding", PlanningCase, AwaitingCase)


class DeedMember(NamedTuple):
    """A case of the deed. `ready`: it lacks nothing but its turn. `wave` 0: its turn has not come."""

    case_id: str
    target: str
    draw: float
    late: bool = False
    ready: bool = False
    wave: int = 0
    verdict: str = ""

    @property
    def waits(self) -> bool:
        return not self.wave and not self.verdict

    @property
    def acts(self) -> bool:
        return bool(self.wave) and not self.verdict


class Deed(NamedTuple):
    """What a rule does about an outage that began at `began_at`. `wave` 0: nobody has gone yet. `begun`: something was
    done for it. `told`: people have heard that it was stopped. `ended`: every member has its verdict."""

    id: str
    rule_id: str
    began_at: float
    members: Mapping[str, DeedMember] = {}
    wave: int = 0
    stopped: str = ""
    begun: bool = False
    told: bool = False
    ended: bool = False

    @property
    def is_shared(self) -> bool:
        return len(self.members) > 1

    def of(self, *verdicts: str) -> list[DeedMember]:
        return [member for member in self.members.values() if member.verdict in verdicts]

    def in_wave(self) -> list[DeedMember]:
        """Whoever goes in the present wave."""
        return [member for member in self.members.values() if self.wave and member.wave == self.wave]

    def waiting(self) -> list[DeedMember]:
        return [member for member in self.members.values() if member.waits]

    def having(self, member: DeedMember) -> Deed:
        return self._replace(members={**self.members, member.case_id: member})


class WaveTurn(NamedTuple):
    """What stands between a case and its act for the sake of its outage: nothing, unless it `waits` for its wave.
    `asks`: people are asked about its deed right now. `stopped`: why its deed goes no further."""

    waits: bool = False
    asks: bool = False
    stopped: str = ""


def joins(deed: Deed, case: CaseRecord) -> bool:
    """Whether a case is of the outage of this deed: it began within 120 s of it, or comes while a heal of it is at
    work. A target that comes again is another outage."""
    under_way = deed.begun and not deed.ended and not deed.stopped
    if not under_way and abs(case.opened_at - deed.began_at) > SAME_OUTAGE_S:
        return False
    return all(member.target != case.target for member in deed.members.values())


def joined(deed: Deed, case: CaseRecord, draw: float, *, ready: bool) -> Deed:
    """With this case. What comes while waves are under way goes after all others."""
    known = deed.members.get(case.id)
    member = known or DeedMember(case.id, case.target, draw, late=deed.wave > 0)
    member = member._replace(ready=member.ready or ready)
    return deed if member == known and not deed.ended else deed.having(member)._replace(ended=False)


def before_turn(case: Deciding, turn: WaveTurn, world: World, *, ready: bool) -> JoinDeed | EndCase | None:
    """What a case does that would act, or that people would be asked about; None: it goes on."""
    if case.tried or case.manual:
        return None  # a further step: its case has had its turn
    if turn.stopped:
        return stopped(case, turn)
    if case.wave or not turn.waits or (turn.asks and not ready):
        return None
    return JoinDeed(replace(case, waits_from=case.waits_from or world.now), world.now + LOOK_S, ready)


def stopped(case: Deciding, turn: WaveTurn) -> EndCase | None:
    """What a case comes to whose deed goes no further before it has done anything."""
    return EndCase(case, "withdrawn", f"{STOPPED}: {turn.stopped}") if turn.stopped and not case.tried else None


def verdict_of(case: CaseRecord, outcome: str, *, worse: bool) -> str:
    """What the end of a case, or of a step that made something worse, says of what its deed does."""
    if not case.tried:
        return LEFT
    if worse or case.harmed or outcome in (*FAILED, "skipped"):
        return HARM
    return WELL if outcome == "verified" else UNKNOWN


def judged(deed: Deed, case_id: str, verdict: str, reason: str) -> Deed:
    """With the verdict about a member, which may stop the deed. Nobody goes on blindly: a wave of which at least half
    is unknown stops it as a failure does."""
    member = deed.members.get(case_id)
    if member is None or member.verdict:
        return deed
    deed = deed.having(member._replace(verdict=verdict))
    if deed.stopped:
        return deed
    if verdict == HARM:
        return deed._replace(stopped=f"{member.target}: {reason}")
    wave = deed.in_wave()
    unknown = [other for other in wave if other.verdict == UNKNOWN]
    well = [other for other in wave if other.verdict == WELL]
    if unknown and len(unknown) >= len(well) and not any(other.acts for other in wave):
        return deed._replace(stopped=f"nobody can tell whether it has helped {unknown[0].target}")
    return deed


def next_wave(deed: Deed, sizes: WaveSizes) -> Deed:
    """With the next wave, if its turn has come. A wave in which nobody was acted on is drawn again."""
    wave = deed.in_wave()
    if deed.stopped or any(member.acts for member in wave):
        return deed
    waiting = sorted((member for member in deed.waiting() if member.ready), key=_order)
    if not waiting:
        return deed
    was_done = any(member.verdict != LEFT for member in wave)
    number = deed.wave + 1 if was_done or not deed.wave else deed.wave
    total = len(deed.members) - len(deed.of(LEFT))
    for member in waiting[: sizes.of_wave(number, total, len(waiting))]:
        deed = deed.having(member._replace(wave=number))
    return deed._replace(wave=number)


def _order(member: DeedMember) -> tuple[bool, float, str]:
    return member.late, member.draw, member.case_id


def is_over(deed: Deed) -> bool:
    return all(member.verdict for member in deed.members.values())
