"""What rooms above tell maintenance: interfaces that they register utilities for. All are asked in a transaction."""

from __future__ import annotations

from zope.interface import Interface


class IScopeKind(Interface):
    """Named utility: a kind of thing that a window may cover (`monitor`, `agent`)."""

    def exists(root, id):
        """Whether there is such a thing."""

    def named(root, name):
        """The ids of those that go by a name (which may be an id); from memory."""

    def standing(root, ids):
        """(how many there are of these, the names of those that are down now); `ids` None: of all. From memory."""

    def names(root):
        """(id, names) of all, as this transaction has them, or newer where it has not written; by the first of its
        names a thing is written as code."""


class IWindowEnded(Interface):
    """Named utility: told when a window has ended before its time, or covers something else from now on."""

    def __call__(root, now):
        """Whoever waited for its end need not wait any longer."""
