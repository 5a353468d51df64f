"""Users as code, by username. No document says a password: who is not there is invited, and the link is shown this once
to who applies it. An open invitation counts as its user."""

from __future__ import annotations

from collections.abc import Iterator

from opsapp.audit.engine import Actor
from opsapp.auth import resources
from opsapp.auth.records import InvitationRecord, UserAsCode
from opsapp.auth.resources.invitations import invitations_of
from opsapp.lib.jsontypes import JsonObject
from opsapp.lib.problems import Conflict, Invalid
from opsapp.runtime.ascode.kinds import Awaited, MadeEntry, StoredEntry
from opsapp.runtime.node import Node
from opsapp.tree.root import Root
from opsapp.wire.records import made, settings_of

from . import invitations
from .accountchanges import drop

INVITED = "invitation:"


def stored(node: Node, root: Root) -> Iterator[StoredEntry]:
    for user in resources.users_of(root).whole():
        said = UserAsCode(user.__name__, user.role, user.disabled, user.source)
        yield StoredEntry(user.__name__, settings_of(said))
    now = node.clock.now()
    for invitation in sorted(invitations_of(root).whole(), key=lambda row: row.created_at):
        if invitation.expires_at <= now:
            continue
        said = UserAsCode(invitation.username, invitation.role)
        yield StoredEntry(INVITED + invitation.__name__, settings_of(said))


def complete(_node: Node, _root: Root, given: JsonObject, present: JsonObject | None) -> JsonObject:
    fields = settings_of(made(UserAsCode, given))
    if present is not None and fields["source"] != present["source"]:
        raise Invalid({"source": f"is {present['source']} and stays so"})
    return fields


def create(_node: Node, root: Root, wanted: UserAsCode, actor: Actor) -> MadeEntry:
    if wanted.source != "local":
        where = "the directory" if wanted.source == "ldap" else "the identity provider"
        raise Awaited(f"becomes a user by signing in with {where}")
    if wanted.disabled:
        raise Awaited("is disabled: nobody is invited for that")
    return _invited(root, wanted, actor)


def _invited(root: Root, wanted: UserAsCode, actor: Actor) -> MadeEntry:
    invitation = invitations.make(root, InvitationRecord(wanted.username, wanted.role), actor)
    return MadeEntry(INVITED + invitation.id, {"url": invitation.url})


def update(_node: Node, root: Root, entry_id: str, wanted: UserAsCode, actor: Actor) -> None:
    if entry_id.startswith(INVITED):
        raise Conflict("This person is invited with another role: revoke the invitation first.", code="invited")
    user = resources.users_of(root)[entry_id]
    resources.change(root, user, resources.AccountChange(wanted.role, wanted.disabled))


def delete(_node: Node, root: Root, entry_id: str, actor: Actor) -> None:
    if entry_id.startswith(INVITED):
        invitations.revoke(root, invitations_of(root)[entry_id.removeprefix(INVITED)], actor)
        return
    if entry_id == actor.username:
        raise Conflict("Nobody deletes themselves by leaving their name out of a document.", code="own_user")
    drop(root, resources.users_of(root)[entry_id])
