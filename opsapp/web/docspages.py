"""The API document as pages for people: an overview that names everything, and a page for each tag of the operations.

Must not: write the document (`openapi`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

from .openapi import Endpoint

ERRORS = "errors"  # the page of the error codes and headers
REF = "#/components/schemas/"
GENERAL = "service"  # the tag whose page has the schemas that no operation names


class ListedOperation(NamedTuple):
    endpoint: Endpoint
    operation: Any  # as the document has it


class DocsPart(NamedTuple):
    """The operations of one tag, and the schemas that they use, with all that stands within these."""

    operations: tuple[ListedOperation, ...]
    schemas: tuple[str, ...]


class DocsPages(NamedTuple):
    document: Any
    parts: Mapping[str, DocsPart]
    homes: Mapping[str, str]  # a schema -> the tag on whose page the overview leads to it


def pages_of(document: Any, endpoints: Sequence[Endpoint]) -> DocsPages:
    paths, components = itemgetter("paths", "components")(document)
    schemas = components.get("schemas")
    tagged: dict[str, list[ListedOperation]] = {}
    for endpoint in endpoints:
        operation = paths.get(endpoint.path, {}).get(endpoint.method.lower())
        if operation is not None:
            tagged.setdefault(endpoint.tag, []).append(ListedOperation(endpoint, operation))
    used = {tag: _used(listed, schemas) for tag, listed in tagged.items()}
    used[GENERAL] |= set(schemas).difference(*used.values())
    homes = {name: tag for tag in sorted(used, reverse=True) for name in used[tag]}
    parts = {tag: DocsPart(tuple(tagged[tag]), tuple(sorted(used[tag]))) for tag in sorted(used)}
    return DocsPages(document, parts, dict(sorted(homes.items())))


def _used(listed: Iterable[ListedOperation], schemas: Any) -> set[str]:
    used, waiting = set[str](), [name for told in listed for name in _named_in(told.operation)]
    while waiting:
        name = waiting.pop()
        if name not in used:
            used.add(name)
            waiting += _named_in(schemas[name])
    return used


def _named_in(value: Any) -> Iterator[str]:
    if isinstance(value, str) and value.startswith(REF):
        yield value.removeprefix(REF)
    elif isinstance(value, list | dict):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _named_in(item)
