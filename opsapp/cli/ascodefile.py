"""A document in a file, its references resolved by the environment and files of whoever runs the command; mistakes with
file, line and thing. Must not: ask a service."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from opsapp.lib import references
from opsapp.lib.jsontypes import JsonObject
from opsapp.lib.references import Place
from opsapp.web import configfile

from .places import Mistaken

NAMED_BY = ("name", "id", "title", "username", "target")
FILE = "file:"
LONGEST = 20_000


class DocumentFile(NamedTuple):
    """`references`: by their places, what was written where a value was read."""

    path: str
    document: JsonObject
    lines: configfile.Lines
    references: dict[Place, str]

    def told(self, fields: dict[str, str]) -> list[DocumentMistake]:
        mistakes = [self._refusal(place.removeprefix("document."), text) for place, text in fields.items()]
        return sorted(mistakes, key=lambda mistake: (mistake.line or 0, mistake.path))

    def _refusal(self, place: str, text: str) -> DocumentMistake:
        steps = tuple(place.split("."))
        line = next((self.lines[steps[:n]] for n in range(len(steps), 0, -1) if steps[:n] in self.lines), None)
        return DocumentMistake(self.path, line, place, self._name_at(steps), text)

    def _name_at(self, steps: Place) -> str:
        try:
            entry = self.document[steps[0]][int(steps[1])]
            return next((str(entry[field]) for field in NAMED_BY if entry.get(field)), "")
        except (LookupError, ValueError, TypeError, AttributeError):
            return ""


class DocumentMistake(NamedTuple):
    file: str
    line: int | None
    path: str
    name: str
    message: str

    def __str__(self) -> str:
        named = f"{self.path} ({self.name})" if self.name else self.path
        return f"{self.file}: {configfile.Mistake(named, self.line, self.message)}"


class Refused(Exception):
    """The document cannot be applied as it is."""

    def __init__(self, refusals: list[DocumentMistake]):
        self.refusals = refusals
        super().__init__("\n".join(map(str, refusals)))


def read(path: str) -> DocumentFile:
    try:
        text = sys.stdin.read() if path == "-" else Path(path).read_text(encoding="utf-8")
    except OSError as problem:
        raise Mistaken(f"{path} cannot be read: {problem.strerror}") from None
    except UnicodeDecodeError as problem:
        raise Mistaken(f"{path} is not UTF-8: see byte {problem.start}") from None
    document, lines = configfile.parse(text, path)
    directory = Path() if path == "-" else Path(path).parent
    return _resolved(DocumentFile(path, document, lines, {}), directory)


def _resolved(file: DocumentFile, directory: Path) -> DocumentFile:
    wrong: dict[str, str] = {}

    def value_at(place: Place) -> Callable[[str], str]:
        def value_of(name: str) -> str:
            try:
                return _value_of(name, directory)
            except Mistaken as problem:
                wrong[".".join(place)] = f"${{{name}}} {problem}"
                return ""

        return value_of

    def filled(place: Place, text: str) -> str:
        if any(True for _ in references.names_in(text)):
            file.references[place] = text
        return references.resolved(text, value_at(place))

    document = references.rewritten(file.document, filled)
    if wrong:
        raise Refused(file.told(wrong))
    return file._replace(document=document)


def _value_of(name: str, directory: Path) -> str:
    if not name.startswith(FILE):
        value = os.environ.get(name)
        if not value:
            raise Mistaken("is not set in the environment" if value is None else "is empty in the environment")
        return value
    path = directory / name.removeprefix(FILE)
    try:
        with path.open(encoding="utf-8") as opened:
            text = opened.read(LONGEST + 1)
    except OSError as problem:
        raise Mistaken(f"cannot be read: {problem.strerror}") from None
    except UnicodeDecodeError:
        raise Mistaken("is not UTF-8") from None
    if not text.strip() or len(text) > LONGEST:
        raise Mistaken("is empty" if not text.strip() else f"has more than {LONGEST} characters")
    return text.removesuffix("\n")


def of_another(path: str, document: JsonObject) -> DocumentFile:
    """The file of another program: no text in it is a reference of ours."""
    escaped = references.rewritten(document, lambda _, text: references.escaped(text))
    return DocumentFile(path, escaped, {}, {})
