"""The name under which older stores hold the service's own actions."""

from .server_actions import ServerActions as Deeds

__all__ = ["Deeds"]
