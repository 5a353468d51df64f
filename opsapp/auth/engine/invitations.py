"""Invites a person, and makes the user when the link is used, once."""

from __future__ import annotations

from opsapp.audit.engine import Actor, note, refusals_noted
from opsapp.auth import resources
from opsapp.auth.config import LoginSettings
from opsapp.auth.logic.names import password_problem
from opsapp.auth.records import InvitationMade, InvitationRecord, LoggedIn
from opsapp.auth.resources.invitations import BY_SHELL, Invitation, find_invitation, invitations_of, invite, is_invited
from opsapp.lib.problems import Conflict, Invalid, NotFound
from opsapp.runtime.node import Node, node_of, now_of
from opsapp.tree.root import Root
from opsapp.wire.records import plain

from .limits import count_attempt, login_counters, turn_of
from .passwords import hash_password, hashing_of
from .signin import Client, open_session


def make(root: Root, wanted: InvitationRecord, actor: Actor) -> InvitationMade:
    if wanted.username in resources.users_of(root):
        raise Conflict("There is a user of this name already.", code="user_exists")
    now, life = now_of(root), node_of(root).config[LoginSettings].invitation_s
    if is_invited(root, wanted.username, now):
        raise Conflict("A person with this name is already invited: revoke that invitation first.", code="invited")
    invitation = Invitation(wanted.username, wanted.role, wanted.email, actor.username or BY_SHELL, now, life)
    token = invite(root, invitation)
    record = invitation.describe()
    note(root, actor, "invitation.create", invitation.__name__, after=plain(record))
    return InvitationMade(**vars(record), url=f"/invitation/{token}")


def revoke(root: Root, invitation: Invitation, actor: Actor) -> None:
    note(root, actor, "invitation.delete", invitation.__name__, before=plain(invitation.describe()))
    del invitations_of(root)[invitation.__name__]


def read_invitation(root: Root, token: str) -> InvitationRecord:
    return _open(root, token).describe()


def _open(root: Root, token: str) -> Invitation:
    """NotFound where the link is wrong, used, expired or revoked: which of these, nobody is told."""
    invitation = find_invitation(root, token, now_of(root))
    if invitation is None:
        raise NotFound("It was used or revoked, or it has expired. Ask for a new one.")
    return invitation


def accept_invitation(node: Node, token: str, password: str, client: Client) -> LoggedIn:
    """Attempts are limited as those of signing in are."""
    counters, nobody = login_counters(node, client.ip, ""), Actor(None, client.ip)
    with hashing_of(node).admitted(turn_of(counters)), refusals_noted(node, nobody, "invitation.use", ""):
        count_attempt(node, counters)
        username = node.transact(lambda root: _open(root, token).username)
        problem = password_problem(password, username)
        if problem:
            raise Invalid({"password": problem})
        life = node.config[LoginSettings].session_s
        return node.transact(_accept, token, hash_password(node, password), client, life)


def _accept(root: Root, token: str, password_hash: str, client: Client, life: float) -> LoggedIn:
    invitation = _open(root, token)
    name = invitation.username
    user = resources.create(root, name, invitation.role, password_hash, now_of(root))
    user.own_password = True
    del invitations_of(root)[invitation.__name__]
    note(root, Actor(name, client.ip), "invitation.use", invitation.__name__, after=resources.describe(user))
    return open_session(root, name, client, life)
