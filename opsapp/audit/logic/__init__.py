"""What may be recorded of a change: everything but secrets. A second safeguard: callers leave them out too."""

from __future__ import annotations

import re
from typing import Any, NamedTuple, TypedDict

_SECRET = re.compile(
    r"(?i)(^|_)(password|passwd|passphrase|token|secret|key|keys|ticket|hash|digest|codes?|authorization|cookie|"
    r"credentials?|otpauth_uri|qr_svg)$"
)
_HARMLESS = frozenset({"correlation_key", "exit_code", "status_code", "host_key", "error_code", "plan_hash"})
_LONGEST_TEXT = 2000


def is_secret(name: str) -> bool:
    return name.lower() not in _HARMLESS and bool(_SECRET.search(name))


def without_secrets(value: Any) -> Any:
    """Keys go whose names say that they hold a secret; long texts are cut."""
    if isinstance(value, dict):
        return {name: without_secrets(inner) for name, inner in value.items() if not is_secret(str(name))}
    if isinstance(value, list | tuple):
        return [without_secrets(inner) for inner in value]
    if isinstance(value, str) and len(value) > _LONGEST_TEXT:
        return value[:_LONGEST_TEXT] + "…"
    return value


def changed(before: dict[str, Any], after: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    names = [name for name in {**before, **after} if before.get(name) != after.get(name)]
    return ({name: before.get(name) for name in names}, {name: after.get(name) for name in names})


class Actor(NamedTuple):
    """Who does something, as plain values. `request.actor` is the caller of a request."""

    username: str | None
    ip: str | None


class KeptEntry(TypedDict):
    """An entry as the store has it, and as the links of the chain are made of it. `time` has fractions."""

    id: str
    time: float
    username: str | None
    ip: str | None
    action: str
    target: str
    result: str
    reason: str | None
    before: Any
    after: Any


class AuditFilter(NamedTuple):
    """`action` may name a family: `user` means `user.create` too."""

    user: str | None = None
    action: str | None = None
    target: str | None = None
    since: float | None = None
    until: float | None = None
    limit: int = 100
    offset: int = 0

    def matches(self, entry: KeptEntry) -> bool:
        """Whether an entry is one of them, but for its time."""
        return (not self.target or entry["target"] == self.target) and self.fits(entry["username"], entry["action"])

    def fits(self, username: str | None, action: str) -> bool:
        """The same of who did what."""
        if self.action and action != self.action and not action.startswith(self.action + "."):
            return False
        return not self.user or username == self.user

    def is_in_time(self, at: float) -> bool:
        return (self.since or 0) <= at and (self.until is None or at < self.until)
