"""Which hosts and monitors healing is about, and their tags, for what teams may see (`web.sight`). A name is not
enough: others may bear it later. What is not known to be about one is no team's.

A rule that names hosts, monitors or tags has the tags of each; one that names none holds everywhere, and every team
sees it. Must not: ask who is in a team, decide what a rule matches.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator
from typing import NamedTuple

from opsapp.agents.engine import agent_tags, catch_up_agents, hosts, seen_agents
from opsapp.agents.engine import subject as subject_of
from opsapp.healing.deployments import TAG
from opsapp.healing.records import RuleRecord
from opsapp.healing.resources import CaseView, healing_of
from opsapp.healing.resources.rules import Rule
from opsapp.healing.stages.approval import HealPlan
from opsapp.healing.stages.case import CaseRecord
from opsapp.healing.stages.world import SERVER
from opsapp.monitoring.engine import register_of
from opsapp.runtime.events import Event
from opsapp.runtime.node import Node, node_of
from opsapp.tree.rights import EVERYBODYS, Sight, Tags, TagsOfMany
from opsapp.tree.root import Root, root_above

UNKNOWN = ""  # a subject without tags


class KnownSubjects:
    """`approvals.reach.SubjectTags`: hosts and monitors."""

    def of(self, node: Node, subject: str) -> Collection[str]:
        kind, _, item_id = subject.partition(":")
        if kind == "agent":
            return agent_tags(node, item_id)
        entry = register_of(node).entries.get(item_id) if kind == "monitor" else None
        return () if entry is None else entry.settings.tags

    def catch_up(self, root: Root) -> None:
        catch_up_agents(root)
        register_of(node_of(root)).catch_up(root)


class NamedSubject(NamedTuple):
    """A host or a monitor, and what it is called."""

    key: str
    kind: str
    names: frozenset[str]
    tags: tuple[str, ...]


def subjects(root: Root) -> Iterator[NamedSubject]:
    """From memory."""
    for host in hosts(root):
        names = frozenset((host.agent_id, host.label, host.hostname))
        yield NamedSubject(subject_of(host.agent_id), "host", names, host.tags)
    register = register_of(node_of(root))
    register.catch_up(root)
    for entry in tuple(register.entries.values()):
        yield NamedSubject(entry.subject, "monitor", frozenset((entry.id, entry.name)), entry.settings.tags)


def tags_of_rule(rule: Rule) -> Tags:
    return reader_of(root_above(rule))(rule.record)


def reader_of(root: Root) -> Callable[[RuleRecord], Tags]:
    """The tags of rules; what goes by a name is looked up once for all."""
    by_name = defaultdict[str, list[tuple[str, ...]]](list)
    for subject in subjects(root):
        for name in subject.names:
            by_name[name].append(subject.tags)

    def tags_of(rule: RuleRecord) -> Tags:
        if rule.targets is None and rule.acts_on is None:
            return EVERYBODYS
        targets = (*rule.targets.agents, *rule.targets.monitors) if rule.targets else ()
        known: list[tuple[str, ...]] = []
        for name in (*targets, *([rule.acts_on] if rule.acts_on else [])):
            known += [(name.removeprefix(TAG),)] if name.startswith(TAG) else by_name.get(name, [()])
        return TagsOfMany(tuple(known), whole=True)

    return tags_of


def counts_theirs(root: Root, sight: Sight | None) -> Callable[[str], bool]:
    """Whether all that a rule was ever about is what `sight` sees, so that its figures count nobody else's."""
    if sight is None:
        return lambda rule_id: True
    rules, tags_of = healing_of(root).rules, reader_of(root)

    def is_theirs(rule_id: str) -> bool:
        rule = rules.find(rule_id)
        return rule is not None and rule.record.targets is not None and sight.sees(tags_of(rule.record))

    return is_theirs


def tags_of_case(view: CaseView) -> TagsOfMany:
    """Of what it is about, and of the host where it acts."""
    root = root_above(view)
    node, record = node_of(root), healing_of(root).book.record_of(view.__name__)
    if record is None:
        return TagsOfMany(())
    known, host = KnownSubjects(), None if record.heal is None else record.heal.host
    known.catch_up(root)
    acted_on = [] if host in (None, SERVER) else [known.of(node, subject_of(host))]
    return TagsOfMany((known.of(node, record.about.subject or UNKNOWN), *acted_on), whole=True)


def tags_of_heal_event(node: Node, event: Event) -> Collection[str]:
    return KnownSubjects().of(node, event.data.get("subject") or UNKNOWN)


def seen_subjects(root: Root, sight: Sight | None) -> Collection[str] | None:
    """The hosts and monitors that `sight` sees; None: all."""
    if sight is None:
        return None
    register = register_of(node_of(root))
    register.catch_up(root)
    monitors = {f"monitor:{entry.id}" for entry in register.entries.values() if sight.sees(entry.settings.tags)}
    return monitors.union(map(subject_of, seen_agents(root, sight)))


def subjects_asked(record: CaseRecord, plan: HealPlan) -> tuple[str, ...]:
    """What people are asked about: the target, where it is acted on, and the hosts of an automation."""
    hosts = {plan.host, *(host.get("agent_id") for host in plan.hosts or ())} - {None, SERVER}
    return (record.about.subject or UNKNOWN, *sorted(subject_of(host) for host in hosts if host))
