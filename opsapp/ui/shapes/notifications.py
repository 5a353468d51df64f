"""What each channel takes, in a sentence; deliveries with the failed ones on top."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from opsapp.lib.durations import in_words
from opsapp.lib.enumerated import listed
from opsapp.notify.interfaces import BY_NAME, SEVERITIES, TYPES, reason_of
from opsapp.notify.records import ChannelRecord, DeliveryRecord, QuietHours
from opsapp.ui.parts import (
    AUTOMATIONS,
    CHANNEL,
    CHANNELS,
    CHANNELS_ALL,
    CONFIGURED,
    DELIVERIES,
    DELIVERY,
    FAILED,
    WAITING,
)
from opsapp.ui.parts import TYPES as OFFERED
from opsapp.ui.reader import Answers, Reader, TemplateValues
from opsapp.ui.shapes import uses

ENDS = {
    "queued": "waits",
    "sending": "is being sent",
    "sent": "was accepted",
    "failed": "failed",
    "merged": "sent together with others",
    "dropped": "was dropped",
}
HELD = {"quiet_hours": "until the quiet hours end", "digest": "until its digest is sent"}
DAY_NAMES = {"mon": "Monday", "tue": "Tuesday", "wed": "Wednesday", "thu": "Thursday", "fri": "Friday",
             "sat": "Saturday", "sun": "Sunday"}  # fmt: skip


class ChannelLine(NamedTuple):
    row: ChannelRecord
    type: str
    state: str  # ok, failed, new or off
    word: str
    takes: str
    quiet: str
    reason: str  # why the last message was not accepted


class SentLine(NamedTuple):
    """`error`: why it was not accepted, not in the words of the program that sent it."""

    row: DeliveryRecord
    words: str
    title: str
    error: str
    again_at: float | None


class SeverityRoute(NamedTuple):
    severity: str
    meaning: str
    channels: tuple[str, ...]


MEANINGS = {
    "critical": "a monitor is down, a host is gone, healing has given up",
    "warning": "something may fail soon, an approval is needed",
    "info": "it is over, something was healed",
}


def overview(answers: Answers, reader: Reader) -> TemplateValues:
    failed = [sent_of(row) for row in answers[FAILED]]
    retried = [sent_of(row) for row in answers[WAITING] if row.error]
    configured = answers.known(CONFIGURED)
    web_is_known = configured and any(key.name == "web.base_url" and key.value for key in configured.settings)
    return {
        "without_address": not web_is_known,
        "channels": [channel_of(row) for row in answers[CHANNELS]],
        "routes": [_route(severity, answers[CHANNELS_ALL]) for severity in reversed(SEVERITIES)],
        "failed": failed if not reader.asked("status") else [],
        "retried": retried,
        "sent": [sent_of(row) for row in answers[DELIVERIES]],
        "types": TYPES,
    }


def channel_of(row: ChannelRecord) -> ChannelLine:
    sent = row.last_sent_at
    if not row.enabled:
        state, word = "off", "Disabled"
    elif row.last_error:
        state, word = "failed", "Failed"
    else:
        state, word = ("ok", "Works") if sent else ("off", "Not used yet")
    title = BY_NAME[row.type].title
    kind = title if row.type != "apprise" else f"{row.service}, by Apprise"
    reason = reason_of(row.last_error) if row.last_error else ""
    return ChannelLine(row, kind, state, word, takes(row), quiet(row), reason)


def takes(row: ChannelRecord) -> str:
    which = "All messages" if len(row.severities) == len(SEVERITIES) else listed(row.severities).capitalize()
    about = f" about {listed(row.tags)}" if row.tags else ""
    how = f", collected for {in_words(row.digest_s)}" if row.digest_s else ""
    answers = f" Its links answer as {row.answers_as}." if row.answers_as else ""
    return f"{which}{about}{how}.{answers}"


def quiet(row: ChannelRecord) -> str:
    hours = row.quiet_hours
    if not hours:
        return ""
    days = "" if len(hours.days) == len(DAY_NAMES) else " on " + listed([DAY_NAMES[day] for day in hours.days])
    return f"{listed(hours.severities).capitalize()} wait from {hours.start} to {hours.end}{days}."


def _route(severity: str, channels: list[ChannelRecord]) -> SeverityRoute:
    names = [
        channel.name + (f" (only {listed(channel.tags)})" if channel.tags else "")
        for channel in channels
        if channel.enabled and severity in channel.severities
    ]
    return SeverityRoute(severity, MEANINGS[severity], tuple(names))


def sent_of(row: DeliveryRecord) -> SentLine:
    messages = row.messages
    title = messages[0].title if messages else "Nothing"
    more = f" and {len(messages) - 1} more" if len(messages) > 1 else ""
    tries = "" if row.attempts < 2 else f" after {row.attempts} attempts"
    waits = row.status == "queued"
    held = " " + HELD[row.held] if waits and row.held else ""
    words = f"{ENDS[row.status]}{held}{tries}"
    again_at = row.due_at if waits and row.error else None
    return SentLine(row, words, title + more, reason_of(row.error) if row.error else "", again_at)


def new_channel(answers: Answers, reader: Reader) -> TemplateValues:
    types = answers[OFFERED]
    chosen = next((offered for offered in types if offered.name == reader.asked("type")), None)
    return {
        "types": types,
        "chosen": chosen,
        "row": {"severities": list(SEVERITIES)},
        "title": f"Add a channel: {chosen.title}" if chosen else "Add a channel",
    }


def cloned(answers: Answers, reader: Reader) -> TemplateValues:
    row = answers[CHANNEL]
    return {
        "title": f"Clone {row.name}",
        "channel": channel_of(row),
        "row": replace(row, name=f"{row.name} (copy)"),
        "create": f"clone-{row.type}" + ("-quiet" if row.quiet_hours else ""),
    }


def one_channel(answers: Answers, reader: Reader) -> TemplateValues:
    row = answers[CHANNEL]
    hours = row.quiet_hours or QuietHours("22:00", "07:00")
    return {
        "channel": channel_of(row),
        "row": row,
        "quiet_row": {"id": row.id, "quiet_hours": hours},
        "move": f"channel.move-{row.type}",
        "uses": uses.of_channel(answers[AUTOMATIONS]),
        "sent": [sent_of(delivery) for delivery in answers[DELIVERIES]],
        "title": row.name,
    }


def one_delivery(answers: Answers, reader: Reader) -> TemplateValues:
    row = answers[DELIVERY]
    return {"sent": sent_of(row), "delivery": row, "title": f"To {row.channel}"}
