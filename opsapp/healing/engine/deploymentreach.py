"""Which deployments a limited person (in a team) sees, and about what they may post one. A deployment is seen by who
sees a host or a monitor that it is about, and is in the hands of who may act on all of them; one about everything is in
no team's.

Must not: know who is in a team.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from opsapp.healing.deployments import EVERYTHING, TAG, Deployment, DeploymentRecord, Deployments
from opsapp.tree.rights import Sight, TagsOfMany
from opsapp.tree.root import Root, root_above

from .deployments import KINDS, about_named, tagged
from .reach import NamedSubject, subjects

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
