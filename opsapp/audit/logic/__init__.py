"""What of a change may be recorded: everything but secrets. A second safeguard: callers leave them out too."""

from __future__ import annotations

import re
from typing import Any

_SECRET = re.compile(
    r"(?i)(^|_)(password|passwd|passphrase|token|secret|key|keys|ticket|hash|digest|codes?|authorization|cookie|"
    r"credentials?|otpauth_uri|qr_svg)$"
)
_HARMLESS = frozenset({"correlation_key", "exit_code", "status_code", "host_key", "error_code", "plan_hash"})
_LONGEST_TEXT = 2000


def is_secret(name: str) -> bool:
    return name.lower() not in _HARMLESS and bool(_SECRET.search(name))


def without_secrets(value: Any) -> Any:
    """Plain values as they are, but for keys whose names say that they hold a secret; long texts are cut."""
    if isinstance(value, dict):
        return {name: without_secrets(inner) for name, inner in value.items() if not is_secret(str(name))}
    if isinstance(value, list | tuple):
        return [without_secrets(inner) for inner in value]
    if isinstance(value, str) and len(value) > _LONGEST_TEXT:
        return value[:_LONGEST_TEXT] + "…"
    return value


def changed(before: dict[str, Any], after: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Only what differs between two descriptions of one thing."""
    names = [name for name in {**before, **after} if before.get(name) != after.get(name)]
    return ({name: before.get(name) for name in names}, {name: after.get(name) for name in names})


def matches(entry: dict[str, Any], wanted: dict[str, Any]) -> bool:
    """Whether an entry is one of those asked for, but for its time."""
    target = wanted.get("target")
    return (not target or entry["target"] == target) and fits(entry["username"], entry["action"], wanted)


def fits(username: str | None, action: str, wanted: dict[str, Any]) -> bool:
    """The same of who did what. `action` may name a family: `user` means `user.create` too."""
    asked = wanted.get("action")
    if asked and action != asked and not action.startswith(asked + "."):
        return False
    return not wanted.get("user") or username == wanted["user"]
