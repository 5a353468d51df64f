"""Makes what a template shows from the table of pages. Must not: decide what is allowed; the API's views say which
role they take (`web.openapi.endpoints`)."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from string import Formatter
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

from opsapp.automations.records import DeclaredInput
from opsapp.lib.problems import NotFound, Unreadable
from opsapp.tree.acl import ROLES
from opsapp.web.openapi import endpoints
from opsapp.web.refusals import NEXT
from opsapp.wire.records import made

from .plan import FILTERS, PAGES, Act, Field, Page, Part, forms_of, is_list
from .reader import BEFORE, OFFSET, AnswerOf, Answers, Reader, dig, merged, query_with

GENERIC = Page("", "", ()).template
REGISTRY_KEY = "opsapp.ui.pages"
Ask = Callable[[str, str], Any]  # (path, query) -> a response


class Known(NamedTuple):
    """The pages that there are, and the role of each of the API's views. `limited`: to who is in a team; of a page they
    need the first part alone."""

    pages: tuple[Page, ...]
    roles: dict[str, str]
    open_to_teams: frozenset[str] = frozenset()
    limited: bool = False

    def for_teams(self) -> Known:
        roles = {api: role for api, role in self.roles.items() if api in self.open_to_teams}
        return self._replace(roles=roles, limited=True)

    def may_open(self, role: str | None, page: Page) -> bool:
        apis = needed(page)
        return all(self.may(role, api) for api in (apis[:1] if self.limited else apis))

    def may(self, role: str | None, api: str) -> bool:
        needs = self.roles.get(api)
        return needs == "public" or (needs in ROLES and role in ROLES and ROLES.index(role) >= ROLES.index(needs))


def known_of(registry: Any) -> Known:
    known = registry.get(REGISTRY_KEY)
    if known is None:
        views = {_shape(f"{endpoint.method} {endpoint.path}"): endpoint for endpoint in endpoints(registry)}
        roles = {shape: endpoint.role for shape, endpoint in views.items()}
        pages = tuple(page for page in PAGES if all(_shape(api) in roles for api in needed(page)))
        wanted = {api for page in pages for api in needed(page, all=True)}
        asked = {api: views[_shape(api)] for api in wanted if _shape(api) in views}
        is_open = frozenset(api for api, view in asked.items() if view.options.get("teams") or view.role == "public")
        known = Known(pages, {api: view.role for api, view in asked.items()}, is_open)
        registry[REGISTRY_KEY] = known
    return known


def known_for(request: Any) -> Known:
    """As far as it is open to who asks."""
    known = known_of(request.registry)
    return known if request.sight is None else known.for_teams()


def needed(page: Page, *, all: bool = False) -> list[str]:
    apis = ["GET " + part.source.partition("?")[0] for part in page.parts if all or not part.optional]
    acts = [*(forms_of(page) if all else page.forms), *(act for part in page.parts for act in part.acts)]
    asked = page.draft.apis if all and page.draft is not None else ()
    if all and is_list(page):
        apis.append(f"GET {FILTERS}")
    called = page.calls if all else ()
    return (
        apis + [act.api for act in (acts if all or not page.parts else ())] + [call.api for call in (*asked, *called)]
    )


def _shape(api: str) -> str:
    """An API view without the names of what is in its path."""
    return "".join(text + ("{}" if name is not None else "") for text, name, _, _ in Formatter().parse(api))


def find(known: Known, path: str) -> tuple[Page, dict[str, str]] | None:
    steps = path.split("/")
    for page in known.pages:
        wanted = page.path.split("/")
        pairs = list(zip(wanted, steps, strict=False))
        if len(wanted) == len(steps) and all(want == step or (want[:1] == "{" and step) for want, step in pairs):
            return page, {want[1:-1]: step for want, step in pairs if want[:1] == "{"}
    return None


def narrowed(page: Page, names: Collection[str]) -> Page:
    """The page without the parts that these blocks do not need; all of it, where the page does not say what one
    needs."""
    blocks = [block for block in page.blocks if block.name in names]
    if len(blocks) < len(names):
        return page
    needed_parts = {name for block in blocks for name in block.parts}
    parts = tuple(part for part in page.parts if part.name in needed_parts)
    return page._replace(parts=parts, shape=merged(*(block.shape for block in blocks)), forms=())


def act_of(page: Page, name: str) -> Act | None:
    if "." not in name:
        return next((act for act in forms_of(page) if act.name == name), None)
    part = part_of(page, name)
    return next((act for act in part.acts if act.name == name.partition(".")[2]), None) if part else None


def parts_of(page: Page) -> dict[str, Part]:
    return {part.name or str(number): part for number, part in enumerate(page.parts)}


def part_of(page: Page, name: str) -> Part | None:
    return parts_of(page).get(name.partition(".")[0])


def acts_of(page: Page, may: Callable[[str], bool]) -> dict[str, Act]:
    acts = {f"{name}.{act.name}": act for name, part in parts_of(page).items() for act in part.acts}
    acts |= {act.name: act for act in forms_of(page)}
    return {name: act for name, act in acts.items() if may(act.api)}


def needed_for(page: Page) -> str:
    """The act that the page is for, if any: refused to who may not do it."""
    return page.needs or (page.forms[0].api if page.forms and not page.parts else "")


def is_for_all(known: Known, page: Page) -> bool:
    apis = [*needed(page), *filter(None, [needed_for(page)])]
    return all(known.may(ROLES[0], api) for api in apis)


class Withheld(NamedTuple):
    role: str
    acts: tuple[str, ...]


def withheld_of(known: Known, page: Page, role: str) -> tuple[Withheld, ...]:
    acts = [*page.forms, *(act for part in page.parts for act in part.acts)]
    offered = [(act.label, act.api) for act in acts] + [*page.calls, *(page.draft.apis if page.draft else ())]
    place = _shape(page.path)
    offered += [
        (below.title, needed_for(below)) for below in known.pages if _shape(below.path).rpartition("/")[0] == place
    ]
    missing = {label: known.roles.get(api) for label, api in offered if label and api and not known.may(role, api)}
    by_role = [Withheld(higher, tuple(_verb(name) for name in missing if missing[name] == higher)) for higher in ROLES]
    return tuple(withheld for withheld in by_role if withheld.acts)


def _verb(label: str) -> str:
    """A button's words within a sentence: "I take it" is to take it."""
    word = label.removeprefix("I ")
    return word[0].lower() + word[1:]


