"""What is wrong now, what it comes from, and what healing is about, for the first page that people see.

Read-only. It costs the same with ten incidents and with a thousand: lists are cut, and say how many there were. Must
not: say what people should do.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from opsapp.agents.engine import HostsStanding, SilentHost, host_ids, host_of, seen_agents, standing_of_hosts, subject
from opsapp.agents.resources import agents_of
from opsapp.approvals.reach import seen_by
from opsapp.healing.logic.rules import names_of
from opsapp.healing.overview_answers import (
    AlikeTrouble,
    CaseUnderWay,
    FleetCount,
    MonitorCounts,
    NextBreak,
    NextStep,
    Overview,
    Trouble,
    WrongCounts,
)
from opsapp.healing.records import RuleRecord, RuleStep
from opsapp.healing.resources import Healing, healing_of
from opsapp.healing.stages.case import CaseRecord, VerifyingCase
from opsapp.healing.stages.holdout import is_left_alone
from opsapp.healing.stages.world import SERVER
from opsapp.lib.alike import gathered
from opsapp.lib.durations import whole
from opsapp.lib.problems import Unopened, Unreadable
from opsapp.monitoring.engine import (
    MonitorsStanding,
    TroubledMonitor,
    ending_certificates,
    last_day,
    register_of,
    standing_of_all,
)
from opsapp.monitoring.resources import incidents_of
from opsapp.runtime.node import Node, node_of
from opsapp.tree.rights import Sight
from opsapp.tree.root import Root
from opsapp.wire.records import made

from . import holds
from .reach import seen_subjects
from .warroom import causes_of

MOST_TROUBLES, MOST_CASES, MOST_DAYS, MOST_OTHERS, LOOKED_AT = 60, 12, 16, 3, 2000
Seen = Collection[str] | None  # the hosts and monitors that a team sees; None: all
STOPPED = "Its agent was stopped."  # the cause of a host that said so
NEWEST_ENTRIES = 40
CAUSE = 2000
STAGES = {"correlating": 0, "planning": 1, "awaiting_approval": 1, "executing": 2, "settling": 2, "verifying": 3}
WORST = ("down", "degraded", "unknown")
TOLD = {"critical": "down", "error": "down", "warning": "degraded", "info": "degraded"}  # as bad as that


def overview(root: Root, now: float, sight: Sight | None = None) -> Overview:
    """`sight`: what is known to be about hosts and monitors that it sees, and nothing beside."""
    node, healing, seen = node_of(root), healing_of(root), seen_subjects(root, sight)
    monitors, hosts = standing_of_all(node, root, now, sight), standing_of_hosts(root, sight)
    troubles = _troubles(root, healing, monitors, hosts, now, seen)
    cases, cases_total = _first_cases(healing, seen)
    shown = tuple(_under_way(root, healing, case, now) for case in cases)
    is_seen = seen_by(root, sight)
    if is_seen is not None:
        shown = tuple(
            replace(case, approval_id=case.approval_id if is_seen(case.approval_id or "") else None) for case in shown
        )
    agents = len(list(agents_of(root))) if sight is None else len(seen_agents(root, sight))
    events = len(incidents_of(root).open_of_none) if sight is None else 0
    newest = healing.ledger.page(None, None, NEWEST_ENTRIES, 0, subjects=seen)[1]
    told = [entry.target for entry in newest] + [case.target for case in shown]
    named = {name for target in (*told, *(trouble.name for trouble in troubles)) for name in names_of(target)}
    named |= {trouble.root_cause for trouble in troubles if trouble.root_cause}
    return Overview(
        int(now),
        MonitorCounts(sum(monitors.counts.values()), **monitors.counts),
        monitors.down_in_windows,
        FleetCount(agents, hosts.online, agents - hosts.heard),
        tuple(_with_days(node, root, _folded(healing, troubles)[:MOST_TROUBLES], monitors.troubled, now)),
        _counted(troubles, events),
        len(troubles) + max(0, events - MOST_TROUBLES),
        shown,
        cases_total,
        tuple(holds.standing(root, now)) if sight is None else (),
        tuple(ending_certificates(node, root, sight)),
        _next_break(root, healing, seen),
        {
            entry.name: entry.id
            for entry in register_of(node).entries.values()
            if entry.name in named and (seen is None or entry.subject in seen)
        },
        {name: host for name, host in host_ids(root, named).items() if seen is None or subject(host) in seen},
    )


def _first_cases(healing: Healing, seen: Seen) -> tuple[list[CaseRecord], int]:
    """And how many there are; for a team among the first 2,000."""
    if seen is None:
        return healing.book.first_under_way(MOST_CASES), len(healing.book.under_way)
    theirs = [case for case in healing.book.first_under_way(LOOKED_AT) if _is_theirs(case, seen)]
    return theirs[:MOST_CASES], len(theirs)


def _is_theirs(case: CaseRecord | None, seen: Collection[str]) -> bool:
    """What it is about, and where it acts."""
    if case is None or case.about.subject not in seen:
        return False
    host = None if case.heal is None else case.heal.host
    return host in (None, SERVER) or subject(host) in seen


def _folded(healing: Healing, troubles: list[Trouble]) -> list[Trouble]:
    """One for many that are alike; never what something hangs on, or what a case works on."""
    roots = {trouble.root_cause for trouble in troubles}

    def kind_of(trouble: Trouble) -> tuple[object, ...] | None:
        if trouble.kind not in ("monitor", "host") or trouble.name in roots or trouble.name in healing.book.open_on:
            return None
        owner, has_incident = trouble.acknowledged_by, trouble.incident_id is not None
        return trouble.kind, trouble.status, trouble.cause, trouble.root_cause, owner, has_incident

    groups = gathered(troubles, kind_of, lambda trouble: trouble.since or 0)
    return [
        replace(
            first,
            alike=1 + len(others),
            others=tuple(AlikeTrouble(other.id, other.name, other.incident_id) for other in others[:MOST_OTHERS]),
        )
        for first, *others in groups
    ]


def _counted(troubles: list[Trouble], events: int) -> WrongCounts:
    known = {trouble.name for trouble in troubles}
    measured = [trouble for trouble in troubles if trouble.kind in ("monitor", "host")]
    statuses = [trouble.status for trouble in measured]
    down = [trouble for trouble in measured if trouble.status == "down"]
    causes = {trouble.root_cause if trouble.root_cause in known else trouble.name for trouble in down}
    alerts = sum(trouble.kind == "alert" for trouble in troubles)
    hosts = [trouble for trouble in troubles if trouble.kind == "host"]
    silent = sum(trouble.status == "down" and not trouble.cause for trouble in hosts)
    unheard = sum(trouble.status == "unknown" and not trouble.cause for trouble in hosts)
    stopped, degraded, unknown = len(hosts) - silent - unheard, statuses.count("degraded"), statuses.count("unknown")
    return WrongCounts(len(down), degraded, unknown, len(causes), alerts, events, silent, stopped, unheard)


def _next_break(root: Root, healing: Healing, seen: Seen) -> NextBreak | None:
    for row in healing.foresight.coming():
        host = host_of(root, row.agent_id) if seen is None or subject(row.agent_id) in seen else None
        if host is not None:
            return made(NextBreak, {**vars(row), "hostname": host.hostname})
    return None


def _troubles(
    root: Root, healing: Healing, monitors: MonitorsStanding, hosts: HostsStanding, now: float, seen: Seen
) -> list[Trouble]:
    """Root causes before what hangs on them, down before slow before unknown, then the oldest first. What has an
    open incident stands with what is down: nobody knows better. What goes by a name alone is told to no team."""
    troubles = [_of_host(host) for host in hosts.silent]
    troubles += [made(Trouble, {"kind": "monitor", **monitor._asdict()}) for monitor in monitors.troubled]
    troubles += _told(healing, {trouble.name for trouble in troubles}) if seen is None else []
    causes = causes_of(root, {trouble.name for trouble in troubles}, now)
    known = [*troubles, *(_of_nothing_here(root) if seen is None else ())]
    names = {trouble.name for trouble in known}
    causes = causes if seen is None else {name: cause for name, cause in causes.items() if cause in names}
    troubles = [
        replace(
            trouble,
            root_cause=causes.get(trouble.name) if trouble.kind != "event" else None,
            case_id=_case_on(healing, trouble.name, seen),
        )
        for trouble in known
    ]
    return sorted(troubles, key=lambda trouble: (trouble.root_cause in names, _rank(trouble), trouble.since or now))


def _case_on(healing: Healing, name: str, seen: Seen) -> str | None:
    book = healing.book
    case_id: str | None = book.open_on.get(name) or book.last_on.get(name)
    is_told = case_id is not None and (seen is None or _is_theirs(book.record_of(case_id), seen))
    return case_id if is_told else None


def _rank(trouble: Trouble) -> int:
    return 0 if trouble.incident_id else WORST.index(trouble.status)


def _of_host(host: SilentHost) -> Trouble:
    status, seen = "unknown" if host.unheard else "down", host.last_seen
    cause = "" if host.stopped_at is None else STOPPED
    return Trouble(kind="host", id=host.agent_id, name=host.hostname, status=status, since=whole(seen), cause=cause)


def _of_nothing_here(root: Root) -> list[Trouble]:
    """List open incidents of nothing known here, of which another system told; only the newest, where they are many."""
    incidents = incidents_of(root)
    ids = list(incidents.open_of_none)[-MOST_TROUBLES:]
    return [
        Trouble(
            kind="event",
            name=incident.monitor_name,
            status="down",
            since=incident.started,
            cause=incident.cause[:CAUSE],
            incident_id=incident.id,
            acknowledged_by=incident.acknowledged_by,
        )
        for incident in incidents.some(ids)
    ]


def _told(healing: Healing, known: Iterable[str]) -> list[Trouble]:
    """People were told of these, and not that they are over."""
    told: Mapping[tuple[str, str], str] = healing.book.told or {}
    return [
        Trouble(
            kind="alert",
            name=target,
            status=TOLD.get(severity, "degraded"),
            since=_since(healing, rule_id, target),
            cause=rule.record.description or str(rule.record.condition),
            rule_id=rule_id,
        )
        for (rule_id, target), severity in told.items()
        if target not in known and (rule := healing.rules.get(rule_id)) is not None
    ]


def _since(healing: Healing, rule_id: str, target: str) -> int | None:
    """Return when the open case began, else when the last one of the rule and target ended."""
    for case in healing.book.open_cases(target):
        return int(case.record.opened_at)
    last = healing.book.last_of.get((rule_id, target))
    return None if last is None else int(last[0])


def _with_days(
    node: Node, root: Root, troubles: list[Trouble], monitors: list[TroubledMonitor], now: float
) -> list[Trouble]:
    """The first ones with their last 24 hours: reading that is most of the cost."""
    series = {monitor.id: monitor.series for monitor in monitors}
    own = [trouble for trouble in troubles if trouble.kind == "monitor" and not trouble.root_cause][:MOST_DAYS]
    days = {trouble.id: tuple(last_day(node, root, series[str(trouble.id)], now)) for trouble in own}
    return [replace(trouble, last_day=days[trouble.id]) if trouble.id in days else trouble for trouble in troubles]


def _under_way(root: Root, healing: Healing, case: CaseRecord, now: float) -> CaseUnderWay:
    chain, heal = _chain_of(healing, case.rule_id), case.heal
    host = None if heal is None else host_of(root, heal.host)
    return CaseUnderWay(
        id=case.id,
        target=case.target,
        rule_id=case.rule_id,
        condition=case.about.rule_condition,
        state=case.state,
        stage=STAGES.get(case.state, 0),
        step=case.step,
        steps=len(chain),
        action=None if heal is None else heal.action,
        params="" if heal is None else _told_params(heal.params),
        hostname=None if host is None else host.hostname,
        agent_id=None if heal is None else heal.host,
        opened_at=int(case.opened_at),
        due=_told_due(case),
        approval_id=case.approval_id if case.state == "awaiting_approval" else None,
        left_until=int(case.left_until) if is_left_alone(case, now) and case.left_until is not None else None,
        waits=case.queued or case.waits_since is not None,
        then=tuple(NextStep(step.action, _told_params(step.params)) for step in chain[case.step + 1 :]),
    )


def _told_due(case: CaseRecord) -> int | None:
    """Return when the case is due; for a heal that waits for its proof the latest moment, as it is looked at each
    second."""
    due = case.deadline if isinstance(case, VerifyingCase) else case.due
    return int(due) if 0 < due < 1e11 else None


def _chain_of(healing: Healing, rule_id: str) -> tuple[RuleStep, ...]:
    """Nothing of a rule that is gone, damaged, or sealed with another key."""
    try:
        record: RuleRecord = healing.rules[rule_id].record
    except (KeyError, Unreadable, Unopened):
        return ()
    return record.steps


def _told_params(params: Mapping[str, object]) -> str:
    """Return the parameters as one would type them after the action."""
    return " ".join(value if isinstance(value, str) else json.dumps(value) for value in params.values() if value)
