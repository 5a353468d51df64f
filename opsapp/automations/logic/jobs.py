"""What a node carries out for a run: one attempt, with all that it takes as plain values, secrets filled in."""

from __future__ import annotations

from typing import Any, NamedTuple


class ScriptWork(NamedTuple):
    script: str
    interpreter: str | None
    env: dict[str, str]
    descriptors: dict[str, str]
    of_a_template: bool = False  # word for word one of ours that looks at the processes of the machine


class ServiceWork(NamedTuple):
    service: str
    action: str


class WebhookWork(NamedTuple):
    method: str
    url: str
    headers: dict[str, str]
    body: Any  # a text is sent as it is, anything else as JSON


class Job(NamedTuple):
    run_id: str
    automation_id: str
    attempt: int
    timeout: float
    asked_at: float
    secrets: list[str]  # what its output must not show
    work: ScriptWork | ServiceWork | WebhookWork
