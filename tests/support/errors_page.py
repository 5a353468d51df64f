"""docs/guide/errors.md, made from the table of error codes: `python -m tests.support.errors_page` writes it."""

from __future__ import annotations

from http import HTTPStatus
from pathlib import Path

from opsapp.web.codes import MEANINGS, OF_COMMANDS

PAGE = Path(__file__).resolve().parents[2] / "docs/guide/errors.md"
RFC_9110 = {413: "Content Too Large", 422: "Unprocessable Content"}  # Pythons before 3.13 have older words
HEAD = """# Errors of the API

An error is JSON with `error`, a sentence for people, and `code`, which is stable and for programs.
With `invalid` there is also `fields`: what is wrong, by the name of the field. 429 and 503 have
`Retry-After` in seconds. [The API](api.md) says more.

A program may meet a code that is not here: a newer version can have more. Take it by its status.
"""


def page() -> str:
    parts = [HEAD]
    for status, meanings in sorted(MEANINGS.items()):
        parts.append(f"## {status} {RFC_9110.get(status, HTTPStatus(status).phrase)}\n\n{_table(meanings)}")
    parts.append(
        "## Codes of commands\n\nNo answer has these: a command of the server ends with them, or its log names"
        f"\nthem.\n\n{_table(OF_COMMANDS)}"
    )
    return "\n".join(parts)


def _table(meanings: dict[str, str]) -> str:
    rows = [f"| `{code}` | {meaning} |\n" for code, meaning in sorted(meanings.items())]
    return "| Code | Meaning |\n|---|---|\n" + "".join(rows)


if __name__ == "__main__":
    PAGE.write_text(page())
