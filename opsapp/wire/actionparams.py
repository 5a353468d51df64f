"""The kinds of parameters that heal actions take: no text of these becomes an option or a second argument."""

from __future__ import annotations

from typing import Annotated, List, Literal, Mapping, NamedTuple, Optional, Sequence

from .checks import checks_of
from .dataclass import frozen
from .fields import nested, text
from .kinds import Text
from .records import Between
from .urls import web_problem

Address = Annotated[Optional[str], Text(2, 64, r"[0-9a-fA-F.:/]+")]


@frozen
class FirewallRule:
    direction: Literal["in", "out"]
    action: Literal["drop", "reject", "accept"]
    protocol: Literal["tcp", "udp", "icmp", "any"] = "any"
    port: Annotated[Optional[int], Between(1, 65535)] = None
    source: Address = None
    destination: Address = None

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
FIREWALL_RULE = nested(checks_of(FirewallRule), unknown="refuse")


class HealParams(NamedTuple):
    """Parameters of all actions. The action table says which ones an action takes and requires; the others are
    empty."""

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
        """Read the checked parameters; what only argument lists need is left out."""
        said = {name: value for name, value in checked.items() if name in cls._fields and value is not None}
        rule = said.pop("rule", None)
        made = cls(**said)  # type: ignore[arg-type]
        return made if rule is None else made._replace(rule=FirewallRule(**rule))  # type: ignore[arg-type]
