"""A small world for the stages: box-1 with nginx, a rule that restarts it, trust at execute."""

from opsapp.healing.config import HealingSettings, ProtectedSettings
from opsapp.healing.logic.brake import Load
from opsapp.healing.logic.effectiveness import NOTHING, OutcomeTally
from opsapp.healing.records import RuleRecord
from opsapp.healing.stages.case import RuleEvent, read
from opsapp.healing.stages.trust import Trust
from opsapp.healing.stages.world import Host, Reading, World
from opsapp.wire.records import made

NOW = 1_700_000_000.0
SETTINGS = HealingSettings(queue_spread_s=30, protected=ProtectedSettings(processes=("init", "sshd")))
FIELDS = {
    "id": "nginx-down",
    "condition": 'service.nginx.state == "failed"',
    "severity": "critical",
    "enabled": True,
    "action": {"type": "restart_service"},
    "escalation_chain": [],
    "targets": None,
}
BOX = Host("a1", "box-1", label="web", usable=frozenset({"systemctl", "podman"}))


def rule(**changes):
    return made(RuleRecord, {**FIELDS, **changes})


RULE = rule()


def trust(level="execute", ceiling="execute", rule_id="nginx-down", **changes):
    return Trust(rule_id, level, ceiling, RULE.definition(), NOW - 10, **changes)


def world(*rules, levels=None, verdict=True, load=None, history=NOTHING, hosts=(BOX,), **changes):
    rules = rules or (RULE,)
    levels = levels or {}
    values = {
        "now": NOW,
        "settings": SETTINGS,
        "rules": {one.id: one for one in rules},
        "trust": {one.id: trust(levels.get(one.id, "execute"), rule_id=one.id) for one in rules},
        "hosts": {host.agent_id: host for host in hosts},
        "history": history if callable(history) else lambda *_: (history, NOTHING),
        "load": lambda rule_id, target: load or Load(),
        "reading": lambda case: Reading(verdict, {}, NOW),
    }
    return World(**{**values, **changes})


def tally(verified, total, at=NOW, **changes):
    """Outcomes that all came at one time, on one host."""
    return OutcomeTally(verified, total, verified, total, at, at, (("box-1", at),))._replace(**changes)


def event(**changes):
    return RuleEvent.read(
        {
            "source": "alert",
            "rule_id": "nginx-down",
            "condition": RULE.condition,
            "target": "box-1/nginx",
            "severity": "critical",
            "metrics": {},
            "agent_id": "a1",
            "names": ("a1", "web"),
            "at": NOW,
            **changes,
        }
    )


def case(**changes):
    """As the store holds it: `changes` are fields of its flat form."""
    return read(
        {
            "id": "00ff",
            "state": "planning",
            "rule_id": "nginx-down",
            "condition": RULE.condition,
            "step": 0,
            "target": "box-1/nginx",
            "source": "alert",
            "events": {"nginx-down": 1},
            "abouts": {},
            "agent_id": "a1",
            "names": (),
            "opened_at": NOW - 5,
            "outcome": None,
            "level": "execute",
            **changes,
        }
    )
