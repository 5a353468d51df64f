"""Utilities by which other rooms work with accounts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zope.interface import Interface

if TYPE_CHECKING:
    from opsapp.tree.root import Root


class ISecretText(Interface):
    """Utility, `fn(node, text)`: with its secrets (`{{secret:NAME}}`) filled in; "" where one cannot be read. Not in a
    transaction."""


class IUserGone(Interface):
    """Named utility: gives back what a user looked after, of one kind."""

    def __call__(root: Root, username: str, now: float) -> None:
        """In the transaction that disables or deletes the user."""


class IUserDeleted(Interface):
    """Named utility: forgets what is stored of a user elsewhere."""

    def __call__(root: Root, username: str, now: float) -> None:
        """In the transaction that deletes the user."""