class ManyActs(NamedTuple):
    key: str
    acts: tuple[tuple[str, Act], ...]


def many_of(page: Page, acts: dict[str, Act]) -> dict[str, ManyActs]:
    """What the reader may do with many rows, by the part's name."""
    mine = {}
    for name, part in parts_of(page).items():
        offered = tuple((f"{name}.{act.name}", act) for act in part.acts if act.many and f"{name}.{act.name}" in acts)
        if offered:
            mine[name] = ManyActs(part.key, offered)
    return mine


def filled(pattern: str, values: object) -> str | None:
    names = {name for _, name, _, _ in Formatter().parse(pattern) if name}
    if any(dig(values, name) in (None, "") for name in names):
        return None
    path = pattern
    for name in names:
        path = path.replace("{" + name + "}", quote(str(dig(values, name)), safe=""))
    return path


def names_of(act: Act) -> list[str]:
    patterns = [act.path, *(value for value in act.body.values() if isinstance(value, str))]
    return sorted({name for pattern in patterns for _, name, _, _ in Formatter().parse(pattern) if name})


def holds(act: Act, row: Mapping[str, object]) -> bool:
    """One whose choices are all ruled out makes no sense on this row."""
    choosable = all(choices_of(field, row) for field in act.fields if field.kind == "choice")
    return choosable and all(dig(row, field) in values for field, values in act.when.items())


def choices_of(field: Field, row: Mapping[str, object]) -> tuple[str, ...]:
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


def for_row(act: Act, row: object) -> Act:
    """The act with a field for each input that the row declares, as it was answered or sent."""
    declared = dig(row, act.inputs) if act.inputs else None
    return act._replace(fields=act.fields + tuple(map(_input_field, declared or ())))


