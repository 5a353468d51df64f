"""What a team may do with things that carry a tag, and what that makes of one person. Pure.

Must not: know who is in a team, or what carries tags.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Literal, NamedTuple

Right = Literal["see", "act", "change"]
RIGHTS: tuple[Right, ...] = ("see", "act", "change")


class Sight(NamedTuple):
    """The tags that each right of a limited person reaches. Whoever may do more with a tag sees it too."""

    see: frozenset[str] = frozenset()
    act: frozenset[str] = frozenset()
    change: frozenset[str] = frozenset()

    def may(self, right: Right, tags: Collection[str]) -> bool:
        """What carries no tag is reached by nobody's."""
        tags_reached: frozenset[str] = getattr(self, right)
        return not tags_reached.isdisjoint(tags)

    def sees(self, tags: Collection[str]) -> bool:
        return not self.see.isdisjoint(tags)


class TagsOfMany(NamedTuple):
    """The tags of each thing that something is about. Who sees one of these sees it, or, if `whole`, who sees all; who
    acts on it or changes it does so to all of them."""

    parts: tuple[Collection[str], ...]
    whole: bool = False


ReachTags = Collection[str] | TagsOfMany


def reaches(sight: Sight, right: Right, about: ReachTags) -> bool:
    """What is about nothing is reached by nobody's."""
    if not isinstance(about, TagsOfMany):
        return sight.may(right, about)
    of_all = about.whole or right != "see"
    return bool(about.parts) and (all if of_all else any)(sight.may(right, tags) for tags in about.parts)


def sight_of(grants: Iterable[Mapping[Right, Collection[str]]]) -> Sight:
    """The rights of several teams together."""
    tags: dict[Right, set[str]] = {right: set() for right in RIGHTS}
    for granted in grants:
        for right in RIGHTS:
            tags[right].update(granted.get(right, ()))
    tags["see"].update(*(tags[right] for right in RIGHTS))
    return Sight(*(frozenset(tags[right]) for right in RIGHTS))
