"""Errors and headers in the API document: shared components, and which of them an operation has. Must not: decide a
status; `web.errors` does."""

from __future__ import annotations

from opsapp.lib.jsontypes import JsonObject

from .bodies import UNSAFE
from .codes import MEANINGS
from .errors import STATUS
from .sse import CONTENT_TYPE

OF_ANY = (405, 501)  # no operation names them: they are among the others
NAMES = {status: cls.__name__ for cls, status in STATUS.items()} | {500: "InternalError"}
SAME = "NotModified"
UNDO = "X-Undo"
NEXT = "X-Next"
BEFORE = "Refused"  # what is said before it is known which operation is meant
WITH_HEADERS = {401: "WWW-Authenticate", 416: "Content-Range", 429: "Retry-After", 503: "Retry-After"}
HEADERS = {
    "Content-Range": ("How long the file is.", {"type": "string"}),
    "ETag": ("For If-None-Match. It changes whenever the answer does.", {"type": "string"}),
    "Location": ("Where it leads.", {"type": "string"}),
    "Retry-After": ("Seconds until it is worth asking again.", {"type": "integer", "minimum": 1}),
    "WWW-Authenticate": ("The kind of credential that is wanted.", {"const": "Bearer"}),
    NEXT: ("The `before` of the next page. None: there is nothing after this one.", {"type": "string"}),
    UNDO: ("For a minute `POST /api/deleted/{deletion_id}/undo` with this id puts it back.", {"type": "string"}),
    "X-Total-Count": ("How many there are without limit and offset.", {"type": "integer", "minimum": 0}),
}
PARAMETERS = {
    "Idempotency-Key": "Repeated with the same key and body within 24 hours, the request gives the first answer again.",
    "If-None-Match": "The ETag of an earlier answer: if it is as it was, the answer is 304.",
}


def components() -> JsonObject:
    responses = {NAMES[status]: _response(status) for status in NAMES if status in MEANINGS and status not in OF_ANY}
    others = {status: codes for status, codes in MEANINGS.items() if NAMES.get(status) not in responses}
    told = _content({code: text for codes in others.values() for code, text in codes.items()})
    text = f"Another error ({', '.join(map(str, others))}): `code` says which."
    return {
        "responses": responses
        | {
            SAME: {"description": "As it was (If-None-Match).", "headers": headers("ETag")},
            BEFORE: {"description": text, "content": told},
        },
        "headers": {name: {"description": text, "schema": schema} for name, (text, schema) in HEADERS.items()},
        "parameters": {name: _parameter(name, text) for name, text in PARAMETERS.items()},
    }


def _parameter(name: str, text: str) -> JsonObject:
    bounds = {"type": "string", "minLength": 1, "maxLength": 200} if name == "Idempotency-Key" else {"type": "string"}
    return {"name": name, "in": "header", "required": False, "description": text, "schema": bounds}


def _response(status: int) -> JsonObject:
    codes = MEANINGS[status]
    description = next(iter(codes.values())) if len(codes) == 1 else f"One of {len(codes)} codes."
    given = {"headers": headers(WITH_HEADERS[status])} if status in WITH_HEADERS else {}
    return {"description": description, "content": _content(codes), **given}


def _content(codes: dict[str, str]) -> JsonObject:
    examples = {code: {"summary": text, "value": {"error": text, "code": code}} for code, text in codes.items()}
    return {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}, "examples": examples}}


def headers(*names: str) -> JsonObject:
    return {name: {"$ref": f"#/components/headers/{name}"} for name in names}


def header_parameters(method: str, options: JsonObject, *, tagged: bool) -> list[JsonObject]:
    names = ["Idempotency-Key"] if options.get("idempotent") else []
    names += ["If-None-Match"] if method == "GET" and tagged else []
    return [{"$ref": f"#/components/parameters/{name}"} for name in names]


def errors_of(method: str, path: str, role: str, options: JsonObject) -> JsonObject:
    """The errors by status: those that follow from what the view is, and its own `errors`."""
    statuses = {400, 500, 503, *options.get("errors", ())}
    query = {child.name for child in options["query"]().children} if options.get("query") else set()
    statuses |= {401, 403} if role != "public" else set()
    statuses |= {404} if "{" in path else set()
    statuses |= {409, 412, 413, 415, 422} if method in UNSAFE else set()
    statuses |= {422} if query else set()
    statuses |= {410} if "as_of" in query else set()
    statuses |= {429} if options.get("returns") == CONTENT_TYPE else set()
    return {str(status): response(NAMES[status]) for status in sorted(statuses)} | {"default": response(BEFORE)}


def response(name: str) -> JsonObject:
    return {"$ref": f"#/components/responses/{name}"}
