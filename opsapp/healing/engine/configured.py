"""What is declared outside of the API: the default rules, and the rules and dependencies of the YAML file."""

from __future__ import annotations

import logging

from opsapp.healing.config import HealingSettings
from opsapp.healing.records import RuleSettings
from opsapp.healing.resources import healing_of
from opsapp.healing.resources.rules import drop_rule, put_rule
from opsapp.healing.resources.signedtrust import TRUST
from opsapp.runtime.config import Configuration
from opsapp.runtime.node import node_of
from opsapp.runtime.projection import readable
from opsapp.tree.damage import Damage
from opsapp.tree.root import Root

from .default_rules import DEFAULT_RULES

log = logging.getLogger(__name__)


def declare(root: Root, config: Configuration) -> None:
    """Bring the store in line with what is declared. A rule that is no longer declared is deleted; one that was edited
    by the API stays as it was edited."""
    healing, settings = healing_of(root), config[HealingSettings]
    if settings.cusum is not None:
        log.warning("healing.cusum in the configuration has no effect any more: healing.change is in its place")
    now = node_of(root).clock.now()
    wanted: dict[str, tuple[str, RuleSettings]] = {rule.id: ("yaml", rule) for rule in settings.rules}
    if settings.default_rules:
        wanted |= {rule_id: ("default", rule) for rule_id, rule in DEFAULT_RULES.items() if rule_id not in wanted}
    damaged: list[Damage] = []
    rules = dict(readable(healing["rules"], "rule", damaged))
    dict(readable(healing["trust"], TRUST, damaged))  # a rule without its trust is as good as lost
    lost = {damage.id for damage in damaged}
    for rule_id, rule in rules.items():
        if rule.source != "api" and rule_id not in wanted:
            drop_rule(root, rule_id)
    for rule_id, (source, rule_settings) in wanted.items():
        if rule_id in lost:
            continue  # it stays as it is until the store is restored
        present = rules.get(rule_id)
        if present is None or present.source != "api":
            put_rule(root, rule_id, rule_settings, source=source, now=now)
    healing["dependencies"].declare(settings.dependencies, "yaml")
