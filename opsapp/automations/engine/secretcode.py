"""Secrets as code (`opsapp.runtime.ascode`), by name. A value is compared and never shown; it is best a reference.

`allowed_for` names automations, which the same document may make: they are looked up when all is there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from opsapp.audit.engine import Actor
from opsapp.automations.records import SecretAsCode
from opsapp.automations.resources import Secret, automations_of, reveal, secrets_of
from opsapp.lib.addresses import HIDDEN, restored_settings
from opsapp.lib.jsontypes import JsonObject
from opsapp.lib.problems import Invalid
from opsapp.runtime.ascode.kinds import EntryChange, EntryMistake, StoredEntry
from opsapp.runtime.node import Node
from opsapp.tree.root import Root
from opsapp.wire.records import made, settings_of

BY = "code"


def stored(_node: Node, root: Root) -> Iterator[StoredEntry]:
    for secret_id, said in _hidden(root):
        yield StoredEntry(secret_id, settings_of(replace(said, value=reveal(root, [said.name])[said.name])))


def exported(_node: Node, root: Root) -> Iterator[JsonObject]:
    """Without opening any."""
    return (settings_of(said) for _, said in _hidden(root))


def _hidden(root: Root) -> Iterator[tuple[str, SecretAsCode]]:
    """Ids and secrets without their values, by name."""
    names = _names(root)
    for secret in sorted(secrets_of(root).whole(), key=lambda secret: secret.name):
        allowed = sorted(names[known] for known in secret.allowed_for if known in names)
        yield secret.__name__, SecretAsCode(secret.name, HIDDEN, tuple(allowed))


def complete(_node: Node, root: Root, given: JsonObject, present: JsonObject | None) -> JsonObject:
    fields, names = settings_of(made(SecretAsCode, given)), _names(root)
    allowed = sorted(names.get(known, known) for known in made(SecretAsCode, given).allowed_for)
    if fields["value"] is None and present is None:
        raise Invalid({"value": "is required: there is no such secret yet"})
    if fields["value"] is None:
        fields["value"] = present and present["value"]
    return {**restored_settings(SecretAsCode, fields, present), "allowed_for": allowed}


def create(node: Node, root: Root, entry: SecretAsCode, actor: Actor) -> str:
    by = actor.username or BY
    return secrets_of(root).add(root, entry.name, entry.value or "", by, node.clock.now()).__name__


def update(node: Node, root: Root, secret_id: str, entry: SecretAsCode, actor: Actor) -> None:
    secret = secrets_of(root)[secret_id]
    if reveal(root, [secret.name])[secret.name] != entry.value:
        secret.put(root, entry.value or "", actor.username or BY, node.clock.now())


def delete(_node: Node, root: Root, secret_id: str, _actor: Actor) -> None:
    secrets_of(root).remove(secrets_of(root)[secret_id])


def settled(_node: Node, root: Root, changes: Sequence[EntryChange]) -> dict[str, EntryMistake]:
    """The automations that may use them."""
    wrong: dict[str, EntryMistake] = {}
    ids = {name: known for known, name in _names(root).items()}
    for change in changes:
        unknown = [name for name in change.after.get("allowed_for") or () if name not in ids]
        if unknown:
            text = "no automation, or several, of this name: " + ", ".join(unknown)
            wrong[change.key] = EntryMistake("allowed_for", text)
        elif "allowed_for" in change.after:
            _allow(secrets_of(root)[change.id], [ids[name] for name in change.after["allowed_for"] or ()])
    return wrong


def _allow(secret: Secret, ids: Sequence[str]) -> None:
    for automation_id in (*secret.allowed_for, *secret.lapsed):
        secret.take_back(automation_id)
    for automation_id in ids:
        secret.allow(automation_id)


def _names(root: Root) -> dict[str, str]:
    """Names by id. Where several automations share a name, the id is the name."""
    names = {automation.id: automation.name for automation in automations_of(root).whole()}
    called = Counter(names.values())
    return {known: name if called[name] == 1 else known for known, name in names.items()}
