"""What is stored of users and their credentials. Passwords, tokens and codes are here only as hashes, or sealed."""

from .attempts import Attempts, count, forget_attempts, purge_attempts, seconds_locked
from .keys import ApiKey, Keys, drop_key, drop_keys_of, end_of, find_key, make_key
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
    open_session,
    purge_sessions,
    session_of,
    sessions_of,
)
from .tickets import make_ticket, purge_tickets, use_ticket
from .users import User, Users, change, create, delete, describe, find_enabled, set_up, users_of

__all__ = [
    "ApiKey",
    "Attempts",
    "Keys",
    "Session",
    "Totp",
    "User",
    "Users",
    "change",
    "count",
    "count_wrong_code",
    "create",
    "delete",
    "describe",
    "drop_key",
    "drop_keys_of",
    "drop_partial",
    "end_of",
    "end_session",
    "end_sessions",
    "find_enabled",
    "find_key",
    "find_partial",
    "find_session",
    "forget_attempts",
    "make_key",
    "make_partial",
    "make_ticket",
    "open_session",
    "purge_attempts",
    "purge_partials",
    "purge_sessions",
    "purge_tickets",
    "seconds_locked",
    "session_of",
    "sessions_of",
    "set_up",
    "use_recovery_code",
    "use_ticket",
    "users_of",
]
