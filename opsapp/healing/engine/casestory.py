"""Collects all that is known of a case, for a person who asks why. Must not: change or decide anything."""

from __future__ import annotations

from collections.abc import Iterable

from opsapp.agents.engine import is_private_unit
from opsapp.healing.answers import CaseAct, CaseCause, CaseShown, CaseWave, WaveCounts
from opsapp.healing.config import HealingSettings
from opsapp.healing.logic.gates import STAGES, CaseGate, gates
from opsapp.healing.logic.waves import WaveSizes, sizes_for
from opsapp.healing.resources import Healing
from opsapp.healing.resources.cases import NEVER
from opsapp.healing.resources.ledger import Ledger, held
from opsapp.healing.stages.attempt import FoundCause
from opsapp.healing.stages.case import CaseRecord, ClosedCase, Heal, VerifyingCase
from opsapp.healing.stages.ledger import Effectiveness, LedgerRecord, effectiveness
from opsapp.lib.addresses import HIDDEN
from opsapp.lib.durations import whole
from opsapp.runtime.node import Node

LOOKED_AT = 500  # entries of a rule and target among which a case's are looked for
STAGE_OF = {
    "correlating": "correlation",
    "planning": "planning",
    "awaiting_approval": "execution",
    "executing": "execution",
    "settling": "execution",
    "verifying": "verification",
    "closed": "trust",
}


def story(healing: Healing, case_id: str, node: Node, *, operates: bool, administers: bool) -> CaseShown:
    case = healing.book.cases[case_id].record
    entries, about = entries_of(healing.ledger, case), case.about
    met = gates(case.why)
    acted = sorted({entry.action_type for entry in entries if entry.action_type not in ("", "rollback")})
    return CaseShown(
        id=case.id,
        target=case.target,
        rule_id=case.rule_id,
        state=case.state,
        outcome=case.outcome if isinstance(case, ClosedCase) else None,
        step=case.step,
        events=dict(case.events),
        opened_at=int(case.opened_at),
        closed_at=whole(case.closed_at) if isinstance(case, ClosedCase) else None,
        recovered_at=whole(case.recovered_at),
        why=case.why,
        condition=about.rule_condition,
        severity=about.severity,
        source=about.source,
        agent_id=about.agent_id,
        subject=about.subject,
        monitor_id=_monitor_id(about.subject),
        level=case.level,
        lowered=case.lowered,
        stage=STAGE_OF.get(case.state, STAGES[0]),
        due=None if case.due == NEVER else int(case.due),
        left_until=whole(case.left_until),
        arm=case.arm,
        wave=wave_of(healing, case, node.config[HealingSettings]),
        deadline=int(case.deadline) if isinstance(case, VerifyingCase) else None,
        gates=tuple(met),
        act=None if case.heal is None else _act(case.heal, met),
        cause=_cause(case.cause, node, operates, administers),
        entries=tuple(map(healing.ledger.shown, entries)),
        records=_figures(healing.ledger, acted, about.condition),
    )


def _cause(cause: FoundCause | None, node: Node, operates: bool, administers: bool) -> CaseCause | None:
    """Evidence may be the last lines of a unit, which are a log and an output."""
    if cause is None:
        return None
    is_private = cause.unit is not None and is_private_unit(node, cause.unit)
    may_read = administers if is_private else operates
    evidence = cause.evidence if may_read else (HIDDEN,) * bool(cause.evidence)
    return CaseCause(cause.id, cause.text, evidence)


def wave_of(healing: Healing, case: CaseRecord, settings: HealingSettings) -> CaseWave | None:
    """None where it is the only target of its outage."""
    stored = None if healing.deeds_of_outages is None else healing.deeds_of_outages.find(case.deed)
    if stored is None or not stored.deed.is_shared:
        return None
    deed, rule = stored.deed, healing.rules.get(case.rule_id)
    sizes = sizes_for(None if rule is None else rule.record.waves, settings.waves) or WaveSizes()
    return CaseWave(
        number=case.wave,
        wave=deed.wave,
        waves=max(deed.wave, sizes.waves(deed.members - (0 if deed.stopped else deed.ends.left))),
        hosts=deed.hosts,
        waiting=deed.waiting,
        targets=deed.members,
        stopped=deed.stopped,
        compared_at=next((int(wave.moment) for name, wave in healing.trials.compared() if name == deed.trial), None),
        counts=tuple(WaveCounts(wave.number, wave.hosts, **wave.ends._asdict()) for wave in deed.waves),
    )


def _figures(ledger: Ledger, actions: Iterable[str], condition: str) -> tuple[Effectiveness, ...]:
    return tuple(effectiveness(action, condition, *ledger.statistics(action, condition)) for action in actions)


def _monitor_id(subject: str | None) -> str | None:
    kind, _, name = (subject or "").partition(":")
    return name if kind == "monitor" else None


def entries_of(ledger: Ledger, case: CaseRecord) -> list[LedgerRecord]:
    """Oldest first."""
    entry_by_id = {}
    for rule_id in {case.rule_id, *case.events}:
        index = held(ledger.by_both, (rule_id, case.target))
        for entry_id in index.newest(0, LOOKED_AT) if index else ():
            entry = ledger.record(entry_id)
            if entry is None or entry.created_at < int(case.opened_at):
                break
            if entry.case_id == case.id:
                entry_by_id[entry_id] = entry
    return [entry_by_id[entry_id] for entry_id in sorted(entry_by_id)]


def _act(heal: Heal, met: Iterable[CaseGate]) -> CaseAct:
    snapshot = heal.snapshot
    commands = [gate.command_id for gate in met if gate.gate == "execute"]
    return CaseAct(
        command_id=commands[-1] if commands else None,
        host=heal.host,
        action=heal.action,
        params=dict(heal.params),
        began_at=int(heal.began_at),
        acted_at=whole(heal.acted_at),
        armed=heal.armed,
        snapshot=None if snapshot is None else str(snapshot.get("kind") or "state"),
    )
