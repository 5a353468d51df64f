"""The parts of a page, which come from the API, and its acts, which are forms that call the API. Plain values. Must
not: know HTTP, or decide what is shown and allowed (the API does)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from opsapp.ui.questions import Call, Draft
from opsapp.ui.reader import Answers, Reader, Shape
from opsapp.wire.kinds import REQUIRED, DeclaredField
from opsapp.wire.records import DeclaredObject, FormField, settings_in

Asks = Callable[[Reader, Answers], Mapping[str, str | tuple[str, ...]]]  # (who reads, what was said so far) -> a query


class Column(NamedTuple):
    """`field` may lead into the row (`evidence.verified`). Kinds: words, time, state, code."""

    title: str
    field: str
    kind: str = "words"
    link: str | None = None  # a page's address, with the row's fields: "/monitors/{id}"


class Field(NamedTuple):
    """One input of an act. Kinds: text, area, number, password, choice, list (with commas), lines (a list, one a line),
    flag, json, yaml (or JSON), picks (ticks for some of the choices, which a template may give), moment (date and
    time by the reader's clock), clock (time of day), duration ("15 min", sent in seconds), span (sent as a text like
    15m), colour (#rrggbb), name and names (things of the kind `of`, of which the API wants the field `by`), rows
    (objects with `fields` each, or as JSON), schedule (how often, or a cron expression), like (a value of the type
    that the row's field `like` names), kept (of a row: sent back as it is), shown (a list with commas that its
    template sends back).

    `above`, `upto` and `below` name fields of the row: only the choices after, up to or before that value are offered.
    """

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
    unsaid: str = ""  # what an empty choice means, in words: "as the service does it"
    of: str = ""  # the kind of thing that is named (`ui.pickers`)
    by: str = "id"
    ticks: bool = False  # of few, names are ticked; of many they are typed
    fields: tuple[Field, ...] = ()  # of each row
    spare: bool = False  # of rows: an empty one stands there to be filled in
    like: str = ""
    whole: str = ""  # what none means, in a word: a tick of its own, without which none is a mistake
    clears: bool = False  # left empty it says so (null, or an empty list); else it says nothing


def inputs(record: type, *names: str, within: str = "") -> tuple[Field, ...]:
    """The settings of a declared record that say how they are asked for, or those of these names, in their order.
    `within`: the field of the body that has the record as its value."""
    asked = ((part, part.mark(FormField)) for part in settings_in(record))
    fields = {part.name: _input(part, form) for part, form in asked if form is not None}
    chosen = [fields[name] for name in names or fields]
    return tuple(field._replace(name=f"{within}.{field.name}") for field in chosen) if within else tuple(chosen)


OF_THE_FORM = ("act",)  # names that every form has for itself


def _input(part: DeclaredField, form: FormField) -> Field:
    """A choice has to be made, unless it is said what none means; of yes and no the default says it."""
    sole, entry = getattr(part.kind, "choices", ()), getattr(part.kind, "item", part)
    if isinstance(part.default, bool) and not form.unsaid:
        form = form._replace(unsaid="yes" if part.default else "no")
    taken = part.name in OF_THE_FORM
    return Field(
        f"{part.name}-value" if taken else part.name,
        key=part.name if taken else "",
        choices=getattr(entry.kind, "choices", ()),
        required=part.default is REQUIRED or bool(sole and not form.unsaid),
        fields=_of_each(entry) if entry is not part else (),
        **form._asdict(),
    )


def _of_each(entry: DeclaredField) -> tuple[Field, ...]:
    """The fields of a row: those of its record, or the one of a plain value that says how it is asked for."""
    form = entry.mark(FormField)
    if isinstance(entry.kind, DeclaredObject):
        return inputs(entry.kind.owner)
    return (_input(entry, form),) if form else ()


class Act(NamedTuple):
    """A change that the API makes: shown to who may, on rows for which `when` holds (field -> values)."""

    name: str
    label: str
    api: str  # "POST /api/approvals/{request_id}/approve"
    fields: tuple[Field, ...] = ()
    when: Mapping[str, tuple[Any, ...]] = {}
    body: Mapping[str, str | bool | list[str] | None] = {}  # what is sent besides the fields
    grave: bool = False  # takes something away, and looks like it
    warns: str = ""  # what will happen, in sentences: said before it is done
    many: bool = False  # may be done to many rows of the list at once: its path has one name, the row's `key`
    shows: bool = False  # its answer is what one wants to see
    then: str = ""  # what to do with that answer
    command: str = ""  # what to type for it, with the answer's fields, and {server}
    inputs: str = ""  # the field of the row that declares inputs (automations): each is a field of the form
    here: bool = False  # what is wrong with it is shown on the page itself, by the macro `editor`
    tries: bool = False  # its answer too, as `tried`, beside the form as it was filled in; implies nothing was changed
    goes: str = ""  # the page that it leads to, with the answer's fields and the row's: "/monitors/{id}"
    leads: bool = False  # its answer names the page that it leads to, as `page`
    done: str = ""  # what to say when it was done, in a sentence
    result: str = "result.jinja2"  # the template for an answer that one wants to see
    offers: Act | None = None  # what one does next with what it has made, on the page of its answer

    @property
    def method(self) -> str:
        return self.api.split(" ")[0]

    @property
    def path(self) -> str:
        return self.api.split(" ")[1]

    @property
    def makes(self) -> bool:
        return self.method == "POST" and bool(self.fields) and not self.tries and "{" not in self.path


def delete(api: str, **more: Any) -> Act:
    return Act("delete", "Delete", f"DELETE {api}", grave=True, **more)


def save(api: str, fields: tuple[Field, ...], name: str = "save", *, done: str = "Saved.", **more: Any) -> Act:
    return Act(name, "Save", api, fields, here=True, done=done, **more)


def switches(api: str) -> tuple[Act, ...]:
    """Disable a thing, and enable it: each is offered where it is the other way round."""
    return tuple(
        Act(label.lower(), label, api, when={"enabled": (not on,)}, body={"enabled": on})
        for label, on in (("Disable", False), ("Enable", True))
    )


class Part(NamedTuple):
    """A section of a page. `pick` leads into the answer. `acts` are for each row, or for what the answer is about.
    `source` may use names of the address (`{id}`) and of parts above (`{monitor.agent_id}`); without a value the part
    is left out. `asks` adds to its query what depends on the reader, or on these."""

    title: str
    source: str
    columns: tuple[Column, ...] = ()
    pick: str | None = None
    empty: str = "There is nothing yet."
    acts: tuple[Act, ...] = ()
    paged: bool = False
    rows: int = 50  # on one of its pages: fewer, where a row has many forms
    begins: str = "offset"  # where its page begins, by this name in the address: of a second list, one of its own
    steady: bool = False  # its pages go on before a row, so that new ones move nothing
    filters: tuple[Field, ...] = ()
    optional: bool = False  # left out for who may not see it
    name: str = ""  # by which templates, acts and later parts know it; of a declared answer an `AnswerOf`
    hidden: bool = False  # asked for the page's own template, or for a later part: no table of its own
    asks: Asks | None = None
    key: str = "id"  # the field of a row by which acts on many of them know it


def told(name: str, source: str, **more: Any) -> Part:
    """A part that no table shows: the page's own template does, or a later part needs it."""
    return Part("", source, name=name, hidden=True, **more)


class PageBlock(NamedTuple):
    """A block that can be asked for alone with these parts of the page; `shape` makes its values."""

    name: str
    parts: tuple[str, ...]
    shape: Shape


class Page(NamedTuple):
    """With a look of its own it has a `template` and a `shape`, which makes the template's values; a `title` among
    these is the page's."""

    path: str
    title: str
    parts: tuple[Part, ...]
    forms: tuple[Act, ...] = ()  # below the parts: what makes something new
    menu: str | None = None  # its name in the navigation; None: reached from another page
    lead: str = ""
    template: str = "room.jinja2"
    shape: Shape | None = None
    file: tuple[str, str] | None = None  # it is a file: the fields of its part with its name and its text
    draft: Draft | None = None
    calls: tuple[Call, ...] = ()  # what its own template or script calls besides
    needs: str = ""  # the act that the page is for: refused to who may not do it, whatever else stands on it
    blocks: tuple[PageBlock, ...] = ()  # a block that is not named here is made of the whole page

    @property
    def group(self) -> str:
        return "/" + self.path.split("/")[1]
