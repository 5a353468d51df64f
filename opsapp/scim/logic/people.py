"""A user as SCIM has it, read from a body, or changed by the operations of a PATCH in the forms that Entra ID and Okta
send. What this service does not keep (titles, addresses, a password) is passed over."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from opsapp.lib.provisioned import ProvisionedEmail, ProvisionedPerson

from .given import GivenObject, ScimRefused, flag_of, rows_of, text_of, unquoted
from .operations import READ_ONLY, Operation, refuse_read_only

TEXTS = {
    "username": "user_name",
    "externalid": "external_id",
    "displayname": "display_name",
    "name.formatted": "formatted",
    "name.givenname": "given_name",
    "name.familyname": "family_name",
}
NAME = "name"
MOST_EMAILS = 10
# Entra ID sends the type, others what else an entry has.
SOME_EMAILS = re.compile(
    r'emails\[\s*(type|value|primary)\s+eq\s+("(?:[^"\\]|\\.)*"|true|false)\s*\](?:\.value)?', re.IGNORECASE
)
PATH = re.compile(r"[a-z$][\w.:$-]*(\[[^\]]{1,300}\])?(\.[a-z$][\w$-]*)?", re.IGNORECASE)


def person_in(given: GivenObject) -> ProvisionedPerson:
    """All of it: what is left out is nothing."""
    return _changed(ProvisionedPerson(""), "replace", _told_in(given))


def patched(person: ProvisionedPerson, operations: list[Operation]) -> ProvisionedPerson:
    for operation in operations:
        if operation.path is None:
            told = _told_in(GivenObject(operation.value, "The value of an operation without a path"))
        else:
            told = _at(operation)
        person = _changed(person, operation.op, told)
    return person


Told = Iterator[tuple[str, object]]
Emails = tuple[ProvisionedEmail, ...]


def _told_in(given: GivenObject) -> Told:
    """By their paths; `"name.givenName": …` in a value means what the path does (Entra ID)."""
    for name, value in given:
        if name == NAME:
            inner = GivenObject({} if value is None else value, NAME)
            yield from ((f"{NAME}.{part}", text) for part, text in inner)
        elif name not in READ_ONLY:  # who sends a whole user back sends these as well
            yield name, value


def _at(operation: Operation) -> Told:
    path = operation.path or ""
    if not PATH.fullmatch(path):
        raise ScimRefused("invalidPath", "The path of an operation cannot be read.")
    refuse_read_only(path)
    if path == NAME:
        return _told_in(GivenObject({NAME: _whole_name(operation)}))
    return iter([(path, None if operation.op == "remove" else operation.value)])


def _whole_name(operation: Operation) -> object:
    parts = {path.partition(".")[2]: None for path in TEXTS if path.startswith(NAME + ".")}
    return parts if operation.op == "remove" else operation.value


def _changed(person: ProvisionedPerson, op: str, told: Told) -> ProvisionedPerson:
    for path, value in told:
        person = _assigned(person, op, path, value)
    if not person.user_name:
        raise ScimRefused("invalidValue", "userName is required.")
    return person


def _assigned(person: ProvisionedPerson, op: str, path: str, value: object) -> ProvisionedPerson:
    if path in TEXTS:
        told: Any = {TEXTS[path]: text_of(value, path) or ("" if path == "username" else None)}
        return person._replace(**told)
    if path == "active":
        return person._replace(active=value is None or flag_of(value, path))
    if path == "emails":
        wanted = _emails(value)
        return person._replace(emails=_limited(_joined(person.emails, wanted) if op == "add" else wanted))
    if path.startswith(("emails[", "emails.")):
        return person._replace(emails=_limited(_with_some(person.emails, path, value)))
    return person


def _limited(emails: Emails) -> Emails:
    if len(emails) > MOST_EMAILS:
        raise ScimRefused("invalidValue", f"emails may have {MOST_EMAILS} entries.")
    return emails


def _emails(value: object) -> Emails:
    read = [(row.text("value"), row.text("type"), row.get("primary")) for row in rows_of(value, "emails")]
    return tuple(
        ProvisionedEmail(address, kind, primary is not None and flag_of(primary, "emails.primary"))
        for address, kind, primary in read
        if address is not None
    )


def _joined(emails: Emails, more: Emails) -> Emails:
    """An address is there once, and at most one is the primary one: the newest."""
    addresses, primary = {email.value for email in more}, any(email.primary for email in more)
    others = (email for email in emails if email.value not in addresses)
    return (*(email._replace(primary=email.primary and not primary) for email in others), *more)


def _with_some(emails: Emails, path: str, value: object) -> Emails:
    """Those that a filter names get another address, or go. Entra ID replaces one of a type that is not there yet."""
    match = SOME_EMAILS.fullmatch(path)
    if match is None:
        raise ScimRefused("invalidFilter", 'Name entries of emails by type, value or primary: emails[type eq "…"].')
    attribute, wanted = match[1].lower(), unquoted(match[2].lower())
    some = [email for email in emails if str(getattr(email, attribute)).lower() == wanted.lower()]
    address = text_of(value.get("value") if isinstance(value, dict) else value, "emails.value")
    if address is None:
        return tuple(email for email in emails if email not in some)
    if some:
        return tuple(email._replace(value=address) if email in some else email for email in emails)
    if attribute != "type":
        raise ScimRefused("noTarget", f"There is no such entry: {path}")
    return (*emails, ProvisionedEmail(address, wanted))
