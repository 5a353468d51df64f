"""/api/healing/suggestions: what a person should look at."""

from __future__ import annotations

from BTrees.OOBTree import OOBTree

from opsapp.healing.answers import SuggestionAbout, SuggestionRecord
from opsapp.lib.jsontypes import JsonObject
from opsapp.tree.folder import Folder, Record
from opsapp.wire.records import made, plain


class Suggestions(Folder):
    """Numbered, newest last. `evidence`: the same is not suggested twice."""

    url = "/api/healing/suggestions"
    holds = "suggestion"

    def __init__(self) -> None:
        super().__init__()
        self.last = 0
        self.evidence = OOBTree()  # (category, rule, evidence) -> id

    def suggest(
        self,
        category: str,
        severity: str,
        message: str,
        *,
        rule_id: str = "",
        evidence: str,
        now: float,
        about: SuggestionAbout | None = None,
    ) -> bool:
        """Unless this evidence has led to one before, dismissed or not."""
        key = (category, rule_id, evidence)
        if key in self.evidence:
            return False
        self.last += 1
        self.evidence[key] = self.last
        record = SuggestionRecord(self.last, category, severity, message, rule_id, 0, int(now), about)
        self[str(self.last)] = Suggestion(plain(record))
        return True

    def withdraw(self, ids: set[int]) -> None:
        """The same may be suggested again."""
        for number in ids:
            self[str(number)].dismiss()
        for key in [key for key, number in self.evidence.items() if number in ids]:
            del self.evidence[key]

    def active(self) -> list[SuggestionRecord]:
        suggestions = [suggestion.record for suggestion in self.values()]
        return sorted((row for row in suggestions if not row.dismissed), key=lambda row: -row.id)


class Suggestion(Record):
    url = "/api/healing/suggestions/{suggestion_id}"

    def __init__(self, fields: JsonObject):
        self.fields = fields

    @property
    def record(self) -> SuggestionRecord:
        return made(SuggestionRecord, self.fields)

    def dismiss(self) -> None:
        self.fields = {**self.fields, "dismissed": 1}
