"""Deeds: what each rule does about the outages that it sees, wave after wave. `stages.waves` says what follows."""

from __future__ import annotations

from BTrees.OOBTree import OOBTree
from persistent import Persistent

from opsapp.healing.stages.case import CaseRecord
from opsapp.healing.stages.waves import Deed, joins
from opsapp.lib.ids import new_id

KEPT = 20  # deeds of a rule that are over


class StoredDeed(Persistent):
    """A deed, replaced as a whole."""

    def __init__(self, deed: Deed):
        self.deed = deed


class WaveBook(Persistent):
    """Deeds by id, and the last ones of each rule."""

    def __init__(self) -> None:
        self.deeds = OOBTree()
        self.of_rule = OOBTree()  # rule -> ids, oldest first

    def find(self, deed_id: str | None) -> Deed | None:
        stored: StoredDeed | None = None if deed_id is None else self.deeds.get(deed_id)
        return None if stored is None else stored.deed

    def open_to(self, case: CaseRecord) -> Deed | None:
        """The deed of the outage that this case belongs to, if there is one."""
        newest_first = (self.find(deed_id) for deed_id in reversed(self.of_rule.get(case.rule_id, ())))
        return next((deed for deed in newest_first if deed is not None and joins(deed, case)), None)

    def begin(self, case: CaseRecord) -> Deed:
        deed = Deed(new_id(), case.rule_id, case.opened_at)
        self.keep(deed)
        ids = (*self.of_rule.get(case.rule_id, ()), deed.id)
        over = [deed_id for deed_id in ids if (old := self.find(deed_id)) is not None and old.ended][:-KEPT]
        for deed_id in over:
            del self.deeds[deed_id]
        self.of_rule[case.rule_id] = tuple(deed_id for deed_id in ids if deed_id not in over)
        return deed

    def keep(self, deed: Deed) -> None:
        if deed.id in self.deeds:
            self.deeds[deed.id].deed = deed
        else:
            self.deeds[deed.id] = StoredDeed(deed)

    def move(self, by: float) -> None:
        """The clock was set by so many seconds."""
        for stored in self.deeds.values():
            self.keep(stored.deed._replace(began_at=stored.deed.began_at + by))
