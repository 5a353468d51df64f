"""What rooms above tell maintenance: they register utilities. All are asked in a transaction."""

from __future__ import annotations

from zope.interface import Interface


class IScopeKind(Interface):
    """What a window may cover (`monitor`, `agent`)."""

    def exists(root, id):
        """Whether there is one."""

    def named(root, name):
        """Their ids (a name may be an id); from memory."""

    def standing(root, ids):
        """(how many, names of those down); `ids` None: all. From memory."""

    def catch_up(root):
        """Reads what has changed, so that what follows is of this transaction or newer."""

    def tagged(node):
        """(id, tags) of all; from memory, as they were read last."""

    def tags_of(node, id):
        """None where none is known; from memory."""

    def names(root):
        """(id, names) of all, as of this transaction or newer; the first name stands in code."""


class IWindowEnded(Interface):
    """Named utility: a window ended before its time, or covers something else."""

    def __call__(root, now):
        """Who waited for its end need not wait."""
