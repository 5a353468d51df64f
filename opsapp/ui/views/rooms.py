"""Every page of the table: shown by GET, changed by POST. Both ask the API."""

from __future__ import annotations

import re
from typing import Any

from pyramid.httpexceptions import HTTPForbidden, HTTPNotFound
from pyramid.request import Request
from pyramid.response import Response

from opsapp.auth.confirmation import is_confirmed
from opsapp.lib.problems import Forbidden, Invalid
from opsapp.tree.folder import Facet, add_facet
from opsapp.tree.root import Root
from opsapp.ui import building
from opsapp.ui.asking import ask, value_of
from opsapp.ui.pages import known_of, render, see_other
from opsapp.ui.plan import PAGES, Act, Page
from opsapp.web import api, idempotency
from opsapp.web.answers import Deferred, Elsewhere
from opsapp.web.config import WebSettings
from opsapp.web.forms import read_form

REPEATED = "already-sent"
PROOF = "confirm-proof"
CODE = re.compile(r"\d{6}")


class PlannedPage(Facet):
    """A page's place in the tree; any name leads on, the table says which are pages."""

    def __getitem__(self, name: str) -> Any:
        return PlannedPage(self, name)

    @property
    def path(self) -> str:
        above = self.__parent__.path if isinstance(self.__parent__, PlannedPage) else ""
        return f"{above}/{self.__name__}"


def add_places() -> None:
    for group in sorted({page.group for page in PAGES}):
        add_facet(Root, group[1:], PlannedPage)
    PlannedPage.url = "/{page}"


add_places()


def found(context: PlannedPage, request: Request) -> tuple[Page, dict[str, str]]:
    page = building.find(building.known_of(request.registry), context.path)
    if page is None:
        raise HTTPNotFound
    return page


@api.get(PlannedPage)
def shown(context: PlannedPage, request: Request) -> Response:
    page, ids = found(context, request)
    known, role = building.known_of(request.registry), request.caller.role

    def may(api: str) -> bool:
        return known.may(role, api)

    query = {name: request.GET[name][:500] for name in request.GET}
    parts: list[Any] = []

    def asked(path: str, query: str) -> Response:
        answer = ask(request, "GET", path, query)
        parts.append(answer)
        return answer

    values = known_of(request) | {"page": page, "path": context.path, "said": said(page, query.get("said"))}
    values["forms"] = [act for act in page.forms if may(act.api)]
    if not page.parts and not values["forms"]:
        raise HTTPForbidden
    shown_parts = building.show(page, ids, query, asked, value_of, may)
    return render("room.jinja2", values | {"title": title_of(page, shown_parts), "parts": shown_parts})


def title_of(page: Page, parts: list[building.Shown]) -> str:
    """A page about one thing says its name."""
    if "{" not in page.path or not parts or not parts[0].rows:
        return page.title
    row = parts[0].rows[0]
    name = next((row[each] for each in ("label", "hostname", "name", "monitor_name") if row.get(each)), None)
    return f"{page.title}: {name}" if name else page.title


def said(page: Page, name: str | None) -> str | None:
    if name == REPEATED:
        return "This form was already sent. Nothing was done a second time."
    act = building.act_of(page, name) if name else None
    return f"Done: {act.label}." if act else None


@api.submit(PlannedPage)
def done(context: PlannedPage, request: Request) -> Any:
    """One act of the page, by the API, which has the last word and writes it down."""
    page, ids = found(context, request)
    form = read_form(request)
    if form.get(PROOF) and not is_confirmed(request):
        return confirmed_first(context, request, form)
    if not idempotency.first_time(request):
        return see_other(f"{context.path}?said={REPEATED}")
    act = building.act_of(page, form.get("act", ""))
    row = {name[4:]: text for name, text in form.items() if name.startswith("row-")} | ids
    path = act and building.filled(act.path, row)
    if act is None or path is None or any(not row.get(name) for name in building.names_of(act)):
        raise HTTPNotFound
    if act.inputs:
        row |= declared_inputs(request, page, form["act"], act, ids)
        act = building.for_row(act, row)._replace(inputs="")
    values = known_of(request) | {"title": act.label, "page": page, "path": context.path, "name": form["act"]}
    values["server"] = (request.node.config[WebSettings].base_url or request.host_url).rstrip("/")
    with_form = values | {"act": act, "row": row, "given": building.given_to(act, form)}
    try:
        answer = ask(request, act.method, path, body=building.body_of(act, form, row))
    except Invalid as problem:
        return again(problem, with_form)
    except Forbidden as problem:
        if problem.code != "confirm":
            raise
        return ask_to_confirm(values, form)
    if isinstance(answer, Deferred):
        return Deferred(lambda: late(act, answer, values, with_form))
    return after(act, value_of(answer), values)


def ask_to_confirm(values: dict[str, Any], form: dict[str, str], problem: Invalid | None = None) -> Response:
    """What was filled in, kept, with a field for the proof that the API asks for first."""
    kept = {name: text for name, text in form.items() if name not in (PROOF, "csrf_token")}
    known = {"title": "Confirm that it is you", "kept": kept, "proof": PROOF, "problem": problem}
    return render("confirm.jinja2", values | known, 422 if problem else 403)


def confirmed_first(context: PlannedPage, request: Request, form: dict[str, str]) -> Deferred:
    """Confirm the session, and send the browser to the same place with the same form."""
    values = known_of(request) | {"path": context.path}
    field = "code" if CODE.fullmatch(form[PROOF]) else "password"
    answer = ask(request, "POST", "/api/me/confirm", body={field: form[PROOF]})

    def fn() -> Any:
        try:
            value_of(answer)
        except Invalid as problem:
            return ask_to_confirm(values, form, problem)
        return Elsewhere(status=307, location=context.path)

    return Deferred(fn)


def declared_inputs(request: Request, page: Page, name: str, act: Act, ids: dict[str, str]) -> dict[str, Any]:
    """The inputs that the thing shown on this page declares, as the API says now."""
    part = building.part_of(page, name)
    source = building.filled(part.source, ids) if part is not None and part.facts else None
    if source is None:
        return {}
    return {act.inputs: building.dig(value_of(ask(request, "GET", source)), act.inputs)}


def late(act: Act, answer: Deferred, values: dict[str, Any], with_form: dict[str, Any]) -> Response:
    try:
        return after(act, value_of(answer), values)
    except Invalid as problem:
        return again(problem, with_form)


def after(act: Act, value: Any, values: dict[str, Any]) -> Response:
    back = f"{values['path']}?said={values['name']}"
    return render("result.jinja2", values | {"act": act, "value": value}) if act.shows else see_other(back)


def again(problem: Invalid, values: dict[str, Any]) -> Response:
    """The form once more, as it was filled in, with what is wrong beside it."""
    return render("again.jinja2", values | {"problem": problem, "fields": problem.fields}, 422)
