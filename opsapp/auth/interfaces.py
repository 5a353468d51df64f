"""What others tell accounts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zope.interface import Interface

if TYPE_CHECKING:
    from opsapp.tree.root import Root


class ISecretText(Interface):
    """Utility, `fn(node, text)`: the text with its secrets (`{{secret:NAME}}`) filled in; "" where one cannot be
    read. On the hub or in a thread, outside of a transaction."""


class IUserDeleted(Interface):
    """Gives back what a user had: nobody looks after it any more. A named utility for each kind of thing."""

    def __call__(root: Root, username: str, now: float) -> None:
        """In the transaction that deletes the user."""
