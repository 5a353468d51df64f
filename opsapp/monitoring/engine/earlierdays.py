"""Earlier days of monitors as code (`opsapp.runtime.ascode`): an entry for each monitor that has any, by its name.

Must not: take days for a name that several monitors have.
"""

from __future__ import annotations

from collections.abc import Iterator

from opsapp.lib.jsontypes import JsonObject
from opsapp.lib.problems import Invalid
from opsapp.monitoring.earlier import EarlierDays, EarlierDaysAsCode, day_of, earlier_of, forget
from opsapp.monitoring.names import ids_by_name, names_by_id
from opsapp.runtime.ascode.kinds import StoredEntry, looked_up
from opsapp.runtime.node import Node
from opsapp.tree.root import Root
from opsapp.wire.records import made, settings_of


def stored(_node: Node, root: Root) -> Iterator[StoredEntry]:
    """No monitor is read where none has any: most services have imported nothing."""
    folder = earlier_of(root)
    if folder is None or not folder.tree:
        return
    names = names_by_id(root)
    for monitor_id, kept in folder.items():
        if monitor_id in names:
            yield StoredEntry(monitor_id, settings_of(EarlierDaysAsCode(names[monitor_id], kept.days)))


def complete(_node: Node, root: Root, given: JsonObject, _present: JsonObject | None) -> JsonObject:
    entry = made(EarlierDaysAsCode, given)
    _id_of(root, entry.monitor)
    return settings_of(entry)


def shown(fields: JsonObject) -> JsonObject:
    """A summary for the diff and the audit, without each day."""
    days = fields["days"]
    up, down = (sum(day_of(day)[1][part] for day in days) for part in (0, 1))
    spent = f"{up // 1000} s up, {down // 1000} s down"
    return {"monitor": fields["monitor"], "days": f"{len(days)}, {days[0][:10]} to {days[-1][:10]}: {spent}"}


def exported(node: Node, root: Root) -> Iterator[JsonObject]:
    return (entry.fields for entry in stored(node, root))


def create(_node: Node, root: Root, entry: EarlierDaysAsCode) -> str:
    folder, monitor_id = earlier_of(root), _id_of(root, entry.monitor)
    if folder is None:
        raise Invalid({"days": "are not known to this store"})
    forget(root, monitor_id)
    folder[monitor_id] = EarlierDays(tuple(entry.days))
    return monitor_id


def update(node: Node, root: Root, _monitor_id: str, entry: EarlierDaysAsCode) -> None:
    create(node, root, entry)


def delete(_node: Node, root: Root, monitor_id: str) -> None:
    forget(root, monitor_id)


def _id_of(root: Root, name: str) -> str:
    ids = looked_up(root, ids_by_name)
    if name not in ids:
        raise Invalid({"monitor": "no monitor, or several, of this name"})
    return ids[name]
