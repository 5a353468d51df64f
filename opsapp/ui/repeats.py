"""Handles a form that is sent a second time, unchanged: nothing is done again, and the browser is led to what was made
the first time. Whoever opens the form anew, or changes it, makes another thing. Must not: remember (`web.idempotency`
does)."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import parse_qsl

from pyramid.request import Request

from opsapp.auth.cookies import FIELD
from opsapp.lib.problems import NotFound
from opsapp.web import idempotency
from opsapp.web.idempotency import SentForm

from .apicalls import ask
from .builder import filled, find, known_of
from .reader import query_with, with_query

REPEATED = "already-sent"


def again_led_to(sent: SentForm, place: str) -> str:
    """Where the form led the first time; else the page that it is on."""
    path, _, query = (sent.led_to or place).partition("?")
    return with_query(path, query_with(dict(parse_qsl(query)), said=REPEATED))


def sent(request: Request, form: Mapping[str, str]) -> SentForm:
    now = idempotency.sent_form(request, form, FIELD)
    if now.led_to is None or _is_there(request, now.led_to.partition("?")[0]):
        return now
    idempotency.forget_form(request.root, now)
    return idempotency.sent_form(request, form, FIELD)


def _is_there(request: Request, path: str) -> bool:
    matched = find(known_of(request.registry), path)
    source = matched and matched[0].parts and filled(matched[0].parts[0].source.partition("?")[0], matched[1])
    try:
        return not source or bool(ask(request, "GET", source))
    except NotFound:
        return False
