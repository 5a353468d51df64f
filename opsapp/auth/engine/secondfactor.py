"""The second factor: setting it up, and the second step of a login."""

from __future__ import annotations

import base64
import hmac
import io
import secrets
from typing import NamedTuple

import pyotp

from opsapp.audit.engine import Actor, note, refusals_noted
from opsapp.auth import resources
from opsapp.auth.config import LoginSettings
from opsapp.auth.records import LoggedIn, RecoveryCodes, TotpBegun
from opsapp.auth.resources.secondfactor import PURPOSE
from opsapp.lib.ids import digest
from opsapp.lib.problems import Conflict, Invalid, Unauthenticated
from opsapp.runtime.node import Node, node_of, now_of
from opsapp.runtime.secrets.seals import seal_of
from opsapp.runtime.threads.fair import Whose
from opsapp.tree.root import Root

from .accounts import prove, user_of
from .limits import count_attempt, in_turn, login_counters, proof_counters, too_many
from .signin import Client, login_refused, open_session

ISSUER = "opsapp"
STEP_S = 30
RECOVERY_CODES = 10


def begin(node: Node, username: str) -> TotpBegun:
    """A new secret, kept as pending until a code proves that the authenticator has it."""
    secret = pyotp.random_base32()
    node.transact(_keep_pending, username, secret)
    uri = pyotp.TOTP(secret).provisioning_uri(name=username, issuer_name=ISSUER)
    return TotpBegun(secret, uri, _picture(uri))


def _picture(text: str) -> str:
    """An SVG for a page and for a file of its own, readable on a dark page too."""
    import segno  # it costs every start more than this picture costs the few who ask for one

    written = io.BytesIO()
    segno.make(text, micro=False).save(written, kind="svg", xmldecl=False, nl=False, scale=4, light="#fff")
    return written.getvalue().decode()


def _keep_pending(root: Root, username: str, secret: str) -> None:
    user = user_of(root, username)
    if user.source == "oidc":
        raise Conflict("The identity provider has the second factor of this user.", code="not_local")
    if user.totp is not None:
        raise Conflict("The second factor is on already: turn it off first.", code="totp_enabled")
    user.pending_totp = seal_of(root).seal(secret, PURPOSE)


def confirm(node: Node, username: str, code: str, actor: Actor) -> RecoveryCodes:
    """A code of the pending secret confirms it; the recovery codes are shown this once."""
    with refusals_noted(node, actor, "totp.enable", username):
        count_attempt(node, proof_counters(node, username))
        codes = [_recovery_code() for _ in range(RECOVERY_CODES)]
        node.transact(_enable, username, code, [digest(recovery.replace("-", "")) for recovery in codes], actor)
        return RecoveryCodes(tuple(codes))


def _recovery_code() -> str:
    """120 random bits: too many to be guessed, so a plain hash is enough."""
    text = base64.b32encode(secrets.token_bytes(15)).decode().lower()
    return "-".join(text[n : n + 4] for n in range(0, 24, 4))


def _enable(root: Root, username: str, code: str, recovery: list[str], actor: Actor) -> None:
    user = user_of(root, username)
    if user.pending_totp is None:
        raise Conflict("Nothing waits for a confirmation: begin the set-up first.", code="no_pending_totp")
    secret = seal_of(root).open(user.pending_totp, PURPOSE)
    step = accepted_step(secret, code, now_of(root), 0)
    if step is None:
        raise Invalid({"code": "is wrong or too old: type what the app shows now"}, code="wrong_code")
    user.totp, user.pending_totp = resources.Totp(user.pending_totp, step, tuple(recovery)), None
    note(root, actor, "totp.enable", username)


def disable(node: Node, username: str, password: str, actor: Actor) -> None:
    with refusals_noted(node, actor, "totp.disable", username):
        prove(node, username, password, "password")
        node.transact(_disable, username, actor)


def _disable(root: Root, username: str, actor: Actor) -> None:
    user = user_of(root, username)
    if user.totp is None and user.pending_totp is None:
        raise Conflict("The second factor is not on.", code="totp_not_enabled")
    user.totp = user.pending_totp = None
    note(root, actor, "totp.disable", username)


def reset(root: Root, username: str, actor: Actor) -> None:
    """An admin does it for who has lost it; the sessions end, in case somebody else has found it."""
    _disable(root, username, actor)
    resources.end_sessions(root, user_of(root, username))


def accepted_step(secret: str, code: str, now: float, last_step: int) -> int | None:
    """The present time step or a neighbour, newer than the last that was accepted."""
    totp = pyotp.TOTP(secret)
    present = int(now) // STEP_S
    for step in (present - 1, present, present + 1):
        if hmac.compare_digest(totp.generate_otp(step).encode(), code.encode()) and step > last_step:
            return step
    return None


class FailedSecondStep(NamedTuple):
    username: str
    reason: str
    locked: int = 0


def second_step(node: Node, token: str, code: str, client: Client) -> LoggedIn:
    """What a wrong code costs is committed whatever is answered."""
    whose, life = Whose("totp", client.ip), node.config[LoginSettings].session_s
    outcome = in_turn(node, _second_step, token, code, client, life, whose=whose)
    if isinstance(outcome, FailedSecondStep):
        login_refused(node, outcome.username, client, outcome.reason, action="login.totp")
        if outcome.locked:
            raise too_many(outcome.locked)
        raise Unauthenticated("The code is wrong, or the first step was too long ago.", code=outcome.reason)
    return outcome


def _second_step(root: Root, token: str, code: str, client: Client, life: float) -> LoggedIn | FailedSecondStep:
    now, node = now_of(root), node_of(root)
    bearer = resources.find_partial(root, token, now)
    username = bearer[0].username if bearer else ""
    counters = login_counters(node, client.ip, username, client.held)
    locked = resources.seconds_locked(root, counters, now)
    if locked:
        return FailedSecondStep(username, "too_many_attempts", locked)
    if bearer is None:
        return FailedSecondStep(username, "bad_partial_token")
    partial, user = bearer
    if accept(root, user.totp, code, now):
        resources.drop_partial(root, token)
        return open_session(root, partial.username, client, life)
    resources.count_wrong_code(root, token, partial)
    locked = resources.count(root, counters, now)
    return FailedSecondStep(username, "too_many_attempts" if locked else "wrong_code", locked)


def accept(root: Root, totp: resources.Totp, code: str, now: float) -> bool:
    """Whether this is the present code or a recovery code; either is good once."""
    step = accepted_step(seal_of(root).open(totp.sealed, PURPOSE), code, now, totp.last_step)
    if step is not None:
        totp.last_step = step
        return True
    return resources.use_recovery_code(totp, code)
