"""The marks of a moment, what happened and what was foreseen; and its lanes, what was measured.

Each kind is found by an index of its time, in the caller's transaction. Must not: read all that there ever was.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from opsapp.agents.resources import Agent
from opsapp.approvals.resources import Approval, approvals_of
from opsapp.automations.engine import SeenRuns, runs_in, runs_near, runs_on
from opsapp.automations.resources import Run
from opsapp.healing.deployments import Deployment
from opsapp.healing.logic.moments import AskedSpan
from opsapp.healing.logic.reasons import reason as spoken_reason
from opsapp.healing.moments import MomentCurve, MomentLane, MomentMark, StateRow, StateStretch
from opsapp.healing.resources import healing_of
from opsapp.healing.stages.ledger import LedgerRecord
from opsapp.lib.durations import whole
from opsapp.maintenance.engine import covers, occurrences
from opsapp.maintenance.resources import plans_of
from opsapp.monitoring.resources import Incident, Monitor, incidents_of
from opsapp.series import NAMES, HistoryReader, Rollup
from opsapp.tree.rights import Sight
from opsapp.tree.root import Root
from opsapp.wire.readings import STALE_AFTER_INTERVALS, split
from opsapp.wire.spoken import spoken_action

BEFORE_S = 3600  # what began so long before may have lasted into the time
MOST = 60  # of each kind
MOST_TIMES = 40  # of one window
LOOKS = {"verified": "heal", "failed": "bad", "lost": "bad", "rolled_back": "warn", "inconclusive": "warn"}
LEFT_ALONE = ("suppressed", "skipped", "simulated", "withdrawn")
ONLY_TOLD = "people were notified, nothing was done"  # why is on the page of the case
NOTES = {"acknowledged": "took it", "assigned": "handed it over"}


class MomentSubject(NamedTuple):
    """`usual`: since, until and at where nothing else is asked for."""

    name: str
    agent: Agent | None
    monitors: tuple[Monitor, ...]
    usual: tuple[float, float, float]
    incident: Incident | None = None
    target: str = ""  # of a case

    @property
    def agent_id(self) -> str | None:
        return self.agent and self.agent.id


class FoundMarks(NamedTuple):
    marks: tuple[MomentMark, ...]
    left_out: int


def entries_of(root: Root, names: Iterable[str], span: AskedSpan) -> list[LedgerRecord]:
    """The oldest first."""
    ledger = healing_of(root).ledger
    known = {
        entry.id: entry
        for name in names
        for entry in ledger.between(name, span.since - BEFORE_S, span.until, MOST)
        if (entry.finished_at or span.until) >= span.since
    }
    return [known[number] for number in sorted(known)]


def marks_of(
    root: Root,
    subject: MomentSubject,
    names: Collection[str],
    entries: Iterable[LedgerRecord],
    runs: Iterable[Run],
    deployed: Iterable[Deployment],
    families: Collection[str],
    span: AskedSpan,
) -> FoundMarks:
    """Find the marks of a host and monitors, or of an incident without one, the oldest first. Who is in a team is
    told of no heal (no `names`, no `entries`), and of no window that holds healing."""
    touching, monitors, about = incidents_of(root).touching, subject.monitors, subject.incident
    incidents = [incident for monitor in monitors for incident in touching(span.since, span.until, monitor.id)]
    incidents += [about] if about is not None and not monitors else []
    ids = {*names, *(monitor.id for monitor in monitors), *([subject.agent_id] if subject.agent_id else [])}
    kinds = [
        [mark for incident in incidents for mark in _of_incident(incident)],
        [mark for entry in entries for mark in of_entry(root, entry)],
        list(_windows(root, ids, span, families)),
        [mark for run in runs for mark in _of_run(run)],
        [_of_deployment(deployment) for deployment in deployed],
        list(_foreseen(root, names)),
    ]
    within = [
        sorted((mark for mark in marks if _is_within(mark, span)), key=lambda mark: mark.since) for marks in kinds
    ]
    shown = sorted((mark for marks in within for mark in marks[-MOST:]), key=lambda mark: mark.since)
    return FoundMarks(tuple(shown), sum(max(0, len(marks) - MOST) for marks in within))


def _is_within(mark: MomentMark, span: AskedSpan) -> bool:
    return mark.since <= span.until and (mark.since if mark.until is None else mark.until) >= span.since


def _of_incident(incident: Incident) -> Iterator[MomentMark]:
    place = f"/incidents/{incident.id}"
    cause = f": {incident.cause}" if incident.cause else ""
    yield MomentMark(
        "outage", incident.started, incident.resolved, "bad", f"{incident.monitor_name} was down{cause}", place
    )
    for note in incident.updates:
        words = f"{note.user} {NOTES.get(note.stage, 'wrote: ' + note.message)}"
        yield MomentMark("people", note.time, None, "icon:user", words, place)


def of_entry(root: Root, entry: LedgerRecord) -> Iterator[MomentMark]:
    place = f"/healing/cases/{entry.case_id}"
    if entry.approval_id is not None:
        yield from of_approval(approvals_of(root).find(entry.approval_id), entry)
    if entry.executed or entry.state in ("executing", "settling", "verifying"):
        act = _act(entry)  # names keep their capitals
        words = f"{act[:1].upper()}{act[1:]}, rule {entry.rule_id}: {_spoken(entry.outcome or entry.state)}"
        yield MomentMark(
            "machine", entry.created_at, entry.finished_at, LOOKS.get(entry.outcome or "", "heal"), words, place
        )
    elif entry.outcome not in (None, "observed", "absorbed"):
        why = f", {spoken_reason(entry.reason)}" if entry.reason else ""
        came = ONLY_TOLD if entry.outcome == "notified" else _spoken(entry.outcome) + why
        words = f"Rule {entry.rule_id}, {_target(entry.target)}: {came}"
        look = "hid" if entry.outcome in LEFT_ALONE else "warn"
        yield MomentMark("machine", entry.created_at, None, look, words, place)


def of_approval(approval: Approval | None, entry: LedgerRecord) -> Iterator[MomentMark]:
    if approval is None:
        return
    place, act = f"/approvals/{entry.approval_id}", _act(entry)
    yield MomentMark("people", int(approval.requested_at), None, "icon:bell", f"Approval requested: {act}", place)
    if approval.decided_at is not None:
        words = f"{approval.decided_by or 'Approval'} {approval.status}: {act}"
        yield MomentMark("people", int(approval.decided_at), None, "icon:check", words, place)


def _act(entry: LedgerRecord) -> str:
    return f"{spoken_action(entry.action_type)} for {_target(entry.target)}"


def _target(name: str) -> str:
    host, _, part = name.partition("/")
    return f"{part} on {host}" if part else host


def _spoken(word: str | None) -> str:
    return (word or "").replace("_", " ")


def _windows(root: Root, ids: Collection[str], span: AskedSpan, families: Collection[str]) -> Iterator[MomentMark]:
    for plan in plans_of(root):
        if plan.family in families and covers(plan, ids):
            for time in occurrences(plan, span.since, span.until, MOST_TIMES):
                yield MomentMark(
                    "planned",
                    int(time.start),
                    int(time.end),
                    "maint",
                    f"Maintenance: {plan.name or plan.effect}",
                    "/maintenance",
                )


def runs_asked(root: Root, subject: MomentSubject, span: AskedSpan, sight: Sight | None, *, near: bool) -> list[Run]:
    """Return the runs of an incident (with `near` all in that time), or else those on the host. Who is in a team
    gets those on the host that it may see."""
    about, agent_id = subject.incident, subject.agent_id
    if about is not None and sight is None and near:
        return runs_near(root, span.since - BEFORE_S, span.until, MOST)
    if about is not None and sight is None:
        return runs_in(root, about.id, agent_id, about.started, about.resolved or span.until)
    runs = [] if agent_id is None else runs_on(root, agent_id, span.since - BEFORE_S, span.until, MOST)
    seen = None if sight is None else SeenRuns(root, sight)
    return [run for run in runs if seen is None or seen.has(run)]


def _of_run(run: Run) -> Iterator[MomentMark]:
    if run.started is not None:
        words = f"{run.name}, {_spoken(run.status)}, asked for by {run.requested_by}"
        look = "icon:play" if run.status in ("done", "running") else "warn"
        yield MomentMark("run", int(run.started), whole(run.finished), look, words, f"/automations/runs/{run.id}")


def _of_deployment(deployment: Deployment) -> MomentMark:
    words = f"Deployed: {deployment.said.title}, told by {deployment.created_by}"
    return MomentMark("deployed", deployment.at, None, "icon:inlet", words, "/deployments")


def _foreseen(root: Root, names: Collection[str]) -> Iterator[MomentMark]:
    for (source, rule_id, target), at in healing_of(root).foresight.told.items():
        if target.partition("/")[0] in names:
            yield MomentMark(
                "machine",
                int(at),
                None,
                "icon:trend",
                f"{_spoken(source)} told: {rule_id} on {_target(target)}",
                "/healing/forecasts",
            )


UNKNOWN, REPORTS = "unknown", "up"
MOST_DISKS = 3
OF_HOST = (
    ("CPU", "percent", (("CPU", "cpu_percent"),)),
    ("Memory", "percent", (("memory", "mem_percent"), ("swap", "swap_percent"))),
    ("Load", "plain", (("1 min", "load1"), ("15 min", "load15"))),
    ("Network", "rate", (("in", "rx_bytes_s"), ("out", "tx_bytes_s"))),
)
Points = Mapping[int, float | None]  # start of the bucket in s -> its value


class DrawnLanes(NamedTuple):
    times: tuple[int, ...]
    lanes: tuple[MomentLane, ...]
    states: tuple[StateRow, ...]


class _Lane(NamedTuple):
    name: str
    unit: str
    curves: Sequence[tuple[str, Points]]
    gap_s: float
    limit: float | None = None


def drawn(reading: HistoryReader, subject: MomentSubject, interval: float, span: AskedSpan) -> DrawnLanes:
    """Only the first monitor has a lane; how each of them stood is a row."""
    agent, monitors = subject.agent, subject.monitors
    lanes: list[_Lane] = []
    rows: list[StateRow] = []
    for monitor in monitors:
        rollups = [rollup for rollup in _buckets(reading, monitor.series, span) if rollup.checks]
        gap = max(1.5 * span.step, STALE_AFTER_INTERVALS * float(monitor.settings["interval"]))
        if monitor is monitors[0]:
            lanes.append(_response(monitor, rollups, gap))
        seen = [(rollup.start // 1000, NAMES[rollup.worst]) for rollup in rollups]
        name = monitor.settings["name"]
        rows.append(StateRow(name, f"/monitors/{monitor.id}", stretches(seen, gap, span)))
    if agent is not None:
        gap = max(1.5 * span.step, STALE_AFTER_INTERVALS * interval)
        lanes += _of_host(reading, agent, span, gap)
        heard = sorted({at for lane in lanes[bool(monitors) :] for _, points in lane.curves for at in points})
        place = f"/agents/{agent.id}"
        rows.append(
            StateRow(agent.label or agent.hostname, place, stretches([(at, REPORTS) for at in heard], gap, span))
        )
    times = range(span.since - span.since % span.step, span.until, span.step)
    return DrawnLanes(tuple(times), tuple(_told(lane, times) for lane in lanes), tuple(rows))


def _buckets(reading: HistoryReader, number: int, span: AskedSpan, *, percentiles: bool = True) -> list[Rollup]:
    end = span.until * 1000 + 1
    return reading.buckets(number, span.since * 1000, end, span.step * 1000, percentiles=percentiles)


def _response(monitor: Monitor, rollups: Iterable[Rollup], gap: float) -> _Lane:
    halves = {rollup.start // 1000: rollup.median for rollup in rollups}
    most = {rollup.start // 1000: rollup.p95 for rollup in rollups}
    curves = (("half within", halves), ("95 % within", most))
    return _Lane("Response time", "milliseconds", curves, gap, monitor.settings["degraded_ms"])


def _of_host(reading: HistoryReader, agent: Agent, span: AskedSpan, gap: float) -> list[_Lane]:
    def points(name: str) -> Points:
        number = agent.series.get(name)
        rollups = [] if number is None else _buckets(reading, number, span, percentiles=False)
        return {rollup.start // 1000: rollup.mean for rollup in rollups if rollup.mean is not None}

    lanes = [
        _Lane(name, unit, [(title, points(kept)) for title, kept in kept_as], gap)
        for name, unit, kept_as in OF_HOST
        if kept_as[0][1] in agent.series
    ]
    mounts = {split(name)[1]: name for name in agent.series if split(name)[0] == "disk" and split(name)[1]}
    disks = [_Lane(f"Disk {mount}", "percent", [(mount, points(name))], gap) for mount, name in sorted(mounts.items())]
    disks.sort(key=lambda lane: -max((value or 0.0 for value in lane.curves[0][1].values()), default=0.0))
    return lanes + disks[:MOST_DISKS]


def _told(lane: _Lane, times: Sequence[int]) -> MomentLane:
    """A second line that says nothing is left out."""
    told = [(name, tuple(points.get(at) for at in times)) for name, points in lane.curves]
    kept = [curve for number, curve in enumerate(told) if number == 0 or any(curve[1])]
    curves = tuple(MomentCurve(name, tuple(_short(value) for value in values)) for name, values in kept)
    return MomentLane(lane.name, lane.unit, curves, lane.gap_s, lane.limit)  # type: ignore[arg-type]


def _short(value: float | None) -> float | None:
    return None if value is None else round(value, 3)


def stretches(seen: Sequence[tuple[int, str]], gap: float, span: AskedSpan) -> tuple[StateStretch, ...]:
    """What was seen lasts until the next is; where that comes too late, nobody knows what was between."""
    parts: list[StateStretch] = []

    def add(since: int, until: int, state: str) -> None:
        if parts and parts[-1].state == state:
            parts[-1] = StateStretch(parts[-1].since, until, state)
        elif until > since:
            parts.append(StateStretch(since, until, state))

    known_to = span.since
    for number, (at, state) in enumerate(seen):
        at = max(at, span.since)
        if at - known_to > gap or (number == 0 and at - span.since > gap):
            add(known_to, at, UNKNOWN)
        following = seen[number + 1][0] if number + 1 < len(seen) else span.until
        known_to = following if following - at <= gap else min(span.until, at + span.step)
        add(parts[-1].until if parts else span.since, known_to, state)
        if following > known_to:
            add(known_to, following, UNKNOWN)
            known_to = following
    if not seen:
        add(span.since, span.until, UNKNOWN)
    return tuple(parts)
