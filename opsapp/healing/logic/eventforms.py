"""Events of other systems: Alertmanager's webhook (version 4), Grafana's, and the service's own form. Must not: know
whose event it is, or what it leads to."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterable, Mapping
from datetime import datetime, timezone
from itertools import islice
from typing import Any, NamedTuple

from opsapp.lib.addresses import public_text
from opsapp.lib.jsontypes import JsonObject

FIRING, RESOLVED = "firing", "resolved"
OWN = ("id", "status", "target", "name", "severity", "labels", "values",
       "summary", "description", "links", "starts_at", "ends_at")  # fmt: skip
LINKS = ("generatorURL", "dashboardURL", "panelURL")
MOST_LABELS, LONGEST, MOST_NAMED, MOST_LINKS, LONGEST_TOLD = 64, 1000, 10, 10, 4000
LATE_S = 300.0  # a word that was overtaken arrives so soon
LINK = re.compile("https?://")
MOST_SECONDS = 1e11
NO_OBJECT = "must be an object"
STRING = f"must be a string of at most {LONGEST} characters"


class SentEvent(NamedTuple):
    """`fingerprint`: the sender's name for it."""

    fingerprint: str
    status: str
    name: str
    severity: str
    target: str
    labels: Mapping[str, str]
    values: Mapping[str, float]
    summary: str = ""
    description: str = ""
    links: tuple[str, ...] = ()
    starts_at: float | None = None  # by the sender's clock
    ends_at: float | None = None


class JudgedEvent(NamedTuple):
    """Without an event, why it is none."""

    event: SentEvent | None
    why: str = ""


def of_alert(alert: Any) -> JudgedEvent:
    """Judges an alert of Alertmanager or Grafana."""
    if not isinstance(alert, dict):
        return JudgedEvent(None, NO_OBJECT)
    known = {key: alert.get(key) for key in ("status", "labels", "fingerprint", "values")}
    labels = known["labels"] if isinstance(known["labels"], dict) else {}
    named = {"name": labels.get("alertname"), "severity": labels.get("severity")}
    wrong: dict[str, str] = {}
    event = _event({**known, **named, "id": known["fingerprint"]}, wrong, of_alert=True)
    return _judged(None if event is None else event._replace(**_told_by_alert(alert)), wrong)


def _told_by_alert(alert: JsonObject) -> JsonObject:
    """None of it is a reason to refuse: what cannot be read is left out."""
    given = alert.get("annotations")
    annotations = given if isinstance(given, dict) else {}
    links = [alert.get(name) for name in LINKS] + [annotations.get("runbook_url")]
    return {
        "summary": _words(annotations.get("summary")),
        "description": _words(annotations.get("description") or annotations.get("message")),
        "links": _links(links),
        "starts_at": moment(alert.get("startsAt")),
        "ends_at": moment(alert.get("endsAt")),
    }


def _words(text: Any) -> str:
    """Cut, and without what an address hides."""
    return public_text(text[:LONGEST_TOLD]) if isinstance(text, str) else ""


def _links(given: Iterable[Any]) -> tuple[str, ...]:
    links = [public_text(link) for link in given if isinstance(link, str) and LINK.match(link) and len(link) <= LONGEST]
    return tuple(dict.fromkeys(links))[:MOST_LINKS]


def moment(given: Any) -> float | None:
    """RFC 3339, or seconds. The year 1 means none, as Alertmanager says it."""
    if isinstance(given, bool):
        return None
    if isinstance(given, (int, float)):
        return float(given) if 0 < given < MOST_SECONDS else None
    if not isinstance(given, str) or len(given) > LONGEST:
        return None
    try:
        at = datetime.fromisoformat(given)
    except ValueError:
        return None
    if at.year < 1970:
        return None
    return (at if at.tzinfo else at.replace(tzinfo=timezone.utc)).timestamp()


def is_older(sent: SentEvent, known: SentEvent, told_s: float) -> bool:
    """Whether the known word, which came `told_s` seconds ago, has overtaken it. A later "firing" is believed whatever
    its times: what is over by mistake would be lost."""
    if sent.status == FIRING:
        if sent.starts_at is None or told_s >= LATE_S:
            return False
        if known.status == FIRING:
            return known.starts_at is not None and sent.starts_at < known.starts_at
        is_in_it = known.ends_at is not None and sent.starts_at < known.ends_at
        return is_in_it or (known.starts_at is not None and sent.starts_at <= known.starts_at)
    ended = known.starts_at if known.status == FIRING else known.ends_at
    return sent.ends_at is not None and ended is not None and sent.ends_at < ended


