"""Users, secrets and the audit record, in words."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple
from zoneinfo import ZoneInfo

from opsapp.audit.records import AuditEntry
from opsapp.auth.records import UserShown
from opsapp.automations.records import SecretRecord
from opsapp.ui import sentences
from opsapp.ui.parts import AUTOMATIONS, ENTRIES, INVITED, SECRETS, USERS, names_in
from opsapp.ui.reader import Answers, Reader, TemplateValues, rows_named
from opsapp.ui.sentences import Sentence
from opsapp.ui.words import exact
from opsapp.wire.dataclass import frozen

TIMES = {"since", "until", "start", "end", "time", "expires"}  # fields of entries that hold a moment
PROVIDER = "signs in with the identity provider"
A_DATE = 1_000_000_000  # a figure below it is a duration

MAY = {
    "viewer": "sees everything, changes nothing",
    "operator": "runs automations, decides approvals, plans maintenance",
    "admin": "may do everything, users and settings too",
}


class UserLine(NamedTuple):
    row: UserShown
    about: str


@frozen
class AllowedUse:
    """That an automation may use a secret, for the acts that change it: `id` is that of the secret."""

    id: str
    automation_id: str
    name: str


class SecretLine(NamedTuple):
    row: SecretRecord
    allowed: tuple[AllowedUse, ...]
    lapsed: tuple[AllowedUse, ...]


class AuditLine(NamedTuple):
    sentence: Sentence
    ip: str
    action: str
    changes: tuple[tuple[str, str, str], ...]  # (field, before, after)


def users(answers: Answers, reader: Reader) -> TemplateValues:
    return {"users": [_user(row) for row in answers[USERS]], "invited": answers[INVITED], "may": MAY}


def _user(row: UserShown) -> UserLine:
    factor = "second factor on" if row.totp_enabled else "no second factor"
    sources = {"oidc": PROVIDER, "ldap": f"signs in with the directory, {factor}", "scim": "has not signed in yet"}
    return UserLine(row, sources.get(row.source, factor))


def secrets(answers: Answers, reader: Reader) -> TemplateValues:
    names = {row.id: row.name for row in answers[AUTOMATIONS]}
    return {"secrets": [_secret(row, names) for row in answers[SECRETS]]}


def _secret(row: SecretRecord, names: dict[str, str]) -> SecretLine:
    def uses(ids: tuple[str, ...]) -> tuple[AllowedUse, ...]:
        return tuple(
            AllowedUse(row.id, automation_id, names.get(automation_id, "an automation that is gone"))
            for automation_id in ids
        )

    return SecretLine(row, uses(row.allowed_for), uses(row.lapsed))


def since_asked(reader: Reader, earlier: Answers) -> dict[str, str]:
    """From the day on that the address asks for (`?from=2026-11-01`), by the reader's clock."""
    try:
        day = datetime.strptime(reader.asked("from"), "%Y-%m-%d").replace(tzinfo=ZoneInfo(reader.zone))
        return {"since": str(max(0, int(day.timestamp())))}
    except (ValueError, OverflowError):
        return {}


def named_in_entries(reader: Reader, earlier: Answers) -> dict[str, tuple[str, ...]]:
    return rows_named(entry.target for entry in earlier[ENTRIES])


def audit(answers: Answers, reader: Reader) -> TemplateValues:
    names = names_in(answers) | {row.id: row.name for row in answers[AUTOMATIONS]}
    return {
        "lines": [_line(entry, names, reader.zone) for entry in answers[ENTRIES]],
        "since": reader.asked("from") if since_asked(reader, answers) else "",
    }


def _line(entry: AuditEntry, names: dict[str, str], zone: str) -> AuditLine:
    before, after = (told if isinstance(told, dict) else {} for told in (entry.before, entry.after))
    fields = sorted({*before, *after} - (sentences.COUNTED if after.keys() == sentences.COUNTED else set()))
    changes = tuple((name, *(_short(values.get(name), name, zone) for values in (before, after))) for name in fields)
    changed = tuple(change for change in changes if change[1] != change[2])
    return AuditLine(sentences.audit(entry, names), entry.ip or "", entry.action, changed)


def _short(value: object, name: str, zone: str) -> str:
    if value is None or value in ([], {}):
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(_short(item, name, zone) for item in value)
    if isinstance(value, dict):
        return "; ".join(f"{field}: {_short(part, field, zone)}" for field, part in sorted(value.items()))
    if isinstance(value, int | float) and (name in TIMES or name.endswith("_at")) and value > A_DATE:
        return exact(value, zone)
    return str(value)
