"""One message to one subscriber, what carries it, and its outcome."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection
from typing import NamedTuple

from opsapp.runtime.node import Node
from opsapp.statuspages.logic.letters import MessageWords, NewsItem


class PageLetter(NamedTuple):
    """`row`: of the queue. `page`, `home`: what the page is called, and where visitors see it. `challenge`: what a
    webhook has to say back. `leave`: the link to end it."""

    row: str
    to: str
    page: str
    home: str
    words: MessageWords
    leave: str = ""
    challenge: str = ""
    items: tuple[NewsItem, ...] = ()


class PageSender(NamedTuple):
    """By what letters leave. `denied`: networks that are not reached."""

    mail_from: str
    server: str
    timeout: float
    denied: tuple[str, ...]


class Posted(NamedTuple):
    """`error` None: it was taken. `final`: another attempt would come to the same. `tried` False: it was not its turn
    any more."""

    row: str
    error: str | None = None
    final: bool = False
    tried: bool = True


class LetterCarrier(ABC):
    """One way by which letters leave. Only its one worker uses it, on the hub."""

    def __init__(self, node: Node):
        self._node = node
        self._rows: set[str] = set()
        self._ended: list[Posted] = []

    @abstractmethod
    def room(self) -> int:
        """How many letters it can take now."""

    def under_way(self) -> Collection[str]:
        """Rows that it has, and whose outcome is not stored yet."""
        return self._rows

    @abstractmethod
    def carry(self, sender: PageSender, letters: list[PageLetter], now: float) -> None:
        """Take these; it may come back before all of them have arrived."""

    def ended(self) -> list[Posted]:
        """What became of those that came to their end since."""
        ended, self._ended = self._ended, []
        return ended

    def forget(self, rows: Collection[str]) -> None:
        """Their outcome is stored, or will be found out anew."""
        self._rows.difference_update(rows)
