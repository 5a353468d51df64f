"""What this node knows of the identity provider: which of its addresses gave no answer when it was asked last."""

from __future__ import annotations

from opsapp.runtime.node import Node

DESCRIPTION, TOKEN = "its description", "its tokens"
KEY = "opsapp.oidc_silent"


class ProviderState:
    """`silent`: what it did not answer for. Written from the threads that ask it, one word at a time."""

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
