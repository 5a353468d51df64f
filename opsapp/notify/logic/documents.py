"""What a webhook is sent: a document with a version, which docs/guide/notifications.md describes. Pure.

Must not: lose or rename a field of it without another VERSION.
"""

from __future__ import annotations

from collections.abc import Sequence

from opsapp.wire.dataclass import frozen

from .texts import MOST_IN_A_DIGEST, LinksOf, MessageContent, worst_of

VERSION = 1
DIGEST = "digest"


@frozen
class DocumentTimes:
    first_at: int
    last_at: int


@frozen
class MessageDocument:
    kind: str
    severity: str
    ids: dict[str, str]
    target: str | None
    cause: str | None
    tags: tuple[str, ...]
    text: str
    events: int
    times: DocumentTimes
    links: dict[str, str]


@frozen
class TitledDocument(MessageDocument):
    """One of several."""

    title: str


@frozen
class DeliveryDocument(MessageDocument):
    """The document without what Apprise puts beside it, `title` and `message`."""

    delivery_id: str
    messages: tuple[TitledDocument, ...] = ()


def documented(delivery_id: str, messages: Sequence[MessageContent], text: str, links_of: LinksOf) -> DeliveryDocument:
    """`text`: what is read of several messages in one."""
    if len(messages) == 1:
        return DeliveryDocument(**vars(_about(messages[0], links_of)), delivery_id=delivery_id)
    whole = MessageContent(
        "",
        DIGEST,
        worst_of(messages).severity,
        "",
        text,
        first_at=min(message.first_at for message in messages),
        last_at=max(message.last_at for message in messages),
        events=sum(message.events for message in messages),
    )
    several = tuple(
        TitledDocument(**vars(_about(message, links_of)), title=message.title)
        for message in messages[:MOST_IN_A_DIGEST]
    )
    return DeliveryDocument(**vars(_about(whole, links_of)), delivery_id=delivery_id, messages=several)


def _about(message: MessageContent, links_of: LinksOf) -> MessageDocument:
    return MessageDocument(
        message.kind,
        message.severity,
        dict(message.ids),
        message.target,
        message.cause,
        message.tags,
        message.text,
        message.events,
        DocumentTimes(int(message.first_at), int(message.last_at)),
        links_of(message).document(),
    )
