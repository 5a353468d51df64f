"""Heals the targets of one outage in waves, each of which waits for the verdict of the one before. What one rule does
about one outage is a deed. Each case's keyed coin draws who goes first. A deed stops at the first heal that failed or
did harm, and where nobody can tell. Pure: the engine keeps deeds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import islice
from typing import NamedTuple

from opsapp.healing.logic.waves import WaveSizes
from opsapp.wire.spoken import spoken_target

from .attempt import FAILED
from .case import BeforeAct, CaseRecord
from .moves import EndCase, JoinDeed
from .trust import SAME_OUTAGE_S
from .world import World

STOPPED = "wave_stopped"  # how the reason begins of what was withdrawn because its deed has stopped
WELL, HARM, UNKNOWN, LEFT = "well", "harm", "unknown", "left"  # LEFT: nothing was done about it
LOOK_S = 60.0  # how often a case is looked at that waits for the verdict of a wave
GATHER_LOOK_S = 1.0  # how often, while others of its outage are on their way
GATHER_S = 60.0  # so long a request for approval waits at most for others of its outage that are on their way
KEPT_WAVES = 20  # that are over, of a deed


class DeedMember(NamedTuple):
    """`ready`: it lacks only its turn. `late`: draws by then. `wave` 0: no turn yet."""

    case_id: str
    target: str
    draw: float
    late: int = 0
    ready: bool = False
    wave: int = 0
    verdict: str = ""
    asked: bool = False

    @property
    def waits(self) -> bool:
        return not self.wave and not self.verdict

    @property
    def order(self) -> tuple[int, float, str]:
        return self.late, self.draw, self.case_id


class Verdicts(NamedTuple):
    well: int = 0
    harm: int = 0
    unknown: int = 0
    left: int = 0

    def added(self, verdict: str) -> Verdicts:
        return self._replace(**{verdict: getattr(self, verdict) + 1})


class PastWave(NamedTuple):
    """A wave that is over."""

    number: int
    hosts: int
    ends: Verdicts


class Deed(NamedTuple):
    """Counts; its members stand beside it, so that a step costs the same for thousands. `wave` 0: nobody has gone.
    `begun`: something was done. `told`: people know that it stopped. `ended`: every member has its verdict. `waiting`:
    without a turn; `hosts`: in the present wave, with the verdicts `present`; `ends`: of all. `unsure`: the first
    target of the wave that nobody can tell of. `draws`: redrawn waves included. `trial`: the present wave's, until it
    is judged."""

    id: str
    rule_id: str
    began_at: float
    members: int = 0
    wave: int = 0
    stopped: str = ""
    begun: bool = False
    told: bool = False
    ended: bool = False
    waiting: int = 0
    hosts: int = 0
    present: Verdicts = Verdicts()
    ends: Verdicts = Verdicts()
    unsure: str = ""
    past: tuple[PastWave, ...] = ()
    draws: int = 0
    trial: str = ""

    @property
    def late(self) -> int:
        """Older versions counted waves."""
        return max(self.draws, self.wave)

    @property
    def waves(self) -> tuple[PastWave, ...]:
        """The past waves with the present one."""
        return (*self.past, PastWave(self.wave, self.hosts, self.present)) if self.wave else ()

    @property
    def is_shared(self) -> bool:
        return self.members > 1

    @property
    def acting(self) -> int:
        """How many of the present wave have no verdict yet."""
        return self.hosts - sum(self.present)

    @property
    def is_over(self) -> bool:
        return sum(self.ends) == self.members


class DeedChange(NamedTuple):
    """Members: those that are not what they were."""

    deed: Deed
    members: tuple[DeedMember, ...] = ()


class WaveTurn(NamedTuple):
    """`asks`: people are asked about its deed right now. `stopped`: why that goes no further."""

    waits: bool = False
    asks: bool = False
    stopped: str = ""


def joins(deed: Deed, case: CaseRecord) -> bool:
    """Whether a case may be of this outage: it began within 120 s, or comes while a heal is at work."""
    under_way = deed.begun and not deed.ended and not deed.stopped
    return under_way or abs(case.opened_at - deed.began_at) <= SAME_OUTAGE_S


def joined(deed: Deed, known: DeedMember | None, case: CaseRecord, draw: float, *, ready: bool) -> DeedChange:
    """What comes, or is agreed to, between waves goes after all others."""
    member = known or DeedMember(case.id, case.target, draw, late=deed.late)
    if ready and not member.ready:
        member = member._replace(ready=True, late=deed.late)
    if known is None:
        deed = deed._replace(members=deed.members + 1, waiting=deed.waiting + 1, ended=False)
    return DeedChange(deed, () if member == known else (member,))


def before_turn(case: BeforeAct, turn: WaveTurn, world: World, *, ready: bool) -> JoinDeed | EndCase | None:
    """None: it goes on."""
    if case.tried or case.manual:
        return None  # a further step: its case has had its turn
    if turn.stopped:
        return stopped(case, turn)
    if case.wave or not turn.waits or (turn.asks and not ready):
        return None
    return JoinDeed(replace(case, waits_from=case.waits_from or world.now), world.now + LOOK_S, ready)


def stopped(case: BeforeAct, turn: WaveTurn) -> EndCase | None:
    """Ends the case of a stopped deed before it has done anything."""
    return EndCase(case, "withdrawn", f"{STOPPED}: {turn.stopped}") if turn.stopped and not case.tried else None


def verdict_of(case: CaseRecord, outcome: str, *, worse: bool) -> str:
    """The verdict of a case's end, or of a step that did harm."""
    if not case.tried:
        return LEFT
    if worse or case.harmed or outcome in (*FAILED, "skipped"):
        return HARM
    return WELL if outcome == "verified" else UNKNOWN


