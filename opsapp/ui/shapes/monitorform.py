"""The form of a monitor: the fields of its type, what stands in them, which hosts there are."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from opsapp.lib.durations import in_words
from opsapp.lib.jsontypes import JsonObject
from opsapp.monitoring.engine import ADMINS_WRITE, GeneralSettings, MonitorSettings
from opsapp.monitoring.records import MonitorRecord
from opsapp.ui.choices import PickOption
from opsapp.ui.parts import AGENTS, MONITOR
from opsapp.ui.reader import Answers, Reader, TemplateValues
from opsapp.wire.monitortypes import TYPES, MonitorType
from opsapp.wire.records import FormField, settings_in

USUAL = "http"
WEB = (
    "expected_status", "accepted_statuses", "method", "headers", "body", "content_type", "follow_redirects",
    "max_redirects", "verify_tls",
)  # fmt: skip
TIMES = ("interval", "timeout", "retries", "degraded_ms")
PROBED = ("ip_family",)
BY_AGENTS = ("probe_from", "quorum")
CERTIFICATE = ("certificate_warn_days",)
PLACED = {
    *WEB,
    *TIMES,
    *PROBED,
    *BY_AGENTS,
    *CERTIFICATE,
    "tags",
    "agent_id",
}  # what stands where its type has it; each other field is for all
EVERYWHERE = tuple(
    part.name for part in settings_in(GeneralSettings) if part.mark(FormField) is not None and part.name not in PLACED
)
ADMIN = "admin"
KINDS = {part.name: form.kind for part in settings_in(MonitorSettings) if (form := part.mark(FormField)) is not None}


class FormKind(NamedTuple):
    name: str
    about: str
    address: str  # what its address looks like; empty: it has none
    first: tuple[str, ...]  # the fields that one must think of
    more: tuple[str, ...]  # those that have a sound value already


def kind_of(declared: MonitorType) -> FormKind:
    place = ("url",) if declared.address else ()
    looks = TIMES if declared.is_probed else ("interval",)
    beside = (*(PROBED if declared.is_probed else ()), *(BY_AGENTS if declared.by_agents else ()))
    host = ("agent_id",)
    web = WEB if declared.is_web else ()
    ends = CERTIFICATE if declared.shows_certificate else ()
    return FormKind(
        declared.name,
        declared.about,
        declared.address,
        ("name", *place, *(part.name for part in declared.own_parts), *(host if declared.on_host else ())),
        (*looks, *web, *ends, "tags", *EVERYWHERE, *(() if declared.on_host else host), *beside),
    )


def may_write(type_name: str, reader: Reader) -> bool:
    return reader.role == ADMIN or not TYPES[type_name].on_host


def new(answers: Answers, reader: Reader) -> TemplateValues:
    asked = reader.query.get("type", USUAL)
    kind = asked if asked in TYPES else USUAL
    return _form(answers, reader, {"type": kind}, "create", "Add a monitor") | {"back": "/monitors", "choose": True}


def clone(answers: Answers, reader: Reader) -> TemplateValues:
    monitor = answers[MONITOR]
    stored = _stored(monitor) | {"name": f"{monitor.name} (copy)"[:200]}
    title = f"Clone {monitor.name}"
    return _form(answers, reader, stored, "create", title) | {"back": f"/monitors/{monitor.id}", "choose": False}


def edit(answers: Answers, reader: Reader) -> TemplateValues:
    monitor = answers[MONITOR]
    title = f"Edit {monitor.name}"
    return _form(answers, reader, _stored(monitor), "save", title) | {
        "back": f"/monitors/{monitor.id}",
        "choose": False,
    }


def _form(answers: Answers, reader: Reader, stored: JsonObject, act: str, title: str) -> TemplateValues:
    hosts = [PickOption(host.id, host.hostname, host.status) for host in answers[AGENTS]]
    return {
        "title": title,
        "act_name": act,
        "kinds": {name: kind_of(declared) for name, declared in TYPES.items()},
        "offered": [name for name in TYPES if may_write(name, reader)],
        "may_write": may_write(stored["type"], reader),
        "for_admins": [] if reader.role == ADMIN else ADMINS_WRITE,
        "stored": stored,
        "hosts": hosts,
    }


def _stored(monitor: MonitorRecord) -> JsonObject:
    return {name: _text(kind, getattr(monitor, name)) for name, kind in KINDS.items()}


def _text(kind: str, value: Any) -> Any:
    if kind == "picks":
        return value
    if kind == "duration" and isinstance(value, int | float):
        return in_words(value)
    if kind == "json":
        return "" if value in (None, {}) else json.dumps(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if kind == "lines" and value:
        return "\n".join(value)
    if isinstance(value, tuple):
        return ", ".join(value)
    return "" if value is None else str(value)
