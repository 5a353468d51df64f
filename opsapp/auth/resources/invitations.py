"""Invitations. A link is kept nowhere; the name of its record is half of the link's digest."""

from __future__ import annotations

from opsapp.auth.records import InvitationRecord
from opsapp.lib.ids import digest, new_token
from opsapp.runtime.cluster import leases
from opsapp.tree.folder import Folder, Record
from opsapp.tree.root import Root

from .expiry import purge_page
from .places import invitations_of, users_of

LEASE = "housekeeping"
BY_SHELL = ""


class Invitation(Record):
    url = "/api/invitations/{invitation_id}"

    def __init__(self, username: str, role: str, email: str | None, invited_by: str, now: float, life: float):
        self.username, self.role, self.email, self.invited_by = username, role, email, invited_by
        self.created_at, self.expires_at = now, now + life

    def describe(self) -> InvitationRecord:
        return InvitationRecord(
            self.username, self.role, self.email, self.__name__, self.invited_by, self.created_at, self.expires_at
        )


class Invitations(Folder):
    url = "/api/invitations"
    holds = "invitation"


def set_up(root: Root) -> None:
    """Evolve step."""
    invitations_of.put(root, Invitations())


def invite(root: Root, invitation: Invitation) -> str:
    """Keeps it; the link's token."""
    token = new_token()
    invitations_of(root)[_name_of(token)] = invitation
    return token


def open_invitations(root: Root, now: float) -> list[Invitation]:
    rows = (invitation for invitation in invitations_of(root).values() if invitation.expires_at > now)
    return sorted(rows, key=lambda row: row.created_at)


def is_invited(root: Root, username: str, now: float) -> bool:
    return any(invitation.username == username for invitation in open_invitations(root, now))


def find_invitation(root: Root, token: str, now: float) -> Invitation | None:
    """An invitation is valid if not too old, and by somebody still an admin or with a shell on the server."""
    invitation = invitations_of(root).get(_name_of(token))
    if invitation is None or invitation.expires_at <= now:
        return None
    if invitation.invited_by == BY_SHELL:
        return invitation
    inviter = users_of(root).get(invitation.invited_by)
    return invitation if inviter is not None and not inviter.disabled and inviter.role == "admin" else None


def _name_of(token: str) -> str:
    return digest(f"invitation {token}")[:32]


def purge_invitations(root: Root, now: float, after: str = "") -> str | None:
    return purge_page(invitations_of(root).tree, after, lambda invitation: invitation.expires_at <= now)


def move(root: Root, by: float) -> None:
    """Move times by so many seconds: a link is good for as long as it would have been."""
    leases.check(root, LEASE)
    for invitation in invitations_of(root).values():
        invitation.expires_at += by
