"""Teams: who may do what with which tags. Who is in no team has the rights of their role. The index by member is asked
by every request; it is written with the teams, in the same transaction. Who is in a team because a directory says so:
`membership`."""

from __future__ import annotations

from collections.abc import Iterable

from BTrees.OOBTree import OOBTree

from opsapp.auth.logic.groups import group_key
from opsapp.auth.records import TeamRecord, TeamSettings
from opsapp.lib.ids import new_id
from opsapp.lib.jsontypes import JsonObject
from opsapp.lib.problems import Conflict
from opsapp.runtime.events import SESSION_ENDED, emit
from opsapp.tree.folder import Folder, Record
from opsapp.tree.rights import RIGHTS, Sight, sight_of
from opsapp.tree.root import Root
from opsapp.wire.records import made

from . import membership
from .keys import end_streams_of_keys
from .places import members_of, teams_of, users_of

MOST = 500


class Team(Record):
    """`said` is replaced whole."""

    url = "/api/teams/{team_id}"

    def __init__(self, said: TeamSettings, now: float):
        self.said = _stored(said)
        self.created_at = int(now)

    @property
    def name(self) -> str:
        return str(self.said["name"])

    def record(self) -> TeamRecord:
        return made(TeamRecord, {**self.said, "id": self.__name__, "created_at": self.created_at})


class Teams(Folder):
    url = "/api/teams"
    holds = "team"


def _stored(said: TeamSettings) -> JsonObject:
    return {name: getattr(said, name) for name in ("name", "members", "groups", *RIGHTS)}


def set_up(root: Root) -> None:
    teams_of.put(root, Teams())
    members_of.put(root, OOBTree())


def give_approve(root: Root) -> None:
    """Evolve step: no team of an older version may approve. One that cannot be read gives nothing as it is."""
    for team in teams_of(root).parted()[0]:
        if team.said is not None:
            team.said = {"approve": ()} | team.said


def is_limited(root: Root, username: str) -> bool:
    """Who is in a team and is no admin."""
    if username not in members_of(root) and not membership.is_bound(root, username):
        return False
    user = users_of(root).get(username)
    return user is None or user.role != "admin"


def sight_for(root: Root, username: str) -> Sight | None:
    """None for who is not limited. A team that cannot be read gives nothing."""
    if not is_limited(root, username):
        return None
    by_hand = members_of(root).get(username, ())
    teams = teams_of(root).some({*by_hand, *membership.teams_by_groups(root, username)})
    return sight_of({right: team.said[right] for right in RIGHTS} for team in teams)


def create(root: Root, said: TeamSettings, now: float) -> Team:
    folder = teams_of(root)
    _refuse_second(folder, said.name)
    if len(folder.tree) >= MOST:
        raise Conflict(f"There may be {MOST} teams. Delete one that is not used.", code="too_many_teams")
    team = folder[new_id()] = Team(said, now)
    _index(root, team.__name__, (), said.members)
    _index_groups(root, team.__name__, (), said.groups)
    return team


def change(root: Root, team: Team, said: TeamSettings) -> None:
    before = team.record()
    if said.name != before.name:
        _refuse_second(team.__parent__, said.name)
    team.said = _stored(said)
    _index(root, team.__name__, before.members, said.members)
    _index_groups(root, team.__name__, before.groups, said.groups)


def delete(root: Root, team: Team) -> None:
    """A team with members is not deleted: who is in no team sees all that their role sees."""
    known = team.record()
    if known.members or known.groups:
        raise Conflict(
            "This team has members or groups. Take them out first: who is in no team may do everything of their role.",
            code="team_has_members",
        )
    del teams_of(root)[team.__name__]


def leave_all(root: Root, username: str, _now: float) -> None:
    """Of a user who is deleted: somebody else may get the name."""
    for team in teams_of(root).some(members_of(root).get(username, ())):
        team.said = team.said | {"members": tuple(name for name in team.said["members"] if name != username)}
    members_of(root).pop(username, None)
    membership.forget(root, username)


def tell_groups(root: Root, username: str, keys: Iterable[str]) -> None:
    """What a directory or a provider says at a sign-in, or when it is asked again."""
    if membership.tell_signed_in(root, username, keys):
        end_streams(root, username)


def tell_provisioned(root: Root, username: str, keys: Iterable[str]) -> None:
    if membership.tell_provisioned(root, username, keys):
        end_streams(root, username)


def _refuse_second(folder: Teams, name: str) -> None:
    if any(team.name.casefold() == name.casefold() for team in folder.values()):
        raise Conflict("There is a team of this name already.", code="team_exists")


def _index(root: Root, team_id: str, before: Iterable[str], after: Iterable[str]) -> None:
    """What they have open is opened anew, with their present rights."""
    left, now_in = set(before), set(after)
    for username in membership.index_team(members_of(root), team_id, left, now_in):
        membership.release(root, username)
    for username in sorted(left | now_in):
        end_streams(root, username)


def _index_groups(root: Root, team_id: str, before: Iterable[str], after: Iterable[str]) -> None:
    keys = ({group_key(name) for name in names} for names in (before, after))
    for username in membership.name_groups(root, team_id, *keys):
        end_streams(root, username)


def end_streams(root: Root, username: str) -> None:
    """Sessions and keys stay; the streams that they have opened end."""
    user = users_of(root).get(username)
    for session_id in () if user is None else list(user.sessions):
        emit(root, SESSION_ENDED, {"session_id": session_id, "stays": True})
    end_streams_of_keys(root, username)
