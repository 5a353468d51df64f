"""Bodies, answers and configuration of users, sessions and credentials."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import colander

from opsapp.lib.networks import is_protected
from opsapp.tree.acl import ROLES
from opsapp.web.fields import OPTIONAL, Body, Choice, Flag, ListOf, Nullable, Number, Text, Whole, check, name_text
from opsapp.wire.urls import web_problem

USERNAME = "have only a-z, 0-9, '.', '_', '@', '-', and begin with a letter or digit"
EXAMPLE = "https://id.example.org/path"


def _unprotected(url: str) -> str | None:
    """Whoever is between here and an issuer without TLS signs in as anybody."""
    return None if is_protected(url) else "must begin with https://, except on this machine (127.0.0.1, ::1, localhost)"


def _address(also: Callable[[str], str | None] = lambda url: None) -> colander.SchemaNode:
    told = Nullable(Text(1, 500, pattern="https?://[!-~]+", example=EXAMPLE))
    wrong = check(lambda url: url and (web_problem(url) or also(url)))
    return colander.SchemaNode(told, missing=None, validator=wrong)


def new_username() -> colander.SchemaNode:
    return colander.SchemaNode(Text(1, 64, pattern="[a-z0-9][a-z0-9._@-]{0,63}", must=USERNAME))


def new_password(**more: Any) -> colander.SchemaNode:
    return colander.SchemaNode(Text(10, 256), **more)


class LoginSection(Body):
    """web.login"""

    attempts_per_ip = colander.SchemaNode(Whole(1, 10_000), missing=5)
    attempts_per_user = colander.SchemaNode(Whole(1, 10_000), missing=10)
    window_s = colander.SchemaNode(Number(1, 86_400), missing=60)
    lock_s = colander.SchemaNode(Number(1, 86_400), missing=300)
    session_s = colander.SchemaNode(Number(1, 30 * 86_400), missing=86_400)
    confirm_s = colander.SchemaNode(Number(1, 86_400), missing=900)
    known_browser_s = colander.SchemaNode(Number(1, 3650 * 86_400), missing=90 * 86_400)
    purge_s = colander.SchemaNode(Number(1, 86_400), missing=300)


class RoleMap(Body):
    """Which value of the role claim stands for which role."""

    admin = colander.SchemaNode(Nullable(Text(1, 200)), missing=None)
    operator = colander.SchemaNode(Nullable(Text(1, 200)), missing=None)
    viewer = colander.SchemaNode(Nullable(Text(1, 200)), missing=None)


def _incomplete(sound: dict[str, Any]) -> dict[str, str]:
    """Once enabled, everything that a flow needs must be there."""
    if not sound.get("enabled"):
        return {}
    needed = [name for name in ("issuer", "client_id", "redirect_uri") if not sound.get(name)]
    wrong = dict.fromkeys(needed, "is required when oidc is enabled")
    if not any((sound.get("role_map") or {}).values()):
        wrong["role_map"] = "names no role, so nobody could sign in"
    return wrong


class OidcSection(Body):
    """web.oidc"""

    across = staticmethod(_incomplete)
    enabled = colander.SchemaNode(Flag(), missing=False)
    issuer = _address(_unprotected)
    client_id = colander.SchemaNode(Nullable(Text(1, 200)), missing=None)
    client_secret = colander.SchemaNode(Nullable(Text(1, 500)), missing=None)
    redirect_uri = _address()
    scopes = colander.SchemaNode(ListOf(Text(1, 100), 50), missing=("openid", "profile", "email"))
    role_claim = colander.SchemaNode(Text(1, 200), missing="role")
    role_map = RoleMap()


class Login(Body):
    username = colander.SchemaNode(Text(1, 256))
    password = colander.SchemaNode(Text(1, 1024))


class LoggedIn(Body):
    token = colander.SchemaNode(Text(64, 64))
    role = colander.SchemaNode(Choice(*ROLES))
    username = colander.SchemaNode(Text())


class SignedIn(Body):
    """A session, or, where a code is due, the partial token to go on with."""

    token = colander.SchemaNode(Text(64, 64), missing=OPTIONAL)
    role = colander.SchemaNode(Choice(*ROLES), missing=OPTIONAL)
    username = colander.SchemaNode(Text(), missing=OPTIONAL)
    totp_required = colander.SchemaNode(Flag(), missing=OPTIONAL)
    partial_token = colander.SchemaNode(Text(64, 64), missing=OPTIONAL)


class SecondStep(Body):
    partial_token = colander.SchemaNode(Text(1, 200))
    code = colander.SchemaNode(Text(1, 64))


class Code(Body):
    code = colander.SchemaNode(Text(1, 64))


class Proof(Body):
    password = colander.SchemaNode(Text(1, 1024))


class TotpBegun(Body):
    secret = colander.SchemaNode(Text())
    otpauth_uri = colander.SchemaNode(Text())
    qr_svg = colander.SchemaNode(Text(0, 100_000))


class RecoveryCodes(Body):
    recovery_codes = colander.SchemaNode(ListOf(Text(), 10))


class NewKey(Body):
    name = colander.SchemaNode(name_text(100))
    role = colander.SchemaNode(Choice(*ROLES))
    expires_at = colander.SchemaNode(Nullable(Whole(0, 10**11)), missing=None)


class KeyShown(Body):
    id = colander.SchemaNode(Text())
    name = colander.SchemaNode(Text())
    role = colander.SchemaNode(Choice(*ROLES))
    expires_at = colander.SchemaNode(Nullable(Whole()))
    username = colander.SchemaNode(Text())
    created_at = colander.SchemaNode(Whole())


class KeyMade(Body):
    id = colander.SchemaNode(Text())
    name = colander.SchemaNode(Text())
    role = colander.SchemaNode(Choice(*ROLES))
    expires_at = colander.SchemaNode(Nullable(Whole()))
    key = colander.SchemaNode(Text(64, 64))


class TicketMade(Body):
    ticket = colander.SchemaNode(Text(64, 64))


class Me(Body):
    username = colander.SchemaNode(Text())
    role = colander.SchemaNode(Choice(*ROLES))


class StatusOk(Body):
    status = colander.SchemaNode(Choice("ok"))


class OwnPassword(Body):
    current = colander.SchemaNode(Text(1, 1024))
    new = new_password()
    end_keys = colander.SchemaNode(Flag(), missing=False)


def _one_proof(sound: dict[str, Any]) -> dict[str, str]:
    given = [sound[name] is not None for name in ("password", "code") if name in sound]
    sane = len(given) < 2 or given.count(True) == 1
    return {} if sane else dict.fromkeys(("password", "code"), "give either the password or a code")


class Confirmation(Body):
    """Proof by somebody signed in that it is really them."""

    across = staticmethod(_one_proof)

    password = colander.SchemaNode(Text(1, 1024), missing=None)
    code = colander.SchemaNode(Text(1, 64), missing=None)


class Confirmed(Body):
    status = colander.SchemaNode(Choice("ok"))
    confirmed_until = colander.SchemaNode(Whole())


class SessionShown(Body):
    id = colander.SchemaNode(Text())
    created_at = colander.SchemaNode(Whole())
    expires_at = colander.SchemaNode(Whole())
    ip = colander.SchemaNode(Text())
    user_agent = colander.SchemaNode(Text())
    current = colander.SchemaNode(Flag())


class NewUser(Body):
    username = new_username()
    role = colander.SchemaNode(Choice(*ROLES), missing="viewer")
    password = new_password()
    disabled = colander.SchemaNode(Flag(), missing=False)


class ChangedUser(Body):
    role = colander.SchemaNode(Choice(*ROLES), missing=OPTIONAL)
    password = new_password(missing=OPTIONAL)
    disabled = colander.SchemaNode(Flag(), missing=OPTIONAL)


class UserShown(Body):
    username = colander.SchemaNode(Text())
    role = colander.SchemaNode(Choice(*ROLES))
    disabled = colander.SchemaNode(Flag())
    totp_enabled = colander.SchemaNode(Flag())
    source = colander.SchemaNode(Choice("local", "oidc"))
    created_at = colander.SchemaNode(Whole())
    last_login = colander.SchemaNode(Nullable(Whole()))
