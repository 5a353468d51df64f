"""What is stored of users. Passwords, tokens and codes are here only as hashes, or sealed."""

from .attempts import count, forget_attempts, purge_attempts, seconds_locked
from .invitations import Invitations, is_invited
from .keys import ApiKey, Keys, drop_key, drop_keys_of, end_of, find_key, live_key, make_key
from .places import all_keys_of, provisioned_groups_of, provisioned_users_of, users_of
from .provisioned import ProvisionedGroup, ProvisionedGroups, ProvisionedUser, ProvisionedUsers
from .scimtokens import ScimToken, ScimTokens, drop_scim_token, find_scim_token, make_scim_token
from .secondfactor import (
    Totp,
    count_wrong_code,
    drop_partial,
    find_partial,
    make_partial,
    purge_partials,
    use_recovery_code,
)
from .sessions import (
    Session,
    end_session,
    end_sessions,
    find_session,
    live,
    open_session,
    purge_sessions,
    session_of,
    sessions_of,
)
from .teams import Teams, sight_for
from .tickets import make_ticket, purge_tickets, use_ticket
from .users import (
    AccountChange,
    AdminGuard,
    SavedFilter,
    User,
    Users,
    Wishes,
    change,
    create,
    delete,
    describe,
    find_enabled,
    is_enabled,
    set_up,
    shown,
    wishes_of,
)
