"""Teams as code (see `opsapp.runtime.ascode`), by name."""

from __future__ import annotations

from collections.abc import Iterator

from opsapp.audit.engine import Actor
from opsapp.auth.records import TeamSettings
from opsapp.auth.resources import teams
from opsapp.runtime.ascode.kinds import StoredEntry
from opsapp.runtime.node import Node, now_of
from opsapp.tree.root import Root
from opsapp.wire.records import made, settings_of


def stored(_node: Node, root: Root) -> Iterator[StoredEntry]:
    for team in sorted(teams.teams_of(root).whole(), key=lambda row: (row.created_at, row.__name__)):
        yield StoredEntry(team.__name__, settings_of(made(TeamSettings, team.said)))


def create(_node: Node, root: Root, entry: TeamSettings, _actor: Actor) -> str:
    return teams.create(root, entry, now_of(root)).__name__


def update(_node: Node, root: Root, team_id: str, entry: TeamSettings, _actor: Actor) -> None:
    teams.change(root, teams.teams_of(root)[team_id], entry)


def delete(_node: Node, root: Root, team_id: str, _actor: Actor) -> None:
    teams.delete(root, teams.teams_of(root)[team_id])
