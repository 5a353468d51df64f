"""Who comes to /scim: the bearer of one of its tokens, in the header alone, and nobody else. A token opens nothing
else. Both, right and wrong ones, have a limit for each minute and node; wrong ones never stop right ones."""

from __future__ import annotations

import re

from pyramid.request import Request

from opsapp.auth.resources import find_scim_token
from opsapp.auth.scimconfig import ScimSettings
from opsapp.lib.minutecounts import MinuteCounts
from opsapp.lib.networks import counted_address
from opsapp.runtime.node import Node
from opsapp.tree.root import Root
from opsapp.web.identity import PROVIDER, Identity, presented_token

KEY = "opsapp.scim.requests"
PLACE = "/scim/"
TOKEN = re.compile(r"[0-9a-f]{64}")
MOST_WRONG = 30


def prepare(node: Node) -> None:
    node.registry[KEY] = MinuteCounts()


def read_token(request: Request, root: Root) -> Identity | None:
    given = presented_token(request) if "HTTP_AUTHORIZATION" in request.environ else None
    if given is None or not request.path_info.startswith(PLACE):
        return None
    node = request.node
    token = find_scim_token(root, given, node.clock.now()) if TOKEN.fullmatch(given) else None
    if token is None:
        _admit(node, "ip:" + counted_address(request.client_ip), MOST_WRONG)
        return None
    _admit(node, token.__name__, node.config[ScimSettings].requests_per_minute)
    return Identity(PROVIDER, f"{PROVIDER}:{token.name}", None, token.__name__, token.expires_at)


def _admit(node: Node, who: str, most: int) -> None:
    counts: MinuteCounts = node.registry[KEY]
    counts.admit(who, most, node.clock.monotonic(), "requests")
