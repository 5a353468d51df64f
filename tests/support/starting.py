"""What each of the thousands of test applications would find out again, answered once for this process.

Every application includes every room, with all that the room says. Taken over are the views that the rooms' scans
find, from an application that was made before the first test.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, NamedTuple

import zodburi
from pyramid.config import Configurator
from pyramid.config.views import MultiView
from pyramid.registry import Introspector, Registry
from pyramid.util import TopologicalSorter

from opsapp import app as opsapp_app


def remember_what_is_the_same() -> None:
    """Which packages are installed, in which order Pyramid wraps a view, and the views: nearly all of an application's
    start."""
    zodburi.entry_points = cache(zodburi.entry_points)
    sort = TopologicalSorter.sorted

    def sorted_once(sorter: Any) -> list[Any]:
        state = len(sorter.names), len(sorter.order)
        if sorter.__dict__.get("sorted_at") != state:
            sorter.sorted_at, sorter.in_order = state, sort(sorter)
        return list(sorter.in_order)

    TopologicalSorter.sorted = sorted_once
    opsapp_app.Configurator = RememberingConfigurator


@contextmanager
def remembering() -> Iterator[None]:
    """What is made within is for all applications to come. No test runs meanwhile, which could have changed something
    of it for itself."""
    RememberingConfigurator.remembers = True
    try:
        yield
    finally:
        RememberingConfigurator.remembers = False


class Scanned(NamedTuple):
    """What an application had once its scans were done: all that a registry and its introspector know of views."""

    adapters: dict[Any, Any]
    in_use: set[Any]  # the keys of those that no other has replaced since: Pyramid keeps the registration of a view
    introspector: Any  # that it has put into a group


class RememberingConfigurator(Configurator):
    """Scans when it commits. When it has included and scanned what another one had before, it takes over the views of
    that one: they hold nothing of an application, which reaches them with the request."""

    remembers = False
    scanned: dict[Any, Scanned] = {}

    def include(self, callable: Any, route_prefix: Any = None) -> None:
        _asked(self.registry).append(("include", callable, route_prefix))
        super().include(callable, route_prefix)

    def scan(self, package: Any = None, **options: Any) -> None:
        assert not options, "a scan with options is not remembered"
        _asked(self.registry).append(("scan", package, None))
        _to_scan(self.registry).append((self, package))

    def commit(self) -> None:
        packages = _to_scan(self.registry)
        state = _state_of(self.registry)
        known = self.scanned.get(state) if packages else None
        if known is None:
            for config, package in packages:
                super(RememberingConfigurator, config).scan(package)
        super().commit()
        if known is not None:
            _take_over(known, self.registry)
        elif packages and self.remembers:
            adapters = dict(self.registry._adapter_registrations)
            in_use = {place for place in adapters if self.registry.adapters.registered(*place) is not None}
            self.scanned[state] = Scanned(adapters, in_use, self.registry.introspector)
        packages.clear()


def _asked(registry: Registry) -> list[Any]:
    return registry.__dict__.setdefault("asked_by_rooms", [])


def _to_scan(registry: Registry) -> list[Any]:
    return registry.__dict__.setdefault("packages_to_scan", [])


def _state_of(registry: Registry) -> Any:
    """What views depend on: what was included and scanned, and Pyramid's own settings."""
    said = sorted((name, str(value)) for name, value in registry.settings.items() if name.startswith("pyramid."))
    return tuple(_asked(registry)), tuple(said)


def _take_over(known: Scanned, registry: Registry) -> None:
    own = registry._adapter_registrations
    for place, (factory, info) in known.adapters.items():
        if place not in own:
            view = _copy_of(factory) if type(factory) is MultiView else factory
            own[place] = view, info
            if place in known.in_use:
                registry.adapters.register(*place, view)
    assert own.keys() == known.adapters.keys(), "what a scan finds takes the place of another view: do not remember it"
    introspector = registry.introspector = Introspector()
    introspector._categories = {name: dict(category) for name, category in known.introspector._categories.items()}
    introspector._refs = {introspectable: list(others) for introspectable, others in known.introspector._refs.items()}
    introspector._counter = known.introspector._counter
    registry._clear_view_lookup_cache()


def _copy_of(views: MultiView) -> MultiView:
    """A test may add a view to those of its application."""
    copy = MultiView(views.name)
    copy.media_views = {name: list(same) for name, same in views.media_views.items()}
    copy.views, copy.accepts = list(views.views), list(views.accepts)
    return copy
