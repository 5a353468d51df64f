"""The section `assistants` of the YAML file."""

from __future__ import annotations

from typing import Annotated

from opsapp.lib.settings import Between
from opsapp.wire.dataclass import frozen


@frozen
class AssistantSettings:
    calls_per_minute: Annotated[int, Between(1, 10_000)] = 120
    open_proposals: Annotated[int, Between(0, 50)] = 5
    expiry_s: Annotated[float, Between(60, 30 * 86400)] = 3600
    act_within_s: Annotated[float, Between(60, 86400)] = 600
