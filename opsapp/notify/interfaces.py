"""What rooms above tell notifications, by utilities that they register (asked in a transaction), and what pages know
of channels before any is made."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple, Protocol

from zope.interface import Interface

from opsapp.tree.root import Root

from .logic import LONGEST_TEXT, SEVERITIES, STATUSES
from .logic.addresses import BY_NAME, TYPES, AddressField, ChannelDescription, wrong_fields
from .logic.reasons import reason_of

__all__ = [
    "BY_NAME",
    "LONGEST_TEXT",
    "SEVERITIES",
    "STATUSES",
    "TYPES",
    "AddressField",
    "Answerer",
    "ChannelDescription",
    "Failure",
    "IAnswer",
    "ICauses",
    "IPageAddresses",
    "ISilence",
    "LinkTerms",
    "LinkedAct",
    "RootCause",
    "reason_of",
    "wrong_fields",
]


class ISilence(Interface):
    """Utility: whether a maintenance window keeps a target silent."""

    def __call__(root, target, now):
        """The target is an id or a name of a monitor or an agent."""


class IPageAddresses(Interface):
    """Utility: where people read more about a message."""

    def __call__(kind, ids):
        """The address of the page of a message of this kind with these ids; None where nobody has said at which
        address this service is reached."""

    def answering(token):
        """The address of the page that asks what the link with this token is for."""


class Failure(NamedTuple):
    """`since`: when it was found, if its message can wait."""

    target: str
    since: float | None = None


class RootCause(NamedTuple):
    """`name` is the failed target above it that is the root cause; None: it is its own. `wait`: what it hangs on was
    not measured since, or may have failed, so that another cause may come to light."""

    name: str | None = None
    wait: bool = False


class ICauses(Interface):
    """Utility: what failures come from."""

    def __call__(root, failures, now):
        """A failure that hangs on nothing may be left out. What has to be measured before a failure that can wait is
        understood is measured after the commit."""


AfterAbort = Callable[..., None]  # (fn, *values): `fn(root, *values)` in a transaction of its own, after a refusal


class IAnswer(Interface):
    """Utility under the name of an act: how people do it by a link in a message. A `LinkedAct`."""


class Answerer(NamedTuple):
    """Who answers."""

    name: str
    role: str


class LinkTerms(NamedTuple):
    """What a link holds for: not for another `content`, and not from `until` on."""

    content: str = ""
    until: float | None = None


class LinkedAct(Protocol):
    """`noun`: which of a message's ids names what it is done to; `label` is on the button, `audit` in the record."""

    noun: str
    label: str
    audit: str

    def terms(self, root: Root, thing_id: str) -> LinkTerms | None:
        """None where there is no such thing."""

    def refusal(self, root: Root, thing_id: str, by: Answerer) -> str | None:
        """Why it cannot be done, or not by this person; only what is known before the click."""

    def done(
        self, root: Root, thing_id: str, by: Answerer, now: float, after_abort: AfterAbort
    ) -> Mapping[str, object]:
        """Do it as the API does; what the audit record says of it. A Problem where it cannot be done: what that must
        leave behind is given to `after_abort`."""
