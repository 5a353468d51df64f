"""What admins and the people they invite read of an invitation. The link itself is in the answer that makes it only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from opsapp.wire.kinds import Choice, Text
from opsapp.wire.records import FormField, Since, Told

from .logic.claims import HIGHEST_FIRST

NAME = Text(
    1, 64, "[a-z0-9][a-z0-9._@-]{0,63}", must="have only a-z, 0-9, '.', '_', '@', '-', and begin with a letter or digit"
)
EMAIL = Text(3, 254, r"[!-?A-~]+@[!-?A-~]+", "grace@example.org")


@dataclass(frozen=True)
class InvitationRecord:
    sample: ClassVar[dict[str, str]] = {"username": "grace", "role": "operator"}

    username: Annotated[str, NAME, FormField("Name", hint="Small letters, digits, and . _ @ -")]
    role: Annotated[str, Choice(*reversed(HIGHEST_FIRST)), FormField("Role", "choice")] = "viewer"
    email: Annotated[str | None, EMAIL, FormField("E-mail", hint="Only to know for whom it is")] = None
    id: Told[str] = ""
    invited_by: Told[str] = ""
    created_at: Told[Since] = 0
    expires_at: Told[Since] = 0


@dataclass(frozen=True)
class InvitationMade(InvitationRecord):
    """`url`: the page where the password is chosen, below the address of this service."""

    url: Told[str] = ""
