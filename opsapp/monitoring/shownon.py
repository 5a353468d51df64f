"""On which status pages something is shown: people name pages by their paths. What is stored names them by ids, which
stay when a path changes and are never another page's. Must not: know what is shown."""

from __future__ import annotations

from collections.abc import Collection
from typing import Annotated, Any, NamedTuple

from opsapp.lib.pagenames import EVERY, MAIN
from opsapp.lib.problems import Invalid
from opsapp.monitoring.interfaces import IStatusPages
from opsapp.runtime.node import node_of
from opsapp.tree.root import Root
from opsapp.wire.kinds import Text
from opsapp.wire.records import Most

PageName = Annotated[str, Text(1, 50)]
MOST_NAMED = Most(200, unique=True)


class PageScope(NamedTuple):
    """What a page of its own shows: these monitors, and what people put on the page of this id."""

    page: str
    monitors: frozenset[str]


def page_of(scope: PageScope | None) -> str:
    return MAIN if scope is None else scope.page


def ids_of(root: Root, named: Collection[str], kept: Collection[str] = ()) -> tuple[str, ...]:
    """Invalid: there is no such page. `kept`: what is stored already; of these, pages that are gone stay."""
    ids = {MAIN: MAIN, EVERY: EVERY} | ({} if {MAIN, EVERY}.issuperset(named) else _ids_by_path(root))
    unknown = sorted(set(named) - ids.keys())
    if unknown:
        raise Invalid({"pages": "no such status page: " + ", ".join(unknown[:10])})
    gone = set(kept) - set(ids.values()) if kept and not {MAIN, EVERY}.issuperset(kept) else set()
    return tuple(sorted({ids[path] for path in named} | gone))


def paths_of(root: Root, ids: Collection[str]) -> tuple[str, ...]:
    """Without pages that are gone."""
    if {MAIN, EVERY}.issuperset(ids):
        return tuple(ids)
    paths = {page: path for path, page in _ids_by_path(root).items()} | {MAIN: MAIN, EVERY: EVERY}
    return tuple(sorted(paths[page] for page in ids if page in paths))


def _ids_by_path(root: Root) -> dict[str, str]:
    known: Any = node_of(root).registry.queryUtility(IStatusPages)
    return {} if known is None else known(root)
