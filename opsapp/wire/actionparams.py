"""The kinds of parameters that heal actions take: no text of these becomes an option or a second argument."""

from __future__ import annotations

from typing import List, NamedTuple, Optional

from .fields import choice, integer, may, need, nested, text
from .urls import web_problem


class FirewallRule(NamedTuple):
    """What `FIREWALL_RULE` lets through: FirewallRule(**checked)."""

    direction: str
    action: str
    protocol: str
    port: Optional[int]
    source: Optional[str]
    destination: Optional[str]

    @property
    def addresses(self) -> List[str]:
        return [address for address in (self.source, self.destination) if address]


# systemd lets a unit stop for 90 s before it kills it, and start for as long again, where the unit says nothing else:
# who gives up earlier does not learn how it ended.
UNIT_TIMEOUT_S = 200
# A unit that says something else is waited for as long as it says and so much more, but never for longer than that.
UNIT_MARGIN_S = 20
UNIT_LONGEST_S = 900
NAME = text(255, low=1, pattern=r"[A-Za-z0-9_.@:/][A-Za-z0-9_.@:/-]*")
SERVICE = text(255, low=1, pattern=r"[A-Za-z0-9_@.:\\][A-Za-z0-9_@.:\\-]*")
CONTAINER = text(128, low=1, pattern=r"[A-Za-z0-9][A-Za-z0-9_.-]*")
NIC = text(15, low=1, pattern=r"[A-Za-z0-9_.@:][A-Za-z0-9_.@:-]*")
PATH = text(4096, low=1, pattern=r"/[^\0]*")
SIZE = text(16, low=1, pattern=r"[0-9]+(\.[0-9]+)?[bkmgtBKMGT]?")
HOST = text(253, low=1, pattern=r"[A-Za-z0-9_\[:][A-Za-z0-9_.:\]-]*")
URL = text(2048, low=8, pattern=r"https?://[^\s]+", also=web_problem)
COMMAND = text(65536, low=1)
FIREWALL_RULE = nested(
    {
        "direction": need(choice("in", "out")),
        "action": need(choice("drop", "reject", "accept")),
        "protocol": may(choice("tcp", "udp", "icmp", "any"), "any"),
        "port": may(integer(1, 65535)),
        "source": may(text(64, low=2, pattern=r"[0-9a-fA-F.:/]+")),
        "destination": may(text(64, low=2, pattern=r"[0-9a-fA-F.:/]+")),
    },
    unknown="refuse",
)
