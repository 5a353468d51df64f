"""Recognises a browser in which a user has signed in before, by a sealed cookie. Attempts there are counted for that
browser alone, with the same limits, so a stolen cookie gives no more tries than a new address would."""

from __future__ import annotations

import json
from typing import Any

from opsapp.auth.config import LoginSettings
from opsapp.lib.ids import digest, new_id
from opsapp.lib.problems import Unavailable
from opsapp.runtime.node import Node
from opsapp.runtime.secrets.seals import REGISTRY_KEY

PREFIX = "opsapp_browser_"
PURPOSE = "known browser"
MOST_HELD = 20

Held = tuple[tuple[str, str], ...]


def cookie_name(username: str) -> str:
    return PREFIX + digest(username)[:12]


def held_of(cookies: Any) -> Held:
    """What of a request's cookies concerns this room."""
    return tuple((name, value) for name, value in cookies.items() if name.startswith(PREFIX))[:MOST_HELD]


def sealed_for(node: Node, username: str) -> tuple[str, int]:
    life = int(node.config[LoginSettings].known_browser_s)
    return node.registry[REGISTRY_KEY].seal(json.dumps([username, new_id(), node.clock.now() + life]), PURPOSE), life


def known_browser(node: Node, held: Held, username: str) -> str | None:
    sealed = dict(held).get(cookie_name(username))
    if sealed is None:
        return None
    try:
        name, browser_id, until = json.loads(node.registry[REGISTRY_KEY].open(sealed, PURPOSE))
    except (Unavailable, ValueError):
        return None  # not ours, or from before the master key was changed
    return browser_id if name == username and node.clock.now() < until else None
