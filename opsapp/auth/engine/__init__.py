"""Operations on users, shared by the views and the command line; and the purge."""

from opsapp.auth.logic.attempts import AttemptLimit
from opsapp.auth.logic.names import password_problem
from opsapp.auth.resources import count as count_attempts
from opsapp.auth.resources import forget_attempts, seconds_locked

from .accounts import add_user, disable_user, list_users, make_first_admin, remove_user, set_password, unlock_user
from .directory import sign_in
from .directorycheck import directory_trouble
from .invitations import accept_invitation, read_invitation
from .limits import count_attempt, counter_of_address, in_turn
from .passwords import hash_password, hashing_of, verify_password
from .providerlook import provider_trouble
from .provisionedaccounts import (
    change_group,
    change_members,
    change_provisioned,
    end_group,
    end_provisioned,
    provision_group,
    provision_user,
)
from .purge import start
from .secondfactor import second_step
