"""What other systems send as events: Alertmanager's webhook (version 4), Grafana's, and the service's own form.

Lives here: reading a body that is JSON already, and what is wrong with it by field. Must not: know whose event it is,
or what it leads to.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from opsapp.lib.jsontypes import JsonObject

FIRING, RESOLVED = "firing", "resolved"
OWN = ("id", "status", "target", "name", "severity", "labels", "values")
MOST_ALERTS, MOST_LABELS, LONGEST = 1000, 64, 1000
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


class SentEvents(NamedTuple):
    """What a body says. With `wrong`, by field, nothing of it counts."""

    events: tuple[SentEvent, ...] = ()
    wrong: Mapping[str, str] = {}


def read(body: JsonObject) -> SentEvents:
    """A body with `alerts` is Alertmanager's or Grafana's; any other is one event in the service's own form."""
    return _alerts(body["alerts"]) if "alerts" in body else _own(body)


def _alerts(alerts: Any) -> SentEvents:
    if not isinstance(alerts, list) or len(alerts) > MOST_ALERTS:
        return SentEvents(wrong={"alerts": f"must be a list of at most {MOST_ALERTS} alerts"})
    wrong: dict[str, str] = {}
    events = [_alert(alert, f"alerts.{place}", wrong) for place, alert in enumerate(alerts)]
    return SentEvents((), wrong) if wrong else SentEvents(tuple(event for event in events if event is not None))


def _alert(alert: Any, path: str, wrong: dict[str, str]) -> SentEvent | None:
    if not isinstance(alert, dict):
        wrong[path] = "must be an object"
        return None
    known = {key: alert.get(key) for key in ("status", "labels", "fingerprint", "values")}
    labels = known["labels"] if isinstance(known["labels"], dict) else {}
    named = {"name": labels.get("alertname"), "severity": labels.get("severity")}
    return _event({**known, **named, "id": known["fingerprint"]}, f"{path}.", wrong, optional=("id",))


def _own(body: JsonObject) -> SentEvents:
    wrong = {key: "is not known here" for key in body if key not in OWN}
    event = _event(body, "", wrong)
    return SentEvents((), wrong) if wrong or event is None else SentEvents((event,))


def _event(sent: JsonObject, path: str, wrong: dict[str, str], optional: tuple[str, ...] = ()) -> SentEvent | None:
    """The event, unless something is wrong with it. What may be missing may be null too."""
    before = len(wrong)
    if sent.get("status") not in (FIRING, RESOLVED):
        wrong[f"{path}status"] = f"must be {FIRING} or {RESOLVED}"
    texts = {key: _text(sent, key, path, wrong) for key in ("id", "name", "severity", "target")}
    if not texts["id"] and "id" not in optional and f"{path}id" not in wrong:
        wrong[f"{path}id"] = "is required"
    if not texts["name"] and f"{path}name" not in wrong:
        wrong[f"{path}name"] = "is required" if not path else "is required: the label alertname"
    labels = _labels(sent.get("labels"), f"{path}labels", wrong)
    values = _values(sent.get("values"), f"{path}values", wrong)
    if len(wrong) > before:
        return None
    fingerprint = texts["id"] or _fingerprint(labels)
    return SentEvent(fingerprint, sent["status"], texts["name"], texts["severity"], texts["target"], labels, values)


def _text(sent: JsonObject, key: str, path: str, wrong: dict[str, str]) -> str:
    value = sent.get(key)
    if value is None:
        return ""
    if not isinstance(value, str) or len(value) > LONGEST:
        wrong[f"{path}{key}"] = STRING
        return ""
    return value


def _labels(given: Any, path: str, wrong: dict[str, str]) -> dict[str, str]:
    if given is None:
        return {}
    if not isinstance(given, dict) or len(given) > MOST_LABELS:
        wrong[path] = f"must be an object of at most {MOST_LABELS} labels"
        return {}
    for name, value in given.items():
        if not isinstance(value, str) or len(value) > LONGEST or len(name) > LONGEST:
            wrong[f"{path}.{name[:100]}"] = STRING
    return given


def _values(given: Any, path: str, wrong: dict[str, str]) -> dict[str, float]:
    """Grafana sends null for a query without a value, and no object at all for an alert without values."""
    if given is None:
        return {}
    if not isinstance(given, dict) or len(given) > MOST_LABELS:
        wrong[path] = f"must be an object of at most {MOST_LABELS} numbers"
        return {}
    for name, value in given.items():
        if value is not None and (isinstance(value, bool) or not isinstance(value, (int, float))):
            wrong[f"{path}.{name[:100]}"] = "must be a number"
    return {
        name: float(value)
        for name, value in given.items()
        if isinstance(value, (int, float)) and abs(value) <= 1e308 and math.isfinite(value)
    }


def _fingerprint(labels: Mapping[str, str]) -> str:
    """Of a sender that gives none: the labels are what tells two alerts apart."""
    return hashlib.sha256(repr(sorted(labels.items())).encode()).hexdigest()[:16]
