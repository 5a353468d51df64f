"""/api/teams: who is in a team, and what it may do with which tags. For admins."""

from __future__ import annotations

from dataclasses import replace

from pyramid.request import Request

from opsapp.auth import schemas
from opsapp.auth.records import TeamRecord, TeamSettings
from opsapp.auth.resources import teams as engine
from opsapp.auth.resources import users_of
from opsapp.auth.resources.membership import counts_by_groups
from opsapp.auth.resources.teams import Team, Teams
from opsapp.lib.jsontypes import JsonObject
from opsapp.tree.damage import NAMELESS, Damage
from opsapp.web import api
from opsapp.web.fields import Paging
from opsapp.web.listpages import page_of
from opsapp.web.schemas import Created, Deleted, Updated
from opsapp.wire.records import changed, made, plain


def unknown_members(request: Request, sound: JsonObject, before: tuple[str, ...] = ()) -> dict[str, str]:
    """Who is newly named has to be there. Who is gone since hinders no other change."""
    users = users_of(request.root)
    missing = sorted(name for name in set(sound.get("members", ())) - set(before) if name not in users)
    return {"members": "no such user: " + ", ".join(missing)} if missing else {}


@api.get(Teams, role="admin", query=Paging, returns=[TeamRecord])
def teams(context: Teams, request: Request) -> list[TeamRecord]:
    """All teams."""
    names, by_groups = page_of(request, list(context.keys())), counts_by_groups(request.root)
    return context.page_rows(names, lambda team: replace(team.record(), by_groups=by_groups[team.__name__]), _unread)


def _unread(damage: Damage) -> TeamRecord:
    return TeamRecord(NAMELESS, id=damage.id, unreadable=damage.reason)


@api.create(
    Teams,
    role="admin",
    confirmed=True,
    body=TeamSettings,
    also=lambda teams, request, sound: unknown_members(request, sound),
    returns=schemas.TeamMade,
    audit="team.create",
)
def create_team(context: Teams, request: Request) -> Created:
    """A new team. Its members see what its tags reach from now on, and nothing else."""
    team = engine.create(request.root, made(TeamRecord, request.valid_body), request.now)
    request.audit("team.create", team.__name__, after=plain(team.record()))
    return Created(team.__name__)


@api.get(Team, role="admin", returns=TeamRecord)
def team(context: Team, request: Request) -> TeamRecord:
    """One team."""
    return replace(context.record(), by_groups=counts_by_groups(request.root)[context.__name__])


@api.update(
    Team,
    role="admin",
    confirmed=True,
    body=TeamSettings,
    also=lambda team, request, sound: unknown_members(request, sound, team.record().members),
    read_only=TeamRecord,
    returns=Updated,
    audit="team.update",
)
def update_team(context: Team, request: Request) -> Updated:
    """Changes what is given, and leaves the rest. It holds at once, for what is open already too."""
    before = context.record()
    engine.change(request.root, context, changed(before, request.valid_body))
    request.audit("team.update", context.__name__, before=plain(before), after=plain(context.record()))
    return Updated()


@api.delete(Team, role="admin", confirmed=True, returns=Deleted, audit="team.delete", errors=(409,))
def delete_team(context: Team, request: Request) -> Deleted:
    """The team is gone. One that has members stays: without a team they would see everything of their role."""
    engine.delete(request.root, context)
    request.audit("team.delete", context.__name__, before=plain(context.record()))
    return Deleted()
