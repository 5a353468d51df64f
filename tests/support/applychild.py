"""Processes of their own that are killed inside one `POST /api/apply`.

`python -m tests.support.applychild` reads lines of [DIRECTORY, WHERE] as `clockchild` does. WHERE: so many entries of
the document are brought; or the name of a part of `_OfKind`, which has been carried out for the first kind; or
`answered`, when all of it is committed and nobody has been told.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

from opsapp.runtime.ascode import apply
from tests.support.app import Service
from tests.support.clock import FakeClock
from tests.support.clockchild import serve

WEB = {"type": "http", "url": "https://web.example.org/"}
BEFORE = {"monitors": [{"name": "old", **WEB}, {"name": "kept", **WEB}]}
DOCUMENT = {
    "monitors": [{"name": "kept", "interval": 30, **WEB}, *({"name": f"new {number}", **WEB} for number in range(3))],
    "channels": [{"name": "mail", "url": "json://127.0.0.1:9/x"}],
    "rules": [{"id": "disk", "condition": "disk.*.percent > 95", "action": {"type": "temp_cleanup"}}],
    "notices": [{"title": "Sunday"}],
    "automations": [{"name": "tidy", "type": "script", "params": {"script": "true"}}],
}
BODY = {"document": DOCUMENT, "prune": True}
ENTRIES, PARTS, ANSWERED = 8, ("prune", "settle", "remember"), "answered"


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def main(directory: str, where: str) -> None:
    service = Service(Path(directory), FakeClock())
    service.ada.post_json("/api/apply", {"document": BEFORE})
    (Path(directory) / "began").write_text("")
    part = where if where in PARTS else "_bring"
    of_kind: Any = apply._OfKind
    whole, left = getattr(of_kind, part), [int(where) if where.isdigit() else 1]

    def killing(self: Any, *given: Any) -> Any:
        answer = whole(self, *given)
        left[0] -= 1
        if not left[0] and where != ANSWERED:
            die()
        return answer

    setattr(of_kind, part, killing)
    service.ada.post_json("/api/apply", BODY)
    if where == ANSWERED:
        die()


if __name__ == "__main__":
    serve(main)
