"""agents/install.sh, filled in for one agent."""

from __future__ import annotations

import shlex
from functools import lru_cache
from importlib.resources import files

from opsapp.agents.zipapp import agent_file
from opsapp.wire.urls import is_plain_abroad


def script(server: str, agent_id: str, key: str, run_as: str) -> str:
    """Values are quoted for the shell, whatever they are."""
    values = {
        "SERVER": server,
        "PLAIN": "yes" if is_plain_abroad(server) else "no",
        "SHA256": agent_file().sha256,
        "AGENT_ID": agent_id,
        "AGENT_KEY": key,
        "RUN_AS": run_as,
    }
    text = template()
    for name, value in values.items():
        text = text.replace(f"@{name}@", shlex.quote(value) if value and name in ("SERVER", "SHA256") else value)
    return text


@lru_cache(maxsize=1)
def template() -> str:
    return (files("opsapp.agents") / "install.sh").read_text(encoding="utf-8")
