"""Forms as our pages send them: urlencoded, UTF-8, a bounded number of fields.

`first_look` finds one field without reading the others. Must not: use WebOb's `request.POST`, which reads a form whole,
however many fields it has.
"""

from __future__ import annotations

import re
from urllib.parse import parse_qsl

from pyramid.request import Request

from opsapp.lib.problems import Malformed, TooLarge, UnsupportedType

KIND = "application/x-www-form-urlencoded"
MOST_FIELDS = 1000


def is_form(request: Request) -> bool:
    """Nothing else may be read as one."""
    return request.content_type == KIND and (request.charset or "utf-8").lower() in ("utf-8", "utf8")


def first_look(request: Request, name: str) -> str:
    if not is_form(request):
        return ""
    match = re.search(rb"(?:\A|&)" + name.encode() + rb"=([0-9A-Za-z_.~-]{1,200})(?=&|\Z)", request.body)
    return match.group(1).decode() if match else ""


def read_form(request: Request) -> dict[str, str]:
    if not is_form(request):
        raise UnsupportedType("The body must be a form.")
    raw = request.body
    if raw.count(b"&") >= MOST_FIELDS:
        raise TooLarge(f"The form has more than {MOST_FIELDS} fields.")
    try:
        return dict(parse_qsl(raw.decode("utf-8"), keep_blank_values=True, errors="strict"))
    except UnicodeDecodeError:
        raise Malformed("The form is not valid UTF-8.") from None
