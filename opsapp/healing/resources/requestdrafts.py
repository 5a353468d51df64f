"""Stores requests for an outage of thousands while `engine.wavetrials` writes them, some targets in each transaction.
Cases wait for the name that a request will have."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from BTrees.LOBTree import LOBTree
from BTrees.OOBTree import OOBTree
from persistent import Persistent

from opsapp.healing.stages.approval import AskedTarget, HealPlan
from opsapp.lib.ids import new_id
from opsapp.runtime.secrets.sealedfields import SealedFields
from opsapp.tree.reading import ChildrenOf

PIECE = "part of a request"  # what people call it


class DraftPiece(SealedFields):
    """The targets that one transaction added to a draft, and the hosts and monitors that they are about."""

    sealed_fields = ("targets",)
    subjects: tuple[str, ...] | None = None  # a draft that an older version began does not say it

    def __init__(self, targets: Iterable[AskedTarget], subjects: Iterable[str]):
        self.targets = tuple(target._asdict() for target in targets)
        self.subjects = tuple(sorted(subjects))


class RequestDraft(SealedFields):
    """`plan`: of its first target; `step`: the action and its place in the chain. `lowered`: why the level is lower, or
    ""."""

    sealed_fields = ("plan",)

    def __init__(self, step: tuple[str, int], plan: HealPlan, *, risk: str, reason: str, lowered: str):
        self.name = new_id()
        self.step = step
        self.plan = plan.stored()
        self.risk = risk
        self.reason = reason
        self.lowered = lowered
        self.pieces = LOBTree()

    @property
    def shown(self) -> HealPlan:
        return HealPlan(**self.plan)  # type: ignore[arg-type]

    def add(self, targets: tuple[AskedTarget, ...], subjects: Iterable[str]) -> None:
        self.pieces[len(self.pieces)] = DraftPiece(targets, subjects)

    def subjects(self) -> tuple[str, ...]:
        """None where a piece does not say what it is about, or cannot be read."""
        told = [piece.subjects for piece in ChildrenOf(self.pieces, PIECE).some(self.pieces.keys())]
        is_known = len(told) == len(self.pieces) and None not in told
        return tuple(subject for subjects in told for subject in subjects) if is_known else ()

    def targets(self) -> Iterator[AskedTarget]:
        for piece in ChildrenOf(self.pieces, PIECE).some(self.pieces.keys()):
            yield from (AskedTarget(**target) for target in piece.targets)


class Asking(Persistent):
    """Keeps the drafts of requests about one deed. `after`: the case that was looked at last, by id."""

    def __init__(self) -> None:
        self.after = ""
        self.drafts = OOBTree()  # name -> RequestDraft

    def whole(self) -> list[RequestDraft]:
        return list(ChildrenOf(self.drafts, PIECE).some(self.drafts.keys()))

    def of_step(self, step: tuple[str, int]) -> RequestDraft | None:
        return next((draft for draft in self.whole() if draft.step == step), None)
