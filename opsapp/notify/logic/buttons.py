"""A message that can be answered, in the form of each service that has buttons. Each button leads to a page. Pure.

For Slack and Telegram it is a request of our own, because Apprise's services know no buttons there. Must not: import
Apprise.
"""

from __future__ import annotations

from html import escape
from typing import NamedTuple
from urllib.parse import urlsplit

from opsapp.lib.jsontypes import JsonObject
from opsapp.lib.visible import clip

from .texts import AnswerButton

PLAIN_JSON = {"version": "", "attachments": "", "type": ""}  # what Apprise puts into a document that others have not
SLACK_TITLE, SLACK_TEXT, TELEGRAM_TEXT = 150, 3000, 4096  # the longest that they take


class Buttons(NamedTuple):
    """`text` has a line for each."""

    title: str
    text: str
    answers: tuple[AnswerButton, ...]

    @property
    def words(self) -> str:
        """The text without the lines that the buttons stand for."""
        lines = {answer.line for answer in self.answers}
        return "\n".join(line for line in self.text.split("\n") if line not in lines)


def with_buttons(parsed: JsonObject, buttons: Buttons) -> JsonObject | None:
    """None where the service, or this kind of address, has none."""
    schema, targets = str(parsed["schema"]), list(parsed.get("targets") or ())
    if schema in ("ntfy", "ntfys") and not parsed.get("actions"):
        return {**parsed, "actions": "; ".join(f"view, {label}, {url}" for _, label, url in buttons.answers)}
    if schema == "slack" and parsed.get("token_c") and not targets:
        place = "/".join(("/services", parsed["token_a"], parsed["token_b"], parsed["token_c"]))
        return _own(parsed, "hooks.slack.com", place, _slack(buttons))
    if schema == "tgram" and _fits_telegram(targets, buttons) and not parsed.get("topic"):
        document = _telegram(targets[0], buttons)
        return _own(parsed, "api.telegram.org", f"/bot{parsed['bot_token']}/sendMessage", document)
    return parsed if is_card(parsed) else None


def is_card(parsed: JsonObject) -> bool:
    """Whether this is a card of Teams: Apprise makes it, and `card_actions` go into it."""
    return parsed["schema"] in ("workflow", "workflows") and not parsed.get("template")


def card_actions(buttons: Buttons) -> list[dict[str, str]]:
    return [{"type": "Action.OpenUrl", "title": label, "url": url} for _, label, url in buttons.answers]


def _own(parsed: JsonObject, host: str, place: str, document: JsonObject) -> JsonObject:
    payload = {**PLAIN_JSON, "title": "", "message": "", **document}
    about = {"schema": "jsons", "secure": True, "verify": parsed["verify"], "host": host, "fullpath": place}
    return {**about, "payload": payload}


def _slack(buttons: Buttons) -> JsonObject:
    """`text` is what a notification shows of it."""
    elements = [
        {"type": "button", "action_id": act, "url": url, "text": _slack_text(label, SLACK_TITLE)}
        for act, label, url in buttons.answers
    ]
    return {
        "text": escape(buttons.title, quote=False),
        "blocks": [
            {"type": "header", "text": _slack_text(buttons.title, SLACK_TITLE)},
            {"type": "section", "text": _slack_text(buttons.words, SLACK_TEXT)},
            {"type": "actions", "elements": elements},
        ],
    }


def _slack_text(text: str, longest: int) -> dict[str, str]:
    """Slack refuses a whole message for one text that is too long."""
    return {"type": "plain_text", "text": clip(escape(text, quote=False), longest)}


def _fits_telegram(targets: list[str], buttons: Buttons) -> bool:
    """Buttons go to one chat only. Telegram refuses a message with a button that leads to a host without a dot."""
    hosts = [urlsplit(answer.url).hostname or "" for answer in buttons.answers]
    return len(targets) == 1 and ":" not in targets[0] and all("." in host for host in hosts)


def _telegram(chat: str, buttons: Buttons) -> JsonObject:
    return {
        "chat_id": chat if chat.lstrip("-").isdecimal() else "@" + chat.lstrip("@"),
        "text": clip(f"{buttons.title}\n{buttons.words}", TELEGRAM_TEXT),
        "disable_web_page_preview": True,
        "reply_markup": {"inline_keyboard": [[{"text": label, "url": url} for _, label, url in buttons.answers]]},
    }
