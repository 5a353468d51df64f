"""From the table of pages to what a template shows: which pages there are, what of one its reader may see, its values.

Must not: decide what is allowed; the API's own views say which role they take (`web.openapi.endpoints`).
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from string import Formatter
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

from opsapp.lib.problems import Invalid
from opsapp.tree.acl import ROLES
from opsapp.web.openapi import endpoints

from .plan import PAGES, Act, Field, Page, Part

ROWS = 100
REGISTRY_KEY = "opsapp.ui.pages"
Ask = Callable[[str, str], Any]  # (path, query) -> a response


class Known(NamedTuple):
    """The pages that there are, and the role that each of the API's views takes."""

    pages: tuple[Page, ...]
    roles: dict[str, str]

    def may(self, role: str | None, api: str) -> bool:
        needs = self.roles.get(api)
        return needs == "public" or (needs in ROLES and role in ROLES and ROLES.index(role) >= ROLES.index(needs))


def known_of(registry: Any) -> Known:
    known = registry.get(REGISTRY_KEY)
    if known is None:
        roles = {_shape(f"{each.method} {each.path}"): each.role for each in endpoints(registry)}
        pages = tuple(page for page in PAGES if all(_shape(api) in roles for api in needed(page)))
        wanted = {api for page in pages for api in needed(page, all=True)}
        known = Known(pages, {api: roles[_shape(api)] for api in wanted if _shape(api) in roles})
        registry[REGISTRY_KEY] = known
    return known


def needed(page: Page, *, all: bool = False) -> list[str]:
    """The views that a page is made of; with `all`, those of its acts too."""
    found = ["GET " + part.source.partition("?")[0] for part in page.parts if all or not part.optional]
    acts = [*page.forms, *(act for part in page.parts for act in part.acts)]
    return found + [act.api for act in (acts if all or not page.parts else ())]


def _shape(api: str) -> str:
    """An API view without the names of what is in its path."""
    return "".join(text + ("{}" if name is not None else "") for text, name, _, _ in Formatter().parse(api))


def find(known: Known, path: str) -> tuple[Page, dict[str, str]] | None:
    """The page at this path, and what its path names."""
    steps = path.split("/")
    for page in known.pages:
        wanted = page.path.split("/")
        pairs = list(zip(wanted, steps, strict=False))
        if len(wanted) == len(steps) and all(want == step or (want[:1] == "{" and step) for want, step in pairs):
            return page, {want[1:-1]: step for want, step in pairs if want[:1] == "{"}
    return None


def act_of(page: Page, name: str) -> Act | None:
    """The act that a form of this page names: `part.act`, or its own name for one of the page's forms."""
    if "." not in name:
        return next((act for act in page.forms if act.name == name), None)
    part = part_of(page, name)
    return next((act for act in part.acts if act.name == name.partition(".")[2]), None) if part else None


def part_of(page: Page, name: str) -> Part | None:
    """The part of the page that has the act with this name."""
    parts = {str(number): part for number, part in enumerate(page.parts)}
    return parts.get(name.partition(".")[0])


def filled(pattern: str, values: dict[str, Any]) -> str | None:
    """A path with its names filled in; None where there is nothing to fill in."""
    names = {name for _, name, _, _ in Formatter().parse(pattern) if name}
    if any(dig(values, name) in (None, "") for name in names):
        return None
    return pattern.format(**{name: quote(str(values[name]), safe="") for name in names})


def names_of(act: Act) -> list[str]:
    """The fields of its row that an act's path and body are made of."""
    patterns = [act.path, *(value for _, value in act.body if isinstance(value, str))]
    return sorted({name for pattern in patterns for _, name, _, _ in Formatter().parse(pattern) if name})


def dig(value: Any, field: str) -> Any:
    for step in field.split("."):
        value = value.get(step) if isinstance(value, dict) else None
    return value


def holds(act: Act, row: dict[str, Any]) -> bool:
    """Whether the act makes sense on this row: one whose choices are all ruled out does not."""
    choosable = all(choices_of(field, row) for field in act.fields if field.kind == "choice")
    return choosable and all(dig(row, field) in values for field, values in act.when)


def choices_of(field: Field, row: dict[str, Any]) -> tuple[str, ...]:
    """The choices of this field that the row allows."""
    first, last = 0, len(field.choices)
    above, upto, below = (dig(row, name) if name else None for name in (field.above, field.upto, field.below))
    if above in field.choices:
        first = field.choices.index(above) + 1
    if upto in field.choices:
        last = field.choices.index(upto) + 1
    if below in field.choices:
        last = min(last, field.choices.index(below))
    return field.choices[first:last]


