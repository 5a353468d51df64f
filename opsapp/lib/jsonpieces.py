"""A JSON document that arrives in portions: the entries of one list in it, each as soon as it is whole.

Each is handed on as it was written, also when it is no JSON, so that a mistake in one costs none of the others.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_STRING = rb'"(?:[^"\\]++|\\.)*+"'
_TO_COMMA = re.compile(rb'(?:[^"{}\[\],]++|' + _STRING + rb")*+", re.DOTALL)
_TO_BRACKET = re.compile(rb'(?:[^"{}\[\]]++|' + _STRING + rb")*+", re.DOTALL)
_TO_QUOTE = re.compile(rb'(?:[^"\\]++|\\.)*+', re.DOTALL)
_BLANK = b" \t\r\n"


class ListEntry(NamedTuple):
    """`text` is None where the entry is longer than it may be."""

    place: int
    text: bytes | None


class ListedEntries:
    """The document is a list, or an object with a list under `key`. No more is held than `longest` bytes and what was
    fed last."""

    def __init__(self, key: str, longest: int):
        self._opening = re.compile(rb'\s*+"' + re.escape(key.encode()) + rb'"\s*+:\s*+')
        self._longest = longest
        self._text = bytearray()  # from the beginning of an entry on; before the list, all of it
        self._at = 0  # so far the text is known
        self._member = 0  # where the object's last member begins
        self._first = b""
        self._depth = 0
        self._list_depth = 0  # of the list's entries; 0: it has not begun
        self._in_string = self._cut = self._plain = False
        self._list_is_over = self._has_ended = self._goes_on = False
        self.count = 0

    @property
    def has_list(self) -> bool:
        return bool(self._list_depth)

    @property
    def is_list(self) -> bool:
        """The list is the whole document, and not a member of it."""
        return self._list_depth == 1

    @property
    def is_over(self) -> bool:
        """The document with the list has ended, and nothing else came behind it."""
        return self._has_ended and not self._goes_on

    @property
    def is_too_long(self) -> bool:
        """More came than a document without a list may have."""
        return self._cut and not self.has_list

    @property
    def begins_as_json(self) -> bool:
        """An object, a list or a string; of what is too long nobody knows more."""
        return self._first in (b"{", b"[", b'"')

    def whole(self) -> bytes:
        """The document, where it has no list."""
        return bytes(self._text)

    def feed(self, data: bytes) -> list[ListEntry]:
        """The entries that are whole by now."""
        self._text += data
        self._first = self._first or bytes(self._text.lstrip(_BLANK)[:1])
        entries: list[ListEntry] = []
        while not self._plain and not self._has_ended and (sign := self._next_sign()):
            entry = self._turn(sign)
            if entry is not None:
                entries.append(entry)
        self._goes_on = self._goes_on or (self._has_ended and bool(self._text.strip(_BLANK)))
        self._forget()
        return entries

    def _next_sign(self) -> bytes:
        """The next bracket, or comma between entries or members; nothing where more has to come."""
        stops_at_comma = self._depth == (self._list_depth or 1) and not self._list_is_over
        pattern = _TO_COMMA if stops_at_comma else _TO_BRACKET
        while True:
            if self._in_string:
                self._at = self._end(_TO_QUOTE)
                if self._text[self._at : self._at + 1] != b'"':
                    return b""
                self._at += 1
                self._in_string = False
            self._at = self._end(pattern)
            sign = bytes(self._text[self._at : self._at + 1])
            self._at += len(sign)
            if sign != b'"':
                return sign
            self._in_string = True  # its end has not come yet

    def _end(self, pattern: re.Pattern[bytes]) -> int:
        match = pattern.match(self._text, self._at)
        return self._at if match is None else match.end()

    def _turn(self, sign: bytes) -> ListEntry | None:
        """Go on behind this sign."""
        if sign == b",":
            if self.has_list:
                return self._entry()
            self._member = self._at
            return None
        if sign in b"[{":
            self._open(sign)
            return None
        self._depth -= 1
        entry = None
        if self.has_list and not self._list_is_over and self._depth < self._list_depth:
            entry, self._list_is_over = self._entry(is_last=True), True
        self._plain = self._depth < 0
        if self._depth == 0 and self.has_list:
            self._has_ended = True
            self._drop()
        return entry

    def _open(self, sign: bytes) -> None:
        if self._depth == 0 and self._text[: self._at - 1].strip(_BLANK):
            self._plain = True  # text before it: this is no JSON
        self._depth += 1
        if self.has_list or self._plain:
            return
        before = bytes(self._text[self._member : self._at - 1]) if self._at - self._member < 1000 else b""
        if sign == b"[" and (self._depth == 1 or (self._depth == 2 and self._opening.fullmatch(before))):
            self._list_depth = self._depth
            self._cut = False
            self._drop()
        elif self._depth == 1:
            self._member = self._at

    def _entry(self, *, is_last: bool = False) -> ListEntry | None:
        text = bytes(self._text[: self._at - 1])
        self._drop()
        cut, self._cut = self._cut, False
        if is_last and not self.count and not cut and not text.strip(_BLANK):
            return None  # the list is empty
        self.count += 1
        return ListEntry(self.count - 1, None if cut or len(text) > self._longest else text)

    def _drop(self) -> None:
        del self._text[: self._at]
        self._at = self._member = 0

    def _forget(self) -> None:
        """What is longer than it may be, and what nobody asks for behind the list."""
        if self._has_ended:
            self._text.clear()
        elif self._list_is_over:
            self._drop()
        elif len(self._text) > self._longest:
            self._cut = True
            if self._plain:
                self._text.clear()
            else:
                self._drop()
