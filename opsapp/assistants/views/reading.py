"""A reading tool: GETs of the API, in this process and transaction, as whoever calls. What its role may not see there
it does not see here; there is no second way to the data.

Must not: ask with anything but GET.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any
from urllib.parse import quote, urlencode

from pyramid.request import Request
from pyramid.response import Response

from opsapp.assistants.logic.tools import MOST_ROWS, ROWS, ReadTool
from opsapp.auth.assistants import BY_ASSISTANT
from opsapp.lib.jsontypes import JsonObject
from opsapp.lib.problems import Invalid
from opsapp.web import subrequests
from opsapp.web.answers import Answer, Deferred

from . import toolschemas

_CURSOR = re.compile(r"o([0-9]{1,9})")
_NAMES = re.compile(r"{([a-z_]+)}")
LONGEST = 500


def read(request: Request, tool: ReadTool, given: JsonObject) -> JsonObject | Deferred:
    """`{data}`; of a list also how many there are, and the cursor of the next page."""
    known = toolschemas.of(request.registry)[tool.name].input["properties"]
    wrong = {name: "is not known" for name in given if name not in known}
    wrong |= {name: "is required" for name in _required(tool) if given.get(name) in (None, "")}
    wrong |= {name: "must be a text or a number" for name in given.keys() & known.keys() if not _is_plain(given[name])}
    if wrong:
        raise Invalid(wrong)
    pages = "limit" in known
    paging = _paging(given) if pages else {}
    asked = {name: value for name, value in given.items() if name not in ("limit", "cursor") and value is not None}
    answers = {part: _ask(request, path, asked, paging) for part, path in tool.parts}
    if any(isinstance(response, Deferred) for response in answers.values()):
        return Deferred(lambda: _told(answers, paging))
    return _told(answers, paging)


def _required(tool: ReadTool) -> list[str]:
    return [name for _, path in tool.parts for name in _NAMES.findall(path)]


def _is_plain(value: Any) -> bool:
    return value is None or (isinstance(value, str | int | float) and len(str(value)) <= LONGEST)


def _paging(given: JsonObject) -> dict[str, int]:
    limit, cursor = given.get("limit") or ROWS, given.get("cursor") or "o0"
    place = _CURSOR.fullmatch(str(cursor))
    if place is None:
        raise Invalid({"cursor": "must be the next_cursor of an answer"})
    if not isinstance(limit, int) or isinstance(limit, bool) or not 1 <= limit <= MOST_ROWS:
        raise Invalid({"limit": f"must be a whole number from 1 to {MOST_ROWS}"})
    return {"limit": limit, "offset": int(place[1])}


def _ask(request: Request, path: str, given: JsonObject, paging: dict[str, int]) -> Response:
    places = _NAMES.findall(path)
    place, _, fixed = _NAMES.sub(lambda match: quote(str(given[match[1]]), safe=""), path).partition("?")
    query = {name: _text(value) for name, value in given.items() if name not in places} | paging
    asked = "&".join(part for part in (fixed, urlencode(query)) if part)
    return subrequests.ask(request, "GET", place, asked, marks={BY_ASSISTANT: True})


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _told(answers: dict[str, Response], paging: dict[str, int]) -> JsonObject:
    data = {part: _value(response) for part, response in answers.items()}
    if set(data) != {""}:
        return {"data": data}
    told: JsonObject = {"data": data[""]}
    total = answers[""].headers.get("X-Total-Count")
    if total is not None and paging:
        following = paging["offset"] + len(data[""])
        told |= {"total": int(total), "next_cursor": f"o{following}" if following < int(total) else None}
    return told


def _value(response: Response) -> Any:
    """What it says; one that is carried out later is carried out now."""
    if isinstance(response, Deferred):
        later: Callable[[], Any] = response.fn
        outcome = later()
        if isinstance(outcome, Answer):
            raise TypeError(f"no assistant can read {outcome!r}")
        return outcome.json_body if isinstance(outcome, Response) else outcome[2]
    return response.json_body
