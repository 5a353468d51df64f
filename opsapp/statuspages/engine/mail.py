"""When letters go to the mail server: while it is away they stay in the queue, and 10,000 are not tried one after the
other. Must not: speak with it."""

from __future__ import annotations

from math import inf

from opsapp.notify.engine import NotificationSettings
from opsapp.runtime.node import Node
from opsapp.statuspages.logic.settings import StatusPageSettings

from .letter import LetterCarrier, PageLetter, PageSender, Posted


class MailCarrier(LetterCarrier):
    """None for a while after the server could not be spoken to."""

    def __init__(self, node: Node):
        super().__init__(node)
        self._refusals = 0  # of the server, in a row
        self._again = -inf  # in monotonic seconds

    def room(self) -> int:
        return 0 if self._node.clock.monotonic() < self._again else self._node.config[StatusPageSettings].batch

    def carry(self, sender: PageSender, letters: list[PageLetter], now: float) -> None:
        self._rows.update(letter.row for letter in letters)
        self._ended += self._node.lane("status-mail", 1).run(post, sender, letters, now)
        if any(posted.tried for posted in self._ended):
            self._refusals = 0
            return
        retry = self._node.config[NotificationSettings].retry
        self._again = self._node.clock.monotonic() + min(retry.longest_s, retry.first_s * 2 ** min(self._refusals, 30))
        self._refusals += 1


def post(sender: PageSender, letters: list[PageLetter], now: float) -> list[Posted]:
    from . import mailpost  # libraries of mail, which a server without subscribers does not need

    return mailpost.post(sender, letters, now)
