"""What the server itself answers when a request never reaches the application."""

from __future__ import annotations

import json
from http import HTTPStatus

from opsapp.wire.version import VERSION

REASONS = {status.value: status.phrase for status in HTTPStatus} | {413: "Content Too Large", 414: "URI Too Long"}


class Refusal(Exception):
    """The connection is closed after it, unless `keep` says that the request was read whole."""

    def __init__(
        self, status: int, code: str, message: str, *, keep: bool = False, headers: dict[str, str] | None = None
    ):
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.keep = keep
        self.headers = headers or {}

    def parts(self) -> tuple[str, list[tuple[str, str]], bytes]:
        """Status line, headers and body."""
        body = json.dumps({"error": self.message, "code": self.code}).encode() + b"\n"
        headers = [
            ("Content-Type", "application/json"),
            ("Cache-Control", "no-store"),
            ("X-Opsapp-Version", VERSION),
            *self.headers.items(),
        ]
        return f"{self.status} {REASONS[self.status]}", headers, body


def bad(code: str, message: str) -> Refusal:
    return Refusal(400, code, message)
