"""Names that the server makes: ids, tokens and their hashes."""

import hashlib
import secrets
from collections.abc import Container


def new_id() -> str:
    """An id for a resource: 16 lowercase hex digits."""
    return secrets.token_hex(8)


def new_token() -> str:
    """256 random bits as 64 hex digits. Store only its `digest`."""
    return secrets.token_hex(32)


def digest(token: str) -> str:
    """Tokens are random, so a plain hash is enough."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def id_from(at: float, taken: Container[str]) -> str:
    """An id of that moment which none of `taken` has: of thousands in the same millisecond two may draw the same."""
    while (drawn := earliest_id(at) + secrets.token_hex(4)) in taken:
        pass
    return drawn


def earliest_id(at: float) -> str:
    """The earliest of ids that begin with the time: what began at this time or later has this one or a greater one."""
    return f"{max(0, int(at * 1000)):012x}"
