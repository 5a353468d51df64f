"""What a room above tells the audit room."""

from __future__ import annotations

from zope.interface import Interface


class IAnchored(Interface):
    """Utility, `fn(node)`: how many entries of the record were written when that was last noted outside of the store;
    None where nothing was noted."""


class IPoster(Interface):
    """Utility, `fn(node, url, token, body, timeout)`: POSTs JSON lines, with the bearer token if there is one; what is
    wrong, or nothing. The token may name a secret: `{{secret:NAME}}`. On the hub."""
