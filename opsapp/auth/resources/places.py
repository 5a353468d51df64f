"""Where users, sessions, keys and what else signs people in hang in the store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from BTrees.OOBTree import OOBTree

from opsapp.tree.places import ApiPlace, SystemPlace
from opsapp.tree.reading import ChildrenOf
from opsapp.tree.root import Root

if TYPE_CHECKING:
    from . import AdminGuard, Invitations, Keys, ProvisionedGroups, ProvisionedUsers, ScimTokens, Teams, Users

users_of: ApiPlace[Users] = ApiPlace("users")
all_keys_of: ApiPlace[Keys] = ApiPlace("keys")
invitations_of: ApiPlace[Invitations] = ApiPlace("invitations")
teams_of: ApiPlace[Teams] = ApiPlace("teams")
scim_tokens_of: ApiPlace[ScimTokens] = ApiPlace("scim-tokens")
provisioned_users_of: SystemPlace[ProvisionedUsers] = SystemPlace("provisioned_users")
provisioned_groups_of: SystemPlace[ProvisionedGroups] = SystemPlace("provisioned_groups")
admin_guard_of: SystemPlace[AdminGuard] = SystemPlace("admin_guard")
all_sessions_of = SystemPlace[OOBTree]("sessions")  # token digest -> Session
session_ends_of = SystemPlace[OOBTree]("session_ends")  # (expires at, id) -> token digest
attempts_of = SystemPlace[OOBTree]("attempts")
partials_of = SystemPlace[OOBTree]("partials")  # token digest -> Partial
subjects_of = SystemPlace[OOBTree]("subjects")  # digest of issuer and subject -> username
used_states_of = SystemPlace[OOBTree]("used_states")  # digest -> when it may be forgotten
tickets_of = SystemPlace[OOBTree]("tickets")  # token digest -> Ticket
key_ids_of = SystemPlace[OOBTree]("key_ids")  # token digest -> key id
members_of = SystemPlace[OOBTree]("team_members")  # username -> the ids of the teams
group_teams_of = SystemPlace[OOBTree]("group_teams")  # a group's key -> the ids of the teams that name it
told_groups_of = SystemPlace[OOBTree]("told_groups")  # username -> ToldGroups


def readable_sessions(root: Root) -> ChildrenOf:
    return ChildrenOf(all_sessions_of(root), "session")
