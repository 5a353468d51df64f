"""The section `retention.audit` of the YAML file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from opsapp.lib.settings import Between


@dataclass(frozen=True)
class AuditRetention:
    """How long entries are kept; how many refusals a minute get their own."""

    days: Annotated[int, Between(1, 36_500)] = 730
    refusals_of_a_kind: Annotated[int, Between(1, 100_000)] = 20
    refusals: Annotated[int, Between(1, 100_000)] = 1000
