"""Kinds of channel with the fields that a person fills in, and the Apprise address that they make.

The API, the pages and the guide's table come from it. Pure. Must not: know Apprise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from opsapp.wire.dataclass import frozen

Given = Mapping[str, str]


@frozen
class AddressField:
    """Kinds: web is an http or https address; of a choice the first is usual."""

    name: str
    label: str
    kind: Literal["text", "secret", "port", "web", "choice"] = "text"
    required: bool = True
    hint: str = ""
    choices: tuple[str, ...] = ()


@frozen
class ChannelDescription:
    name: str
    title: str
    hint: str
    fields: tuple[AddressField, ...]


@frozen
class WritableType(ChannelDescription):
    write: Callable[[Given], str]


def _quoted(text: str) -> str:
    return quote(text, safe="")


def _mail(given: Given) -> str:
    security = given.get("security") or "starttls"
    port = given.get("port") or {"starttls": "587", "tls": "465", "none": "25"}[security]
    recipients = ",".join(recipient for word in given["to"].split(",") if (recipient := word.strip()))
    query = {"from": given["from"], "to": recipients}
    query |= {"user": given["user"]} if given.get("user") else {}
    query |= {"pass": given["password"]} if given.get("password") else {}
    query |= {} if security == "none" else {"mode": "ssl" if security == "tls" else "starttls"}
    scheme = "mailto" if security == "none" else "mailtos"
    return f"{scheme}://{given['host']}:{port}/?{urlencode(query, quote_via=quote)}"


def _webhook(given: Given) -> str:
    parts = urlsplit(given["address"])
    query = {f"-{name}": value for name, value in parse_qsl(parts.query, keep_blank_values=True)}
    query |= {"+Authorization": given["authorization"]} if given.get("authorization") else {}
    scheme = "jsons" if parts.scheme == "https" else "json"
    asked = "?" + urlencode(query, quote_via=quote, safe="+") if query else ""
    return f"{scheme}://{parts.netloc}{parts.path}{asked}"


def _last_steps(scheme: str, count: int) -> Callable[[Given], str]:
    """Used for services whose own address ends in their tokens."""

    def write(given: Given) -> str:
        steps = [step for step in urlsplit(given["address"]).path.split("/") if step]
        return f"{scheme}://" + "/".join(steps[-count:])

    return write


def _on_server(scheme: str, given: Given, usual: str = "") -> tuple[str, str, str]:
    """(the scheme for this server, host and port, path) of the field `server`."""
    parts = urlsplit(given.get("server") or usual)
    return scheme + ("s" if parts.scheme == "https" else ""), parts.netloc, parts.path.rstrip("/")


def _ntfy(given: Given) -> str:
    scheme, host, path = _on_server("ntfy", given, "https://ntfy.sh")
    token = _quoted(given["token"]) + "@" if given.get("token") else ""
    return f"{scheme}://{token}{host}{path}/{_quoted(given['topic'])}"


def _gotify(given: Given) -> str:
    scheme, host, path = _on_server("gotify", given)
    return f"{scheme}://{host}{path}/{_quoted(given['token'])}"


def _matrix(given: Given) -> str:
    scheme, host, path = _on_server("matrix", given)
    return f"{scheme}://{_quoted(given['user'])}:{_quoted(given['password'])}@{host}{path}/{_quoted(given['room'])}"


TYPES = (
    WritableType(
        "mail",
        "Mail",
        "Sent through your mail server.",
        (
            AddressField("host", "Mail server", hint="Its name, like mail.example.org"),
            AddressField("port", "Port", "port", False, "Usual: 587 for starttls, 465 for tls, 25 for none"),
            AddressField("security", "Encryption", "choice", False, choices=("starttls", "tls", "none")),
            AddressField("user", "User name", required=False),
            AddressField("password", "Password", "secret", required=False),
            AddressField("from", "From", hint="The sender, like opsapp@example.org"),
            AddressField("to", "To", hint="One or more addresses, with commas between them"),
        ),
        _mail,
    ),
    WritableType(
        "webhook",
        "Webhook",
        "Each message is sent as JSON with POST.",
        (
            AddressField("address", "Address", "web", hint="It begins with https:// or http://"),
            AddressField("authorization", "Authorization header", "secret", False, "Sent as it is, like: Bearer abc"),
        ),
        _webhook,
    ),
    WritableType(
        "slack",
        "Slack",
        "Into the Slack channel that an incoming webhook belongs to.",
        (AddressField("address", "Webhook address", "secret", hint="https://hooks.slack.com/services/…"),),
        _last_steps("slack", 3),
    ),
    WritableType(
        "discord",
        "Discord",
        "Into the Discord channel that a webhook belongs to.",
        (AddressField("address", "Webhook address", "secret", hint="https://discord.com/api/webhooks/…"),),
        _last_steps("discord", 2),
    ),
    WritableType(
        "telegram",
        "Telegram",
        "A bot writes into a chat.",
        (
            AddressField("token", "Token of the bot", "secret", hint="BotFather shows it, like 123456:ABC…"),
            AddressField("chat", "Chat", hint="The number of the chat, or @name of a channel"),
        ),
        lambda given: f"tgram://{given['token']}/{_quoted(given['chat'])}",
    ),
    WritableType(
        "ntfy",
        "ntfy",
        "To phones that follow a topic.",
        (
            AddressField("server", "Server", "web", False, "Usual: https://ntfy.sh"),
            AddressField("topic", "Topic"),
            AddressField("token", "Access token", "secret", required=False),
        ),
        _ntfy,
    ),
    WritableType(
        "gotify",
        "Gotify",
        "To your own Gotify server.",
        (AddressField("server", "Server", "web"), AddressField("token", "Token of the application", "secret")),
        _gotify,
    ),
    WritableType(
        "pushover",
        "Pushover",
        "To phones with Pushover.",
        (AddressField("user", "User key", "secret"), AddressField("token", "Token of the application", "secret")),
        lambda given: f"pover://{_quoted(given['user'])}@{_quoted(given['token'])}",
    ),
    WritableType(
        "matrix",
        "Matrix",
        "Into a Matrix room.",
        (
            AddressField("server", "Home server", "web"),
            AddressField("user", "User name"),
            AddressField("password", "Password", "secret"),
            AddressField("room", "Room", hint="Its id or alias, like #ops:example.org"),
        ),
        _matrix,
    ),
    WritableType(
        "apprise",
        "Another service",
        "Any other service that Apprise knows, by its Apprise address.",
        (AddressField("url", "Apprise address", "secret", hint="Like pagerduty://… or sns://…"),),
        lambda given: given["url"],
    ),
)
BY_NAME = {declared.name: declared for declared in TYPES}


def wrong_fields(name: str, given: Given) -> dict[str, str]:
    kind = BY_NAME[name]
    known = {field.name for field in kind.fields}
    wrong = {name: f"is no field of {kind.title}" for name in given if name not in known}
    for field in kind.fields:
        message = _wrong(field, given.get(field.name, "").strip())
        if message:
            wrong[field.name] = message
    return wrong


def _wrong(field: AddressField, text: str) -> str | None:
    if not text:
        return "is required" if field.required else None
    if field.kind == "port" and not (text.isdecimal() and 0 < int(text[:6]) < 65536):
        return "must be a number from 1 to 65535"
    if field.kind == "choice" and text not in field.choices:
        return "must be one of " + ", ".join(field.choices)
    if field.kind == "web" and not _is_web(text):
        return "must begin with https:// or http://, and name a host"
    return None


def _is_web(text: str) -> bool:
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname)


def address_of(name: str, given: Given) -> str:
    """`wrong_fields` has found nothing."""
    return BY_NAME[name].write({field: text.strip() for field, text in given.items()})


SCHEMES = {"mailto": "mail", "json": "webhook", "tgram": "telegram", "pover": "pushover"}


def type_of(service: str) -> str:
    """The channel type by the scheme of an Apprise address, `apprise` where none of these has it."""
    scheme = service if service in BY_NAME or service in SCHEMES else service.removesuffix("s")
    kind = SCHEMES.get(scheme, scheme)
    return kind if kind in BY_NAME else "apprise"
