"""What a team may do with things that carry a tag, and what that makes of one person. Pure.

Must not: know who is in a team, or what carries tags.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Literal, NamedTuple

Right = Literal["see", "act", "change", "approve"]
RIGHTS: tuple[Right, ...] = ("see", "act", "change", "approve")


class TagsOfMany(NamedTuple):
    """The tags of each thing that something is about. Who sees one of these sees it, or, if `whole`, who sees all; who
    may do more with it may do so with all of them."""

    parts: tuple[Collection[str], ...]
    whole: bool = False


class Everybodys(tuple[str, ...]):
    """In place of tags: what holds everywhere is seen by every team, and no right but `see` reaches it."""


EVERYBODYS = Everybodys()
Tags = Collection[str] | TagsOfMany


class Sight(NamedTuple):
    """The tags that each right of a limited person reaches. Whoever may do more with a tag sees it too."""

    see: frozenset[str] = frozenset()
    act: frozenset[str] = frozenset()
    change: frozenset[str] = frozenset()
    approve: frozenset[str] = frozenset()

    def may(self, right: Right, tags: Tags) -> bool:
        """What carries no tag, or is about nothing, is reached by nobody's."""
        tags_reached: frozenset[str] = getattr(self, right)
        if isinstance(tags, Everybodys):
            return right == "see"
        if isinstance(tags, TagsOfMany):
            enough = all if tags.whole or right != "see" else any
            return bool(tags.parts) and enough(not tags_reached.isdisjoint(part) for part in tags.parts)
        return not tags_reached.isdisjoint(tags)

    def sees(self, tags: Tags) -> bool:
        return self.may("see", tags)


def sight_of(grants: Iterable[Mapping[Right, Collection[str]]]) -> Sight:
    """The rights of several teams together."""
    tags: dict[Right, set[str]] = {right: set() for right in RIGHTS}
    for granted in grants:
        for right in RIGHTS:
            tags[right].update(granted.get(right, ()))
    tags["see"].update(*(tags[right] for right in RIGHTS))
    return Sight(*(frozenset(tags[right]) for right in RIGHTS))
