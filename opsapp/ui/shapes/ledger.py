"""The ledger as sentences, and what its last check has found."""

from __future__ import annotations

from itertools import groupby
from typing import NamedTuple

from opsapp.healing.answers import LedgerEntryShown
from opsapp.ui.parts import CHECK, LEDGER
from opsapp.ui.reader import Answers, Reader
from opsapp.ui.sentences import NameBook, Sentence, heal
from opsapp.ui.words import local

NAMELESS = NameBook()  # a page of entries asks for no list of hosts: names are as the ledger has them


class LedgerLine(NamedTuple):
    number: int
    at: int
    sentence: Sentence
    rule_id: str
    level: str
    under_way: bool


class LedgerDay(NamedTuple):
    name: str
    lines: tuple[LedgerLine, ...]


def shape(answers: Answers, reader: Reader) -> dict[str, object]:
    return rows(answers, reader) | {"check": answers.known(CHECK)}


def rows(answers: Answers, reader: Reader) -> dict[str, object]:
    lines = [_line(entry) for entry in answers[LEDGER]]
    days = groupby(lines, key=lambda line: local(line.at, reader.zone).strftime("%A %d %B %Y"))
    return {
        "days": tuple(LedgerDay(name, tuple(group)) for name, group in days),
        "filtered": any(reader.query.get(name) for name in ("rule_id", "target", "outcome", "action_type", "within")),
    }


def _line(entry: LedgerEntryShown) -> LedgerLine:
    under_way = entry.state != "final"
    at = entry.created_at
    return LedgerLine(entry.id, at, heal(entry, NAMELESS), entry.rule_id, entry.trust_level, under_way)
