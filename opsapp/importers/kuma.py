"""Uptime Kuma: what its file gives, put together. Each kind has a module beside this one; `kumafile` reads the file.

Must not: take anything over that would say something else than it says there.
"""

from __future__ import annotations

from dataclasses import replace

from opsapp.monitoring.earlier import EarlierDaysAsCode

from . import kumachannels, kumafile, kumahistory, kumamonitors, kumapages, kumawindows
from .estate import PUBLIC, Estate
from .foreign import NotImported
from .kumafile import KumaFile, read_file
from .kumarecords import KumaMonitor

LEFT = {
    "status page": "only a database says what is on it",
    "window": "only a database says what it covers",
    "incident": "write a notice for the status page by hand",
    "proxy": "monitors are looked at without a proxy: an agent beyond it can look (probe_from)",
    "Docker host": kumamonitors.OF_A_HOST,
    "remote browser": kumamonitors.NO_BROWSER,
    "API key": "make one here",
    kumafile.ODD: "what should be a number there is none",
    "history": "single checks are not taken; of a database of 2.x the days are",
}


def read(path: str, zone: str = "UTC") -> Estate:
    """`zone`: by whose clock windows are here. ValueError when this is no file of Uptime Kuma."""
    file, estate = read_file(path), Estate()
    pages = kumapages.pages_of(file)
    names = _monitors(estate, file, pages[0].monitors if pages else frozenset())
    for window in file.windows:
        with estate.entry("window", window.told) as notes:
            estate.take(kumawindows.window(window, file, names, zone, notes), notes)
    for page in file.pages:
        with estate.entry("status page", page.told) as notes:
            estate.take_whole(page.told, kumapages.page_as_code(page, pages, names, notes), notes)
    for name, days in kumahistory.days_by_name(file, names):
        estate.take_whole(name, EarlierDaysAsCode(name, days), [kumahistory.told(days)])
    for kind, name in file.besides:
        estate.leave(kind, name, LEFT[kind])
    return estate


def _monitors(estate: Estate, file: KumaFile, shown: frozenset[int]) -> dict[int, str]:
    """The monitors' names here, by their ids there. `shown`: those of the status page."""
    used = kumachannels.take(estate, file.channels, file.monitors)
    parents = {monitor.id: monitor for monitor in file.monitors if monitor.id is not None}
    names: dict[int, str] = {}
    for monitor in file.monitors:
        if monitor.is_group:
            _group(estate, monitor, file.monitors)
            continue
        with estate.entry("monitor", monitor.told) as notes:
            if monitor.wrong:
                raise NotImported(monitor.wrong)
            notes += [f"{doubt} is no number: taken as if nothing was said" for doubt in monitor.doubts]
            entry = kumamonitors.monitor_as_code(monitor, notes)
            public = [PUBLIC] if monitor.id in shown else []
            tags = (*map(str, monitor.tags or ()), *_groups(monitor, parents), *used(monitor), *public)
            name = estate.take(replace(entry, tags=tags), notes)
            if monitor.id is not None:
                names[monitor.id] = name
    return names


def _group(estate: Estate, group: KumaMonitor, monitors: tuple[KumaMonitor, ...]) -> None:
    if any(monitor.parent == group.id for monitor in monitors):
        estate.take_as("group", group.told, "a tag here, which its monitors have; it has no status of its own")
    else:
        estate.leave("group", group.told, "no monitor is in it")


def _groups(monitor: KumaMonitor, parents: dict[int, KumaMonitor]) -> list[str]:
    names: list[str] = []
    parent = parents.get(monitor.parent or 0)
    while parent is not None and parent.name.strip() not in names:
        names.append(parent.name.strip())
        parent = parents.get(parent.parent or 0)
    return names
