"""The section `approvals` of the YAML file."""

from __future__ import annotations

from typing import Annotated

from opsapp.lib.settings import Between
from opsapp.wire.dataclass import frozen


@frozen
class ApprovalSettings:
    """`strict`: admins too need somebody else."""

    expiry_s: Annotated[float, Between(1, 30 * 86400)] = 3600
    strict: bool = False
