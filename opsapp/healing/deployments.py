"""Deployments: what people and pipelines say they have brought out, declared once, and stored under /api/deployments.

Ids begin with the time of the deployment, so a span is found without reading others. Must not: know hosts or monitors
beyond their ids and tags; claim that a deployment is a cause.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import islice
from typing import Annotated, ClassVar

from BTrees.OOBTree import OOBTree, OOTreeSet

from opsapp.lib.ids import earliest_id, id_from
from opsapp.lib.visible import name_kind
from opsapp.tree.counted import LAST, StoredCounts, newest
from opsapp.tree.folder import Folder, Record
from opsapp.tree.places import ApiPlace
from opsapp.tree.root import Root
from opsapp.wire.dataclass import frozen
from opsapp.wire.kinds import Text
from opsapp.wire.records import Between, FormField, Most, Since, Told, made, settings_of

KIND = "deployment"
ALL = "all"  # under which all are counted
EVERYTHING = "*"  # what a deployment is about that names nothing
TAG = "tag:"
MOST_NAMED = 100
Names = tuple[Annotated[str, Text(1, 255)], ...]


@frozen
class DeploymentSettings:
    """Without hosts and monitors it is about everything."""

    component: ClassVar[str] = "Deployment"
    sample: ClassVar[dict[str, str]] = {"title": "shop 4.2.1", "url": "https://ci.example.org/builds/4711"}

    title: Annotated[str, name_kind(), FormField("What", hint="Like shop 4.2.1")]
    hosts: Annotated[
        Names, Most(MOST_NAMED), FormField("Hosts", "names", "Or tag:NAME", of="host", by="label", clears=True)
    ] = ()
    monitors: Annotated[
        Names, Most(MOST_NAMED), FormField("Monitors", "names", "Or tag:NAME", of="monitor", by="name", clears=True)
    ] = ()
    url: Annotated[
        str,
        Text(0, 1000, r"(https?://[^\s\"'<>\\]+)?", "an address that begins with http:// or https://"),
        FormField("Link", hint="The address of the build or of the change"),
    ] = ""
    at: Annotated[int | None, Between(0, 2**40)] = None


@frozen(kw_only=True)
class DeploymentRecord(DeploymentSettings):
    """`at`: in seconds; left out, it is the moment of the post."""

    id: Told[str]
    created_at: Told[Since]
    created_by: Told[str]


class Deployment(Record):
    """/api/deployments/{id}. `about`: ids of hosts and monitors, and their tags."""

    url = "/api/deployments/{deployment_id}"

    def __init__(self, said: DeploymentSettings, about: frozenset[str], by: str, now: float):
        self.fields = settings_of(said)
        self.about = about
        self.created_at, self.created_by = int(now), by

    @property
    def id(self) -> str:
        return self.__name__

    @property
    def at(self) -> int:
        return self.said.at or 0

    @property
    def said(self) -> DeploymentSettings:
        return made(DeploymentSettings, self.fields)

    def record(self) -> DeploymentRecord:
        told = vars(self.said)
        return DeploymentRecord(**told, id=self.id, created_at=self.created_at, created_by=self.created_by)


class Deployments(Folder):
    """/api/deployments. `by_subject`: about -> ids."""

    url = "/api/deployments"
    holds = KIND

    def __init__(self) -> None:
        super().__init__()
        self.by_subject = OOBTree()
        self.counts = StoredCounts()

    def add(self, deployment: Deployment) -> None:
        self.insert(id_from(deployment.at, self.tree), deployment)

    def insert(self, name: str, deployment: Deployment) -> None:
        self[name] = deployment
        self.counts.add(ALL)
        for subject in deployment.about:
            if subject not in self.by_subject:
                self.by_subject[subject] = OOTreeSet()
            self.by_subject[subject].insert(name)

    def drop(self, deployment: Deployment) -> None:
        del self[deployment.id]
        self.counts.add(ALL, by=-1)
        for subject in deployment.about:
            ids = self.by_subject.get(subject)
            if ids is not None and deployment.id in ids:
                ids.remove(deployment.id)
                if not ids:
                    del self.by_subject[subject]

    def page(self, limit: int, offset: int) -> tuple[list[Deployment], int]:
        """Newest first, and how many there are."""
        names = newest(self.tree, "", LAST, offset, limit)
        return list(self.some(names)), self.counts[ALL]

    def within(self, subjects: Iterable[str], since: float, until: float, most: int) -> list[Deployment]:
        """The newest that are about any of these or about everything, oldest first."""
        first, last = earliest_id(since), earliest_id(math.floor(until) + 1)
        names = set[str]()
        for subject in {*subjects, EVERYTHING}:
            ids = self.by_subject.get(subject)
            names.update(newest(ids, first, last, 0, most) if ids else ())
        return list(self.some(sorted(names)[-most:]))

    def forget(self, before: float, most: int) -> bool:
        """Drop a page; whether there may be more. One that cannot be read stays, for the doctor."""
        old = list(islice(self.tree.keys(None, earliest_id(before), excludemax=True), most))
        readable = list(self.some(old))
        for deployment in readable:
            self.drop(deployment)
        return len(old) == most and bool(readable)


deployments_of: ApiPlace[Deployments] = ApiPlace("deployments")


def set_up(root: Root) -> None:
    """Evolve step."""
    if not deployments_of.is_there(root):
        deployments_of.put(root, Deployments())
