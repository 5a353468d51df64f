"""A user as SCIM has it, read from a body, or changed by the operations of a PATCH in the forms that Entra ID and Okta
send. What this service does not keep (titles, addresses, a password) is passed over."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from opsapp.lib.provisioned import ProvisionedEmail, ProvisionedPerson

from .given import GivenObject, ScimRefused, flag_of, rows_of, text_of
from .operations import Operation

TEXTS = {
    "username": "user_name",
    "externalid": "external_id",
    "displayname": "display_name",
    "name.formatted": "formatted",
    "name.givenname": "given_name",
    "name.familyname": "family_name",
}
NAME = "name"
READ_ONLY = frozenset({"id", "meta", "groups", "schemas"})
MOST_EMAILS = 10
TYPED_EMAIL = re.compile(r'emails\[\s*type\s+eq\s+"([\w-]{1,40})"\s*\](?:\.value)?', re.IGNORECASE)
PATH = re.compile(r"[a-z$][\w.:$-]*(\[[^\]]{1,300}\])?(\.[a-z$][\w$-]*)?", re.IGNORECASE)


def person_in(given: GivenObject) -> ProvisionedPerson:
    """All of it: what is left out is nothing."""
    return _changed(ProvisionedPerson(""), _told_in(given))


def patched(person: ProvisionedPerson, operations: list[Operation]) -> ProvisionedPerson:
    for operation in operations:
        if operation.path is None:
            told = _told_in(GivenObject(operation.value, "The value of an operation without a path"))
        else:
            told = _at(operation)
        person = _changed(person, told)
    return person


Told = Iterator[tuple[str, object]]


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
    if path in READ_ONLY:
        raise ScimRefused("mutability", f"{path} is read-only.")
    if path == NAME:
        return _told_in(GivenObject({NAME: _whole_name(operation)}))
    return iter([(path, None if operation.op == "remove" else operation.value)])


def _whole_name(operation: Operation) -> object:
    parts = {path.partition(".")[2]: None for path in TEXTS if path.startswith(NAME + ".")}
    return parts if operation.op == "remove" else operation.value


def _changed(person: ProvisionedPerson, told: Told) -> ProvisionedPerson:
    for path, value in told:
        person = _assigned(person, path, value)
    if not person.user_name:
        raise ScimRefused("invalidValue", "userName is required.")
    return person


def _assigned(person: ProvisionedPerson, path: str, value: object) -> ProvisionedPerson:
    if path in TEXTS:
        told: Any = {TEXTS[path]: text_of(value, path) or ("" if path == "username" else None)}
        return person._replace(**told)
    if path == "active":
        return person._replace(active=value is None or flag_of(value, path))
    if path == "emails":
        return person._replace(emails=_emails(value))
    typed = TYPED_EMAIL.fullmatch(path)
    return person if typed is None else person._replace(emails=_with_email(person.emails, typed[1].lower(), value))


def _emails(value: object) -> tuple[ProvisionedEmail, ...]:
    rows = rows_of(value, "emails")
    if len(rows) > MOST_EMAILS:
        raise ScimRefused("invalidValue", f"emails may have {MOST_EMAILS} entries.")
    read = [(row.text("value"), row.text("type"), row.get("primary")) for row in rows]
    return tuple(
        ProvisionedEmail(address, kind, primary is not None and flag_of(primary, "emails.primary"))
        for address, kind, primary in read
        if address is not None
    )


def _with_email(emails: tuple[ProvisionedEmail, ...], kind: str, value: object) -> tuple[ProvisionedEmail, ...]:
    address = text_of(value, "emails.value")
    others = tuple(email for email in emails if (email.type or "").lower() != kind)
    if address is None:
        return others
    before = next((email for email in emails if (email.type or "").lower() == kind), None)
    email = ProvisionedEmail(address, kind) if before is None else before._replace(value=address)
    if len(others) >= MOST_EMAILS:
        raise ScimRefused("invalidValue", f"emails may have {MOST_EMAILS} entries.")
    return (*others, email)
