"""One's own settings, the service as a whole, and the first steps of a fresh installation."""

from __future__ import annotations

import json
from typing import NamedTuple

from opsapp.agents.records import AgentRow
from opsapp.auth.records import KeyShown, OwnSettings
from opsapp.lib.jsontypes import JsonObject
from opsapp.monitoring.records import MonitorRecord
from opsapp.notify.records import ChannelRecord
from opsapp.runtime.ascode.kinds import Document
from opsapp.ui.parts import (
    AGENTS,
    CHANNELS,
    CONFIGURED,
    DOCTOR,
    HEALTH,
    KEYS,
    MONITORS,
    OWN,
    PUBLISHED,
    SERVICE,
    SESSIONS,
    STORE,
)
from opsapp.ui.reader import Answers, Reader, TemplateValues
from opsapp.web.records import ChangeRecord
from opsapp.wire.records import plain

SIGNS = {"create": "+", "update": "~", "delete": "−"}
LEVELS = {"ok": "ok", "warn": "warn", "fail": "bad"}
ORDER = ("fail", "warn", "ok")
TO_TEXT = json.JSONEncoder(ensure_ascii=False).encode
MOST_YAML = 200  # of more things than that, each is one line of the document
FOLDED = 50  # of each kind
UNITS = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))


class FirstStep(NamedTuple):
    name: str
    title: str
    done: bool
    words: str
    href: str = ""
    link: str = ""


class DocumentChange(NamedTuple):
    sign: str
    words: str
    fields: tuple[tuple[str, str, str], ...]


def settings(answers: Answers, reader: Reader) -> TemplateValues:
    own = answers[OWN]
    return {
        "own": own,
        "row": plain(own) | {"timezone": own.timezone or ""},
        "mine": answers[SESSIONS],
        "keys": [(row, f"{_kind_of(row)}, made by {row.username}") for row in answers[KEYS]],
        "local": own.source == "local",
        "factor_here": own.source != "oidc",
    }


def _kind_of(row: KeyShown) -> str:
    return "for an assistant: reads and proposes" if row.assistant else row.role


def factor(answers: Answers, reader: Reader) -> TemplateValues:
    return {"is_on": answers[OWN].totp_enabled}


# -- the service


def service(answers: Answers, reader: Reader) -> TemplateValues:
    findings = sorted(answers[DOCTOR].findings, key=lambda finding: ORDER.index(finding.level))
    configured, store = answers[CONFIGURED], answers[STORE]
    return {
        "findings": [(LEVELS[finding.level], finding.what, finding.said) for finding in findings],
        "unwell": sum(finding.level != "ok" for finding in findings),
        "changed": [row for row in configured.settings if row.changed],
        "usual": [row for row in configured.settings if not row.changed],
        "from_file": configured.from_file,
        "store": store,
        "sizes": [(name, size_of(number)) for name, number in store.sizes.items()],
        "health": answers[HEALTH],
        "status": answers[SERVICE],
    }


def size_of(number: float) -> str:
    for size, unit in UNITS:
        if number >= size:
            return f"{number / size:.1f} {unit}"
    return f"{number:g} bytes"


class FoldedKind(NamedTuple):
    """`entries`: of each its name and its text."""

    name: str
    total: int
    entries: tuple[tuple[str, str], ...]


def as_code(answers: Answers, reader: Reader) -> TemplateValues:
    document = answers["export"]
    return {
        "row": {"document": document_text(document), "prune": "false"},
        "kinds": [folded(kind, entries) for kind, entries in document.items() if entries],
        "most": FOLDED,
        "said_change": change_words,
    }


def folded(kind: str, entries: list[JsonObject]) -> FoldedKind:
    """The first of them, each folded away."""
    shown = tuple((_name_in(entry) or kind, yaml_text([entry])) for entry in entries[:FOLDED])
    return FoldedKind(kind, len(entries), shown)


def _name_in(entry: JsonObject) -> str:
    return next((str(entry[field]) for field in ("name", "id", "title", "target", "username") if entry.get(field)), "")


def yaml_text(value: object) -> str:
    """As `opsapp export` writes it; by the library in C, where there is one."""
    import yaml  # 0.7 MB, for the pages that show a document

    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    return yaml.dump(value, Dumper=dumper, sort_keys=False, allow_unicode=True, width=100)


