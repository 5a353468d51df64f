"""What a message's urgency and page become with each service: parts of the address as Apprise has parsed it.

The one table of priorities; docs/guide/notifications.md shows it. What a channel's own address says stays. Pure.
Must not: import Apprise.
"""

from __future__ import annotations

from typing import NamedTuple

from opsapp.lib.jsontypes import JsonObject
from opsapp.wire.records import plain

from .addresses import type_of
from .buttons import PLAIN_JSON, Buttons, with_buttons
from .documents import DeliveryDocument

Parsed = JsonObject  # an address as Apprise parses it, and takes it for making a service


class Levels(NamedTuple):
    """How urgent a message is, in a service's own words, by its mood (`texts.mood`)."""

    success: str
    info: str
    warning: str
    failure: str


# By the name of the service: numbers behind the names are those that the service itself knows.
PRIORITIES = {
    "ntfy": Levels("default", "low", "high", "max"),  # 3, 2, 4, 5
    "gotify": Levels("normal", "moderate", "high", "emergency"),  # 5, 3, 8, 10
    "pushover": Levels(
        "normal", "moderate", "normal", "high"
    ),  # 0, -1, 0, 1; 2 would ask for an answer again and again
    "prowl": Levels("normal", "moderate", "normal", "high"),  # 0, -1, 0, 1
}
GOTIFY = {"normal": 5, "moderate": 3, "high": 8, "emergency": 10}
MAIL_NAMES = ("X-Priority", "Importance", "Priority")
MAIL = {
    "success": ("3 (Normal)", "normal", "normal"),
    "info": ("5 (Lowest)", "low", "non-urgent"),
    "warning": ("2 (High)", "normal", "normal"),
    "failure": ("1 (Highest)", "high", "urgent"),
}


class Journey(NamedTuple):
    """What of a message is more than its title and text."""

    mood: str
    address: str | None
    document: DeliveryDocument
    buttons: Buttons | None = None


def adapted(parsed: Parsed, journey: Journey) -> Parsed:
    answered = with_buttons(parsed, journey.buttons) if journey.buttons is not None else None
    if answered is not None and answered["schema"] != parsed["schema"]:
        return answered  # a request of the service's own
    parsed = answered or parsed
    service = type_of(str(parsed["schema"]))
    service = str(parsed["schema"]) if service == "apprise" else service
    if service == "webhook":
        return parsed | {"payload": {**plain(journey.document), **(parsed.get("payload") or {})}}
    if service == "mail":
        own = parsed.get("headers") or {}
        taken = {name.lower() for name in own}
        pairs = zip(MAIL_NAMES, MAIL[journey.mood], strict=True)
        return parsed | {"headers": {**own, **{name: said for name, said in pairs if name.lower() not in taken}}}
    levels = PRIORITIES.get(service)
    priority = getattr(levels, journey.mood) if levels is not None and not parsed.get("priority") else None
    if priority is not None and service == "gotify" and journey.address is not None and not parsed.get("format"):
        return _clickable_gotify(parsed, GOTIFY[priority], journey.address)
    parsed = {**parsed, "priority": priority} if priority is not None else parsed
    if journey.address is None:
        return parsed
    link = {"ntfy": "click", "pagerduty": "click", "pushover": "supplemental_url"}.get(service)
    return {link: journey.address, **parsed} if link else parsed


def _clickable_gotify(parsed: Parsed, priority: int, address: str) -> Parsed:
    """Gotify's own request, as JSON: Apprise's service for it knows no address that a tap leads to."""
    known = {name: value for name, value in parsed.items() if name != "token"}
    extras = {"client::notification": {"click": {"url": address}}}
    return {
        **known,
        "schema": "jsons" if parsed["schema"] == "gotifys" else "json",
        "fullpath": f"{parsed['fullpath']}message",
        "headers": {"X-Gotify-Key": parsed["token"]},
        "payload": {**PLAIN_JSON, "priority": priority, "extras": extras},
    }
