"""How answers and errors of SCIM leave, and how its bodies and pages are read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from pyramid.request import Request
from pyramid.response import Response

from opsapp.lib.problems import Invalid, Malformed, Problem, TooLarge, UnsupportedType
from opsapp.scim.logic.discovery import MOST_RESULTS
from opsapp.scim.logic.given import GivenObject, ScimRefused
from opsapp.scim.logic.operations import CORE
from opsapp.scim.logic.shown import BASE, LIST, ScimError, ScimGroup, ScimUser
from opsapp.web.bodies import BODY_CAP
from opsapp.web.jsontext import dumps, loads
from opsapp.wire.records import plain

CONTENT_TYPE = "application/scim+json"
TAKEN = (CONTENT_TYPE, "application/json")
USUAL_COUNT = 100
ALWAYS = frozenset({"id", "schemas"})


def said(request: Request, value: object, status: int = 200, location: str | None = None) -> Response:
    response = Response(dumps(value).encode(), status, content_type=CONTENT_TYPE)
    if location is not None:
        response.headers["Location"] = location
    return response


def nothing() -> Response:
    response = Response(status=204)
    del response.content_type
    return response


def error_document(status: int, problem: Problem) -> tuple[str, str]:
    kind = problem.details.get("scim_type") or _kind(problem)
    return dumps(ScimError(str(status), problem.message, kind)), CONTENT_TYPE


def _kind(problem: Problem) -> str | None:
    if isinstance(problem, Invalid):
        return "invalidValue"
    return "invalidSyntax" if isinstance(problem, Malformed) else None


def body_of(request: Request) -> GivenObject:
    if (request.content_length or 0) > BODY_CAP:
        raise TooLarge(f"The body is larger than {BODY_CAP} bytes. Send the members of a group in parts.")
    if (request.content_type or "").lower() not in TAKEN or request.headers.get("Content-Encoding"):
        raise UnsupportedType(f"The body must be {CONTENT_TYPE}, without a Content-Encoding.")
    return GivenObject(loads(request.body))


class WantedPage(NamedTuple):
    """`start` counts from 1 (RFC 7644, 3.4.2.4)."""

    start: int
    size: int

    def of(self, ids: Sequence[str]) -> Sequence[str]:
        return ids[self.start - 1 : self.start - 1 + self.size]


def page_of(request: Request) -> WantedPage:
    start, count = _number(request, "startIndex", 1), _number(request, "count", USUAL_COUNT)
    return WantedPage(max(1, start), min(max(0, count), MOST_RESULTS))


def _number(request: Request, name: str, usual: int) -> int:
    text = request.GET.get(name, "")
    if not text:
        return usual
    if len(text) > 9 or not text.removeprefix("-").isdecimal():
        raise ScimRefused("invalidValue", f"{name} must be a whole number.")
    return int(text)


class ChosenAttributes(NamedTuple):
    """In small letters. `wanted` empty: all; a part (`name.givenName`) stands for the whole."""

    wanted: frozenset[str]
    unwanted: frozenset[str]

    def has(self, attribute: str) -> bool:
        name = attribute.lower()
        wanted = {name.partition(".")[0] for name in self.wanted}
        return name in ALWAYS or (name not in self.unwanted and (not wanted or name in wanted))


def chosen_in(request: Request) -> ChosenAttributes:
    """`attributes` names what is wanted, `excludedAttributes` what is not."""
    return ChosenAttributes(_names(request, "attributes"), _names(request, "excludedAttributes"))


def _names(request: Request, parameter: str) -> frozenset[str]:
    names = (name.strip().lower() for name in request.GET.get(parameter, "").split(","))
    return frozenset(CORE.sub("", name) for name in names if name)


def resource(request: Request, row: ScimUser | ScimGroup, status: int = 200) -> Response:
    location = row.meta.location if status == 201 else None
    return said(request, _part_of(row, chosen_in(request)), status, location)


def listed(request: Request, total: int, start: int, rows: Sequence[ScimUser | ScimGroup]) -> Response:
    chosen = chosen_in(request)
    counts = {"schemas": [LIST], "totalResults": total, "startIndex": start, "itemsPerPage": len(rows)}
    return said(request, counts | {"Resources": [_part_of(row, chosen) for row in rows]})


def _part_of(row: ScimUser | ScimGroup, chosen: ChosenAttributes) -> object:
    return {name: value for name, value in plain(row).items() if chosen.has(name)}


def location_of(request: Request, path: str) -> str:
    return str(request.host_url) + path


def user_place(request: Request, user_id: str) -> str:
    return location_of(request, f"{BASE}/Users/{user_id}")


def group_place(request: Request, group_id: str) -> str:
    return location_of(request, f"{BASE}/Groups/{group_id}")
