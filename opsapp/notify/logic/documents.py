"""What a webhook is sent: a document with a version, which docs/guide/notifications.md describes. Pure.

Must not: lose or rename a field of it without another VERSION.
"""

from __future__ import annotations

from collections.abc import Sequence

from opsapp.lib.jsontypes import JsonObject

from .texts import MOST_IN_A_DIGEST, LinksOf, MessageContent, worst_of

VERSION = 1
DIGEST = "digest"


def documented(delivery_id: str, messages: Sequence[MessageContent], text: str, links_of: LinksOf) -> JsonObject:
    """What Apprise puts beside it, `title` and `message` among that, is not in here. `text`: what people read of
    several messages in one."""
    if len(messages) == 1:
        return {"delivery_id": delivery_id, **_about(messages[0], links_of), "messages": []}
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
    several = [{**_about(message, links_of), "title": message.title} for message in messages[:MOST_IN_A_DIGEST]]
    return {"delivery_id": delivery_id, **_about(whole, links_of), "messages": several}


def _about(message: MessageContent, links_of: LinksOf) -> JsonObject:
    """But for its title."""
    return {
        "kind": message.kind,
        "severity": message.severity,
        "ids": dict(message.ids),
        "target": message.target,
        "cause": message.cause,
        "tags": list(message.tags),
        "text": message.text,
        "events": message.events,
        "times": {"first_at": int(message.first_at), "last_at": int(message.last_at)},
        "links": links_of(message).document(),
    }