def of_own(sent: Any) -> JudgedEvent:
    if not isinstance(sent, dict):
        return JudgedEvent(None, NO_OBJECT)
    wrong = {key[:100]: "is not known here" for key in sent if key not in OWN}
    event = _event(sent, wrong)
    told = _told_by_own(sent, wrong)
    return _judged(None if event is None or wrong else event._replace(**told), wrong)


def _told_by_own(sent: JsonObject, wrong: dict[str, str]) -> JsonObject:
    for key in ("summary", "description"):
        if not isinstance(sent.get(key, ""), str | None):
            wrong[key] = "must be a string"
    for key in ("starts_at", "ends_at"):
        if sent.get(key) is not None and moment(sent[key]) is None:
            wrong[key] = "must be a time"
    links = sent.get("links") or []
    if not isinstance(links, list) or len(_links(links)) < len(links):
        wrong["links"] = f"must be a list of at most {MOST_LINKS} different addresses (http or https)"
    return {
        "summary": _words(sent.get("summary")),
        "description": _words(sent.get("description")),
        "links": () if "links" in wrong else _links(links),
        "starts_at": moment(sent.get("starts_at")),
        "ends_at": moment(sent.get("ends_at")),
    }


def _judged(event: SentEvent | None, wrong: Mapping[str, str]) -> JudgedEvent:
    if not wrong:
        return JudgedEvent(event)
    named = [f"{field} {why}" for field, why in islice(wrong.items(), MOST_NAMED)]
    more = len(wrong) - len(named)
    return JudgedEvent(None, "; ".join(named) + (f"; and {more} more" if more else ""))


def _event(sent: JsonObject, wrong: dict[str, str], *, of_alert: bool = False) -> SentEvent | None:
    """What may be missing may be null."""
    if sent.get("status") not in (FIRING, RESOLVED):
        wrong["status"] = f"must be {FIRING} or {RESOLVED}"
    texts = {key: _text(sent, key, wrong) for key in ("id", "name", "severity", "target")}
    if not texts["id"] and not of_alert and "id" not in wrong:
        wrong["id"] = "is required"
    if not texts["name"] and "name" not in wrong:
        wrong["name"] = "is required: the label alertname" if of_alert else "is required"
    labels, values = _labels(sent.get("labels"), wrong), _values(sent.get("values"), wrong)
    if wrong:
        return None
    fingerprint = texts["id"] or _fingerprint(labels)
    return SentEvent(fingerprint, sent["status"], texts["name"], texts["severity"], texts["target"], labels, values)


def _text(sent: JsonObject, key: str, wrong: dict[str, str]) -> str:
    value = sent.get(key)
    if value is None:
        return ""
    if not isinstance(value, str) or len(value) > LONGEST:
        wrong[key] = STRING
        return ""
    return value


def _labels(given: Any, wrong: dict[str, str]) -> dict[str, str]:
    labels = _entries(given, "labels", "labels", wrong)
    for name, value in labels.items():
        if not isinstance(value, str) or len(value) > LONGEST or len(name) > LONGEST:
            wrong[f"labels.{name[:100]}"] = STRING
    return labels


def _entries(given: Any, key: str, of: str, wrong: dict[str, str]) -> JsonObject:
    if given is None:
        return {}
    if not isinstance(given, dict) or len(given) > MOST_LABELS:
        wrong[key] = f"must be an object of at most {MOST_LABELS} {of}"
        return {}
    return given


def _values(given: Any, wrong: dict[str, str]) -> dict[str, float]:
    """Grafana sends null for a query without a value, and for an alert without values."""
    values = _entries(given, "values", "numbers", wrong)
    for name, value in values.items():
        if value is not None and (isinstance(value, bool) or not isinstance(value, (int, float))):
            wrong[f"values.{name[:100]}"] = "must be a number"
    return {
        name: float(value)
        for name, value in values.items()
        if isinstance(value, (int, float)) and abs(value) <= 1e308 and math.isfinite(value)
    }


def _fingerprint(labels: Mapping[str, str]) -> str:
    """Makes a fingerprint from the labels, for a sender that gives none."""
    return hashlib.sha256(repr(sorted(labels.items())).encode()).hexdigest()[:16]
