"""The sections `web.login` and `web.oidc` of the YAML file."""

from __future__ import annotations

from typing import Annotated

from opsapp.lib.jsontypes import JsonObject
from opsapp.lib.networks import is_protected
from opsapp.lib.settings import Between, CheckedBy, Length, Most
from opsapp.tree.acl import ROLES
from opsapp.wire.dataclass import frozen
from opsapp.wire.kinds import Choice
from opsapp.wire.urls import web_problem

ADDRESS = Length(1, 500, "https?://[!-~]+", "https://id.example.org/path")
Address = Annotated[str | None, ADDRESS, CheckedBy(web_problem)]
Value = Annotated[str | None, Length(1, 200)]


def _issuer_problem(url: str) -> str | None:
    """Whoever is between here and an issuer without TLS signs in as anybody."""
    if is_protected(url):
        return None
    return "must begin with https://, except on this machine (127.0.0.1, ::1, localhost)"


@frozen
class LoginSettings:
    """`web.login`"""

    attempts_per_ip: Annotated[int, Between(1, 10_000)] = 5
    attempts_per_user: Annotated[int, Between(1, 10_000)] = 10
    window_s: Annotated[float, Between(1, 86_400)] = 60
    lock_s: Annotated[float, Between(1, 86_400)] = 300
    session_s: Annotated[float, Between(1, 30 * 86_400)] = 86_400
    confirm_s: Annotated[float, Between(1, 86_400)] = 900
    tickets_per_user: Annotated[int, Between(1, 100_000)] = 60
    known_browser_s: Annotated[float, Between(1, 3650 * 86_400)] = 90 * 86_400
    purge_s: Annotated[float, Between(1, 86_400)] = 300
    invitation_s: Annotated[float, Between(60, 90 * 86_400)] = 7 * 86_400
    second_factor: Annotated[tuple[Annotated[str, Choice(*ROLES)], ...], Most(3, unique=True)] = ()


@frozen
class RoleMap:
    admin: Value = None
    operator: Value = None
    viewer: Value = None


@frozen
class OidcSettings:
    """`web.oidc`"""

    enabled: bool = False
    issuer: Annotated[str | None, ADDRESS, CheckedBy(web_problem), CheckedBy(_issuer_problem)] = None
    client_id: Value = None
    client_secret: Annotated[str | None, Length(1, 500)] = None
    redirect_uri: Address = None
    scopes: Annotated[tuple[Annotated[str, Length(1, 100)], ...], Most(50)] = ("openid", "profile", "email")
    role_claim: Annotated[str, Length(1, 200)] = "role"
    role_map: RoleMap = RoleMap()

    @staticmethod
    def across(sound: JsonObject) -> dict[str, str]:
        """Once enabled, everything that a flow needs must be there."""
        if not sound.get("enabled"):
            return {}
        needed = [name for name in ("issuer", "client_id", "redirect_uri") if not sound.get(name)]
        wrong = dict.fromkeys(needed, "is required when oidc is enabled")
        if not any((sound.get("role_map") or {}).values()):
            wrong["role_map"] = "names no role, so nobody could sign in"
        return wrong
