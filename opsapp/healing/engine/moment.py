"""One moment of a host, a monitor, an incident or a case: the lanes and marks around it, and what was true then.

Read-only, in the caller's transaction. Rules are those of now: their conditions are read over what was measured
then.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from opsapp.agents.resources import agents_of
from opsapp.healing.logic.moments import AROUND_S, LEAST_S, AskedSpan, span_asked
from opsapp.healing.moments import Kind, Moment, RuleThen
from opsapp.healing.resources import healing_of
from opsapp.healing.stages.case import ClosedCase
from opsapp.healing.stages.ledger import LedgerRecord
from opsapp.lib.problems import NotFound
from opsapp.maintenance.engine import HEALING, MAINTENANCE
from opsapp.monitoring.resources import incidents_of, monitors_of
from opsapp.runtime.node import node_of
from opsapp.series import FINE, NAMES, HistoryReader
from opsapp.tree.rights import Sight
from opsapp.tree.root import Root
from opsapp.wire.conditions import Condition
from opsapp.wire.spoken import spoken_action

from .alerts import WatchedRule, watched_rules
from .deployments import of_moment
from .inventory import Member, inventory_of
from .momentmarks import MOST, MomentSubject, drawn, entries_of, marks_of, runs_asked
from .past_readings import KeptReading, kept_readings, needs
from .readings import instances

MOST_MONITORS = 5
MOST_RULES = 60
DAY = 86_400


class AskedTexts(NamedTuple):
    """The texts as the address has them. `all_runs`: of an incident, also those runs near it that are not its own."""

    since: str | None
    until: str | None
    at: str | None
    all_runs: bool = False


def moment(root: Root, kind: Kind, item_id: str, asked: AskedTexts, sight: Sight | None = None) -> Moment:
    """`sight`: of who is in a team. It has what was measured of what the team sees, with its outages, windows,
    runs and deployments; what else happened around it may name anything, and is left out."""
    node = node_of(root)
    now = node.clock.now()
    subject = _subject(root, kind, item_id, now)
    if sight is not None:
        subject = _within(subject, kind, sight)
    span = span_asked(asked.since, asked.until, asked.at, subject.usual, now)
    agent, monitors = subject.agent, subject.monitors
    by_subject = inventory_of(root).by_subject
    keys = ([f"agent:{agent.id}"] if agent else []) + [f"monitor:{monitor.id}" for monitor in monitors]
    members = [by_subject[key] for key in keys if key in by_subject]
    reading = node.series.reading(root)
    interval = next((member.interval for member in members if member.is_agent), 0.0)
    lanes = drawn(reading, subject, interval, span)
    deployed = of_moment(root, agent, monitors, span, MOST)
    runs = runs_asked(root, subject, span, sight, near=asked.all_runs)
    names: set[str] = set()
    entries: list[LedgerRecord] = []
    if sight is None:
        names = {member.name for member in members} | ({subject.target} if subject.target else set())
        entries = entries_of(root, names, span)
    families = (MAINTENANCE, HEALING) if sight is None else (MAINTENANCE,)
    return Moment(
        kind,
        item_id,
        subject.name,
        subject.agent_id,
        *span,
        *lanes,
        *marks_of(root, subject, names, entries, runs, deployed, families, span),
        tuple(dict.fromkeys(entry.cause.text for entry in entries if entry.cause)),
        tuple(_rules_then(root, reading, members, entries, span)) if sight is None else (),
    )


def _within(known: MomentSubject, kind: Kind, sight: Sight) -> MomentSubject:
    """What the team sees of it."""
    agent = known.agent if known.agent is not None and sight.sees(known.agent.tags) else None
    monitors = tuple(monitor for monitor in known.monitors if sight.sees(monitor.settings["tags"]))
    is_seen = {"hosts": agent is not None, "monitors": bool(monitors), "incidents": bool(monitors), "cases": False}
    if not is_seen[kind]:
        raise NotFound("There is nothing here.")
    return known._replace(agent=agent, monitors=monitors)


def _subject(root: Root, kind: Kind, item_id: str, now: float) -> MomentSubject:
    made = {"hosts": _of_host, "monitors": _of_monitor, "incidents": _of_incident, "cases": _of_case}[kind]
    subject = made(root, item_id, now)
    if subject is None:
        raise NotFound("There is nothing here.")
    return subject


def _last_day(made_at: float, now: float) -> tuple[float, float, float]:
    """Return the span of the last day, or of what there is of it."""
    return max(now - DAY, min(made_at, now - LEAST_S)), now, now


def _of_host(root: Root, agent_id: str, now: float) -> MomentSubject | None:
    agent = agents_of(root).find(agent_id)
    if agent is None:
        return None
    members = inventory_of(root)
    ids = [member.item_id for member in members if not member.is_agent and member.agent_id == agent_id]
    known = (monitors_of(root).find(monitor_id) for monitor_id in ids[:MOST_MONITORS])
    monitors = tuple(monitor for monitor in known if monitor is not None)
    return MomentSubject(agent.label or agent.hostname, agent, monitors, _last_day(agent.created_at, now))


def _of_monitor(root: Root, monitor_id: str | None, now: float) -> MomentSubject | None:
    monitor = monitors_of(root).find(monitor_id or None)
    if monitor is None:
        return None
    agent = agents_of(root).find(monitor.settings["agent_id"] or None)
    return MomentSubject(monitor.settings["name"], agent, (monitor,), _last_day(monitor.created_at, now))


def _of_incident(root: Root, incident_id: str, now: float) -> MomentSubject | None:
    incident = incidents_of(root).find(incident_id)
    if incident is None:
        return None
    about = _of_monitor(root, incident.monitor_id, now)
    usual = _around(incident.started, incident.resolved, now)
    if about is None:
        return MomentSubject(incident.monitor_name, None, (), usual, incident)
    return about._replace(usual=usual, name=incident.monitor_name, incident=incident)


def _of_case(root: Root, case_id: str, now: float) -> MomentSubject | None:
    case = healing_of(root).book.record_of(case_id)
    if case is None:
        return None
    kind, _, monitor_id = (case.about.subject or "").partition(":")
    about = _of_monitor(root, monitor_id, now) if kind == "monitor" else None
    agent = agents_of(root).find(case.about.agent_id or None)
    ended = case.closed_at if isinstance(case, ClosedCase) else None
    usual = _around(case.opened_at, ended, now)
    monitors = () if about is None else about.monitors
    return MomentSubject(case.target, agent or (about and about.agent), monitors, usual, target=case.target)


def _around(began: float, ended: float | None, now: float) -> tuple[float, float, float]:
    return began - AROUND_S, min(now, (now if ended is None else ended) + AROUND_S), began


# -- what was true then


def _rules_then(
    root: Root, reading: HistoryReader, members: Iterable[Member], entries: Sequence[LedgerRecord], span: AskedSpan
) -> list[RuleThen]:
    watched = watched_rules(rule.record for rule in healing_of(root).rules.values())
    told: list[RuleThen] = []
    for member in members:
        kept = kept_readings(root, member)
        values = _ReadAround(reading, span.at)
        about = (rule for rule in watched if rule.applies(member) and not rule.condition.reads_events)
        told += [then for rule in about for then in _of_rule(rule, kept, member, values, entries, span.at)]
    return sorted(told, key=lambda then: (then.holds is not True, then.holds is not None, then.rule_id))[:MOST_RULES]


class _ReadAround:
    def __init__(self, reading: HistoryReader, at: int):
        self._reading, self._start = reading, at * 1000 - at * 1000 % FINE
        self._known: dict[tuple[int, bool], float | str | None] = {}

    def value(self, kept: KeptReading) -> float | str | None:
        key = kept.number, kept.is_state
        if key not in self._known:
            rollups = self._reading.buckets(kept.number, self._start, self._start + FINE, FINE, percentiles=False)
            last = rollups[-1] if rollups else None
            self._known[key] = None if last is None else NAMES[last.worst] if kept.is_state else last.mean
        return self._known[key]


def _of_rule(
    rule: WatchedRule,
    kept: Sequence[KeptReading],
    member: Member,
    values: _ReadAround,
    entries: Sequence[LedgerRecord],
    at: int,
) -> list[RuleThen]:
    did = next((_did(entry) for entry in reversed(entries) if entry.rule_id == rule.rule_id and _lasts(entry, at)), "")
    conditions = instances(rule.condition, member, [reading.name for reading in kept])
    if not any(reading.name for condition in conditions for reading in needs(condition, kept)):
        is_told = member.is_agent == all(not name.startswith("monitor.") for name in rule.condition.names)
        why = f"no history is kept of {', '.join(rule.condition.names)}"
        return [RuleThen(rule.rule_id, rule.condition.text, None, why, did)] if is_told else []
    return [_verdict(rule, condition, needs(condition, kept), values, did) for condition in conditions]


def _verdict(
    rule: WatchedRule, condition: Condition, kept: Iterable[KeptReading], values: _ReadAround, did: str
) -> RuleThen:
    known = {reading.name: value for reading in kept if (value := values.value(reading)) is not None}
    read = ", ".join(
        f"{name} {value if isinstance(value, str) else format(value, '.4g')}" for name, value in known.items()
    )
    holds = condition.evaluate(known)
    return RuleThen(rule.rule_id, condition.text, holds, read or "nothing was measured then", did)


def _lasts(entry: LedgerRecord, at: int) -> bool:
    return entry.created_at <= at and (entry.finished_at is None or at <= entry.finished_at)


def _did(entry: LedgerRecord) -> str:
    what = spoken_action(entry.action_type) or "its case"
    return f"{what}: {(entry.outcome or entry.state).replace('_', ' ')}" + (
        f" ({entry.reason})" if entry.reason else ""
    )
