"""Every page of the table: shown by GET, changed by POST. Both ask the API."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from pyramid.httpexceptions import HTTPNotFound
from pyramid.request import Request
from pyramid.response import Response

from opsapp.auth.confirmation import is_confirmed
from opsapp.auth.records import FilterRecord
from opsapp.lib.problems import Forbidden, Invalid
from opsapp.tree.folder import Facet, add_facet
from opsapp.tree.root import Root
from opsapp.ui import builder, drafts, keptforms, many, pickers, repeats
from opsapp.ui.apicalls import ask
from opsapp.ui.drafts import REDRAW, Draw, Redrawn
from opsapp.ui.formvalues import body_of, given_to, redrawn
from opsapp.ui.pages import COUNTS, EVERY_PAGE, frame_of, frame_part, local_path, parts_asked, render, see_other
from opsapp.ui.plan import FILTERS, PAGES, Act, Page, is_list
from opsapp.ui.plan.outcomes import outcome_of
from opsapp.ui.reader import Answers, Reader
from opsapp.web import api, idempotency
from opsapp.web.answers import Deferred, Elsewhere
from opsapp.web.errors import role_too_low, status_of
from opsapp.web.forms import read_form
from opsapp.web.refusals import UNDO
from opsapp.web.subrequests import value_of

from .sentacts import REFUSALS, after, again, again_at, deleted_at, late, sent_act

PROOF = "confirm-proof"
REDRAWN = "redraw"  # the name of buttons that change the rows of a form, and nothing else
CODE = re.compile(r"\d{6}")


class PlannedPage(Facet):
    """A page's place in the tree; any name leads on, the table says which are pages."""

    def __getitem__(self, name: str) -> Any:
        return PlannedPage(self, name)

    @property
    def path(self) -> str:
        """Not by asking the place above for its own: an address may have thousands of steps."""
        steps, place = [], self
        while isinstance(place, PlannedPage):
            steps.append(place.__name__)
            place = place.__parent__
        return "/" + "/".join(reversed(steps))


def add_places() -> None:
    for group in sorted({page.group for page in PAGES if page.path != "/"}):
        add_facet(Root, group[1:], PlannedPage)
    PlannedPage.url = "/{page}"


add_places()


def found(context: PlannedPage, request: Request) -> tuple[Page, dict[str, str]]:
    return found_at(request, context.path)


def found_at(request: Request, path: str) -> tuple[Page, dict[str, str]]:
    page = builder.find(builder.known_of(request.registry), path)
    if page is None:
        raise HTTPNotFound
    return page


@api.get(PlannedPage, teams="filtered")
def shown(context: PlannedPage, request: Request) -> Response:
    page, ids = found(context, request)
    return frame_part(request) or show(request, page, ids, context.path)


class FormAgain(NamedTuple):
    """A sent form, shown once more: as it was filled in, with its answer or its mistakes."""

    form_name: str = ""
    given: Mapping[str, object] = {}
    wrong: dict[str, str] = {}
    problem: str = ""
    tried: Any = None
    problem_status: int = 422  # the status with a problem


class PageValues(NamedTuple):
    """`file`: its name and its text, of a page that is one."""

    values: dict[str, object]
    reader: Reader
    answers: Answers
    file: list[str] | None


def show(request: Request, page: Page, ids: dict[str, str], path: str, tried: FormAgain = FormAgain()) -> Response:
    parts = parts_asked(request)
    return drawn(page, values_of(request, page, ids, path, parts), tried, parts)


