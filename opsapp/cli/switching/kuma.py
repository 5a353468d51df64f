"""Uptime Kuma: what its file gives, put together. Each kind has a module beside this one; `kumafile` reads the file.

Must not: take anything over that would say something else than it says there.
"""

from __future__ import annotations

from opsapp.lib.jsontypes import JsonObject

from . import kumachannels, kumahistory, kumamonitors, kumapages, kumawindows
from .estate import PUBLIC, Estate, named, tag
from .kumafile import KumaFile, read_file, title_of

LEFT = {
    "status page": "only a database says what is on it",
    "window": "only a database says what it covers",
    "incident": "write a notice for the status page by hand",
    "proxy": "monitors are looked at without a proxy: an agent beyond it can look (probe_from)",
    "Docker host": kumamonitors.OF_A_HOST,
    "remote browser": kumamonitors.NO_BROWSER,
    "API key": "make one here",
    "history": "single checks are not taken; of a database of 2.x the days are",
}


def read(path: str, zone: str = "UTC") -> Estate:
    """`zone`: by whose clock windows are here. ValueError when this is no file of Uptime Kuma."""
    file, estate = read_file(path), Estate()
    pages = kumapages.pages_of(file)
    names = _monitors(estate, file, pages[0].monitors if pages else frozenset())
    for row in file.rows("maintenance"):
        with estate.entry("window", title_of(row)) as notes:
            estate.take("window", kumawindows.settings(row, file, names, zone, notes), notes)
    for row in file.rows("status_page"):
        with estate.entry("status page", title_of(row)) as notes:
            settings = kumapages.settings(row, pages, names, notes)
            kind = "status page of its own" if "slug" in settings else "status page"
            estate.take_whole(kind, title_of(row), settings, notes)
    for name, days in kumahistory.days_by_name(file, names):
        estate.take_whole("history", name, {"monitor": name, "days": days}, [kumahistory.told(days)])
    for kind, name in file.besides:
        estate.leave(kind, name, LEFT[kind])
    return estate


def _monitors(estate: Estate, file: KumaFile, shown: frozenset[int]) -> dict[int, str]:
    """Takes those that have a counterpart; their names here, by their ids there. `shown`: those of the status page."""
    used = kumachannels.take(estate, file.channels, file.monitors)
    parents = {monitor["id"]: monitor for monitor in file.monitors if "id" in monitor}
    names: dict[int, str] = {}
    for monitor in file.monitors:
        if monitor.get("type") == "group":
            _group(estate, monitor, file.monitors)
            continue
        with estate.entry("monitor", named(monitor)) as notes:
            settings = kumamonitors.settings(monitor, notes)
            tags = [*map(_tag, monitor.get("tags") or []), *_groups(monitor, parents), *used(monitor)]
            public = [PUBLIC] if monitor.get("id") in shown else []
            taken = estate.take("monitor", {**settings, "tags": [*tags, *public]}, notes)
            if "id" in monitor:
                names[monitor["id"]] = taken["name"]
    return names


def _group(estate: Estate, group: JsonObject, monitors: list[JsonObject]) -> None:
    if any(monitor.get("parent") == group.get("id") for monitor in monitors):
        note = "a tag here, which its monitors have; it has no status of its own"
        estate.take_as("group", named(group), {"tag": tag(named(group))}, note)
    else:
        estate.leave("group", named(group), "no monitor is in it")


def _tag(named: JsonObject) -> str:
    return tag(f"{named['name']}:{named['value']}" if named.get("value") else named["name"])


def _groups(monitor: JsonObject, parents: dict[object, JsonObject]) -> list[str]:
    names: list[str] = []
    parent = parents.get(monitor.get("parent"))
    while parent is not None and tag(parent["name"]) not in names:
        names.append(tag(parent["name"]))
        parent = parents.get(parent.get("parent"))
    return names
