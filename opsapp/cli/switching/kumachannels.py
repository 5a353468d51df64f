"""Notifications of Uptime Kuma as channels. The names of their settings are those of its notification providers."""

from __future__ import annotations

import re
from collections.abc import Callable
from urllib.parse import quote, urlsplit

from opsapp.lib.jsontypes import JsonObject
from opsapp.notify.interfaces import BY_NAME, wrong_fields

from .estate import Estate, NotImported, json_value, named


def take(estate: Estate, rows: list[JsonObject], monitors: list[JsonObject]) -> Callable[[JsonObject], list[str]]:
    """Channels are tied to monitors by tags here: a function that answers those of a monitor."""
    tags: dict[str, str] = {}
    for row in rows:
        with estate.entry("notification", named(row)) as notes:
            number = str(row["id"])
            config = _config(row)
            settings: JsonObject = {"name": named(row), "url": _address(config), "tags": []}
            if config.get("type") == "webhook":
                notes.append("its receiver gets the message of this service, which is written otherwise")
            settings["enabled"] = bool(row.get("active", True))
            using = [monitor for monitor in monitors if (monitor.get("notificationIDList") or {}).get(number)]
            if not using:
                settings["enabled"] = False
                notes.append("no monitor uses it: it is disabled")
            elif len(using) < len([monitor for monitor in monitors if monitor.get("type") != "group"]):
                tags[number] = _tag_of_channel(named(row), number, set(tags.values()))
                settings["tags"] = [tags[number]]
            estate.take("channel", settings, notes)
    return lambda monitor: [
        tags[number] for number, on in (monitor.get("notificationIDList") or {}).items() if on and number in tags
    ]


def _tag_of_channel(name: str, number: str, taken: set[str]) -> str:
    """Two channels whose names look alike must not get each other's monitors."""
    wanted = "to:" + (re.sub(r"[^A-Za-z0-9_.-]+", "-", name).strip("-") or number)[:50]
    return wanted if wanted not in taken else f"{wanted}-{number}"


def _config(row: JsonObject) -> JsonObject:
    config = json_value(row.get("config"))
    if not isinstance(config, dict):
        raise NotImported("it has no settings")
    return config


def _address(config: JsonObject) -> str:
    kind = str(config.get("type"))
    if kind not in ADDRESSES:
        raise NotImported(f"there is no address for its type {kind}: make the channel by hand")
    name, given = ADDRESSES[kind](config)
    fields = {key: str(value) for key, value in given.items() if value}
    wrong = wrong_fields(name, fields)
    if wrong:
        raise NotImported("; ".join(f"{field} {text}" for field, text in wrong.items()))
    return BY_NAME[name].write(fields)


def _mail(config: JsonObject) -> tuple[str, JsonObject]:
    return "mail", {
        "host": config["smtpHost"], "port": config.get("smtpPort"), "from": config["smtpFrom"], "to": config["smtpTo"],
        "user": config.get("smtpUsername"), "password": config.get("smtpPassword"),
        "security": "tls" if config.get("smtpSecure") else "starttls",
    }  # fmt: skip


def _ntfy(config: JsonObject) -> tuple[str, JsonObject]:
    given = {
        "server": config.get("ntfyserverurl"),
        "topic": config["ntfytopic"],
        "token": config.get("ntfyaccesstoken"),
    }
    return "ntfy", given


def _web_address(url: str) -> str:
    if urlsplit(url).scheme not in ("http", "https"):
        raise NotImported("its address is none of the web")
    return url


def _discord(config: JsonObject) -> tuple[str, JsonObject]:
    return "discord", {"address": _web_address(config["discordWebhookUrl"])}


def _by_apprise(scheme: str, path: str, server: str = "") -> tuple[str, JsonObject]:
    """What Apprise reaches; with a server's address, over TLS where that has it."""
    parts = urlsplit(_web_address(server)) if server else None
    secure = "s" if parts is not None and parts.scheme == "https" else ""
    host = f"{parts.netloc}/" if parts is not None else ""
    return "apprise", {"url": f"{scheme}{secure}://{host}{path}"}


def _quoted(text: object) -> str:
    return quote(str(text), safe="")


def _last_step(url: str) -> str:
    return urlsplit(url).path.rstrip("/").rpartition("/")[2]


def _matrix(config: JsonObject) -> tuple[str, JsonObject]:
    parts = urlsplit(_web_address(config["homeserverUrl"]))
    scheme = "matrixs" if parts.scheme == "https" else "matrix"
    who = f"{_quoted(config['accessToken'])}@{parts.netloc}"
    return "apprise", {"url": f"{scheme}://{who}/{_quoted(config['internalRoomId'])}"}


def _signal(config: JsonObject) -> tuple[str, JsonObject]:
    people = [word.strip() for word in str(config["signalRecipients"]).split(",")]
    path = "/".join(map(_quoted, [config["signalNumber"], *people]))
    return _by_apprise("signal", path, config["signalURL"])


def _rocket_chat(config: JsonObject) -> tuple[str, JsonObject]:
    parts = urlsplit(_web_address(config["rocketwebhookURL"]))
    scheme = "rockets" if parts.scheme == "https" else "rocket"
    return "apprise", {"url": f"{scheme}://{'/'.join(parts.path.split('/')[-2:])}@{parts.netloc}"}


ADDRESSES: dict[str, Callable[[JsonObject], tuple[str, JsonObject]]] = {
    "smtp": _mail,
    "telegram": lambda config: (
        "telegram", {"token": config["telegramBotToken"], "chat": config["telegramChatID"]}),
    "discord": _discord,
    "slack": lambda config: ("slack", {"address": _web_address(config["slackwebhookURL"])}),
    "webhook": lambda config: ("webhook", {"address": _web_address(config["webhookURL"])}),
    "ntfy": _ntfy,
    "gotify": lambda config: (
        "gotify", {"server": config["gotifyserverurl"], "token": config["gotifyapplicationToken"]}),
    "pushover": lambda config: (
        "pushover", {"user": config["pushoveruserkey"], "token": config["pushoverapptoken"]}),
    "apprise": lambda config: ("apprise", {"url": config["appriseURL"]}),
    "teams": lambda config: ("apprise", {"url": _web_address(config["webhookUrl"])}),
    "GoogleChat": lambda config: ("apprise", {"url": _web_address(config["googleChatWebhookURL"])}),
    "mattermost": lambda config: _by_apprise(
        "mmost", _quoted(_last_step(config["mattermostWebhookUrl"])), config["mattermostWebhookUrl"]),
    "rocket.chat": _rocket_chat,
    "matrix": _matrix,
    "signal": _signal,
    "HomeAssistant": lambda config: _by_apprise(
        "hassio", _quoted(config["longLivedAccessToken"]), config["homeAssistantUrl"]),
    "Opsgenie": lambda config: _by_apprise("opsgenie", _quoted(config["opsgenieApiKey"])),
    "pushbullet": lambda config: _by_apprise("pbul", _quoted(config["pushbulletAccessToken"])),
}  # fmt: skip
