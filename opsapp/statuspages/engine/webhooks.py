"""Calls webhooks of subscribers, on the hub. Strangers named these addresses, so only public ones are reached. A
webhook that has not answered after `TOGETHER_S` is waited for beside the next letters."""

from __future__ import annotations

import json

import gevent

from opsapp.lib.networks import OutboundSettings, PublicPolicy
from opsapp.monitoring.engine import WebClient
from opsapp.runtime.config import Configuration
from opsapp.runtime.node import Node
from opsapp.statuspages.logic.letters import NOTICE, NOTICES, NewsItem
from opsapp.statuspages.logic.settings import StatusPageSettings
from opsapp.wire.probes import ProbeTarget

from .letter import LetterCarrier, PageLetter, PageSender, Posted

AT_ONCE = 200  # most of them waited for
TOGETHER_S = 0.5
HEADERS = {"Content-Type": "application/json"}


class WebhookCarrier(LetterCarrier):
    """Calls many at once; each has its own time."""

    def __init__(self, node: Node):
        super().__init__(node)
        self._client = WebClient(node, webhook_policy)

    def room(self) -> int:
        return min(self._node.config[StatusPageSettings].batch, AT_ONCE - len(self._rows))

    def carry(self, sender: PageSender, letters: list[PageLetter], now: float) -> None:
        self._rows.update(letter.row for letter in letters)
        calls = [self._node.supervisor.spawn(self._call, sender, letter) for letter in letters]
        gevent.joinall(calls, timeout=TOGETHER_S)

    def _call(self, sender: PageSender, letter: PageLetter) -> None:
        posted = Posted(letter.row, "the call broke off")
        try:
            posted = called(self._client, sender, letter)
        finally:
            self._ended.append(posted)


def webhook_policy(config: Configuration) -> PublicPolicy:
    return PublicPolicy(config[StatusPageSettings].webhook_allow_networks, config[OutboundSettings].deny_networks)


def called(client: WebClient, sender: PageSender, letter: PageLetter) -> Posted:
    """Only 2xx has arrived: a redirect is not followed. Who answers a challenge with something else is not asked again:
    perhaps a stranger has named somebody who wants no calls."""
    target = ProbeTarget(
        letter.row,
        "http",
        letter.to,
        timeout=sender.timeout,
        method="POST",
        headers=HEADERS,
        body=json.dumps(content(letter)).encode(),
        follow_redirects=False,
    )
    try:
        reply, problem = client.call(target)
    except ValueError as unreadable:
        return Posted(letter.row, f"this cannot be sent: {unreadable}", final=True)
    if not problem and not 200 <= reply.status < 300:
        problem = f"HTTP {reply.status}"
    if not problem and letter.challenge and letter.challenge.encode() not in reply.body:
        problem = "its answer did not contain the challenge"
    return Posted(letter.row, problem or None, final=bool(letter.challenge) and 200 <= reply.status < 500)


def content(letter: PageLetter) -> dict[str, object]:
    """What a webhook gets. `id` is the same when it comes twice."""
    body: dict[str, object] = {"page": letter.page, "url": letter.home, "id": letter.row}
    if letter.challenge:
        return body | {"type": "challenge", "challenge": letter.challenge}
    items = [_shown(letter.home, item) for item in letter.items]
    return body | {"type": "news", "items": items, "unsubscribe_url": letter.leave}


def _shown(home: str, item: NewsItem) -> dict[str, object]:
    about: dict[str, object] = {"time": item.at, "what": item.what, "id": item.story, "name": item.name}
    if item.start:
        return about | {"start": item.start, "end": item.end}
    if item.what in NOTICES:
        says = {"severity": item.stage, "message": item.message} if item.what == NOTICE else {}
        return about | says | {"url": home}
    return about | {"stage": item.stage, "message": item.message, "url": f"{home}/incidents/{item.story}"}
