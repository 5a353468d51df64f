"""What rooms above tell notifications: interfaces that they register utilities for. Both are asked in a transaction."""

from __future__ import annotations

from zope.interface import Interface


class ISilence(Interface):
    """Utility: whether a maintenance window keeps a target silent."""

    def __call__(root, target, now):
        """Whether nothing is to be told of this target (an id or a name of a monitor or an agent) now."""


class ICauses(Interface):
    """Utility: what a target's failure comes from."""

    def __call__(root, target, now):
        """The name of the failed target above this one that is the root cause, or None: it is its own."""
