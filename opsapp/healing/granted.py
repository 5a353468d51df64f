"""A heal that people allowed before the pipeline asks. The request is made all the same, and decided by that yes. Must
not: know why it was allowed."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from zope.interface import Interface

from opsapp.approvals.records import RequestAbout
from opsapp.lib.jsontypes import JsonObject
from opsapp.tree.root import Root


class IAllowance(Interface):
    """Utility: `Allowance`."""


class Allowed(NamedTuple):
    """`about`: what the request says of the proposal."""

    requested_by: str
    about: RequestAbout
    by: str
    comment: str | None


class Allowance(Protocol):
    def __call__(self, root: Root, rule_id: str, case_id: str, plan: JsonObject) -> Allowed | None:
        """The yes to exactly this, which the question uses up."""