def document_text(document: Document) -> str:
    """The document as a text to read and change. Of many things, each is one line of JSON: YAML would take too long."""
    rows = sum(len(value) for value in document.values() if isinstance(value, list))
    if rows <= MOST_YAML:
        return yaml_text({kind: entries for kind, entries in document.items() if entries})
    parts = [f"  {json.dumps(name)}: {_lines(value)}" for name, value in document.items()]
    return "{\n" + ",\n".join(parts) + "\n}"


def _lines(value: object) -> str:
    if not isinstance(value, list) or not value:
        return json.dumps(value, ensure_ascii=False)
    return "[\n    " + ",\n    ".join(map(TO_TEXT, value)) + "\n  ]"


def change_words(change: ChangeRecord) -> DocumentChange:
    before, after = change.before, change.after
    fields = tuple(
        (name, json.dumps(before.get(name)), json.dumps(after.get(name)))
        for name in sorted({*before, *after})
        if before.get(name) != after.get(name)
    )
    return DocumentChange(SIGNS[change.change], f"{change.change} {change.kind}: {change.key}", fields)


# -- first steps


def first_steps(answers: Answers, reader: Reader) -> TemplateValues:
    """What a fresh installation needs, in order; only what its reader may do."""
    own, channels = answers[OWN], answers.known(CHANNELS)
    monitors, hosts = answers[MONITORS], answers[AGENTS]
    steps = [_password(own)]
    if channels is not None:
        steps.append(_channel(channels))
    if reader.may("POST /api/monitoring/endpoints"):
        steps.append(_monitor(monitors))
    if reader.may("POST /api/agents"):
        steps.append(_host(hosts))
    if reader.may("PUT /api/monitoring/endpoints/{id}"):
        steps.append(_status_page(answers[PUBLISHED], monitors))
    left = [step for step in steps if not step.done]
    return {
        "steps": steps,
        "left": len(left),
        "next": left[0].name if left else "",
        "put_away": own.first_steps == "later",
        "local": own.source == "local",
    }


def _password(own: OwnSettings) -> FirstStep:
    words = "Only you know it." if own.own_password else "Somebody else, or the service, chose the present one."
    return FirstStep("password", "A password of your own", own.own_password, words)


def _channel(channels: list[ChannelRecord]) -> FirstStep:
    works = [channel for channel in channels if channel.last_sent_at and not channel.last_error]
    title = "A channel for notifications"
    if works:
        return FirstStep("channel", title, True, f"The channel {works[0].name} works.", "/notifications", "Channels")
    if channels:
        first = channels[0]
        words = f"The channel {first.name} has not delivered a message yet: send a test."
        return FirstStep("channel", title, False, words, f"/notifications/channels/{first.id}", "Send a test")
    words = "Mail, chat, a phone: without a channel nobody hears of a failure."
    return FirstStep("channel", title, False, words, "/notifications/new", "Add a channel")


def _monitor(monitors: list[MonitorRecord]) -> FirstStep:
    title = "A monitor"
    if monitors:
        words = f"{monitors[0].name} is watched." if len(monitors) == 1 else f"{len(monitors)} monitors are set up."
        return FirstStep("monitor", title, True, words, "/monitors", "Monitors")
    words = "A web address, a port, a certificate. You can check it before you save it."
    return FirstStep("monitor", title, False, words, "/monitors/new", "Add a monitor")


def _host(hosts: list[AgentRow]) -> FirstStep:
    title = "A host that reports"
    seen = [host for host in hosts if host.last_seen]
    if seen:
        return FirstStep("host", title, True, f"{seen[0].name} reports.", "/agents", "Hosts")
    if hosts:
        words = f"Waiting for the first report of {hosts[0].name}."
        return FirstStep("host", title, False, words, f"/agents/{hosts[0].id}", "How to install it")
    words = "One command on the host installs the agent: then opsapp sees its load and disks, and can heal it."
    return FirstStep("host", title, False, words, "/agents/add", "Add a host")


def _status_page(published: list[MonitorRecord], monitors: list[MonitorRecord]) -> FirstStep:
    title = "A status page for others"
    if published:
        return FirstStep("status", title, True, "Visitors see the status without signing in.", "/status", "Status page")
    if len(monitors) == 1:
        only = monitors[0]
        words = f"Give {only.name} the tag public, and visitors see it without signing in."
        return FirstStep("status", title, False, words, f"/monitors/{only.id}/edit", "Give it the tag")
    words = "Give a monitor the tag public, and visitors see it without signing in."
    return FirstStep("status", title, False, words, "/monitors", "Choose a monitor")
