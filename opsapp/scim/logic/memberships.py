"""A group as SCIM has it, and what the operations of a PATCH do to it. Only who joins and who leaves is told: a group
of thousands is never written anew. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import replace

from opsapp.lib.provisioned import GroupName
from opsapp.wire.dataclass import frozen

from .given import GivenObject, ScimRefused, rows_of, text_of, unquoted
from .operations import READ_ONLY, Operation, refuse_read_only

MEMBERS = "members"
ONE_MEMBER = re.compile(r'members\[\s*value\s+eq\s+("(?:[^"\\]|\\.)*")\s*\]')


@frozen
class GroupChange:
    """The ids of who is to be in it, and of who is not; of the others nothing is said."""

    name: GroupName
    joining: frozenset[str] = frozenset()
    leaving: frozenset[str] = frozenset()

    def with_(self, member_ids: Collection[str]) -> GroupChange:
        return replace(self, joining=self.joining | set(member_ids), leaving=self.leaving - set(member_ids))

    def without(self, member_ids: Collection[str]) -> GroupChange:
        return replace(self, joining=self.joining - set(member_ids), leaving=self.leaving | set(member_ids))


def group_in(given: GivenObject) -> GroupChange:
    return GroupChange(_named(given.text("displayName"), given.text("externalId")), _ids(given.get(MEMBERS)))


def patched(name: GroupName, members: Collection[str], operations: list[Operation]) -> GroupChange:
    change = GroupChange(name)
    for operation in operations:
        if operation.path:
            refuse_read_only(operation.path)
            told = [(operation.path, operation.value)]
        else:
            told = list(GivenObject(operation.value, "The value"))
        for path, value in told:
            change = _applied(change, members, operation.op, path, value)
    return change


def _applied(change: GroupChange, members: Collection[str], op: str, path: str, value: object) -> GroupChange:
    match = ONE_MEMBER.fullmatch(path)
    if match is not None and op == "remove":
        return change.without([unquoted(match[1])])
    if path == MEMBERS:
        return _members_changed(change, members, op, value)
    if path in ("displayname", "externalid"):
        return replace(change, name=_renamed(change.name, path, None if op == "remove" else text_of(value, path)))
    if path in READ_ONLY:  # Okta sends the id with the name
        return change
    raise ScimRefused("invalidPath", "A group has displayName, externalId and members.")


def _members_changed(change: GroupChange, members: Collection[str], op: str, value: object) -> GroupChange:
    ids = _ids(value)
    if op == "add":
        return change.with_(ids)
    if op == "remove" and value is not None:
        return change.without(ids)
    return change.without({*members, *change.joining}).with_(ids if op == "replace" else ())


def _renamed(name: GroupName, path: str, text: str | None) -> GroupName:
    return _named(text, name.external_id) if path == "displayname" else name._replace(external_id=text)


def _named(name: str | None, external_id: str | None) -> GroupName:
    if name is None:
        raise ScimRefused("invalidValue", "displayName is required.")
    return GroupName(name, external_id)


def _ids(value: object) -> frozenset[str]:
    ids = [row.text("value") for row in rows_of(value, MEMBERS)]
    if None in ids:
        raise ScimRefused("invalidValue", "An entry of members needs a value: the id of a user.")
    return frozenset(member_id for member_id in ids if member_id is not None)
