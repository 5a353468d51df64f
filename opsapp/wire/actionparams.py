"""The kinds of parameters that heal actions take: no text of these becomes an option or a second argument."""

from __future__ import annotations

from typing import List, Mapping, NamedTuple, Optional, Sequence

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


class HealParams(NamedTuple):
    """What heal actions are told. The action table says which of these an action takes and which it requires: these are
    there, and the others are empty."""

    array: str = ""
    backup_set: str = ""
    container: str = ""
    cpu_limit: Optional[float] = None
    domain: str = ""
    instance_id: str = ""
    interface: str = ""
    max_age_hours: float = 0
    mem_limit: Optional[str] = None
    mount: Optional[str] = None
    nic: str = ""
    path: Optional[str] = None
    pid: Optional[int] = None
    platform: Optional[str] = None
    primary: str = ""
    priority: int = 0
    project: str = ""
    rule: Optional[FirewallRule] = None
    secondary: str = ""
    service: str = ""
    snapshot: str = ""
    source: str = ""
    target: str = ""
    targets: Sequence[str] = ()
    task: str = ""
    top: Optional[str] = None
    vm_id: str = ""

    @classmethod
    def read(cls, checked: Mapping[str, object]) -> HealParams:
        """Of what the action table has checked; what only argument lists need is left out."""
        said = {name: value for name, value in checked.items() if name in cls._fields and value is not None}
        rule = said.pop("rule", None)
        made = cls(**said)  # type: ignore[arg-type]
        return made if rule is None else made._replace(rule=FirewallRule(**rule))  # type: ignore[arg-type]
