"""What an act has made worse, as agents report it and the ledger keeps it. Must not: say it in words (verdicts.py)."""

from __future__ import annotations

from typing import Annotated

from .dataclass import frozen
from .kinds import Text
from .records import InAnswers

Id = Annotated[str, Text(1, 64, r"[A-Za-z0-9_.:-]+")]
MOST_HARMS = 20  # of one act that are recorded


@frozen
class Harm:
    """A condition that has become true since the act, and was known false right before it. Without a rule: a monitor
    that is down, of which no agent tells."""

    rule_id: Annotated[Id, InAnswers(Text(0, 64))]
    target: Annotated[str, Text(0, 512)]
    condition: Annotated[str, Text(0, 4096)]
