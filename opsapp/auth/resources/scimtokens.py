"""Tokens of identity providers: each opens /scim/v2 and nothing else. They belong to the service, and go on when the
admin who made one has left. Only a digest is stored."""

from __future__ import annotations

from BTrees.OOBTree import OOBTree

from opsapp.auth.records import ScimTokenRecord
from opsapp.lib.ids import digest, new_id, new_token
from opsapp.lib.problems import Conflict
from opsapp.tree.folder import Folder, Record
from opsapp.tree.root import Root

from .places import scim_tokens_of

MOST = 20


class ScimToken(Record):
    url = "/api/scim-tokens/{token_id}"

    def __init__(self, name: str, expires_at: int | None, created_by: str, token_digest: str, now: float):
        self.name = name
        self.expires_at = expires_at
        self.created_by = created_by
        self.token_digest = token_digest
        self.created_at = int(now)

    def record(self) -> ScimTokenRecord:
        return ScimTokenRecord(self.name, self.expires_at, self.__name__, self.created_by, self.created_at)


class ScimTokens(Folder):
    url = "/api/scim-tokens"
    holds = "SCIM token"

    def __init__(self) -> None:
        super().__init__()
        self.by_digest = OOBTree()


def set_up(root: Root) -> None:
    scim_tokens_of.put(root, ScimTokens())


def make_scim_token(
    root: Root, name: str, expires_at: int | None, created_by: str, now: float
) -> tuple[ScimToken, str]:
    """The token itself is known to nobody but who gets this answer."""
    tokens = scim_tokens_of(root)
    if any(known.name.casefold() == name.casefold() for known in tokens.values()):
        raise Conflict("There is a token of this name already.", code="scim_token_exists")
    if len(tokens.tree) >= MOST:
        raise Conflict(f"There may be {MOST} tokens. Delete one that is not used.", code="too_many_scim_tokens")
    secret = new_token()
    token = tokens[new_id()] = ScimToken(name, expires_at, created_by, digest(secret), now)
    tokens.by_digest[digest(secret)] = token.__name__
    return token, secret


def find_scim_token(root: Root, secret: str, now: float) -> ScimToken | None:
    tokens = scim_tokens_of(root)
    token: ScimToken | None = tokens.find(tokens.by_digest.get(digest(secret)))
    return None if token is None or (token.expires_at is not None and token.expires_at <= now) else token


def drop_scim_token(root: Root, token: ScimToken) -> None:
    tokens = scim_tokens_of(root)
    del tokens.by_digest[token.token_digest]
    del tokens[token.__name__]
