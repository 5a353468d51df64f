"""Teams by groups: a team names groups of a directory or an identity provider, and whoever is in one of these is in the
team. Kept apart from the members that people put in by hand, which stay whatever a directory says.

Who loses the last team of a directory sees nothing, not everything: `bound`, until an admin takes them out of a team by
hand.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from typing import NamedTuple

from BTrees.OOBTree import OOBTree

from opsapp.tree.root import Root

from .places import group_teams_of, told_groups_of


class ToldGroups(NamedTuple):
    """The keys of one person's groups (`logic.groups`)."""

    provisioned: tuple[str, ...] = ()  # all of them, as a provider says by SCIM
    signed_in: tuple[str, ...] = ()  # those that a team named when the person signed in, or was looked after
    bound: bool = False


def set_up(root: Root) -> None:
    group_teams_of.put(root, OOBTree())
    told_groups_of.put(root, OOBTree())


def teams_by_groups(root: Root, username: str) -> tuple[str, ...]:
    """The ids."""
    told = told_groups_of(root).get(username)
    return () if told is None else _teams(root, told)


def _teams(root: Root, told: ToldGroups) -> tuple[str, ...]:
    by_group = group_teams_of(root)
    return tuple(sorted({team for key in told.provisioned + told.signed_in for team in by_group.get(key, ())}))


def is_bound(root: Root, username: str) -> bool:
    """Whether a directory limits this person: by a team, or because it took the last one away."""
    told = told_groups_of(root).get(username)
    return told is not None and (told.bound or bool(_teams(root, told)))


def tell_provisioned(root: Root, username: str, keys: Iterable[str]) -> bool:
    told = told_groups_of(root).get(username, ToldGroups())
    return _tell(root, username, told, told._replace(provisioned=tuple(sorted(keys))))


def tell_signed_in(root: Root, username: str, keys: Iterable[str]) -> bool:
    """Of thousands of groups only those are kept that a team names."""
    told, by_group = told_groups_of(root).get(username, ToldGroups()), group_teams_of(root)
    return _tell(root, username, told, told._replace(signed_in=tuple(sorted(key for key in keys if key in by_group))))


def _tell(root: Root, username: str, before: ToldGroups, told: ToldGroups) -> bool:
    """Whether the person's teams are others now."""
    was, becomes = _teams(root, before), _teams(root, told)
    if was and not becomes:
        told = told._replace(bound=True)
    if told != before:
        told_groups_of(root)[username] = told
    return was != becomes


def release(root: Root, username: str) -> None:
    """An admin has taken the person out of a team: what a directory took away binds no more."""
    told = told_groups_of(root).get(username)
    if told is not None and told.bound:
        told_groups_of(root)[username] = told._replace(bound=False)


def forget(root: Root, username: str) -> None:
    told_groups_of(root).pop(username, None)


def index_team(index: OOBTree, team_id: str, before: Collection[str], after: Collection[str]) -> list[str]:
    """Keep an index of team ids by what teams name. The keys that no team names any more."""
    gone = []
    for key in set(before).difference(after):
        rest = tuple(other for other in index.get(key, ()) if other != team_id)
        if rest:
            index[key] = rest
        else:
            index.pop(key, None)
            gone.append(key)
    for key in set(after).difference(before):
        index[key] = (*index.get(key, ()), team_id)
    return gone


def name_groups(root: Root, team_id: str, before: Iterable[str], after: Iterable[str]) -> list[str]:
    """A team names other groups from now on. Who is in one of these that changed."""
    left, named = set(before), set(after)
    index_team(group_teams_of(root), team_id, left, named)
    changed = left ^ named
    if not changed:
        return []
    people = told_groups_of(root).items()
    return [name for name, told in people if not changed.isdisjoint(told.provisioned + told.signed_in)]


def counts_by_groups(root: Root) -> Counter[str]:
    """By team: how many are in it by its groups."""
    return Counter(team_id for told in told_groups_of(root).values() for team_id in _teams(root, told))
