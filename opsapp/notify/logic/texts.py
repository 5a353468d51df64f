"""What people read: one message, or several in one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from datetime import datetime
from typing import Annotated, NamedTuple
from zoneinfo import ZoneInfo

from opsapp.lib.visible import visible
from opsapp.wire.dataclass import frozen
from opsapp.wire.kinds import Choice, DeclaredField, MapOf, Text
from opsapp.wire.records import Between, Since

from . import LONGEST_TEXT, SEVERITIES, rank

IDS = MapOf(DeclaredField("", Text()), 20)
MOST_IN_A_DIGEST = 50
GOOD_NEWS = ("resolved", "online", "recovered", "closed")


@frozen
class MessageShown:
    """A message as people see it in the log."""

    key: str
    kind: str
    severity: Annotated[str, Choice(*SEVERITIES)]
    title: str
    text: Annotated[str, Text(0, LONGEST_TEXT)] = ""
    tags: tuple[str, ...] = ()
    target: str | None = None
    cause: str | None = None
    first_at: Since = 0.0
    last_at: Since = 0.0
    events: Annotated[int, Between(1)] = 1
    id: str = ""
    ids: Annotated[Mapping[str, str], IDS] = field(default_factory=dict)


@frozen
class MessageContent(MessageShown):
    """The message with what is shown to nobody there. `sealed`: the confidential form of title and text."""

    titles: tuple[str, ...] = ()
    sealed: str | None = None


class AnswerButton(NamedTuple):
    """The address is a secret."""

    act: str
    label: str
    url: str

    @property
    def token(self) -> str:
        return self.url.rpartition("/")[2]

    @property
    def line(self) -> str:
        return f"{self.label}: {self.url}"


class MessageLinks(NamedTuple):
    page: str | None = None
    answers: tuple[AnswerButton, ...] = ()

    def document(self) -> dict[str, str]:
        """The links as a webhook has them."""
        return ({"page": self.page} if self.page else {}) | {answer.act: answer.url for answer in self.answers}


LinksOf = Callable[[MessageContent], MessageLinks]


def nowhere(message: MessageContent) -> MessageLinks:
    """Nobody has said where this service is reached."""
    return MessageLinks()


def written(messages: Sequence[MessageContent], zone: str, links_of: LinksOf = nowhere) -> tuple[str, str, str]:
    """(title, text, mood). The mood is info, success, warning or failure, as Apprise calls it."""
    if len(messages) == 1:
        message = messages[0]
        return _title(message), "\n".join(_lines(message, zone, links_of)), mood(message)
    worst = worst_of(messages)
    lines = []
    for message in messages[:MOST_IN_A_DIGEST]:
        lines += [f"* {_title(message)}", *(f"  {line}" for line in _lines(message, zone, links_of)), ""]
    if len(messages) > MOST_IN_A_DIGEST:
        lines.append(f"and {len(messages) - MOST_IN_A_DIGEST} more")
    said = "all good" if mood(worst) == "success" else f"the worst {worst.severity}"
    return f"{len(messages)} messages, {said}", "\n".join(lines).rstrip(), mood(worst)


def worst_of(messages: Sequence[MessageContent]) -> MessageContent:
    """Those that are no good news, if there are any."""
    bad = [message for message in messages if mood(message) != "success"]
    return max(bad or messages, key=lambda message: rank(message.severity))


def mood(message: MessageContent) -> str:
    if message.kind.rpartition(".")[2] in GOOD_NEWS:
        return "success"
    return {"critical": "failure"}.get(message.severity, message.severity)


def _title(message: MessageContent) -> str:
    """Good news is as severe as the bad news that it ends, so that it takes the same way; it need not sound so. It is
    one line, the subject of a mail: names in it may come from outside."""
    title, harmless = visible(message.title), message.severity == "info" or mood(message) == "success"
    return title if harmless else f"[{message.severity}] {title}"


def _lines(message: MessageContent, zone: str, links_of: LinksOf) -> list[str]:
    lines = [message.text] if message.text else []
    if message.cause:
        lines.append(f"Root cause: {message.cause}")
    others = [title for title in message.titles if title != message.title]
    if others:
        lines += ["With it:", *(f"- {title}" for title in others)]
    if message.events > 1:
        lines.append(f"{message.events} events since {_at(message.first_at, zone)}")
    lines.append(_at(message.last_at, zone))
    links = links_of(message)
    lines += [answer.line for answer in links.answers]
    return [*lines, links.page] if links.page else lines


def _at(seconds: float, zone: str) -> str:
    return datetime.fromtimestamp(seconds, ZoneInfo(zone)).strftime("%Y-%m-%d %H:%M:%S %Z")
