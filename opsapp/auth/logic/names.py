"""Rules about usernames and passwords."""

from __future__ import annotations

import functools
import re
import unicodedata
from pathlib import Path

USERNAME = re.compile(r"[a-z0-9][a-z0-9._@-]{0,63}")
SHORTEST, LONGEST = 10, 256
COMMON = Path(__file__).parent.parent / "common_passwords.txt"


def username_problem(name: str) -> str | None:
    if USERNAME.fullmatch(name):
        return None
    return "must be 1 to 64 of a-z, 0-9, '.', '_', '@', '-', and begin with a letter or digit"


@functools.cache
def common_passwords() -> str:
    """Those of at least ten characters that are guessed first, each in a line: 72 kB, where a set of them takes 0.9 MB
    and is asked a few times in a year."""
    return f"\n{COMMON.read_text(encoding='utf-8')}\n"


def password_problem(password: str, username: str) -> str | None:
    if not SHORTEST <= len(password) <= LONGEST:
        return f"must have {SHORTEST} to {LONGEST} characters"
    if password.casefold() == username.casefold():
        return "must not be the username"
    if "\n" not in password and f"\n{password.casefold()}\n" in common_passwords():
        return "is one of the most common passwords"
    return None


def normal(password: str) -> str:
    """One form for one password, however the keyboard composed its characters."""
    return unicodedata.normalize("NFC", password)
