"""The ledger as sentences, and what its last check has found."""

from __future__ import annotations

from itertools import groupby
from typing import NamedTuple

from opsapp.healing.answers import LedgerEntryShown
from opsapp.ui.parts import CHECK, LEDGER
from opsapp.ui.reader import Answers, Reader, TemplateValues
from opsapp.ui.sentences import NameBook, Sentence, heal
from opsapp.ui.words import local

NAMELESS = NameBook()  # a page of entries asks for no list of hosts: names are as the ledger has them


class LedgerDay(NamedTuple):
    name: str
    lines: tuple[tuple[LedgerEntryShown, Sentence], ...]


def shape(answers: Answers, reader: Reader) -> TemplateValues:
    return rows(answers, reader) | {"check": answers.known(CHECK)}


def rows(answers: Answers, reader: Reader) -> TemplateValues:
    lines = [(entry, heal(entry, NAMELESS)) for entry in answers[LEDGER]]
    days = groupby(lines, key=lambda line: local(line[0].created_at, reader.zone).strftime("%A %d %B %Y"))
    return {
        "days": tuple(LedgerDay(name, tuple(group)) for name, group in days),
        "filtered": reader.asks("rule_id", "target", "outcome", "action_type", "within"),
    }
