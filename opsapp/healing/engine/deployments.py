"""Deployments posted, deleted and forgotten; those of a moment; which of them a limited person (in a team) sees, and
about what they may post one. Transactions.

A name is looked up when the deployment is posted: it must be that of one host or monitor. A tag stands for what has
it when somebody looks. A deployment is seen by who sees a host or a monitor that it is about, and is in the hands of
who may act on all of them; one about everything is in no team's. Must not: know who is in a team.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from opsapp.agents.resources import Agent
from opsapp.healing.config import DeploymentsRetention
from opsapp.healing.deployments import (
    EVERYTHING,
    TAG,
    Deployment,
    DeploymentRecord,
    Deployments,
    DeploymentSettings,
    deployments_of,
)
from opsapp.healing.logic.moments import AskedSpan
from opsapp.monitoring.engine import register_of
from opsapp.monitoring.resources import Monitor
from opsapp.runtime.node import Node, node_of
from opsapp.tree.rights import Sight, TagsOfMany
from opsapp.tree.root import Root, root_above

from .inventory import Inventory, inventory_of
from .reach import NamedSubject, subjects

DAY_S = 86_400
AHEAD_S = 60  # the clock of a pipeline may be ahead by so much
PAGE = 200
HEARD = "; a host counts from its first report"
KINDS = {"hosts": "host", "monitors": "monitor"}


def post(root: Root, deployments: Deployments, said: DeploymentSettings, by: str, now: float) -> Deployment:
    """`said` is without mistakes (`mistakes`)."""
    inventory = _inventory(root)
    named = {"hosts": said.hosts, "monitors": said.monitors}
    about = frozenset(key for kind, names in named.items() for name in names if (key := _key(inventory, kind, name)))
    said = said if said.at is not None else replace(said, at=int(now))
    deployment = Deployment(said, about or frozenset((EVERYTHING,)), by, now)
    deployments.add(deployment)
    return deployment


def mistakes(
    root: Root, named: Mapping[str, Sequence[str]], at: float | None, seen: Collection[str] | None = None
) -> dict[str, str]:
    """What only the store and the clock can tell, by field. `seen`: what is not among these keys is not there."""
    node, inventory = node_of(root), _inventory(root)
    now, wrong = node.clock.now(), {}
    for kind, word in KINDS.items():
        keys = {name: _key(inventory, kind, name) for name in named.get(kind, ())}
        unknown = [name for name, key in keys.items() if not key or (seen is not None and key not in seen)]
        if unknown:
            words = f"there is no {word} called {' nor '.join(unknown)}, or more than one"
            wrong[kind] = words + HEARD * (kind == "hosts")
    days = node.config[DeploymentsRetention].days
    if at is not None and not now - days * DAY_S < at <= now + AHEAD_S:
        wrong["at"] = f"must not lie in the future, nor more than {days} days back"
    return wrong


def about_named(root: Root, kind: str, name: str) -> str | None:
    """What a deployment that names this is about."""
    return _key(_inventory(root), kind, name)


def _inventory(root: Root) -> Inventory:
    """Return the inventory with what was added a moment ago: a pipeline may add a monitor and post the deployment
    next."""
    register_of(node_of(root)).catch_up(root)
    return inventory_of(root)


def _key(inventory: Inventory, kind: str, name: str) -> str | None:
    """What the index has for this host, monitor or tag."""
    if name.startswith(TAG):
        return tagged(KINDS[kind], name.removeprefix(TAG)) if name != TAG else None
    if kind == "hosts":
        host = inventory.agent_named(name)
        return None if host is None else host.subject
    monitors = [member.subject for member in inventory if not member.is_agent and member.name == name]
    own = f"monitor:{name}"
    return own if own in inventory.by_subject else monitors[0] if len(monitors) == 1 else None


def tagged(word: str, tag: str) -> str:
    """What the index has for a tag of hosts or monitors."""
    return f"{word}-tag:{tag}"


def of_moment(
    root: Root, agent: Agent | None, monitors: Sequence[Monitor], span: AskedSpan, most: int
) -> list[Deployment]:
    """The newest, oldest first."""
    if not deployments_of.is_there(root):  # the past of a store that had none yet
        return []
    keys = [f"monitor:{monitor.id}" for monitor in monitors]
    keys += [tagged("monitor", tag) for monitor in monitors for tag in monitor.record.tags]
    keys += [] if agent is None else [f"agent:{agent.id}", *(tagged("host", tag) for tag in agent.tags)]
    return deployments_of(root).within(keys, span.since, span.until, most)


def put_back(root: Root, deployment: Deployment) -> None:
    deployments_of(root).insert(deployment.id, deployment)


def forget(root: Root, now: float) -> bool:
    """A page; whether there may be more."""
    days = node_of(root).config[DeploymentsRetention].days
    return deployments_of(root).forget(now - days * DAY_S, PAGE)


def step(node: Node, forget_page: Callable[[Root, float], bool] = forget) -> bool:
    while node.transact(forget_page, node.clock.now()):
        pass
    return False


LOOKED_AT = 2000  # deployments that are looked into, at most
ON_ALL = "name hosts or monitors: your team may not act on everything"


class ReachedSubjects(NamedTuple):
    """`named`: what is seen, by its key in the index, and what deployments call it. `acted`: of that, what may be acted
    on."""

    named: Mapping[str, frozenset[str]]
    acted: frozenset[str]


def reached(root: Root, sight: Sight) -> ReachedSubjects:
    seen = [subject for subject in subjects(root) if sight.sees(subject.tags)]
    named = {subject.key: subject.names for subject in seen}
    acted = {subject.key for subject in seen if sight.may("act", subject.tags)}
    for kind in KINDS.values():
        tags = sight.see.union(*(subject.tags for subject in seen if subject.kind == kind))
        named |= {tagged(kind, tag): frozenset((TAG + tag,)) for tag in tags}
        acted |= {tagged(kind, tag) for tag in sight.act}
    if seen:
        named[EVERYTHING] = frozenset()
    return ReachedSubjects(named, frozenset(acted))


def page(
    deployments: Deployments, reached: ReachedSubjects, limit: int, offset: int
) -> tuple[list[DeploymentRecord], int]:
    """Newest first, and how many there are, of the newest 2,000."""
    looked_at, _ = deployments.page(LOOKED_AT, 0)
    seen = [deployment for deployment in looked_at if not deployment.about.isdisjoint(reached.named)]
    return [narrowed(deployment, reached) for deployment in seen[offset : offset + limit]], len(seen)


def narrowed(deployment: Deployment, reached: ReachedSubjects) -> DeploymentRecord:
    """Without what is not seen, and without what it named that is called otherwise by now."""
    record = deployment.record()
    names = frozenset[str]().union(*(reached.named.get(key, ()) for key in deployment.about))
    hosts, monitors = (tuple(filter(names.__contains__, given)) for given in (record.hosts, record.monitors))
    return replace(record, hosts=hosts, monitors=monitors)


def misfits(root: Root, sight: Sight, named: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Why a limited person may post none about this, of what they see."""
    acted = reached(root, sight).acted
    wrong = {}
    for kind, names in named.items():
        barred = [name for name in names if about_named(root, kind, name) not in acted]
        if barred:
            wrong[kind] = "your team may not act on these: " + ", ".join(barred)
    return wrong if any(named.values()) else {"hosts": ON_ALL}


def tags_of_deployment(deployment: Deployment) -> TagsOfMany:
    """What it was about and is gone tells nothing."""
    root, about = root_above(deployment), deployment.about
    known = list(subjects(root))
    if EVERYTHING in about:
        return TagsOfMany((*{frozenset(subject.tags) for subject in known}, ()))
    parts = {frozenset(subject.tags) for subject in known if _is_meant(subject, about)}
    tags = {key.partition("-tag:")[2] for key in about} - {""}
    return TagsOfMany((*parts, *((tag,) for tag in tags)))  # and what will have the tag


def _is_meant(subject: NamedSubject, about: Collection[str]) -> bool:
    return subject.key in about or any(tagged(subject.kind, tag) in about for tag in subject.tags)
