"""A reading tool: GETs of the API, in this process and transaction, as whoever calls. Must not: ask with anything but
GET."""

from __future__ import annotations

import re
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

from pyramid.request import Request
from pyramid.response import Response

from opsapp.assistants.logic.answers import ReadAnswer, ReadPage
from opsapp.assistants.logic.protocol import DATA
from opsapp.assistants.logic.tools import MOST_ROWS, ROWS, ReadTool
from opsapp.auth.assistants import BY_ASSISTANT
from opsapp.lib.problems import Invalid
from opsapp.web import subrequests
from opsapp.web.answers import Deferred

from . import toolschemas

_CURSOR = re.compile(r"o([0-9]{1,9})")
_NAMES = re.compile(r"{([a-z_]+)}")
LONGEST = 500


class AskedPage(NamedTuple):
    limit: int
    offset: int


def read(request: Request, tool: ReadTool, given: dict[str, object]) -> ReadAnswer | Deferred:
    known = toolschemas.of(request.registry)[tool.name].input["properties"]
    wrong = {name: "is not known" for name in given if name not in known}
    wrong |= {name: "is required" for name in _required(tool) if given.get(name) in (None, "")}
    wrong |= {name: "must be a text or a number" for name in given.keys() & known.keys() if not _is_plain(given[name])}
    if wrong:
        raise Invalid(wrong)
    paging = _paging(given) if "limit" in known else None
    asked = {name: value for name, value in given.items() if name not in ("limit", "cursor") and value is not None}
    answers = {part: _ask(request, path, asked, paging) for part, path in tool.parts}
    if any(isinstance(response, Deferred) for response in answers.values()):
        return Deferred(lambda: _told(answers, paging))
    return _told(answers, paging)


def _required(tool: ReadTool) -> list[str]:
    return [name for _, path in tool.parts for name in _NAMES.findall(path)]


def _is_plain(value: Any) -> bool:
    return value is None or (isinstance(value, str | int | float) and len(str(value)) <= LONGEST)


def _paging(given: dict[str, object]) -> AskedPage:
    limit, cursor = given.get("limit") or ROWS, given.get("cursor") or "o0"
    place = _CURSOR.fullmatch(str(cursor))
    if place is None:
        raise Invalid({"cursor": "must be the next_cursor of an answer"})
    if not isinstance(limit, int) or isinstance(limit, bool) or not 1 <= limit <= MOST_ROWS:
        raise Invalid({"limit": f"must be a whole number from 1 to {MOST_ROWS}"})
    return AskedPage(limit, int(place[1]))


def _ask(request: Request, path: str, given: dict[str, object], paging: AskedPage | None) -> Response:
    places = _NAMES.findall(path)
    place, _, fixed = _NAMES.sub(lambda match: quote(str(given[match[1]]), safe=""), path).partition("?")
    query = {name: _text(value) for name, value in given.items() if name not in places}
    query |= {} if paging is None else {name: str(number) for name, number in paging._asdict().items()}
    asked = "&".join(part for part in (fixed, urlencode(query)) if part)
    return subrequests.ask(request, "GET", place, asked, marks={BY_ASSISTANT: True})


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _told(answers: dict[str, Response], paging: AskedPage | None) -> ReadAnswer:
    data = {part: subrequests.value_of(response) for part, response in answers.items()}
    if set(data) != {""}:
        return ReadAnswer(DATA, data)
    count = answers[""].headers.get("X-Total-Count")
    if count is None or paging is None:
        return ReadAnswer(DATA, data[""])
    total, following = int(count), paging.offset + len(data[""])
    return ReadPage(DATA, data[""], total, f"o{following}" if following < total else None)
