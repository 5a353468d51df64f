"""What agents healed alone while the server was away, as ledger entries: once, and only what they may speak of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from opsapp.healing.logic.rules import names_of
from opsapp.healing.resources.cases import case_of
from opsapp.healing.stages import ending, ledger
from opsapp.healing.stages.attempt import Tried

from . import advice, telling

if TYPE_CHECKING:
    from .flow import Flow

LOCAL = ("verified", "failed", "inconclusive", "rolled_back", "lost", "skipped")


def report_local(flow: Flow, outcome: Mapping[str, Any]) -> None:
    """An agent's outcome. On another host's target, or for a rule that is not there, it is recorded as refused."""
    name = f"{outcome['agent_id']}:{outcome['outcome_id']}"
    if name in flow.healing.reported:  # its thanks were lost, so it was sent again
        return
    flow.healing.reported[name] = flow.now
    began = min(outcome["created_at"], flow.now)  # by the host's clock, which may be ahead of ours
    host = flow.world.hosts.get(outcome["agent_id"])
    target = outcome["target"] or (host.hostname if host else outcome["agent_id"])
    own = host is not None and names_of(target)[-1] in (host.hostname, host.agent_id, host.label)
    known = outcome["rule_id"] in flow.world.rules
    given = outcome["rule_id"] in flow.healing.given.get(outcome["agent_id"], ())
    event = {
        "source": "agent",
        "rule_id": outcome["rule_id"],
        "condition": outcome["condition"],
        "target": target if own else (host.hostname if host else outcome["agent_id"]),
        "severity": "info",
        "metrics": outcome["metrics_before"],
        "agent_id": outcome["agent_id"],
        "subject": None,
        "names": (),
        "at": began,
    }
    if not own or not known or not given:
        why = "not its own host" if not own else "no such rule" if not known else "a rule that it was not given"
        flow.end_event(case_of(event), outcome["rule_id"], "suppressed", f"reported by {outcome['agent_id']}: {why}", 1)
        return
    said = outcome["outcome"] if outcome["outcome"] in LOCAL else "inconclusive"
    trust = flow.world.trust[outcome["rule_id"]]
    entry = flow.ledger.begin(
        flow.root,
        {**case_of(event), "step": outcome["escalation_step"]},
        rule_id=outcome["rule_id"],
        now=began,
        trust_level=trust.current_level,
        action_type=outcome["action_type"] or "",
        action_params=ledger.params_text(outcome["action_params"]),
        action_success=outcome["action_success"],
        duration_s=outcome["duration_s"],
        metrics_before=outcome["metrics_before"],
        metrics_after=outcome["metrics_after"],
        executed=said != "skipped",
    )
    record = flow.ledger.finish(
        flow.root,
        entry["id"],
        outcome=said,
        reason=outcome["reason"] or "healed by the agent alone",
        now=flow.now,
        events=0 if outcome.get("escalated") else 1,
        verdict=outcome.get("verdict"),
        rollback_status="rolled_back" if said == "rolled_back" else None,
    )
    if record["executed"]:
        site = flow.world.graph.site(record["target"])
        flow.healing.begin(flow.now, at=began, rule_id=record["rule_id"], site=site, target=record["target"])
        advice.after_outcome(flow.healing, record, flow.world.thresholds, flow.now)
    if not outcome.get("escalated"):  # the last step of its case
        if ending.tells(said, record["reason"]):
            telling.unresolved(flow, record, said, record["reason"])
        tried = [Tried(ledger.judged(record), None)] if record["executed"] else []
        flow.count_case(tried, record, at=began + outcome["duration_s"])
