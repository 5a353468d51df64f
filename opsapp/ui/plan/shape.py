"""Of what a page is made: parts (a table or facts) that come from the API, and acts, which are forms that call it.

Plain values. Must not: know HTTP, decide anything (what is shown and what is allowed, the API says).
"""

from __future__ import annotations

from typing import Any, NamedTuple


class Column(NamedTuple):
    """One field of a row. `field` may lead into it (`evidence.verified`). Kinds: words, time, state,
    percent, code, steps."""

    title: str
    field: str
    kind: str = "words"
    link: str | None = None  # a page's address, with the row's fields: "/monitors/{id}"


class Field(NamedTuple):
    """One input of an act. Kinds: text, area, number, password, choice, list (with commas), flag (true or false), json.

    The choices of a field are ordered. `above`, `upto` and `below` name fields of the row: only the choices after, up
    to or before that value are offered."""

    name: str
    label: str
    kind: str = "text"
    choices: tuple[str, ...] = ()
    required: bool = False
    above: str = ""
    upto: str = ""
    below: str = ""
    hint: str = ""
    preset: str = ""
    key: str = ""  # its name in the API's body, where that is not `name`


class Act(NamedTuple):
    """A change that the API makes: shown to who may, on rows for which `when` holds ((field, values) pairs)."""

    name: str
    label: str
    api: str  # "POST /api/approvals/{request_id}/approve"
    fields: tuple[Field, ...] = ()
    when: tuple[tuple[str, tuple[Any, ...]], ...] = ()
    body: tuple[tuple[str, Any], ...] = ()  # what is sent besides the fields
    grave: bool = False  # takes something away, and looks like it
    shows: bool = False  # its answer is what one wants to see
    then: str = ""  # what to do with that answer
    command: str = ""  # what to type for it, with the answer's fields, and {server}
    inputs: str = ""  # the field of the row that declares inputs (automations): each is a field of the form

    @property
    def method(self) -> str:
        return self.api.split(" ")[0]

    @property
    def path(self) -> str:
        return self.api.split(" ")[1]


class Part(NamedTuple):
    """A section of a page. `pick` leads into the answer. `acts` are for each row, or the whole of facts."""

    title: str
    source: str
    columns: tuple[Column, ...]
    pick: str | None = None
    empty: str = "There is nothing yet."
    acts: tuple[Act, ...] = ()
    paged: bool = False
    filters: tuple[Field, ...] = ()
    facts: bool = False
    optional: bool = False  # left out for who may not see it


class Page(NamedTuple):
    path: str
    title: str
    parts: tuple[Part, ...]
    forms: tuple[Act, ...] = ()  # below the parts: what makes something new
    menu: str | None = None  # its name in the navigation; None: reached from another page
    lead: str = ""

    @property
    def group(self) -> str:
        return "/" + self.path.split("/")[1]
