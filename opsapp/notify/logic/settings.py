"""The section `notifications` of the YAML file. Pure."""

from __future__ import annotations

from typing import Annotated

from opsapp.lib.settings import Between, Most
from opsapp.notify.records import ChannelAsCode
from opsapp.wire.dataclass import frozen


@frozen
class RetrySettings:
    """The pause before another attempt doubles from `first_s` to `longest_s`; after `for_s` a message is given up."""

    first_s: Annotated[float, Between(0.05, 3600)] = 5
    longest_s: Annotated[float, Between(0.05, 86400)] = 600
    for_s: Annotated[float, Between(0, 7 * 86400)] = 14400


@frozen
class NotificationSettings:
    """`notifications`"""

    channels: Annotated[tuple[ChannelAsCode, ...], Most(200)] = ()
    group_wait_s: Annotated[float, Between(0, 600)] = 5
    group_s: Annotated[float, Between(0, 86400)] = 60
    timeout_s: Annotated[float, Between(0.1, 600)] = 30
    max_sending: Annotated[int, Between(1, 100)] = 8
    burst: Annotated[int, Between(1, 1000)] = 10
    retry: RetrySettings = RetrySettings()
    keep_days: Annotated[float, Between(0.001, 3650)] = 30
