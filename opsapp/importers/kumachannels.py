"""Notifications of Uptime Kuma as channels. The names of their settings are those of its notification providers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import quote, urlsplit

from opsapp.notify.interfaces import BY_NAME, wrong_fields
from opsapp.notify.records import ChannelAsCode
from opsapp.wire.dataclass import frozen

from .estate import Estate
from .foreign import ForeignRecord, NotImported, Switch, Word, named, read
from .kumarecords import KumaMonitor, KumaNotification


@frozen
class ProviderSettings(ForeignRecord):
    """Those of all types: each has a few."""

    type: Word | None = None
    smtp_host: Word = ""
    smtp_port: Word = ""
    smtp_from: Word = ""
    smtp_to: Word = ""
    smtp_username: Word = ""
    smtp_password: Word = ""
    smtp_secure: Switch = False
    telegram_bot_token: Word = ""
    telegram_chat_id: Word = ""
    discord_webhook_url: Word = ""
    slackwebhook_url: Word = ""
    webhook_url: Word = ""
    ntfyserverurl: Word = ""
    ntfytopic: Word = ""
    ntfyaccesstoken: Word = ""
    gotifyserverurl: Word = ""
    gotifyapplication_token: Word = ""
    pushoveruserkey: Word = ""
    pushoverapptoken: Word = ""
    apprise_url: Word = ""
    google_chat_webhook_url: Word = ""
    mattermost_webhook_url: Word = ""
    rocketwebhook_url: Word = ""
    homeserver_url: Word = ""
    access_token: Word = ""
    internal_room_id: Word = ""
    signal_url: Word = ""
    signal_number: Word = ""
    signal_recipients: Word = ""
    home_assistant_url: Word = ""
    long_lived_access_token: Word = ""
    opsgenie_api_key: Word = ""
    pushbullet_access_token: Word = ""


Address = tuple[str, dict[str, str]]
"""The type of an address here, and what its fields hold."""


def take(estate: Estate, rows: Iterable[Any], monitors: tuple[KumaMonitor, ...]) -> Callable[[KumaMonitor], list[str]]:
    """Channels are tied to monitors by tags here: a function that answers those of a monitor."""
    tags: dict[str, str] = {}
    watched = sum(not monitor.is_group for monitor in monitors)
    for row in rows:
        with estate.entry("notification", named(row)) as notes:
            told = read(KumaNotification, row)
            name, number = named(row), str(told.id)
            if not isinstance(told.config, dict):
                raise NotImported("it has no settings")
            config = read(ProviderSettings, told.config)
            url = _address(config)
            if config.type == "webhook":
                notes.append("its receiver gets the message of this service, which is written otherwise")
            using = sum(bool((monitor.notification_idlist or {}).get(number)) for monitor in monitors)
            if not using:
                notes.append("no monitor uses it: it is disabled")
            elif using < watched:
                tags[number] = _tag_of_channel(name, number, set(tags.values()))
            own = (tags[number],) if number in tags else ()
            estate.take(ChannelAsCode(name=name, url=url, tags=own, enabled=bool(using and told.active)), notes)
    return lambda monitor: [
        tags[number] for number, on in (monitor.notification_idlist or {}).items() if on and number in tags
    ]


def _tag_of_channel(name: str, number: str, taken: set[str]) -> str:
    """Two channels whose names look alike must not get each other's monitors."""
    wanted = "to:" + (re.sub(r"[^A-Za-z0-9_.-]+", "-", name).strip("-") or number)[:50]
    return wanted if wanted not in taken else f"{wanted}-{number}"


def _address(config: ProviderSettings) -> str:
    if config.type not in ADDRESSES:
        raise NotImported(f"there is no address for its type {config.type}: make the channel by hand")
    name, given = ADDRESSES[config.type](config)
    fields = {key: value for key, value in given.items() if value}
    wrong = wrong_fields(name, fields)
    if wrong:
        raise NotImported("; ".join(f"{field} {text}" for field, text in wrong.items()))
    return BY_NAME[name].write(fields)