def _input_field(given: Any) -> Field:
    declared = given if isinstance(given, DeclaredInput) else made(DeclaredInput, given)
    default = declared.default
    preset = "" if default is None else json.dumps(default) if isinstance(default, bool) else str(default)
    return Field(
        f"inputs.{declared.name}",
        declared.name,
        INPUT_KINDS.get(declared.type, "text"),
        declared.choices,
        declared.required and default is None,
        preset=preset,
        unsaid={True: "yes", False: "no"}[default] if isinstance(default, bool) else "",
        key=declared.name,
    )


class Shown(NamedTuple):
    part: Part
    name: str
    value: Any  # what the API said, or the part of it that is picked
    rows: list[Any]
    total: int | None
    offset: int
    before: str | None
    after: str | None
    acts: tuple[Act, ...]
    given: dict[str, str]


def show(page: Page, ids: dict[str, str], reader: Reader, ask: Ask, value_of: Any, unread: list[str]) -> list[Shown]:
    """`unread` takes what is said of parts that are damaged in the store."""
    answers: dict[tuple[str, str], Any] = {}
    known_values = Answers(ids)
    query = dict(reader.query)
    sections = []
    for number, part in enumerate(page.parts):
        source, _, own = part.source.partition("?")
        if (part.optional or (reader.limited and number)) and not reader.may("GET " + source):
            continue
        path, own_filled = filled(source, known_values), filled(own, known_values)
        if path is None or own_filled is None:
            continue
        given = {field.name: query[field.name] for field in part.filters if query.get(field.name)}
        more = urlencode(part.asks(reader, known_values), doseq=True) if part.asks else ""
        asked = (
            path,
            "&".join(query_part for query_part in (own_filled, more, _query(part, given, query)) if query_part),
        )
        try:
            answers[asked] = answers.get(asked) or ask(*asked)
        except (NotFound, Unreadable) as problem:
            if path == filled(source, dict(ids)):
                raise
            if isinstance(problem, Unreadable) and not reader.limited:
                unread.append(problem.message)
            continue  # it hangs on what an earlier part said, which names what is there no more
        shown = _shown(part, number, answers[asked], value_of, given, query)
        known_values[shown.name] = shown.value
        sections.append(shown._replace(acts=tuple(act for act in part.acts if reader.may(act.api))))
    return sections


def _shown(
    part: Part, number: int, response: Any, value_of: Any, given: dict[str, str], query: dict[str, str]
) -> Shown:
    offset = _offset(part, query) if part.paged else 0
    others = {name: text for name, text in query.items() if name.startswith(OFFSET)}
    value = value_of(response)
    value = value if part.pick is None else dig(value, part.pick)
    if isinstance(part.name, AnswerOf):
        value = part.name.read(value)
        part.name.check(value)
    rows = list(value) if isinstance(value, list | tuple) else []
    count = response.headers.get("X-Total-Count")
    total = int(count) if count else None
    goes_on = part.paged and total and offset + part.rows < total
    before = query_with(query, **others | {part.begins: max(0, offset - part.rows)}) if offset else None
    after = query_with(query, **others | {part.begins: offset + part.rows}) if goes_on else None
    if part.steady:
        following = response.headers.get(NEXT)
        before = query_with(query) if query.get(BEFORE) else None
        after = query_with(query, before=following) if following else None
    return Shown(part, part.name or str(number), value, rows, total, offset, before, after, (), given)


TOLD = {"/api/monitoring": "monitor incident", "/api/agents": "agent", "/api/automations": "run",
        "/api/approvals": "approval", "/api/healing": "heal trust"}  # fmt: skip


def told_of(page: Page) -> str:
    sources = [part.source for part in page.parts]
    return " ".join(kinds for room, kinds in TOLD.items() if any(source.startswith(room) for source in sources))


def _offset(part: Part, query: dict[str, str]) -> int:
    text = query.get(part.begins, "")
    return int(text) if text.isdecimal() and len(text) < 10 else 0


def _query(part: Part, given: dict[str, str], query: dict[str, str]) -> str:
    if part.steady:
        return urlencode({**given, "limit": part.rows} | ({BEFORE: query[BEFORE]} if query.get(BEFORE) else {}))
    return urlencode({**given, "limit": part.rows, "offset": _offset(part, query)} if part.paged else given)
