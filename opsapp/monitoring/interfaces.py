"""What rooms above (and beside) tell monitoring: interfaces that they register utilities for."""

from __future__ import annotations

from zope.interface import Interface


class IWarRoomSection(Interface):
    """Named utility: what another room knows about an incident. Called in a transaction."""

    def __call__(root, incident, now):
        """{section: [entries]} for some of `events`, `other_runs`, `suggested_automations`, `dependencies`, `heals`.
        `incident` is the record as the API shows it; events and runs are {time, kind, text, …}."""


class IIncidentTold(Interface):
    """Named utility: hears of an incident in the transaction that changes it."""

    def __call__(root, incident, change, now, note):
        """`change`: `opened`, `acknowledged`, `assigned`, `given_back`, `updated` (with its `note`) or `resolved`."""


class IStatusGroups(Interface):
    """Utility: how the status page groups monitors. Called in a transaction."""

    def __call__(root):
        """{monitor id: the name of its group}; what is in no group is left out."""


class IRootCauses(Interface):
    """Utility: what failures come from, by the graph of dependencies. Called in a transaction."""

    def __call__(root, names, now):
        """{name: the failed target above it that is the root cause}; names that are their own are left out."""
