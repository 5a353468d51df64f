"""Confirms a session: its user proves who they are once more, with the password or a code."""

from __future__ import annotations

from opsapp.audit.engine import Actor, note, refusals_noted
from opsapp.auth import resources
from opsapp.auth.config import LoginSettings
from opsapp.lib.problems import Conflict, Invalid, Unauthenticated
from opsapp.runtime.node import Node, now_of
from opsapp.tree.root import Root

from .accounts import prove, user_of
from .limits import count_attempt, proof_counters
from .secondfactor import accept


def confirm(node: Node, username: str, session_id: str, password: str | None, code: str | None, actor: Actor) -> int:
    life = node.config[LoginSettings].confirm_s
    with refusals_noted(node, actor, "session.confirm", username):
        if password is not None:
            prove(node, username, password, "password")
        else:
            count_attempt(node, proof_counters(node, username))
        return node.transact(_confirm, username, session_id, code, life, actor)


def _confirm(root: Root, username: str, session_id: str, code: str | None, life: float, actor: Actor) -> int:
    user, session = user_of(root, username), resources.session_of(root, username, session_id)
    if session is None:
        raise Unauthenticated("This session has ended.", code="bad_token")
    if code is not None:
        if user.totp is None:
            raise Conflict("This user has no second factor.", code="totp_not_enabled")
        if not accept(root, user.totp, code, now_of(root)):
            raise Invalid({"code": "is wrong or too old: type what the app shows now"}, code="wrong_code")
    session.confirmed_at = int(now_of(root))
    note(root, actor, "session.confirm", username)
    return int(session.confirmed_until(life))
