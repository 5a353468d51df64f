"""What rooms above (and beside) tell monitoring: interfaces that they register utilities for."""

from __future__ import annotations

from zope.interface import Interface


class IWindows(Interface):
    """Utility: which maintenance windows cover a monitor. Asked on the hub for each check, so answered from memory."""

    def covers(monitor_id, now):
        """Whether a window is on for this monitor."""


class IPublicWindows(Interface):
    """Utility: what the status page tells of maintenance. Called in a transaction."""

    def upcoming(root, monitor_ids, now):
        """[{name, start, end, active, monitors}] of windows that are on or to come and cover any of these monitors;
        `monitors` are ids."""


class IWarRoomSection(Interface):
    """Named utility: what another room knows about an incident. Called in a transaction."""

    def __call__(root, incident, now):
        """{section: [entries]} for some of `events`, `suggested_automations`, `dependencies`, `heals`. `incident` is
        the record as the API shows it; events are {time, kind, text, …}."""


class IRootCauses(Interface):
    """Utility: what failures come from, by the graph of dependencies. Called in a transaction."""

    def __call__(root, names, now):
        """{name: the failed target above it that is the root cause}; names that are their own are left out."""


class IProbeElsewhere(Interface):
    """Utility: probing from agents (`probe_from`). Called on the hub."""

    def probe(agent_id, target):
        """The Outcome of this ProbeTarget as that agent sees it; `ok` None when the agent is away."""
