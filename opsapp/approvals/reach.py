"""Which tags a request has, for what teams may (`web.sight`): those of each subject that it is about, and of no other
request. What these are is kept beside the requests, so that a list reads none.

Must not: know what subjects there are; the room above them registers `ISubjectTags`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Protocol

from zope.interface import Interface

from opsapp.auth.resources import sight_for
from opsapp.lib.problems import Forbidden
from opsapp.runtime.events import Event
from opsapp.runtime.node import Node, node_of
from opsapp.tree.rights import Sight, TagsOfMany
from opsapp.tree.root import Root, root_above

from .records import ApprovalRecord
from .resources import Approval, approvals_of


class ISubjectTags(Interface):
    """Utility: a `SubjectTags`."""


class SubjectTags(Protocol):
    def of(self, node: Node, subject: str) -> Collection[str]:
        """The tags of a subject; none of what is not there. From memory alone."""

    def catch_up(self, root: Root) -> None:
        """So that the memory has what `root` sees."""


def tags_of_request(approval: Approval) -> TagsOfMany:
    return reader_of(root_above(approval))(approval.__name__)


def tags_of_event(node: Node, event: Event) -> TagsOfMany:
    """An event names the subjects of few; of the others a team hears when it looks."""
    return _together(node, event.data.get("subjects", ()))


def reader_of(root: Root) -> Callable[[str], TagsOfMany]:
    """The tags of requests by their ids, as `root` sees them."""
    node, folder = node_of(root), approvals_of(root)
    known = _known(node)
    if known is not None:
        known.catch_up(root)
    return lambda request_id: _together(node, folder.subjects_of(request_id))


def seen_by(root: Root, sight: Sight | None) -> Callable[[str], bool] | None:
    """Whether a request is seen; None: all are."""
    if sight is None:
        return None
    tags_of = reader_of(root)

    def is_seen(request_id: str) -> bool:
        return sight.sees(tags_of(request_id))

    return is_seen


def decidable(root: Root, sight: Sight) -> int:
    """How many requests wait that these teams may decide, of the first 2,000."""
    tags_of, waiting = reader_of(root), approvals_of(root).waiting()
    return sum(sight.may("approve", tags_of(request_id)) for request_id in waiting)


def narrowed(record: ApprovalRecord) -> ApprovalRecord:
    """Without what tells of others: how often the fleet was healed so, and by which budgets and windows the level is
    lower."""
    return replace(record, record=None, reason=_own_reason(record.plan.get, record.kind, record.reason))


def narrowed_event(event: Event) -> Event:
    said = event.data.get
    reason = _own_reason(said("plan", {}).get, said("kind", ""), said("reason", ""))
    return event._replace(data={**event.data, "reason": reason})


def _own_reason(planned: Callable[[str], object], kind: str, reason: str) -> str:
    return f"{planned('rule_id')}: {planned('condition')}" if kind == "heal" else reason


def barred(root: Root, approval: Approval, name: str) -> Forbidden | None:
    """Why this person's teams do not let them decide it, whichever way they come."""
    sight = sight_for(root, name)
    if sight is None or sight.may("approve", tags_of_request(approval)):
        return None
    return Forbidden("Your team may not approve here.", code="team_right_missing")


def _known(node: Node) -> SubjectTags | None:
    known: SubjectTags | None = node.registry.queryUtility(ISubjectTags)
    return known


def _together(node: Node, subjects: Collection[str]) -> TagsOfMany:
    known = _known(node)
    parts = () if known is None else tuple(known.of(node, subject) for subject in subjects)
    return TagsOfMany(parts, whole=True)
