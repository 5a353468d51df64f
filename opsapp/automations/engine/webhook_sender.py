"""Calling a webhook: one request under the address policy of monitors. On the hub.

Heals call webhooks the same way.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from opsapp.automations.logic.params import WebhookParams
from opsapp.automations.logic.references import Missing, Values
from opsapp.automations.logic.runs import Job
from opsapp.lib.placeholders import places
from opsapp.monitoring.engine import Reply, WebClient
from opsapp.runtime.node import Node
from opsapp.wire.probes import ProbeTarget

from .agent_commands import revealed
from .programs import AttemptEnd

KEY = "opsapp.automations.webhook_sender"


class WebhookSender:
    """One per node."""

    def __init__(self, node: Node):
        self._client = WebClient(node)

    def send(
        self, name: str, method: str, url: str, body: Any, headers: dict[str, str], timeout: float, follow: bool = True
    ) -> tuple[Reply, str]:
        """The reply, and what is wrong with it. ValueError for what cannot be sent."""
        data, headers = body_of(body, headers)
        target = ProbeTarget(
            name, "http", url, timeout=timeout, method=method, headers=headers, body=data, follow_redirects=follow
        )
        return self._client.call(target)

    def call(self, job: Job, work: WebhookParams, put: Callable[[str], None]) -> AttemptEnd:
        """A run's webhook."""
        try:
            reply, problem = self.send(job.run_id, work.method, work.url, work.body, work.headers or {}, job.timeout)
        except ValueError as unreadable:
            return AttemptEnd("failed", None, f"this cannot be sent: {unreadable}")
        if reply.status:
            put(f"HTTP {reply.status}\n")
        if reply.body:
            put(reply.body.decode("utf-8", "replace"))
            put("\n[the rest of the answer was not read]\n" if reply.cut else "")
        if not problem:
            return AttemptEnd("done", None, None)
        return AttemptEnd("timeout" if "no complete answer" in problem else "failed", None, problem)


def post_lines(node: Node, url: str, token: str | None, lines: str, timeout: float) -> str:
    """`IPoster`."""
    headers = {"Content-Type": "application/x-ndjson"}
    if token:
        headers["Authorization"] = f"Bearer {with_secrets(node, token)}"
    reply, problem = webhook_sender_of(node).send("audit", "POST", url, lines, headers, timeout, follow=False)
    return problem or ("" if 200 <= reply.status < 300 else f"HTTP {reply.status}")


def with_secrets(node: Node, text: str) -> str:
    """A header's value of the configuration, with the secrets that it names."""
    return _values_in(node, text).line(text)


def secret_text(node: Node, text: str) -> str:
    """`ISecretText`."""
    try:
        return _values_in(node, text).plain(text)
    except Missing:
        return ""


def _values_in(node: Node, text: str) -> Values:
    named = {name for _, name in places(text)}
    return Values({}, node.transact(revealed, named) if named else {})


def body_of(body: Any, headers: dict[str, str]) -> tuple[bytes, dict[str, str]]:
    """A text as it is, anything else as JSON. A text that is JSON is called that, too."""
    if body is None or body == "":
        return b"", headers
    data = body if isinstance(body, str) else json.dumps(body)
    is_named = any(name.lower() == "content-type" for name in headers)
    if not is_named and (data is not body or _is_json(data)):
        headers = {**headers, "Content-Type": "application/json"}
    return data.encode(), headers


def _is_json(text: str) -> bool:
    """Whether the text is a JSON object or a list: a bare number or word may mean anything."""
    try:
        return isinstance(json.loads(text), dict | list)
    except (ValueError, RecursionError):
        return False


def webhook_sender_of(node: Node) -> WebhookSender:
    return node.registry[KEY]