def values_of(request: Request, page: Page, ids: dict[str, str], path: str, blocks: Sequence[str] = ()) -> PageValues:
    """Of the page, or of these blocks: it may be drawn later, when the request is gone."""
    own_blocks = [block for block in blocks if block != COUNTS]
    made_of = builder.narrowed(page, own_blocks) if own_blocks else page
    whole, known = made_of is page, builder.known_of(request.registry)
    frame = frame_of(request)
    reader, acts = frame.reader, builder.acts_of(page, frame.reader.may)
    needed = builder.needed_for(page)
    if needed and not reader.may(needed):
        raise role_too_low(reader.role, known.roles.get(needed))
    unread = list[str]()
    sections = builder.show(
        made_of, ids, reader, lambda path, query: ask(request, "GET", path, query), value_of, unread
    )
    fields = [field for act in builder.acts_of(made_of, reader.may).values() for field in act.fields]
    fields += [field for part in made_of.parts for field in part.filters if whole]
    shown = [section.value for section in sections if not isinstance(section.value, list)]
    choosable = pickers.choosable(request, reader, fields, shown)
    rows: list[FilterRecord] = value_of(ask(request, "GET", FILTERS)) if whole and is_list(page) and frame.csrf else []
    answers = Answers(dict.fromkeys(part.name for part in made_of.parts))
    answers.update((section.name, section.value) for section in sections)
    values = {
        **frame._asdict(),
        "page": page,
        "path": path,
        "said": None if frame.deleted else said(page, reader.asked("said")),
        "forms": [act for act in page.forms if reader.may(act.api)],
        "acts": acts,
        "bulk": builder.many_of(page, acts),
        "withheld": builder.withheld_of(known, page, reader.role),
        "options": choosable.options,
        "known_names": choosable.names,
        "title": title_of(page, sections),
        "unread": unread,
        "sections": [section for section in sections if not section.part.hidden],
        "live_main": builder.told_of(page) if page.template == builder.GENERIC else "",
        "saved_filters": [row for row in rows if row.path == path],
        "lists": {section.name: section for section in sections},
        "answers": answers,
    }
    shaped = {} if made_of.shape is None else made_of.shape(answers, reader)
    if taken := shaped.keys() & EVERY_PAGE:
        raise TypeError(f"every page has its own {sorted(taken)}: {page.path} needs other names")
    file = page.file and [builder.dig(sections[0].value, field) for field in page.file]
    return PageValues(values | shaped, reader, answers, file)


def drawn(page: Page, made: PageValues, tried: FormAgain, parts: Sequence[str] = ()) -> Response:
    if made.file:
        return as_file(*made.file)
    return render(page.template, made.values | tried._asdict(), tried.problem_status if tried.problem else 200, parts)


def drawing(request: Request, page: Page, ids: dict[str, str], path: str) -> Draw:
    made = values_of(request, page, ids, path)

    def draw(draft: Redrawn) -> Response:
        told = draft.read_by(made.reader)
        shaped = {} if page.shape is None else page.shape(Answers(made.answers | draft.answers), told)
        status = 422 if draft.problem else 200
        return render(page.template, made.values | FormAgain()._asdict() | {"reader": told} | shaped, status)

    return draw


def as_file(name: str, text: str) -> Response:
    response = Response(text.encode("utf-8", "replace"), content_type="text/markdown", charset="utf-8")
    response.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    response.cache_control = "no-store"
    return response


def title_of(page: Page, sections: list[builder.Shown]) -> str:
    """A page about one thing says its name; the first row of a list is not what the page is about."""
    if "{" not in page.path or not sections or isinstance(sections[0].value, list):
        return page.title
    names = (builder.dig(sections[0].value, field) for field in ("label", "hostname", "name", "monitor_name"))
    name = next(filter(None, names), None)
    return f"{page.title}: {name}" if name else page.title


def said(page: Page, name: str | None) -> str | None:
    if name == repeats.REPEATED:
        return "This form was already sent. Nothing was done a second time."
    act = builder.act_of(page, name) if name else None
    return outcome_of(act) if act else None


@api.submit(PlannedPage, teams="filtered")
def done(context: PlannedPage, request: Request) -> Any:
    """One act of the page, by the API, which has the last word and writes it down."""
    page, ids = found(context, request)
    return change(request, page, ids, context.path)


def change(request: Request, page: Page, ids: dict[str, str], place: str) -> Any:
    form = read_form(request)
    if form.get(PROOF) and not is_confirmed(request):
        return confirmed_first(place, request, form)
    if form.get(keptforms.REFILL) or form.get(REDRAWN):
        return refilled(request, page, ids, place, form)
    if page.draft is not None and form.get("act") == REDRAW:
        return drafts.drawn(request, page.draft, form, ids, drawing(request, page, ids, place))
    if form.get("act") == many.MANY:
        return change_many(request, page, place, form)
    return change_one(request, page, ids, place, form)


def refilled(request: Request, page: Page, ids: dict[str, str], place: str, form: dict[str, str]) -> Any:
    """As it was before the session ended, or with a row more or less. Nothing is done."""
    if page.draft is not None and form.get("act") == REDRAW:
        return drafts.drawn(request, page.draft, form | {"do": ""}, ids, drawing(request, page, ids, place))
    if form.get("act") == many.MANY:
        return change_many(request, page, place, form)
    act, row, _ = named_by(request, page, ids, form)
    given = given_to(act, redrawn(act, form, form.get(REDRAWN, "")))
    if act.here:
        return show(request, page, ids, place, FormAgain(form["act"], given))
    sent = sent_act(request, page, place, form["act"], act, row, given)
    return render("again.jinja2", sent.shown_with(problem=None, fields={}))


