"""Taking secrets out of a stream of text, wherever the pieces of the stream happen to be cut."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

MASK = "[secret]"
SHORTEST = 3  # shorter ones would take the output apart and hide nothing
LINE = 8  # a line of a secret of several lines, that is worth hiding by itself


def hidden_parts(secrets: Iterable[str]) -> list[str]:
    """Each secret, and each longer line of one; longest first."""
    parts = {secret for secret in secrets if len(secret) >= SHORTEST}
    parts |= {line.strip() for secret in secrets for line in secret.splitlines() if len(line.strip()) >= LINE}
    return sorted(parts, key=len, reverse=True)


class Masker:
    """`put` gives what may be shown already, `end` the rest. What might be the beginning of a secret is held back."""

    def __init__(self, secrets: Iterable[str]):
        self._parts = hidden_parts(secrets)
        self._pattern = re.compile("|".join(re.escape(part) for part in self._parts)) if self._parts else None
        self._held = ""

    def put(self, text: str) -> str:
        if self._pattern is None:
            return text
        shown = self._pattern.sub(MASK, self._held + text)
        keep = max((_overlap(shown, part) for part in self._parts), default=0)
        self._held = shown[len(shown) - keep :]
        return shown[: len(shown) - keep]

    def end(self) -> str:
        rest, self._held = self._held, ""
        return rest


def masked(text: str, secrets: Iterable[str]) -> str:
    masker = Masker(secrets)
    return masker.put(text) + masker.end()


def everywhere(value: Any, secrets: Iterable[str]) -> Any:
    if isinstance(value, str):
        return masked(value, secrets)
    if isinstance(value, dict):
        return {name: everywhere(part, secrets) for name, part in value.items()}
    return [everywhere(part, secrets) for part in value] if isinstance(value, list) else value


def _overlap(text: str, part: str) -> int:
    """The longest end of the text that is a beginning of the part."""
    for length in range(min(len(part) - 1, len(text)), 0, -1):
        if text.endswith(part[:length]):
            return length
    return 0
