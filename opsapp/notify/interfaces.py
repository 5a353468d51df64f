"""What rooms above tell notifications, by interfaces that they register utilities for (both are asked in a
transaction); and what pages know of channels before any is made: their types and states."""

from __future__ import annotations

from typing import NamedTuple

from zope.interface import Interface

from .logic import LONGEST_TEXT, SEVERITIES, STATUSES
from .logic.addresses import BY_NAME, TYPES, AddressField, ChannelType, wrong_fields
from .logic.reasons import reason_of

__all__ = [
    "BY_NAME",
    "LONGEST_TEXT",
    "SEVERITIES",
    "STATUSES",
    "TYPES",
    "AddressField",
    "ChannelType",
    "Failure",
    "ICauses",
    "IPageAddresses",
    "ISilence",
    "RootCause",
    "reason_of",
    "wrong_fields",
]


class ISilence(Interface):
    """Utility: whether a maintenance window keeps a target silent."""

    def __call__(root, target, now):
        """Whether nothing is to be told of this target (an id or a name of a monitor or an agent) now."""


class IPageAddresses(Interface):
    """Utility: where people read more about a message."""

    def __call__(kind, ids):
        """The full address of the page of a message of this kind with these ids; None where nobody has said at which
        address this service is reached."""


class Failure(NamedTuple):
    """A target that has failed. `since`: when that was found, if its message can wait."""

    target: str
    since: float | None = None


class RootCause(NamedTuple):
    """What a failure comes from: `name` is the failed target above it that is the root cause; None: it is its own.
    `wait`: what it hangs on was not measured since, or may have failed, so that another cause may come to light."""

    name: str | None = None
    wait: bool = False


class ICauses(Interface):
    """Utility: what failures come from."""

    def __call__(root, failures, now):
        """{failure: its Cause}; a failure that hangs on nothing may be left out. What has to be measured before a
        failure that can wait is understood is measured after the commit."""
