"""Keeps the addresses of the identity provider that did not answer this node last."""

from __future__ import annotations

from opsapp.runtime.node import Node

DESCRIPTION, TOKEN = "its description", "its tokens"
KEY = "opsapp.oidc_silent"


class ProviderState:
    """Written from the threads that ask, one word at a time."""

    def __init__(self) -> None:
        self.silent: set[str] = set()

    def note(self, what: str, *, answers: bool) -> None:
        if answers:
            self.silent.discard(what)
        else:
            self.silent.add(what)


def known_of(node: Node) -> ProviderState:
    state: ProviderState = node.registry.setdefault(KEY, ProviderState())
    return state
