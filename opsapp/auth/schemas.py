"""Bodies, answers and configuration of users, sessions and credentials."""

from __future__ import annotations

from typing import Literal

from opsapp.lib.jsontypes import JsonObject
from opsapp.tree.acl import ROLES
from opsapp.web.declared import body_of
from opsapp.web.fields import Body, Paging, choice, flag, order, text, whole, with_settings
from opsapp.wire.dataclass import frozen

from .records import NewKey

PASSWORD = text(10, 256)


class Login(Body):
    username = text(1, 256)
    password = text(1, 1024)


class SignedIn(Body):
    """A session; or, where the second factor is on, the partial token for the second step."""

    token = text(64, 64, optional=True)
    role = choice(*ROLES, optional=True)
    username = text(optional=True)
    totp_required = flag(optional=True)
    partial_token = text(64, 64, optional=True)


class SecondStep(Body):
    partial_token = text(1, 200)
    code = text(1, 64)


class Code(Body):
    code = text(1, 64)


class Proof(Body):
    password = text(1, 1024)


@with_settings(body_of(NewKey))
class KeyMade(Body):
    id = text()
    key = text(64, 64)


@frozen
class StatusOk:
    status: Literal["ok"] = "ok"


class OwnPassword(Body):
    current = text(1, 1024)
    new = PASSWORD
    end_keys = flag(default=False)


def _one_proof(sound: JsonObject) -> dict[str, str]:
    given = [sound[name] is not None for name in ("password", "code") if name in sound]
    sane = len(given) < 2 or given.count(True) == 1
    return {} if sane else dict.fromkeys(("password", "code"), "give either the password or a code")


class Confirmation(Body):
    """Proof by somebody signed in that it is really them."""

    sample = {"password": "correct horse battery"}
    across = _one_proof

    password = text(1, 1024, default=None)
    code = text(1, 64, default=None)


class Confirmed(Body):
    status = choice("ok")
    confirmed_until = whole()


class NameList(Paging):
    """Names of users: those with these letters in them."""

    q = text(0, 64, default=None)


class UserList(NameList):
    role = choice(*ROLES, default=None)
    sort = order("username", "role", "last_login", "created_at")


class TeamMade(Body):
    id = text()
    status = choice("created")
