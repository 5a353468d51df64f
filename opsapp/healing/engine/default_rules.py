"""The rules that come with opsapp, and how they and those of the YAML file come into the store."""

from __future__ import annotations

import logging
from functools import partial

from opsapp.agents.problems import CLOCK_OFF_FROM_S, CPU_ABOVE, FULL, HUNG_FROM_S, MEMORY_ABOVE
from opsapp.healing.config import HealingSettings
from opsapp.healing.logic.soundness import wrong_params
from opsapp.healing.records import ChainStep, RuleSettings
from opsapp.healing.resources import healing_of
from opsapp.healing.resources.rules import drop_rule, put_rule
from opsapp.runtime.config import Configuration
from opsapp.runtime.node import now_of
from opsapp.tree.root import Root
from opsapp.wire.readings import CLOCK_OFF

_rule = partial(RuleSettings, initial_level="notify")


def _chain(*steps: str | tuple[str, dict[str, str]]) -> tuple[ChainStep, ...]:
    """A wrong name or parameter of an action fails at import."""
    pairs = [(step, {}) if isinstance(step, str) else step for step in steps]
    wrong = {action: problems for action, params in pairs if (problems := wrong_params(action, params))}
    if wrong:
        raise ValueError(f"a default rule is wrong: {wrong}")
    return tuple(ChainStep(action, params) for action, params in pairs)


DEFAULT_RULES = {
    "default-cpu": _rule(
        description=f"CPU above {CPU_ABOVE} %",
        condition=f"cpu_percent > {CPU_ABOVE}",
        hold=60,
        escalation_chain=_chain(("process_kill", {"top": "cpu"}), ("nice_adjust", {"top": "cpu"}), "clear_cache"),
    ),
    "default-disk": _rule(
        description=f"A disk at or above {FULL} %",
        condition=f"disk.*.percent >= {FULL}",
        hold=30,
        escalation_chain=_chain("temp_cleanup", "journal_vacuum", "log_rotate", "storage_cleanup"),
    ),
    "default-service": _rule(
        description="A service that ought to run has failed",
        condition="service.*.failed == 1",
        severity="error",
        escalation_chain=_chain("service_reset_failed", "restart_service", "service_dependency_restart"),
    ),
    "default-crash-loop": _rule(
        description="A service is restarted again and again: 5 starts in 5 minutes",
        condition="service.*.crash_looping == 1",
        severity="error",
        settle_s=330,  # only after a whole window of 5 minutes it is known to be over
        escalation_chain=_chain("service_dependency_restart"),
    ),
    # These four only tell, and name what comes first where somebody raises the ceiling.
    "default-masked": _rule(
        description="A service that ran is masked: nothing can start it",
        condition="service.*.masked == 1",
        severity="error",
        trust_ceiling="notify",
        escalation_chain=_chain("restart_service"),
    ),
    "default-inodes": _rule(
        description=f"A file system has used {FULL} % of its inodes or more",
        condition=f"inodes.*.percent >= {FULL}",
        hold=30,
        trust_ceiling="notify",
        escalation_chain=_chain("temp_cleanup"),
    ),
    "default-read-only": _rule(
        description="A file system turned read-only",
        condition="disk.*.read_only == 1",
        severity="error",
        trust_ceiling="notify",
        escalation_chain=_chain("host_reboot"),
    ),
    "default-clock": _rule(
        description=f"The clocks of a host and of the service differ by {CLOCK_OFF_FROM_S} seconds or more",
        condition=f"{CLOCK_OFF} >= {CLOCK_OFF_FROM_S}",
        hold=120,  # a message that waited looks like a clock that is behind, until the next one
        trust_ceiling="notify",
        escalation_chain=_chain(("restart_service", {"service": "systemd-timesyncd"})),
    ),
    "default-service-manager": _rule(
        description="The service manager of a host has not answered for a minute",
        condition=f"service_manager.hung_s >= {HUNG_FROM_S}",
        severity="error",
        trust_ceiling="notify",  # it only tells: without a service manager few actions work, this one included
        escalation_chain=_chain("host_reboot"),
    ),
    "default-container": _rule(
        description="A container is down, or was removed",
        severity="error",
        condition='container.*.state == "exited" or container.*.state == "dead" or container.*.state == "stopped"'
        ' or container.*.state == "removed"',
        escalation_chain=_chain("restart_container", "container_recreate"),
    ),
    "default-memory": _rule(
        description=f"Memory above {MEMORY_ABOVE} %",
        condition=f"mem_percent > {MEMORY_ABOVE}",
        hold=60,
        escalation_chain=_chain("clear_cache", "memory_pressure_relief", ("process_kill", {"top": "memory"})),
    ),
    "default-dns": _rule(
        description="Names are not resolved",
        condition="dns_ok == 0",
        hold=30,
        severity="error",
        escalation_chain=_chain(  # no event names a container: one that resolves names is called `dns` here
            "flush_dns",
            ("restart_service", {"service": "systemd-resolved"}),
            ("restart_container", {"container": "dns"}),
        ),
    ),
    "default-vpn": _rule(
        description="A VPN interface is down",
        condition="vpn.*.up == 0",
        hold=30,
        severity="error",
        escalation_chain=_chain("vpn_reconnect"),
    ),
    "default-backup": _rule(
        description="A backup is older than a day",
        condition="backup.*.age_hours > 26",
        escalation_chain=_chain("trigger_backup", "backup_verify"),
    ),
}


log = logging.getLogger(__name__)


def declare(root: Root, config: Configuration) -> None:
    """A rule that is no longer declared is deleted; one that was edited by the API stays."""
    healing, settings = healing_of(root), config[HealingSettings]
    if settings.cusum is not None:
        log.warning("healing.cusum in the configuration has no effect any more: healing.change is in its place")
    now = now_of(root)
    wanted: dict[str, tuple[str, RuleSettings]] = {rule.id: ("yaml", rule) for rule in settings.rules}
    if settings.default_rules:
        wanted |= {rule_id: ("default", rule) for rule_id, rule in DEFAULT_RULES.items() if rule_id not in wanted}
    present, damaged = healing.rules.parted()
    damaged += healing.trust.parted()[1]  # a rule without its trust is as good as lost
    rules, lost = {rule.__name__: rule for rule in present}, {damage.id for damage in damaged}
    for rule_id, rule in rules.items():
        if rule.source != "api" and rule_id not in wanted:
            drop_rule(root, rule_id)
    for rule_id, (source, rule_settings) in wanted.items():
        if rule_id in lost:
            continue  # it stays as it is until the store is restored
        known = rules.get(rule_id)
        if known is None or known.source != "api":
            put_rule(root, rule_id, rule_settings, source=source, now=now)
    healing.dependencies.declare(settings.dependencies, "yaml")
