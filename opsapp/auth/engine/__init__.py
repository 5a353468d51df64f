"""Operations on users, shared by the views and the command line; and the purge."""

from opsapp.auth.logic.attempts import AttemptLimit
from opsapp.auth.resources import count as count_attempts

from .accounts import add_user, disable_user, list_users, make_first_admin, remove_user, set_password, unlock_user
from .directory import sign_in
from .directorycheck import directory_trouble
from .invitations import accept_invitation, read_invitation
from .limits import count_attempt, in_turn
from .providerlook import provider_trouble
from .purge import start
from .secondfactor import second_step

__all__ = [
    "AttemptLimit",
    "accept_invitation",
    "add_user",
    "count_attempt",
    "count_attempts",
    "directory_trouble",
    "disable_user",
    "in_turn",
    "list_users",
    "make_first_admin",
    "provider_trouble",
    "read_invitation",
    "remove_user",
    "second_step",
    "set_password",
    "sign_in",
    "start",
    "unlock_user",
]
