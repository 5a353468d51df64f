"""Handing one message to Apprise.

Apprise blocks, and knows no limit to how long a slow server may drip; a thread cannot be ended from outside. So each
message has a thread of its own: whoever hangs hangs alone, and the caller is told when his patience is over.
"""

from __future__ import annotations

import logging
import queue
import re
import threading
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any, NamedTuple
from urllib.parse import quote, quote_plus

import gevent
from gevent.event import AsyncResult

from opsapp.lib.ids import digest
from opsapp.lib.masks import masked
from opsapp.lib.problems import Invalid
from opsapp.notify.logic.adapting import Journey, adapted
from opsapp.notify.logic.buttons import Buttons, card_actions, is_card, with_buttons
from opsapp.notify.logic.destinations import without_address
from opsapp.notify.logic.documents import VERSION
from opsapp.runtime.internals import delivery_tracker
from opsapp.runtime.node import Node

from .outbound import denied_networks, networks_denied

log = logging.getLogger(__name__)


class OutgoingMessage(NamedTuple):
    """`url` is opened for the journey and kept nowhere."""

    delivery_id: str
    channel_id: str
    url: str
    title: str
    text: str
    journey: Journey
    secrets: tuple[str, ...] = ()  # what in it nobody else may see
    taken: tuple[str, ...] = ()  # marks of the recipients that have it already


class SendOutcome(NamedTuple):
    """`error` is None when it has arrived. `late`: its thread still hangs. `taken`: who has it, as marks."""

    error: str | None
    late: bool = False
    taken: tuple[str, ...] = ()


class AcceptedRecipients:
    """Tells who has got a message where a channel has several recipients. Apprise asks for each whether it is in here,
    and adds it: so another attempt goes to the others alone. Kept as marks, for a recipient's name is an address."""

    def __init__(self, marks: Iterable[str]):
        self.marks = set(marks)

    def __contains__(self, recipient: object) -> bool:
        return self._mark(recipient) in self.marks

    def add(self, recipient: object) -> None:
        self.marks.add(self._mark(recipient))

    @staticmethod
    def _mark(recipient: object) -> str:
        return digest(repr(recipient))[:16]


class AppriseLog(logging.Handler):
    """What Apprise logs in a thread is why it failed there. It is heard here and nowhere else: it may show a URL. That
    it failed is a warning; the reason (what the server said, why nobody answered) is a line for debugging."""

    REASON = re.compile(r".{0,30}\bException: (.+)", re.DOTALL)
    ADDRESS = re.compile(r" with url: \S+")

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.heard = threading.local()

    def emit(self, record: logging.LogRecord) -> None:
        if record.levelno >= logging.WARNING:
            self._keep(record.getMessage())
        elif "Exception" in str(record.msg)[:40] and (reason := self.REASON.match(record.getMessage())):
            self._keep(self.ADDRESS.sub("", reason[1]))

    def _keep(self, line: str) -> None:
        self.heard.lines = [*getattr(self.heard, "lines", ()), line]

    def take(self) -> str:
        lines, self.heard.lines = getattr(self.heard, "lines", []), []
        return "; ".join(dict.fromkeys(lines))


OVERHEARD = AppriseLog()


@lru_cache(maxsize=1)
def apprise() -> Any:
    """Apprise is imported on first use and off the hub: importing it takes a fifth of a second, and its plugins as
    much."""
    import apprise as library

    logger = logging.getLogger("apprise")
    logger.propagate = False
    logger.setLevel(logging.DEBUG)
    logger.addHandler(OVERHEARD)
    logging.getLogger("urllib3").setLevel(logging.WARNING)  # it logs the paths of requests, which are tokens
    return library


