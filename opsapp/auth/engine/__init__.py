"""Operations on users that block or take turns, shared by the views and the command line; and the purge."""

from .accounts import add_user, disable_user, list_users, make_first_admin, remove_user, set_password, unlock_user
from .purge import start
from .secondfactor import second_step
from .signin import sign_in

__all__ = [
    "add_user",
    "disable_user",
    "list_users",
    "make_first_admin",
    "remove_user",
    "second_step",
    "set_password",
    "sign_in",
    "start",
    "unlock_user",
]
