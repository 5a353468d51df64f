"""A run's states, its clean output, and an attempt of it that a node carries out: plain values, secrets filled in."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from .params import ServiceParams, WebhookParams

STATUSES = ("pending_approval", "queued", "running", "done", "failed", "timeout", "cancelled", "rejected", "lost")
FINAL = frozenset({"done", "failed", "timeout", "cancelled", "rejected", "lost"})
KEPT = 4 * 1024 * 1024
CUT = "\n[output cut here: more was written than is kept]\n"
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


def readable(text: str) -> str:
    """Text that can be stored and shown."""
    return _CONTROL.sub("\ufffd", text)


def fitting(text: str, room: int) -> tuple[str, bool]:
    """The part of the text that fits into `room` bytes, and whether something was cut."""
    raw = text.encode("utf-8")
    if len(raw) <= room:
        return text, False
    return raw[: max(0, room)].decode("utf-8", "ignore"), True


def succeeded(answers: list[str]) -> str:
    """What several parts came to together: the worst of them."""
    for status in ("lost", "timeout", "failed", "cancelled"):
        if status in answers:
            return status
    return "done"


class ScriptWork(NamedTuple):
    script: str
    interpreter: str | None
    env: dict[str, str]
    descriptors: dict[str, str]
    of_a_template: bool = False  # word for word one of ours that looks at the processes of the machine


class Job(NamedTuple):
    run_id: str
    automation_id: str
    attempt: int
    timeout: float
    asked_at: float
    secrets: list[str]  # what its output must not show
    work: ScriptWork | ServiceParams | WebhookParams
    begun_by: tuple[Literal["run", "case"], str]  # what it is a part of at last, itself if of nothing
