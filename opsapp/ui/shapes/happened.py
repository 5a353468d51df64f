"""What happened, newest first, as sentences. Must not: tell the same thing twice (the audit also has what incidents and
approvals tell themselves)."""

from __future__ import annotations

from collections.abc import Iterable

from opsapp.audit.records import AuditEntry
from opsapp.ui import sentences
from opsapp.ui.parts import AUDIT, DECIDED, INCIDENTS, LEDGER, RUNS, WINDOWS
from opsapp.ui.reader import Answers, Reader
from opsapp.ui.sentences import NameBook, Sentence, Word

MOST = 8
TOLD_ELSEWHERE = ("approval.", "incident.", "automation.run", "healing.rollback", "login", "logout", "monitor.check")
QUIET = ("observed", "absorbed")  # an entry that says that nothing happened


def feed(answers: Answers, names: NameBook, reader: Reader) -> list[Sentence]:
    news: list[Sentence] = []
    for entry in answers[LEDGER]:
        if entry.outcome not in QUIET:
            news.append(sentences.heal(entry, names))
    for incident in answers[INCIDENTS]:
        news += sentences.of_incident(incident)
    news += [sentences.run(record) for record in answers[RUNS] if not record.origin.startswith("run:")]
    news += [sentences.approval(record, names) for record in answers[DECIDED]]
    news += [sentences.window(record, int(reader.now)) for record in answers[WINDOWS]]
    news += [sentences.audit(entry) for entry in answers[AUDIT] if _is_news(entry)]
    return without_repeats(sorted(news, key=lambda sentence: -sentence.at))[:MOST]


def without_repeats(told: Iterable[Sentence]) -> list[Sentence]:
    times: dict[tuple[str, str], list[Sentence]] = {}
    for sentence in told:
        times.setdefault((sentence.look, sentence.text), []).append(sentence)
    return [
        same[0] if len(same) == 1 else same[0]._replace(words=(*same[0].words, Word(f" ({len(same)} times)")))
        for same in times.values()
    ]


def _is_news(entry: AuditEntry) -> bool:
    return not entry.action.startswith(TOLD_ELSEWHERE)
