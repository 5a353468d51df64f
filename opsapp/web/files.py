"""Rows as a file to keep: CSV that no spreadsheet runs, or JSON.

A page is a transaction of its own, so a file may be long and holds nobody up. It goes on after the last row of the page
before: what comes meanwhile neither repeats a row nor drops one.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import is_dataclass
from typing import Annotated, Any, Literal, NamedTuple

from pyramid.request import Request
from pyramid.response import Response

from opsapp.lib.addresses import public
from opsapp.lib.months import month_back, month_problem, month_span
from opsapp.lib.zones import zone_problem
from opsapp.runtime.node import Node
from opsapp.tree.root import Root
from opsapp.wire.dataclass import frozen
from opsapp.wire.kinds import CheckedBy, Text
from opsapp.wire.records import made, parts_of, plain

from .answers import Stream
from .jsontext import dumps

CSV, JSON = "text/csv", "application/json"
EITHER = f"{CSV}, {JSON}"  # what a view returns that answers with `of_month`
RISKY = ("=", "+", "-", "@", "\t", "\r", "\n")
AT_ONCE = 200


@frozen
class FileQuery:
    """The last calendar month, where none is said, in the zone of the service."""

    month: Annotated[str | None, CheckedBy(month_problem)] = None
    zone: Annotated[str | None, Text(1, 64), CheckedBy(zone_problem)] = None
    format: Literal["csv", "json"] = "csv"


class FilePage(NamedTuple):
    """Records of [since, until), newest first: after the one with the id `last`, of which `offset` were read."""

    since: int
    until: int
    limit: int
    offset: int = 0
    last: Any = None


Read = Callable[[Root, FilePage], list[Any]]  # records, or what is to be written of them


def columns_of(record: type) -> list[str]:
    return [part.name for part in parts_of(record)]


def of_month(request: Request, name: str, columns: list[str], read: Read) -> Stream:
    asked, node = made(FileQuery, request.valid_query), request.node
    zone = asked.zone or node.config.timezone
    month = asked.month or month_back(node.clock.now(), zone, 1)
    start, end = month_span(month, zone)
    span = FilePage(int(start), int(end), AT_ONCE)
    is_csv = asked.format == "csv"
    source = _Records(node, span, read, columns if is_csv else None, masked=not request.may_edit)
    return Stream(source, CSV if is_csv else JSON, _kept_as(f"{name}-{month}.{asked.format}"))


class _Records:
    """A file without columns is JSON: a list."""

    def __init__(self, node: Node, page: FilePage, read: Read, columns: list[str] | None, *, masked: bool):
        self._node, self._page, self._read = node, page, read
        self._columns, self._masked = columns, masked

    def open(self) -> None: ...

    def close(self) -> None: ...

    def __iter__(self) -> Iterator[bytes]:
        page, columns = self._page, self._columns
        yield (_lines([columns]) if columns else "[").encode()
        while records := self._node.transact(self._read, page):
            rows = [plain(record) if is_dataclass(record) else record for record in records]
            last, rows = rows[-1]["id"], public(rows) if self._masked else rows
            if columns:
                text = _lines([row.get(name) for name in columns] for row in rows)
            else:
                text = ("," if page.offset else "") + ",\n".join(dumps(row) for row in rows)
            yield text.encode("utf-8", "replace")
            page = page._replace(offset=page.offset + len(rows), last=last)
        yield b"" if columns else b"]\n"


def csv_file(name: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> Response:
    body = _lines([columns, *rows]).encode("utf-8", "replace")
    response = Response(body, content_type=CSV, charset="utf-8")
    response.headers.update(_kept_as(f"{name}.csv"))
    return response


def _kept_as(name: str) -> dict[str, str]:
    return {"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "no-store"}


def _lines(rows: Iterable[Sequence[Any]]) -> str:
    text = io.StringIO()
    csv.writer(text).writerows([_cell(value) for value in row] for row in rows)
    return text.getvalue()


def _cell(value: Any) -> Any:
    """What a spreadsheet would take for a formula begins with an apostrophe."""
    if value is None or isinstance(value, int | float):
        return value
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return f"'{text}" if text.startswith(RISKY) else text
