"""Checks every few seconds, and at each sign-in, whether the identity provider answers. Must not: delay a sign-in, or
decide about one."""

from __future__ import annotations

from opsapp.auth.config import OidcSettings
from opsapp.runtime.node import Node

from . import provider, singlesignon
from .providerstate import DESCRIPTION, TOKEN, known_of

EVERY_S = 8.0  # with `provider.TIMEOUT_S` it is known within 15 s that it hangs


def start(node: Node) -> None:
    node.supervisor.add("provider-look", lambda: look(node), every=EVERY_S)


def look(node: Node) -> bool:
    """On each node: what one reaches another may not."""
    settings = node.config[OidcSettings]
    if settings.enabled:
        node.lane("oidc-look", 1).run(_ask, node, settings)
    else:
        known_of(node).silent.clear()
    return False


def _ask(node: Node, settings: OidcSettings) -> None:
    """Where it gave no tokens it is asked for some, too. Only an answer replaces what it said before."""
    state, text = known_of(node), provider.discover(settings)
    state.note(DESCRIPTION, answers=bool(text))
    if not text:
        return
    singlesignon.keep_description(node, settings, text)
    if TOKEN in state.silent:
        state.note(TOKEN, answers=provider.takes_tokens(settings, text))


def provider_trouble(node: Node) -> str | None:
    silent = known_of(node).silent
    if not silent:
        return None
    issuer = node.config[OidcSettings].issuer
    return f"the identity provider {issuer} does not answer ({', '.join(sorted(silent))}): nobody can sign in with it"
