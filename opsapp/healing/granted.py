"""A heal that people have allowed before the pipeline asks for it: the room that had it allowed answers here.

The request of the pipeline is made all the same, and decided by that yes. Must not: know why it was allowed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Protocol

from zope.interface import Interface

from opsapp.lib.jsontypes import JsonObject
from opsapp.tree.root import Root


class IAllowance(Interface):
    """Utility: `Allowance`."""


class Allowed(NamedTuple):
    """The yes to a proposal: who had asked, what the request says of that, who has allowed it and with which words."""

    requested_by: str
    about: Mapping[str, object]
    by: str
    comment: str | None


class Allowance(Protocol):
    def __call__(self, root: Root, rule_id: str, case_id: str, plan: JsonObject) -> Allowed | None:
        """The yes to exactly this, which is used up by the question; None where there is none."""
