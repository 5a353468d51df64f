"""Single sign-on: a flow begins with a sealed cookie and ends, once, with a session. Its secrets (state, nonce, PKCE
verifier) are in the cookie: that binds them to the browser, and unfinished flows cannot fill the store. Only states
that came back are remembered."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import secrets
from dataclasses import asdict
from typing import Any, NamedTuple

from opsapp.auth.config import LoginSettings, OidcSettings
from opsapp.auth.logic.claims import mapped_role, values_at
from opsapp.auth.logic.groups import group_key
from opsapp.auth.records import LoggedIn, SecondStepDue
from opsapp.auth.resources import federation
from opsapp.lib.jsontypes import JsonObject
from opsapp.lib.problems import Malformed, NotFound, Problem, Unavailable
from opsapp.runtime.node import Node
from opsapp.runtime.secrets.seals import REGISTRY_KEY
from opsapp.runtime.threads.hub import Lane
from opsapp.tree.root import Root

from . import federated, provider
from .federated import Arrival
from .providerstate import DESCRIPTION as DESCRIBED
from .providerstate import TOKEN, known_of
from .signin import Client, login_refused

PURPOSE = "oidc"
FLOW_S = 600
DESCRIBED_S = 300
UNREACHED_S = 5  # so long nobody asks a provider again that did not answer
DESCRIPTION = "opsapp.oidc_description"
AT_ONCE, MOST_WAITING = 8, 16  # of those who come back from the provider


class Description(NamedTuple):
    issuer: str | None
    until: float
    text: str


class Flow(NamedTuple):
    """What the browser keeps of a flow, sealed."""

    state: str
    nonce: str
    verifier: str
    begun_at: float


class ProviderAnswer(NamedTuple):
    """What the browser comes back with, by the names of its parameters; each may be empty."""

    state: str
    code: str
    error: str
    iss: str


def settings_of(node: Node) -> OidcSettings:
    """The configured provider; NotFound where single sign-on is off."""
    settings = node.config[OidcSettings]
    if not settings.enabled:
        raise NotFound("Single sign-on is not configured here.", code="oidc_disabled")
    return settings


def begin(node: Node) -> tuple[str, str, str]:
    """(address of the provider, state, sealed flow)."""
    settings = settings_of(node)
    flow = Flow(secrets.token_hex(16), secrets.token_hex(16), secrets.token_urlsafe(48), node.clock.now())
    hashed = hashlib.sha256(flow.verifier.encode()).digest()
    challenge = base64.urlsafe_b64encode(hashed).rstrip(b"=").decode()
    text = described(node, settings)
    address = _describing(node).run(provider.authorization_address, settings, text, flow.state, flow.nonce, challenge)
    return address, flow.state, node.registry[REGISTRY_KEY].seal(json.dumps(flow), PURPOSE)


def described(node: Node, settings: OidcSettings) -> str:
    text = _describing(node).run(_describe, node, settings)
    if not text:
        raise provider.unreachable()
    return text


def _describing(node: Node) -> Lane:
    return node.lane("oidc-description", 1)


def _describe(node: Node, settings: OidcSettings) -> str:
    """One asks in the lane, and who waited takes what that one was told."""
    known = node.registry.get(DESCRIPTION)
    if known is not None and known.issuer == settings.issuer and node.clock.monotonic() < known.until:
        return known.text
    text = provider.discover(settings)
    known_of(node).note(DESCRIBED, answers=bool(text))
    keep_description(node, settings, text)
    return text


def keep_description(node: Node, settings: OidcSettings, text: str) -> None:
    until = node.clock.monotonic() + (DESCRIBED_S if text else UNREACHED_S)
    node.registry[DESCRIPTION] = Description(settings.issuer, until, text)


def finish(node: Node, sealed: str, given: ProviderAnswer, client: Client) -> LoggedIn:
    """Each flow ends once, with success or without."""
    settings, lane = settings_of(node), node.lane("oidc", AT_ONCE)
    if lane.waiting() >= MOST_WAITING:  # the flow is not used up: the browser may come back with it
        raise Unavailable("The identity provider is slow. Try again.", code="provider_slow", retry_after=5)
    try:
        flow = _opened(node, sealed, given.state)
        if not node.transact(federation.use_state, flow.state, node.clock.now() + FLOW_S):
            raise _bad_state()
        text = described(node, settings)
        another = given.iss not in ("", json.loads(text)["issuer"])  # it answers for another provider (RFC 9207)
        if given.error or not given.code or another:
            raise Malformed("The identity provider did not let you in.", code="provider_error")
        claims = lane.run(_identify, node, settings, text, flow, given.code)
        entered = node.transact(_enter, claims, settings, client, node.config[LoginSettings].session_s)
        if isinstance(entered, Problem):
            raise entered
        return entered
    except Problem as problem:
        login_refused(node, "", client, problem.code, "login.oidc")
        raise


def _identify(node: Node, settings: OidcSettings, text: str, flow: Flow, code: str) -> JsonObject:
    """In a lane; that the provider has not answered is noted."""
    try:
        return provider.identify(settings, text, flow.state, code, flow.verifier, flow.nonce)
    except provider.ProviderSilent:
        known_of(node).note(TOKEN, answers=False)
        raise


def _bad_state() -> Malformed:
    return Malformed("This sign-in was not begun here, is too old, or is over. Begin again.", code="bad_state")


def _opened(node: Node, sealed: str, state: str) -> Flow:
    """The flow that this browser began, if the state is the same."""
    try:
        flow = Flow(*json.loads(node.registry[REGISTRY_KEY].open(sealed, PURPOSE)))
    except (Unavailable, ValueError, TypeError):
        raise _bad_state() from None
    if not hmac.compare_digest(flow.state.encode(), state.encode()) or node.clock.now() > flow.begun_at + FLOW_S:
        raise _bad_state()
    return flow


def _enter(
    root: Root, claims: dict[str, Any], settings: OidcSettings, client: Client, life: float
) -> LoggedIn | SecondStepDue | Problem:
    values = values_at(claims, settings.role_claim)
    role = mapped_role(values, asdict(settings.role_map))
    subject = federation.subject_of(claims["iss"], claims["sub"])
    groups = frozenset(group_key(value) for value in values)
    return federated.enter(root, Arrival("oidc", subject, role, claims, groups=groups), client, life)
