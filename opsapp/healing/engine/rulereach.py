"""Which tags a rule has, for what teams may see (`web.sight`): a rule that names hosts, monitors or tags has those of
each; one that names none holds everywhere, and every team sees it. Must not: decide what a rule matches.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator

from opsapp.agents.engine import hosts
from opsapp.healing.records import RuleRecord
from opsapp.healing.resources.rules import Rule
from opsapp.monitoring.engine import register_of
from opsapp.runtime.node import node_of
from opsapp.tree.rights import EVERYBODYS, Tags, TagsOfMany
from opsapp.tree.root import Root, root_above

TAG = "tag:"


def tags_of_rule(rule: Rule) -> Tags:
    return reader_of(root_above(rule))(rule.record)


def reader_of(root: Root) -> Callable[[RuleRecord], Tags]:
    """The tags of rules; what goes by a name is looked up once for all."""
    by_name = defaultdict[str, list[tuple[str, ...]]](list)
    for name, tags in _named(root):
        by_name[name].append(tags)

    def tags_of(rule: RuleRecord) -> Tags:
        if rule.targets is None and rule.acts_on is None:
            return EVERYBODYS
        targets = (*rule.targets.agents, *rule.targets.monitors) if rule.targets else ()
        known: list[tuple[str, ...]] = []
        for name in (*targets, *([rule.acts_on] if rule.acts_on else [])):
            known += [(name.removeprefix(TAG),)] if name.startswith(TAG) else by_name.get(name, [()])
        return TagsOfMany(tuple(known), whole=True)

    return tags_of


def _named(root: Root) -> Iterator[tuple[str, tuple[str, ...]]]:
    for host in hosts(root):
        yield from ((name, host.tags) for name in {host.agent_id, host.hostname, host.label})
    register = register_of(node_of(root))
    register.catch_up(root)
    for entry in register.entries.values():
        yield from ((name, entry.settings.tags) for name in (entry.id, entry.name))
