"""What each rule does about its outages, wave after wave (`stages.waves`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from BTrees.OOBTree import OOBTree, OOTreeSet
from persistent import Persistent

from opsapp.healing.places import healing_of
from opsapp.healing.stages.case import CaseRecord
from opsapp.healing.stages.waves import UNKNOWN, Deed, DeedChange, DeedMember, Verdicts, joins
from opsapp.lib.ids import new_id
from opsapp.tree.reading import ChildrenOf
from opsapp.tree.root import Root

from .latertrees import NO_TREE, grown
from .requestdrafts import PIECE, Asking, RequestDraft

KEPT = 20  # deeds of a rule that are over


class StoredDeed(Persistent):
    """Members in trees: a verdict writes a leaf or two."""

    def __init__(self, deed: Deed):
        self.deed = deed
        self.members = OOBTree()  # case id -> DeedMember
        self.targets = OOBTree()  # target -> case id
        self.line = OOTreeSet()  # DeedMember.order of who is ready and waits
        self.wanting = OOTreeSet()  # ids of cases that wait, and that people will be asked about

    def keep(self, change: DeedChange) -> None:
        self.deed = change.deed
        for member in change.members:
            before: DeedMember | None = self.members.get(member.case_id)
            if before is None:
                self.targets[member.target] = member.case_id
            else:
                self._index(before, False)
            self.members[member.case_id] = member
            self._index(member, True)

    def _index(self, member: DeedMember, holds: bool) -> None:
        if member.waits and member.ready:
            (self.line.insert if holds else self.line.remove)(member.order)
        elif member.waits and not member.asked:
            (self.wanting.insert if holds else self.wanting.remove)(member.case_id)

    def in_line(self) -> Iterable[DeedMember]:
        """Ready and waiting, in order."""
        return (self.members[case_id] for _, _, case_id in self.line)


class WaveBook(Persistent):
    """Keeps the deeds, and which are the last ones of each rule."""

    asking: OOBTree = NO_TREE  # deed -> Asking: what is asked about it, until that is whole

    def __init__(self) -> None:
        self.deeds = OOBTree()
        self.of_rule = OOBTree()  # rule -> ids, oldest first

    def find(self, deed_id: str | None) -> StoredDeed | None:
        return None if deed_id is None else self.deeds.get(deed_id)

    def asking_of(self, deed_id: str | None) -> Asking | None:
        if deed_id is None or deed_id not in self.asking:
            return None
        asking: Asking | None = ChildrenOf(self.asking, PIECE).find(deed_id)
        return asking

    def begin_asking(self, deed_id: str) -> Asking:
        asking = grown(self, "asking")[deed_id] = Asking()
        return asking

    def end_asking(self, deed_id: str) -> None:
        self.asking.pop(deed_id, None)

    def to_ask(self) -> list[str]:
        """One that has stopped asks nobody."""
        return [deed_id for deed_id in self.asking if self._goes_on(deed_id)]

    def _goes_on(self, deed_id: str) -> bool:
        stored = self.find(deed_id)
        return stored is not None and not stored.deed.stopped and self.asking_of(deed_id) is not None

    def draft_of(self, case: CaseRecord) -> RequestDraft | None:
        """While it is not whole."""
        asking = self.asking_of(case.deed)
        draft: RequestDraft | None = None if asking is None else ChildrenOf(asking.drafts, PIECE).find(case.approval_id)
        return draft

    def open_to(self, case: CaseRecord) -> StoredDeed | None:
        newest_first = (self.deeds[deed_id] for deed_id in reversed(self.of_rule.get(case.rule_id, ())))
        fit = (stored for stored in newest_first if joins(stored.deed, case) and case.target not in stored.targets)
        return next(fit, None)

    def begin(self, case: CaseRecord) -> StoredDeed:
        stored = StoredDeed(Deed(new_id(), case.rule_id, case.opened_at))
        self.deeds[stored.deed.id] = stored
        ids = (*self.of_rule.get(case.rule_id, ()), stored.deed.id)
        over = [deed_id for deed_id in ids if self.deeds[deed_id].deed.ended][:-KEPT]
        for deed_id in over:
            del self.deeds[deed_id]
        self.of_rule[case.rule_id] = tuple(deed_id for deed_id in ids if deed_id not in over)
        return stored

    def shift(self, deed_id: str, by: float) -> int:
        """The clock was set. How many were moved."""
        stored: StoredDeed | None = ChildrenOf(self.deeds, "wave").find(deed_id)
        if stored is not None:
            stored.deed = stored.deed._replace(began_at=stored.deed.began_at + by)
        return int(stored is not None)


def members_into_trees(root: Root) -> None:
    """Evolve step: each verdict wrote the whole deed anew."""
    book: WaveBook | None = healing_of(root).deeds_of_outages
    for deed_id, old in [] if book is None else list(book.deeds.items()):
        known: Mapping[str, DeedMember] | int = old.deed.members
        if book is not None and not isinstance(known, int):
            members = tuple(known.values())
            book.deeds[deed_id] = fresh = StoredDeed(old.deed)
            fresh.keep(DeedChange(_counted(old.deed, members), members))


def _counted(old: Deed, members: tuple[DeedMember, ...]) -> Deed:
    wave = [member for member in members if old.wave and member.wave == old.wave]
    return old._replace(
        members=len(members),
        waiting=sum(member.waits for member in members),
        hosts=len(wave),
        present=_ends(wave),
        ends=_ends(members),
        unsure=next((member.target for member in wave if member.verdict == UNKNOWN), ""),
    )


def _ends(members: Iterable[DeedMember]) -> Verdicts:
    return Verdicts(**Counter(member.verdict for member in members if member.verdict))
