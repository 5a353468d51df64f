"""What may stand in a section of the YAML file, said in the annotations of a frozen dataclass: the marks of a declared
record (`wire.records`).

    @frozen
    class Retry:
        first_s: Annotated[float, Between(0.05, 3600)] = 5
"""

from __future__ import annotations

from opsapp.wire.kinds import CheckedBy  # noqa: F401 - a mark, handed on
from opsapp.wire.kinds import Text as Length  # noqa: F401 - the same
from opsapp.wire.records import Between, Most  # noqa: F401 - the same
