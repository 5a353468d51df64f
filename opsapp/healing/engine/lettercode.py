"""The morning letter as code (see `opsapp.runtime.ascode`): one entry, whose channel is named."""

from __future__ import annotations

from collections.abc import Iterator

from opsapp.healing.letters import LetterAsCode, LetterSettings
from opsapp.lib.problems import Invalid
from opsapp.notify.resources import channels_of
from opsapp.runtime.ascode.kinds import StoredEntry
from opsapp.runtime.node import Node
from opsapp.tree.root import Root
from opsapp.wire.records import settings_of

from . import letters

LETTER = "healing"


def stored(_node: Node, root: Root) -> Iterator[StoredEntry]:
    settings = letters.book_of(root).settings
    if settings != LetterSettings():
        channel = channels_of(root).get(settings.channel) if settings.channel else None
        named = None if channel is None else channel.record.name
        yield StoredEntry(LETTER, settings_of(LetterAsCode(settings.at, settings.zone, named)))


def create(node: Node, root: Root, wanted: LetterAsCode) -> str:
    channel = None if wanted.channel is None else channels_of(root).named(wanted.channel)
    if wanted.channel is not None and channel is None:
        raise Invalid({"channel": f"there is no channel {wanted.channel!r}"})
    letters.change(root, LetterSettings(wanted.at, wanted.zone, channel and channel.id), node.clock.now())
    return LETTER


def update(node: Node, root: Root, _letter: str, wanted: LetterAsCode) -> None:
    create(node, root, wanted)


def delete(node: Node, root: Root, _letter: str) -> None:
    letters.change(root, LetterSettings(), node.clock.now())
