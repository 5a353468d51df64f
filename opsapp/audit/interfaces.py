"""What a room above tells the audit room."""

from __future__ import annotations

from zope.interface import Interface


class IAnchored(Interface):
    """Utility, `fn(node)`: how many entries were written when that was last noted outside of the store; None where it
    never was."""


class IPoster(Interface):
    """Utility, `fn(node, url, token, body, timeout)`: POSTs JSON lines; what is wrong, or nothing. The token may name a
    secret: `{{secret:NAME}}`. On the hub."""