def _mail(config: ProviderSettings) -> Address:
    return "mail", {
        "host": config.smtp_host, "port": config.smtp_port, "from": config.smtp_from, "to": config.smtp_to,
        "user": config.smtp_username, "password": config.smtp_password,
        "security": "tls" if config.smtp_secure else "starttls",
    }  # fmt: skip


def _ntfy(config: ProviderSettings) -> Address:
    return "ntfy", {"server": config.ntfyserverurl, "topic": config.ntfytopic, "token": config.ntfyaccesstoken}


def _web_address(url: str) -> str:
    if urlsplit(url).scheme not in ("http", "https"):
        raise NotImported("its address is none of the web")
    return url


def _by_apprise(scheme: str, path: str, server: str = "") -> Address:
    """What Apprise reaches; with a server's address, over TLS where that has it."""
    parts = urlsplit(_web_address(server)) if server else None
    secure = "s" if parts is not None and parts.scheme == "https" else ""
    host = f"{parts.netloc}/" if parts is not None else ""
    return "apprise", {"url": f"{scheme}{secure}://{host}{path}"}


def _quoted(text: str) -> str:
    if not text:
        raise NotImported("it lacks a setting that an address needs")
    return quote(text, safe="")


def _last_step(url: str) -> str:
    return urlsplit(url).path.rstrip("/").rpartition("/")[2]


def _matrix(config: ProviderSettings) -> Address:
    parts = urlsplit(_web_address(config.homeserver_url))
    scheme = "matrixs" if parts.scheme == "https" else "matrix"
    who = f"{_quoted(config.access_token)}@{parts.netloc}"
    return "apprise", {"url": f"{scheme}://{who}/{_quoted(config.internal_room_id)}"}


def _signal(config: ProviderSettings) -> Address:
    people = [word.strip() for word in config.signal_recipients.split(",")]
    path = "/".join(map(_quoted, [config.signal_number, *people]))
    return _by_apprise("signal", path, _web_address(config.signal_url))


def _rocket_chat(config: ProviderSettings) -> Address:
    parts = urlsplit(_web_address(config.rocketwebhook_url))
    scheme = "rockets" if parts.scheme == "https" else "rocket"
    return "apprise", {"url": f"{scheme}://{'/'.join(parts.path.split('/')[-2:])}@{parts.netloc}"}


ADDRESSES: dict[str | None, Callable[[ProviderSettings], Address]] = {
    "smtp": _mail,
    "telegram": lambda config: (
        "telegram", {"token": config.telegram_bot_token, "chat": config.telegram_chat_id}),
    "discord": lambda config: ("discord", {"address": _web_address(config.discord_webhook_url)}),
    "slack": lambda config: ("slack", {"address": _web_address(config.slackwebhook_url)}),
    "webhook": lambda config: ("webhook", {"address": _web_address(config.webhook_url)}),
    "ntfy": _ntfy,
    "gotify": lambda config: (
        "gotify", {"server": config.gotifyserverurl, "token": config.gotifyapplication_token}),
    "pushover": lambda config: (
        "pushover", {"user": config.pushoveruserkey, "token": config.pushoverapptoken}),
    "apprise": lambda config: ("apprise", {"url": config.apprise_url}),
    "teams": lambda config: ("apprise", {"url": _web_address(config.webhook_url)}),
    "GoogleChat": lambda config: ("apprise", {"url": _web_address(config.google_chat_webhook_url)}),
    "mattermost": lambda config: _by_apprise(
        "mmost", _quoted(_last_step(config.mattermost_webhook_url)), config.mattermost_webhook_url),
    "rocket.chat": _rocket_chat,
    "matrix": _matrix,
    "signal": _signal,
    "HomeAssistant": lambda config: _by_apprise(
        "hassio", _quoted(config.long_lived_access_token), _web_address(config.home_assistant_url)),
    "Opsgenie": lambda config: _by_apprise("opsgenie", _quoted(config.opsgenie_api_key)),
    "pushbullet": lambda config: _by_apprise("pbul", _quoted(config.pushbullet_access_token)),
}  # fmt: skip