INPUT_KINDS = {"integer": "number", "number": "number", "boolean": "flag", "choice": "choice"}


def for_row(act: Act, row: dict[str, Any]) -> Act:
    """The act with a field for each input that the row declares."""
    declared = dig(row, act.inputs) if act.inputs else None
    return act._replace(fields=act.fields + tuple(_input_field(each) for each in declared or ()))


def _input_field(declared: dict[str, Any]) -> Field:
    default = declared.get("default")
    preset = "" if default is None else json.dumps(default) if isinstance(default, bool) else str(default)
    return Field(
        f"inputs.{declared['name']}",
        declared["name"],
        INPUT_KINDS.get(declared["type"], "text"),
        tuple(declared.get("choices") or ()),
        bool(declared.get("required")) and default is None,
        preset=preset,
        key=declared["name"],
    )


class Shown(NamedTuple):
    """A part as the template shows it."""

    part: Part
    number: int
    rows: list[dict[str, Any]]
    total: int | None
    offset: int
    before: str | None
    after: str | None
    acts: tuple[Act, ...]
    given: dict[str, str]


def show(
    page: Page, ids: dict[str, str], query: dict[str, str], ask: Ask, value_of: Any, may: Callable[[str], bool]
) -> list[Shown]:
    """Every part that its reader may see. What the API refuses is refused."""
    answers: dict[tuple[str, str], Any] = {}
    found = []
    for number, part in enumerate(page.parts):
        source, _, own = part.source.partition("?")
        if part.optional and not may("GET " + source):
            continue
        given = {field.name: query[field.name] for field in part.filters if query.get(field.name)}
        asked = (filled(source, ids) or source, "&".join(each for each in (own, _query(part, given, query)) if each))
        if asked not in answers:
            answers[asked] = ask(*asked)
        response = answers[asked]
        value = value_of(response)
        value = value if part.pick is None else dig(value, part.pick)
        rows = [value] if part.facts and value is not None else value or []
        count = response.headers.get("X-Total-Count")
        total, offset = (int(count) if count else None), _offset(query) if part.paged else 0
        step = {name: str(each) for name, each in given.items()}
        before = urlencode(step | {"offset": max(0, offset - ROWS)}) if offset else None
        after = urlencode(step | {"offset": offset + ROWS}) if part.paged and total and offset + ROWS < total else None
        acts = tuple(act for act in part.acts if may(act.api))
        found.append(Shown(part, number, rows, total, offset, before, after, acts, given))
    return found


def _offset(query: dict[str, str]) -> int:
    text = query.get("offset", "")
    return int(text) if text.isdecimal() and len(text) < 10 else 0


def _query(part: Part, given: dict[str, str], query: dict[str, str]) -> str:
    return urlencode({**given, "limit": ROWS, "offset": _offset(query)} if part.paged else given)


def body_of(act: Act, form: dict[str, str], row: dict[str, Any]) -> dict[str, Any]:
    """What the API is sent: the act's own values and what was filled in; an empty field says nothing."""
    body: dict[str, Any] = {}
    for name, value in act.body:
        _put(body, name, value.format(**row) if isinstance(value, str) else value)
    wrong: dict[str, str] = {}
    for field in act.fields:
        text = form.get(field.name, "")
        try:
            if text:
                _put(body, field.key or field.name, _typed(field, text))
        except json.JSONDecodeError as problem:
            wrong[field.name] = f"This is not valid JSON: {problem.msg}, line {problem.lineno} column {problem.colno}."
    if wrong:
        raise Invalid(wrong)
    return body


def given_to(act: Act, form: dict[str, str]) -> dict[str, str]:
    """What was filled in, to be shown again: no secret."""
    return {field.name: form.get(field.name, "") for field in act.fields if field.kind != "password"}


def _typed(field: Field, text: str) -> Any:
    """A number as one, where it is one; what is not, the API refuses by its name. Browsers end lines as mail does."""
    if field.kind == "number":
        return _number(text)
    if field.kind == "flag":
        return {"true": True, "false": False}.get(text, text)
    if field.kind == "json":
        return json.loads(text)
    if field.kind == "list":
        return [word for each in text.split(",") if (word := each.strip())]
    return text.replace("\r\n", "\n") if field.kind == "area" else text


def _number(text: str) -> Any:
    if text.removeprefix("-").isdecimal() and len(text) < 16:
        return int(text)
    try:
        number = float(text)
    except ValueError:
        return text
    return number if math.isfinite(number) else text


def _put(body: dict[str, Any], name: str, value: Any) -> None:
    *above, last = name.split(".")
    for step in above:
        body = body.setdefault(step, {})
    body[last] = value
