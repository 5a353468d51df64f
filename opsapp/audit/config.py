"""The sections `audit.forward` and `retention.audit` of the YAML file."""

from __future__ import annotations

from typing import Annotated

from opsapp.audit.logic.receivers import receiver_problem
from opsapp.lib.settings import Between, CheckedBy, Length
from opsapp.wire.dataclass import frozen


@frozen
class AuditRetention:
    days: Annotated[int, Between(1, 36_500)] = 730
    refusals_of_a_kind: Annotated[int, Between(1, 100_000)] = 20
    refusals: Annotated[int, Between(1, 100_000)] = 1000


@frozen
class ForwardSettings:
    url: Annotated[str | None, Length(1, 500), CheckedBy(receiver_problem)] = None
    token: Annotated[str | None, Length(1, 500)] = None
    ca_file: Annotated[str, Length(0, 1000)] = ""
    whole_record: bool = False
    batch: Annotated[int, Between(1, 1000)] = 100
    timeout_s: Annotated[float, Between(0.1, 600)] = 10
    longest_pause_s: Annotated[float, Between(0.1, 3600)] = 60
