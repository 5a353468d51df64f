"""How an agent key becomes an Identity: the key alone says which agent it is."""

from __future__ import annotations

import re

from pyramid.request import Request

from opsapp.agents.resources import find_by_key
from opsapp.tree.root import Root
from opsapp.web.identity import Identity

KEY = re.compile(r"[0-9a-f]{64}")
INSTALL = "/api/agents/install-script"


def read_agent_key(request: Request, root: Root) -> Identity | None:
    """`X-Agent-Key`; for the install script alone `?key=` too, because a bare host has nothing else."""
    asked = request.environ
    key = asked.get("HTTP_X_AGENT_KEY")
    if key is None and asked.get("PATH_INFO", "").rstrip("/") == INSTALL:
        key = request.GET.get("key")
    if not key or not KEY.fullmatch(key):
        return None
    agent = find_by_key(root, key)
    return None if agent is None else Identity("agent", agent.id)
