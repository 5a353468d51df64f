"""Who asks: read once, early, as plain values, so that error views after a failed commit need no transaction. Rooms say
how a credential is read (`config.add_credential_reader`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyramid.authorization import ACLDenied, Allow, Authenticated, Everyone
from pyramid.request import Request

from opsapp.runtime.cluster.peers import Caller
from opsapp.tree.acl import ROLES, roles_up_to

_PRINCIPALS: dict[str | None, tuple[str, ...]] = {
    role: (*(f"role:{known}" for known in (roles_up_to(role) if role else ())), Everyone, Authenticated)
    for role in (None, *ROLES)
}
_NOBODY = (Everyone,)
PROVIDER = "scim"  # the kind of an identity provider: it has no role, and opens /scim alone


class Identity(Caller):
    __slots__ = ()

    def principals(self) -> list[str]:
        return [f"{self.kind}:{self.name}", f"kind:{self.kind}", *_PRINCIPALS[self.role]]

    @property
    def changes_things(self) -> bool:
        """Agents say what happens on their hosts, and change nothing here."""
        return self.role is not None or self.kind == PROVIDER


CredentialReader = Callable[[Request, Any], Identity | None]


def read_identity(request: Request, root: Any) -> Identity | None:
    """The first reader that knows the credential wins. A bad credential is nobody."""
    for reader in request.registry.opsapp_credential_readers:
        identity = reader(request, root)
        if identity is not None:
            return identity
    return None


def presented_token(request: Request) -> str | None:
    asked = request.environ
    scheme, _, token = asked.get("HTTP_AUTHORIZATION", "").partition(" ")
    if token:
        return token.strip() if scheme.lower() == "bearer" else None
    return (request.GET.get("token") or None) if asked.get("QUERY_STRING") else None


class SecurityPolicy:
    def identity(self, request: Request) -> Identity | None:
        return getattr(request, "caller", None)

    def authenticated_userid(self, request: Request) -> str | None:
        caller = self.identity(request)
        return caller.name if caller else None

    def permits(self, request: Request, context: Any, permission: str) -> Any:
        caller = self.identity(request)
        principals = caller.principals() if caller else _NOBODY
        while context is not None:
            acl = getattr(context, "__acl__", ())
            for action, principal, permissions in acl() if callable(acl) else acl:
                if principal in principals and permission in permissions:
                    return action == Allow
            context = context.__parent__
        return ACLDenied("no role that has it", (), permission, principals, None)  # the error says which it takes

    def remember(self, request: Request, userid: str, **kw: Any) -> list[tuple[str, str]]:
        return []

    def forget(self, request: Request, **kw: Any) -> list[tuple[str, str]]:
        return []
