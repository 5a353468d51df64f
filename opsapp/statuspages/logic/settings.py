"""The section `status_page` of the YAML file. Pure."""

from __future__ import annotations

from typing import Annotated

from opsapp.lib.networks import network_problem
from opsapp.lib.settings import Between, CheckedBy, Length, Most
from opsapp.wire.dataclass import frozen

Network = Annotated[str, Length(1, 64), CheckedBy(network_problem)]


@frozen
class StatusPageSettings:
    """`status_page`"""

    asks_per_ip: Annotated[int, Between(1, 10_000)] = 10
    asks_per_address: Annotated[int, Between(1, 1000)] = 3
    ask_window_s: Annotated[float, Between(1, 86400)] = 3600
    confirm_s: Annotated[float, Between(1, 7 * 86400)] = 86400
    gather_s: Annotated[float, Between(0, 600)] = 15
    batch: Annotated[int, Between(1, 500)] = 50
    timeout_s: Annotated[float, Between(0.1, 120)] = 15
    max_subscribers: Annotated[int, Between(1, 1_000_000)] = 20_000
    passwords_per_ip: Annotated[int, Between(1, 10_000)] = 10
    password_window_s: Annotated[float, Between(1, 86400)] = 60
    password_lock_s: Annotated[float, Between(1, 86400)] = 300
    visit_s: Annotated[float, Between(60, 365 * 86400)] = 30 * 86400
    webhook_allow_networks: Annotated[tuple[Network, ...], Most(100)] = ()
