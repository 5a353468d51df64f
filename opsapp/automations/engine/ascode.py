"""Automations as code (`opsapp.runtime.ascode`). Those that others are made of are called by their names there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from opsapp.automations.logic.settings import AutomationSettings
from opsapp.automations.resources import automations_of
from opsapp.lib.addresses import public, restored_fields
from opsapp.lib.jsontypes import JsonObject
from opsapp.lib.problems import Invalid
from opsapp.runtime.ascode.kinds import CREATE, EntryChange, EntryMistake, StoredEntry
from opsapp.runtime.node import Node
from opsapp.tree.root import Root
from opsapp.wire.records import made

from . import edits

BY = "code"
RECORD = AutomationSettings


def stored(_node: Node, root: Root) -> Iterator[StoredEntry]:
    """Parts before what is made of them, so that applying the document finds them."""
    known = automations_of(root)
    names = {automation.id: automation.name for automation in known.whole()}
    done: set[str] = set()

    def walk(automation: Any) -> Iterator[Any]:
        if automation.id in done:
            return
        done.add(automation.id)
        for part in automation.params.children:
            if part in known:
                yield from walk(known[part])
        yield automation

    for first in sorted(known.whole(), key=lambda automation: (automation.created_at, automation.id)):
        for automation in walk(first):
            named = automation.settings.with_children(names.get(part, part) for part in automation.params.children)
            yield StoredEntry(automation.id, named.stored())


def complete(_node: Node, _root: Root, given: JsonObject, present: JsonObject | None) -> JsonObject:
    return edits.complete(made(AutomationSettings, restored_fields(given, present))).stored()


shown = public


def create(node: Node, root: Root, entry: AutomationSettings) -> str:
    settings = edits.whole(root, _with_ids(root, entry), secrets_later=True)
    return edits.create(root, settings, BY, node.clock.now()).id


def update(node: Node, root: Root, automation_id: str, entry: AutomationSettings) -> None:
    editor, now = edits.Editor(BY, is_admin=True), node.clock.now()  # whoever may apply a file is an admin
    automation = automations_of(root)[automation_id]
    settings = edits.with_changes(root, automation, _with_ids(root, entry), secrets_later=True)
    edits.update(root, automation, settings, editor, now)


def delete(node: Node, root: Root, automation_id: str) -> None:
    edits.remove(root, automations_of(root)[automation_id], node.clock.now())


def settled(_node: Node, root: Root, changes: Sequence[EntryChange]) -> dict[str, EntryMistake]:
    """Secrets of the same document are there by now, and know for which automations they are."""
    wrong: dict[str, EntryMistake] = {}
    for change in changes:
        if change.change == CREATE or "params" in change.after or change.secrets:
            refused = edits.refused_secret(root, automations_of(root)[change.id].params, change.id)
            if refused is not None:
                wrong[change.key] = EntryMistake("params", f"{refused}, or a document's secret names it in allowed_for")
    return wrong


def _with_ids(root: Root, settings: AutomationSettings) -> JsonObject:
    """Names of automations become ids; a name that several have, or none, is refused."""
    ids: dict[str, list[str]] = {}
    for automation in automations_of(root).whole():
        ids.setdefault(automation.name, []).append(automation.id)
    named, wrong = list[str](), dict[str, str]()
    for part in settings.params.children:
        matches = ids.get(part, [part] if part in automations_of(root) else [])
        if len(matches) != 1:
            wrong["params"] = f"there is no automation {part!a}" if not matches else f"several are called {part!a}"
        named.append(matches[0] if matches else part)
    if wrong:
        raise Invalid(wrong)
    return settings.with_children(named).stored()
