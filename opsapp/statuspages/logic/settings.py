"""What an admin says of the public page, its defaults, and the section `status_page` of the YAML file."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, NamedTuple

from opsapp.lib.ids import new_id
from opsapp.lib.jsontypes import JsonObject
from opsapp.lib.networks import network_problem
from opsapp.lib.settings import Between, CheckedBy, Length, Most

Network = Annotated[str, Length(1, 64), CheckedBy(network_problem)]
DEFAULTS: JsonObject = {
    "name": "Status",
    "description": "",
    "site_url": None,
    "public_url": None,
    "footer": "",
    "language": "en",
    "accent_light": None,
    "accent_dark": None,
    "groups": [],
    "subscribe_by": [],
    "mail_from": None,
}
PUBLIC = ("name", "description", "site_url", "footer", "language", "accent_light", "accent_dark")


@dataclass(frozen=True)
class StatusPageSettings:
    """`status_page`"""

    asks_per_ip: Annotated[int, Between(1, 10_000)] = 10
    asks_per_address: Annotated[int, Between(1, 1000)] = 3
    ask_window_s: Annotated[float, Between(1, 86400)] = 3600
    confirm_s: Annotated[float, Between(1, 7 * 86400)] = 86400
    gather_s: Annotated[float, Between(0, 600)] = 15
    batch: Annotated[int, Between(1, 500)] = 50
    timeout_s: Annotated[float, Between(0.1, 120)] = 15
    max_subscribers: Annotated[int, Between(1, 1_000_000)] = 20_000
    webhook_allow_networks: Annotated[tuple[Network, ...], Most(100)] = ()


class MonitorGroup(NamedTuple):
    """Monitors under one heading. `id` stays when the name changes, for those who subscribed to it."""

    id: str
    name: str
    collapsed: bool
    monitors: tuple[str, ...]  # ids


def groups_of(settings: JsonObject) -> list[MonitorGroup]:
    return [
        MonitorGroup(row["id"], row["name"], row["collapsed"], tuple(row["monitors"])) for row in settings["groups"]
    ]


def with_ids(rows: Iterable[JsonObject], before: Sequence[JsonObject]) -> list[JsonObject]:
    """Groups keep the id of the group that they were: said by the id itself, else by the name."""
    ids = {row["id"] for row in before}
    by_name = {row["name"]: row["id"] for row in before}
    named = [
        {**row, "id": row["id"] if row.get("id") in ids else by_name.get(row["name"]) or new_id(),
         "monitors": list(row["monitors"])}
        for row in rows
    ]  # fmt: skip
    taken: set[str] = set()
    for row in named:
        row["id"] = new_id() if row["id"] in taken else row["id"]
        taken.add(row["id"])
    return named


def groups_problem(rows: Sequence[JsonObject]) -> str | None:
    """What is wrong with groups together, or None."""
    names = [row["name"] for row in rows]
    if len(set(names)) < len(names):
        return "two groups have the same name"
    monitors = [monitor_id for row in rows for monitor_id in row["monitors"]]
    return "a monitor is in two groups" if len(set(monitors)) < len(monitors) else None


def chosen(wanted: Collection[str], monitors: Iterable[str], groups: Sequence[MonitorGroup]) -> bool:
    """Whether who subscribed to these groups is told of these monitors. No group means all; so do groups that are all
    gone, for nobody would be told why it became quiet."""
    alive = {group.id for group in groups}.intersection(wanted)
    if not alive:
        return True
    of = {monitor_id: group.id for group in groups for monitor_id in group.monitors}
    return any(of.get(monitor_id) in alive for monitor_id in monitors)