def judged(deed: Deed, member: DeedMember, verdict: str, reason: str) -> DeedChange:
    """Nobody goes on blindly: a wave of which at least half is unknown stops the deed as a failure does."""
    if member.verdict:
        return DeedChange(deed)
    goes = 0 < member.wave == deed.wave
    deed = deed._replace(
        waiting=deed.waiting - member.waits,
        present=deed.present.added(verdict) if goes else deed.present,
        ends=deed.ends.added(verdict),
        unsure=deed.unsure or (member.target if goes and verdict == UNKNOWN else ""),
    )
    wave = deed.present
    if not deed.stopped and verdict == HARM:
        deed = deed._replace(stopped=f"{spoken_target(member.target)}: {reason}")
    elif not deed.stopped and wave.unknown and wave.unknown >= wave.well and not deed.acting:
        deed = deed._replace(stopped=f"nobody can tell whether it has helped {deed.unsure}")
    return DeedChange(deed, (member._replace(verdict=verdict),))


def next_wave(deed: Deed, line: Iterable[DeedMember], sizes: WaveSizes) -> DeedChange:
    """`line`: who is ready, in order. A wave in which nobody was acted on is drawn again. One that is a trial lasts
    until its moment."""
    if deed.stopped or deed.acting or deed.trial:
        return DeedChange(deed)
    again = deed.wave > 0 and sum(deed.present) == deed.present.left
    number = deed.wave if again else deed.wave + 1
    size = sizes.of_wave(number, deed.members - deed.ends.left, deed.waiting)
    goes = tuple(member._replace(wave=number) for member in islice(line, size))
    if not goes:
        return DeedChange(deed)
    deed = deed._replace(draws=deed.late + 1)
    if not again:
        deed = deed._replace(past=deed.waves[-KEPT_WAVES:], wave=number, hosts=0, present=Verdicts(), unsure="")
    return DeedChange(deed._replace(hosts=deed.hosts + len(goes), waiting=deed.waiting - len(goes)), goes)