def plugin_of(url: str, timeout: float = 30.0, journey: Journey | None = None) -> Any:
    """The URL's plugin, or Invalid, which does not repeat the URL."""
    library = apprise()
    asset = library.AppriseAsset(
        app_id="opsapp",
        app_desc="opsapp",
        app_url="",
        async_mode=False,
        storage_mode="memory",
        allow_templates=False,
        service_timeout=timeout,
        http_redirects=False,  # followed, they end in a GET that leaves the message behind and looks like a success
    )
    try:
        parsed = library.plugins.url_to_dict(url, secure_logging=True)
        about = parsed if parsed is None or journey is None else adapted(parsed, journey)
        plugin = about and library.Apprise.instantiate(about, asset=asset, suppress_exceptions=False)
    except (TypeError, ValueError, library.exception.AppriseException):
        plugin = None
    OVERHEARD.take()
    if plugin is None:
        raise Invalid({"url": "must be an address that Apprise knows, like mailtos://user:password@example.org"})
    if hasattr(plugin, "json_version"):
        plugin.json_version = VERSION
    if journey is not None and journey.buttons is not None and is_card(parsed):
        _add_to_card(plugin, card_actions(journey.buttons))
    return plugin


def has_buttons(url: str, buttons: Buttons) -> bool:
    return with_buttons(apprise().plugins.url_to_dict(url, secure_logging=True), buttons) is not None


def _add_to_card(plugin: Any, actions: list[dict[str, str]]) -> None:
    """Apprise's card for Teams has no actions of its own."""
    plain = plugin.gen_payload

    def with_actions(*about: Any, **more: Any) -> Any:
        payload = plain(*about, **more)
        payload["attachments"][0]["content"]["actions"] = actions
        return payload

    plugin.gen_payload = with_actions


def service_of(url: str) -> str:
    """The URL's scheme. Invalid when Apprise does not know it."""
    plugin_of(url)
    return url.partition(":")[0].strip().lower()


def hand_over(letter: OutgoingMessage, timeout: float) -> SendOutcome:
    """Blocks, in a thread of its own."""
    OVERHEARD.take()
    taken = AcceptedRecipients(letter.taken)
    error = _notified(letter, timeout, taken)
    return SendOutcome(error, taken=tuple(sorted(taken.marks)))


def _notified(letter: OutgoingMessage, timeout: float, taken: AcceptedRecipients) -> str | None:
    """What went wrong, or None."""
    try:
        plugin, text = plugin_of(letter.url, timeout, letter.journey), letter.text
        if letter.journey.buttons is not None and has_buttons(letter.url, letter.journey.buttons):
            text = letter.journey.buttons.words
        _remember(taken)
        # Said to be text, it is made into what the service wants; else a service that wants markup takes it for markup.
        if plugin.notify(
            body=text or letter.title, title=letter.title, notify_type=letter.journey.mood, body_format="text"
        ):
            return None
        problem = OVERHEARD.take() or "the service did not accept it"
    except Exception as broken:  # noqa: BLE001 - any plugin may raise anything: it is the delivery's outcome
        problem = f"{type(broken).__name__}: {broken}"
    return without_address(masked(problem, in_every_form(letter.secrets)), letter.url)


def _remember(taken: AcceptedRecipients) -> None:
    """Where Apprise looks who has a message while it tries again by itself; our attempts outlive a process. A version
    that looks elsewhere sends to everybody again."""
    tracker = delivery_tracker()
    if tracker is not None:
        tracker.set(taken)


def in_every_form(secrets: Iterable[str]) -> list[str]:
    """Each secret as it is, and as an address has it."""
    return [form for secret in secrets for form in dict.fromkeys((secret, quote(secret, safe=""), quote_plus(secret)))]


def send(node: Node, letter: OutgoingMessage, timeout: float, landed: Callable[[], None]) -> SendOutcome:
    """The outcome, or after `timeout` that it is late. `landed` is called (on the hub, if there is one) when the
    thread has come to its end."""
    denied, on_hub = denied_networks(node), node.hub.is_here()
    answered: Any = AsyncResult() if on_hub else queue.SimpleQueue()

    def arrived(outcome: SendOutcome) -> None:
        landed()
        (answered.set if on_hub else answered.put)(outcome)

    def work() -> None:
        with networks_denied(denied):
            outcome = hand_over(letter, timeout)
        node.post(arrived, outcome) if on_hub else arrived(outcome)

    threading.Thread(target=work, name="notify", daemon=True).start()
    try:
        outcome: SendOutcome = answered.get(timeout=timeout)
    except (gevent.Timeout, queue.Empty):
        return SendOutcome(f"no answer within {timeout:g} s", late=True)
    return outcome