def named_by(
    request: Request, page: Page, ids: dict[str, str], form: dict[str, str]
) -> tuple[Act, dict[str, object], str]:
    act = builder.act_of(page, form.get("act", ""))
    row: dict[str, object] = {name[4:]: text for name, text in form.items() if name.startswith("row-")}
    row |= ids
    path = act and builder.filled(act.path, row)
    if act is None or path is None or any(not row.get(name) for name in builder.names_of(act)):
        raise HTTPNotFound
    if act.inputs:
        row |= declared_inputs(request, page, form["act"], act, ids)
        act = builder.for_row(act, row)._replace(inputs="")
    return act, row, path


def change_one(request: Request, page: Page, ids: dict[str, str], place: str, form: dict[str, str]) -> Any:
    act, row, path = named_by(request, page, ids, form)
    sent = repeats.sent(request, form)
    if not (sent.first_time or act.tries):
        return see_other(repeats.again_led_to(sent, again_at(request, place)))
    name, given, back = form["act"], given_to(act, form), local_path(form["back"]) if "back" in form else ""
    with_form = sent_act(request, page, place, name, act, row, given, back)
    tried = FormAgain(name, given)
    try:
        named, unknown = pickers.resolved(request, with_form.reader, act, form)
        if unknown:
            raise Invalid(unknown)
        body = body_of(act, named, row, request.node.config.timezone)
        with_form.values.update(sent=body)
        answer = ask(request, act.method, path, body=body)
    except Invalid as problem:
        if act.here:
            return show(request, page, ids, place, tried._replace(wrong=problem.fields, problem=problem.message))
        return again(problem, with_form)
    except REFUSALS as problem:
        if problem.code == many.UNCONFIRMED:
            return ask_to_confirm(with_form.values, form)
        if not act.fields:
            raise
        if not act.here:
            return again(problem, with_form)
        met = tried._replace(problem=problem.message, problem_status=status_of(problem))
        return show(request, page, ids, place, met)
    if isinstance(answer, Deferred):
        if act.tries:
            shown_later = values_of(request, page, ids, place)
            return Deferred(lambda: drawn(page, shown_later, tried._replace(tried=value_of(answer))))
        node = request.node
        return Deferred(lambda: late(answer, with_form, node, sent))
    if act.tries:
        return show(request, page, ids, place, tried._replace(tried=value_of(answer)))
    response = after(value_of(answer), with_form)
    if response.status_int == 303:
        response.location = deleted_at(response.location, answer.headers.get(UNDO))
        idempotency.leads_to(request.root, sent, response.location)
    return response


def change_many(request: Request, page: Page, place: str, form: dict[str, str]) -> Any:
    act = builder.act_of(page, form.get("do", ""))
    if act is None or not act.many:
        raise HTTPNotFound
    frame = frame_of(request)._asdict()
    values = frame | {"page": page, "path": place, "name": form["do"], "query": request.query_string}
    if keptforms.REFILL in form or many.needs_asking(act, form) or not many.chosen_of(form):
        return many.asked_first(act, form, values)
    sent = repeats.sent(request, form)
    if not sent.first_time:
        return see_other(repeats.again_led_to(sent, again_at(request, place)))
    try:
        return many.carried_out(request, act, form, values)
    except Forbidden as problem:
        if problem.code != many.UNCONFIRMED:
            raise
        return ask_to_confirm(values, form)


def ask_to_confirm(values: dict[str, object], form: dict[str, str], problem: Invalid | None = None) -> Response:
    """What was filled in is kept, with a field for the proof."""
    kept = {name: text for name, text in form.items() if name not in (PROOF, "csrf_token")}
    known = {"title": "Confirm that it is you", "kept": kept, "proof": PROOF, "problem": problem}
    return render("confirm.jinja2", values | known, 422 if problem else 403)


def confirmed_first(place: str, request: Request, form: dict[str, str]) -> Deferred:
    values = frame_of(request)._asdict() | {"path": place}
    field = "code" if CODE.fullmatch(form[PROOF]) else "password"
    answer = ask(request, "POST", "/api/me/confirm", body={field: form[PROOF]})

    def fn() -> Any:
        try:
            value_of(answer)
        except Invalid as problem:
            return ask_to_confirm(values, form, problem)
        return Elsewhere(status=307, location=place)

    return Deferred(fn)


def declared_inputs(request: Request, page: Page, name: str, act: Act, ids: dict[str, str]) -> dict[str, object]:
    part = builder.part_of(page, name)
    source = builder.filled(part.source, ids) if part is not None else None
    if source is None:
        return {}
    return {act.inputs: builder.dig(value_of(ask(request, "GET", source)), act.inputs)}
