"""Groups of the public page: how one keeps its id, and whom it concerns. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import Annotated, TypeVar

from opsapp.lib.ids import new_id
from opsapp.lib.visible import name_kind
from opsapp.wire.dataclass import frozen
from opsapp.wire.kinds import Text
from opsapp.wire.records import AT_TIMES, FormField, Most

Id = Annotated[str, Text(1, 64)]
MONITORS = Most(2000, unique=True)


@frozen(kw_only=True)
class GroupRecord:
    """Monitors under one heading. `id` stays when the name changes, for those who subscribed to it."""

    id: Annotated[Id, FormField("", "kept")] = ""
    name: Annotated[str, name_kind(80), FormField("Name")]
    collapsed: Annotated[bool, FormField("Closed until a visitor opens it", "flag", unsaid="no")] = False
    monitors: Annotated[
        tuple[Id, ...],
        MONITORS,
        FormField("Monitors", "names", of="monitor", hint="Names with commas, of those tagged public"),
    ] = ()


@frozen
class GroupAsCode(GroupRecord):
    """As code: it names monitors, and is known by its name."""

    id: Annotated[str, AT_TIMES] = ""
    monitors: Annotated[tuple[Annotated[str, Text(1, 255)], ...], MONITORS] = ()


G = TypeVar("G", bound=GroupRecord)


def with_ids(groups: Iterable[G], before: Sequence[GroupRecord]) -> tuple[G, ...]:
    """A group keeps its id: said by the id itself, else by the name."""
    ids = {group.id for group in before}
    by_name = {group.name: group.id for group in before}
    named: dict[str, G] = {}
    for group in groups:
        known = group.id if group.id in ids else by_name.get(group.name)
        group_id = new_id() if known is None or known in named else known
        named[group_id] = replace(group, id=group_id)
    return tuple(named.values())


def groups_problem(groups: Sequence[GroupRecord]) -> str | None:
    names = [group.name for group in groups]
    if len(set(names)) < len(names):
        return "two groups have the same name"
    monitors = [monitor_id for group in groups for monitor_id in group.monitors]
    return "a monitor is in two groups" if len(set(monitors)) < len(monitors) else None


def chosen(wanted: Collection[str], monitors: Iterable[str], groups: Sequence[GroupRecord]) -> bool:
    """Whether who chose these groups is told of these monitors. No group means all; so do groups that are all gone, for
    nobody would be told why it became quiet."""
    alive = {group.id for group in groups}.intersection(wanted)
    if not alive:
        return True
    of = {monitor_id: group.id for group in groups for monitor_id in group.monitors}
    return any(of.get(monitor_id) in alive for monitor_id in monitors)
