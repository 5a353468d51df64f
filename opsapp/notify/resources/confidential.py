"""What of a message is a secret: stored sealed, beside a text that may be read, and opened for the journey alone.

Must not: show any of it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, NamedTuple

from opsapp.lib.jsontypes import JsonObject
from opsapp.notify.logic.texts import MessageContent
from opsapp.runtime.secrets.seals import Reseal, seal_of
from opsapp.tree.root import Root

from . import inbox
from .deliveries import deliveries_of
from .groups import groups_of

PURPOSE = "notification text"
SEALED = "sealed"


class Confidential(NamedTuple):
    """What is sent in the place of what is shown, and the secrets in it."""

    title: str
    text: str
    secrets: tuple[str, ...]


def seal(root: Root, given: Confidential) -> str:
    return seal_of(root).seal(json.dumps(given), PURPOSE)


def opened(root: Root, message: MessageContent) -> tuple[MessageContent, tuple[str, ...]]:
    if message.sealed is None:
        return message, ()
    title, text, secrets = json.loads(seal_of(root).open(message.sealed, PURPOSE))
    titles = tuple(title if shown == message.title else shown for shown in message.titles)
    return replace(message, title=title, text=text, titles=titles), tuple(secrets)


def reseal(root: Root, anew: Reseal) -> None:
    """Wherever a message is on its way from being told to the log."""

    def again(fields: JsonObject) -> JsonObject:
        return {**fields, SEALED: anew(fields[SEALED], PURPOSE)}

    for tree in inbox.trees_of(root):
        for key, row in _with_secrets(tree.items()):
            tree[key] = again(row)
    for key, group in _with_secrets(groups_of(root).groups.items()):
        groups_of(root).groups[key] = again(group)
    for message in deliveries_of(root).messages.values():
        if message.fields.get(SEALED):
            message.fields = again(message.fields)


def _with_secrets(items: Iterable[tuple[Any, JsonObject]]) -> list[tuple[Any, JsonObject]]:
    return [(key, fields) for key, fields in items if fields.get(SEALED)]
