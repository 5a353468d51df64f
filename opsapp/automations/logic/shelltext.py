"""Placeholders in the text of a shell: each becomes a reference to an environment variable, never the value itself.

The reader knows enough of the shell's grammar to tell where a placeholder stands: bare it becomes one quoted word,
inside double quotes a plain reference. Where the shell would not expand a reference, or would evaluate its value as
code (arithmetic, `eval`), the placeholder is refused. If the reader misjudges a text, a value can at worst stay
unexpanded or be split into words.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from opsapp.lib.placeholders import PLACE

SHELLS = ("sh", "bash", "dash", "ash", "ksh", "mksh", "zsh")
DEFAULT_SHELL = "/bin/sh"

# One piece of the text at a time. A name is a word as far as it consists of plain characters.
_BARE = re.compile(
    r"""(?P<escape>\\.?) | (?P<single>\$'(?:\\.|[^'\\])*'? | '[^']*'?) | (?P<comment>(?<![^\s;&|()])\#[^\n]*)
      | (?P<arith>\$?\(\() | (?P<subst>\$\() | (?P<brace>\$\{) | (?P<double>\$?") | (?P<backtick>`)
      | (?P<herestring><<<) | (?P<heredoc><<-?[ \t]*) | (?P<newline>\n) | (?P<space>[ \t\r]+)
      | (?P<opening>\() | (?P<closing>\)) | (?P<operator>[;&|]+) | (?P<subscript>(?<=\w)\[)
      | (?P<word>[^\s\\'"`$#()<>;&|{\[]+ | .)""",
    re.X | re.S,
)
_INNER = {
    "double": re.compile(
        r"""(?P<escape>\\.?) | (?P<arith>\$\(\() | (?P<subst>\$\() | (?P<brace>\$\{) | (?P<backtick>`)
          | (?P<end>") | (?P<word>[^\\$`"{]+ | .)""",
        re.X | re.S,
    ),
    "brace": re.compile(r"(?P<escape>\\.?)|(?P<brace>\$?\{)|(?P<end>\})|(?P<word>.)", re.S),
    "arith": re.compile(r"(?P<escape>\\.?)|(?P<opening>\()|(?P<closing>\))|(?P<word>.)", re.S),
    "subscript": re.compile(r"(?P<escape>\\.?)|(?P<end>\])|(?P<word>.)", re.S),
    "backtick": re.compile(r"(?P<escape>\\.?)|(?P<end>`)|(?P<word>.)", re.S),
}
_REFUSED = {
    "single": "inside single quotes, where the shell expands nothing: use double quotes",
    "comment": "in a comment",
    "escape": "behind a backslash",
    "brace": "behind a dollar sign",
}
_REFUSED_IN = {
    "brace": "inside ${…}",
    "arith": "in an arithmetic expression, where the shell evaluates values: assign it to a variable first",
    "subscript": "in the index of an array, where the shell evaluates values",
    "backtick": "inside backquotes: use $(…)",
}
_OPENS = {"arith": "arith", "subst": "bare", "brace": "brace", "double": "double", "backtick": "backtick",
          "subscript": "subscript"}  # fmt: skip
_BEGINS_A_WORD = ("escape", "single", "subst", "brace", "double")
_MEANINGLESS = ("space", "herestring", "comment")  # between words, or beyond them
_EVALUATES = ("eval", "let")
_COMPUTES = re.compile(r"\s-(?:eq|ne|lt|le|gt|ge|v|R)\s")  # inside [[ … ]]
_KEYWORDS = ("if", "then", "elif", "else", "do", "while", "until", "!", "{", "time")
_DELIMITER = re.compile(r"""(?:\\.|'[^']*'|"[^"]*"|[^\s;&|<>()'"\\])+""", re.S)
_DEEPEST = 100


class Misplaced(NamedTuple):
    line: int
    place: str
    where: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.place} stands {self.where}"


class Rewritten(NamedTuple):
    text: str
    wrong: list[Misplaced]


def shell_of(interpreter: str | None, script: str) -> str | None:
    """The shell that reads the script; None: another program does. The first line counts as the kernel reads it, when
    no interpreter is named."""
    command = interpreter or DEFAULT_SHELL
    if interpreter is None and script.startswith("#!"):
        words = script.partition("\n")[0][2:].split()
        if words and words[0].rpartition("/")[2] == "env":
            words = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
        command = words[0] if words else ""
    name = command.rpartition("/")[2]
    return name if name in SHELLS else None


def rewrite(text: str, reference: Callable[[str, str], str]) -> Rewritten:
    """`reference(kind, name)` is the variable's name."""
    return _ShellReader(text, reference).read()


class _Frame:
    """An open construct. `depth`: parentheses within it; `cases`: `case` without `esac`, whose patterns end with a
    parenthesis that closes nothing."""

    def __init__(self, kind: str):
        self.kind, self.depth, self.cases = kind, 2 if kind == "arith" else 0, 0
        self.command = ""  # the word that the present command began with; empty: the next word begins one
        self.test_from: int | None = None  # where [[ began


class _ShellReader:
    def __init__(self, text: str, reference: Callable[[str, str], str]):
        self._text, self._reference = text, reference
        self._at = 0
        self._made: list[str] = []
        self._wrong: list[Misplaced] = []
        self._frames = [_Frame("bare")]
        self._heredocs: list[tuple[str, bool]] = []  # (delimiter, whether tabs before it do not count)
        self._places = deque(PLACE.finditer(text))  # those ahead

    def read(self) -> Rewritten:
        while self._at < len(self._text):
            frame = self._frames[-1]
            if self._places and self._places[0].start() == self._at:
                self._fill(frame, self._places.popleft())
                continue
            match = _INNER.get(frame.kind, _BARE).match(self._text, self._at)
            assert match is not None  # the last alternative of each expression takes any character
            kind = str(match.lastgroup)
            self._take(match[0], _REFUSED.get(kind, "where it cannot be filled in"))
            if kind in _BEGINS_A_WORD:
                frame.command = frame.command or match[0]
            if kind in _OPENS:
                self._open(_OPENS[kind])
            elif kind not in (*_BEGINS_A_WORD, *_MEANINGLESS):
                getattr(self, f"_on_{kind}")(frame, match[0])
        return Rewritten("".join(self._made), self._wrong)

    # -- places

    def _fill(self, frame: _Frame, place: re.Match[str]) -> None:
        where = self._refused_by(frame)
        if where:
            self._refuse(place, where)
        variable = self._reference(place[1], place[2])
        self._made.append(f"${{{variable}}}" if frame.kind == "double" else f'"${{{variable}}}"')
        self._at = place.end()
        frame.command = frame.command or place[0]

    def _refused_by(self, frame: _Frame) -> str | None:
        if frame.kind in _REFUSED_IN:
            return _REFUSED_IN[frame.kind]
        for outer in self._frames:
            if outer.command in _EVALUATES:
                return f"in the arguments of {outer.command}, which evaluates them"
            if outer.test_from is not None:
                end = self._text.find("]]", self._at)
                if _COMPUTES.search(self._text, outer.test_from, end if end >= 0 else len(self._text)):
                    return "in a [[ … ]] that evaluates values: use [ … ]"
        return None

    def _refuse(self, place: re.Match[str], where: str) -> None:
        line = self._text.count("\n", 0, place.start()) + 1
        self._wrong.append(Misplaced(line, place[0], where))

    def _take(self, piece: str, refused: str) -> None:
        """`refused`: why no placeholder may be, or begin, in it."""
        self._made.append(piece)
        self._at += len(piece)
        while self._places and self._places[0].start() < self._at:
            self._refuse(self._places.popleft(), refused)

    # -- constructs

    def _open(self, kind: str) -> None:
        if len(self._frames) < _DEEPEST:
            self._frames.append(_Frame(kind))
        else:
            self._take(self._text[self._at :], "where the script is nested too deeply to be judged")

    def _on_end(self, _frame: _Frame, _piece: str) -> None:
        self._frames.pop()

    def _on_opening(self, frame: _Frame, _piece: str) -> None:
        frame.depth += 1
        frame.command = ""

    def _on_closing(self, frame: _Frame, _piece: str) -> None:
        frame.command = ""
        if frame.depth:
            frame.depth -= 1
            if frame.kind == "arith" and not frame.depth:
                self._frames.pop()
        elif not frame.cases and len(self._frames) > 1:
            self._frames.pop()

    def _on_operator(self, frame: _Frame, _piece: str) -> None:
        frame.command = ""

    def _on_word(self, frame: _Frame, piece: str) -> None:
        if piece == "[" and self._text.startswith("[", self._at) and not frame.command:
            frame.test_from = self._at
        elif "]]" in piece:
            frame.test_from = None
        if frame.command:
            return
        frame.cases = max(0, frame.cases + {"case": 1, "esac": -1}.get(piece, 0))
        frame.command = "" if piece in _KEYWORDS else piece

    # -- here-documents

    def _on_heredoc(self, _frame: _Frame, piece: str) -> None:
        word = _DELIMITER.match(self._text, self._at)
        if word is None:
            return
        self._take(word[0], "as the delimiter of a here-document")
        self._heredocs.append((re.sub(r"[\\'\"]", "", word[0]), piece.startswith("<<-")))

    def _on_newline(self, frame: _Frame, _piece: str) -> None:
        frame.command = ""
        for delimiter, tabs in self._heredocs:
            self._take(self._body(delimiter, tabs), "in a here-document")
        self._heredocs = []

    def _body(self, delimiter: str, tabs: bool) -> str:
        """The text up to the line that is the delimiter, or to the end."""
        at = self._at
        while at < len(self._text):
            end = self._text.find("\n", at) + 1 or len(self._text)
            line = self._text[at:end].removesuffix("\n")
            at = end
            if (line.lstrip("\t") if tabs else line) == delimiter:
                break
        return self._text[self._at : at]
