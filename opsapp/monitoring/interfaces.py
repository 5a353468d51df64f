"""Utilities that rooms above (and beside) register to tell monitoring something."""

from __future__ import annotations

from collections.abc import Sequence

from zope.interface import Interface

from opsapp.monitoring.records import StandsOn, SuggestedRemedy, WarRoomEvent
from opsapp.wire.dataclass import frozen
from opsapp.wire.kinds import AnyValues


@frozen(kw_only=True)
class WarRoomSection:
    """What another room knows about an incident."""

    events: Sequence[WarRoomEvent] = ()
    other_runs: Sequence[WarRoomEvent] = ()
    suggested_automations: Sequence[SuggestedRemedy] = ()
    dependencies: Sequence[StandsOn] = ()
    heals: Sequence[AnyValues] = ()


class IWarRoomSection(Interface):
    """Named utility: what another room knows about an incident. Called in a transaction."""

    def __call__(root, incident, now):
        """A `WarRoomSection`; `incident` is an `IncidentRecord`."""


class IIncidentTold(Interface):
    """Named utility: hears of an incident in the transaction that changes it."""

    def __call__(root, incident, change, now, note):
        """`change`: `opened`, `acknowledged`, `assigned`, `given_back`, `updated` (with its `note`) or `resolved`."""


class IStatusGroups(Interface):
    """Utility: how the status page groups monitors. Called in a transaction."""

    def __call__(root):
        """{monitor id: the name of its group}; what is in no group is left out."""


class IStatusPages(Interface):
    """Utility: the status pages of their own. Called in a transaction."""

    def __call__(root):
        """{path: id}; the page of all is not among them."""


class IRootCauses(Interface):
    """Utility: what failures come from, by the graph of dependencies. Called in a transaction."""

    def __call__(root, names, now):
        """{name: the failed target above it that is the root cause}; names that are their own are left out."""
