"""What other systems send as events: Alertmanager's webhook (version 4), Grafana's, and the service's own form.

Lives here: reading one event that is JSON already, and what is wrong with it by field. Must not: know whose event it
is, or what it leads to.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from itertools import islice
from typing import Any, NamedTuple

from opsapp.lib.jsontypes import JsonObject

FIRING, RESOLVED = "firing", "resolved"
OWN = ("id", "status", "target", "name", "severity", "labels", "values")
MOST_LABELS, LONGEST, MOST_NAMED = 64, 1000, 10
NO_OBJECT = "must be an object"
STRING = f"must be a string of at most {LONGEST} characters"


class SentEvent(NamedTuple):
    """An event as it was sent, whatever its form. `fingerprint` is the sender's name for it."""

    fingerprint: str
    status: str
    name: str
    severity: str
    target: str
    labels: Mapping[str, str]
    values: Mapping[str, float]


class JudgedEvent(NamedTuple):
    """What an entry of a body says; without an event, why it is none."""

    event: SentEvent | None
    why: str = ""


def of_alert(alert: Any) -> JudgedEvent:
    """An alert of Alertmanager's or Grafana's webhook."""
    if not isinstance(alert, dict):
        return JudgedEvent(None, NO_OBJECT)
    known = {key: alert.get(key) for key in ("status", "labels", "fingerprint", "values")}
    labels = known["labels"] if isinstance(known["labels"], dict) else {}
    named = {"name": labels.get("alertname"), "severity": labels.get("severity")}
    wrong: dict[str, str] = {}
    return _judged(_event({**known, **named, "id": known["fingerprint"]}, wrong, of_alert=True), wrong)


def of_own(sent: Any) -> JudgedEvent:
    """An event in the service's own form."""
    if not isinstance(sent, dict):
        return JudgedEvent(None, NO_OBJECT)
    wrong = {key[:100]: "is not known here" for key in sent if key not in OWN}
    return _judged(_event(sent, wrong), wrong)


def _judged(event: SentEvent | None, wrong: Mapping[str, str]) -> JudgedEvent:
    if not wrong:
        return JudgedEvent(event)
    named = [f"{field} {why}" for field, why in islice(wrong.items(), MOST_NAMED)]
    more = len(wrong) - len(named)
    return JudgedEvent(None, "; ".join(named) + (f"; and {more} more" if more else ""))


def _event(sent: JsonObject, wrong: dict[str, str], *, of_alert: bool = False) -> SentEvent | None:
    """The event, unless something is wrong with it. What may be missing may be null too."""
    if sent.get("status") not in (FIRING, RESOLVED):
        wrong["status"] = f"must be {FIRING} or {RESOLVED}"
    texts = {key: _text(sent, key, wrong) for key in ("id", "name", "severity", "target")}
    if not texts["id"] and not of_alert and "id" not in wrong:
        wrong["id"] = "is required"
    if not texts["name"] and "name" not in wrong:
        wrong["name"] = "is required: the label alertname" if of_alert else "is required"
    labels = _labels(sent.get("labels"), wrong)
    values = _values(sent.get("values"), wrong)
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
    if given is None:
        return {}
    if not isinstance(given, dict) or len(given) > MOST_LABELS:
        wrong["labels"] = f"must be an object of at most {MOST_LABELS} labels"
        return {}
    for name, value in given.items():
        if not isinstance(value, str) or len(value) > LONGEST or len(name) > LONGEST:
            wrong[f"labels.{name[:100]}"] = STRING
    return given


def _values(given: Any, wrong: dict[str, str]) -> dict[str, float]:
    """Grafana sends null for a query without a value, and no object at all for an alert without values."""
    if given is None:
        return {}
    if not isinstance(given, dict) or len(given) > MOST_LABELS:
        wrong["values"] = f"must be an object of at most {MOST_LABELS} numbers"
        return {}
    for name, value in given.items():
        if value is not None and (isinstance(value, bool) or not isinstance(value, (int, float))):
            wrong[f"values.{name[:100]}"] = "must be a number"
    return {
        name: float(value)
        for name, value in given.items()
        if isinstance(value, (int, float)) and abs(value) <= 1e308 and math.isfinite(value)
    }


def _fingerprint(labels: Mapping[str, str]) -> str:
    """Of a sender that gives none: the labels are what tells two alerts apart."""
    return hashlib.sha256(repr(sorted(labels.items())).encode()).hexdigest()[:16]
