"""Idempotency-Key: a POST with the same key and body gives the first answer again, for 24 h.

A view says `idempotent=True`, or, where anybody may call, a function of (context, request) that refuses strangers
before their body is read. The answer is remembered in the transaction that made it true, so a crash keeps both or
neither; of two at once the second meets a conflict, runs again and finds the first's answer.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from BTrees.OOBTree import OOBTree
from persistent import Persistent
from pyramid.config import Configurator
from pyramid.request import Request
from pyramid.response import Response

from opsapp.lib.problems import Conflict, Malformed
from opsapp.runtime.clocks.ages import StoredAges
from opsapp.runtime.node import Node
from opsapp.tree.places import SystemPlace
from opsapp.tree.root import Root
from opsapp.tree.sharded import ShardedTree

from .answers import Deferred
from .jsontext import dumps, loads

KEEP_S = 24 * 3600
PAGE = 500
AGES = "idempotency-ages"
SINCE = StoredAges("housekeeping", "idempotency")
View = Callable[[Any, Request], Any]


remembered_of = SystemPlace[OOBTree]("idempotency")  # place -> answer


class Remembered(Persistent):
    """One answer: None while it is still being made (by a Deferred) in the process `maker`."""

    maker: str | None = None

    def __init__(self, body: str, at: float, answer: str | None, status: int, maker: str | None = None):
        self.body, self.at, self.answer, self.status, self.maker = body, at, answer, status, maker


def set_up(root: Root) -> None:
    """Evolve step. The ages are there so that the sweep reads only what is old."""
    remembered_of.put(root, OOBTree())
    root.system[AGES] = ShardedTree()


def remember(root: Root, place: str, answer: Remembered) -> None:
    remembered_of(root)[place] = answer
    root.system[AGES][_age(answer.at, place)] = place


def _age(at: float, place: str) -> str:
    return f"{int(at):012d}/{place}"


def idempotency_deriver(view: View, info: Any) -> View:
    wanted = info.options.get("idempotent")
    if not wanted:
        return view

    def wrapped(context: Any, request: Request) -> Any:
        if callable(wanted):
            wanted(context, request)
        key = request.headers.get("Idempotency-Key")
        if key is None:
            return view(context, request)
        if not 1 <= len(key) <= 200 or not key.isprintable():
            raise Malformed("Idempotency-Key must be 1 to 200 printable characters.")
        return _once(view, context, request, key)

    return wrapped


idempotency_deriver.options = ("idempotent",)  # type: ignore[attr-defined]


def _once(view: View, context: Any, request: Request, key: str) -> Any:
    who = request.caller.name if request.caller else ""
    place = hashlib.sha256("\0".join((who, request.method, request.path_info, key)).encode()).hexdigest()
    body = _meaning(request.body)
    first = remembered_of(request.root).get(place)
    now = SINCE.steady(request.root, request.now)
    if first is not None and first.at > now - KEEP_S:
        return _again(first, {body, _digest(request.body)}, request)
    answer = view(context, request)
    if isinstance(answer, Deferred):
        remember(request.root, place, Remembered(body, now, None, 0, request.node.owner))
        return _remember_late(request.node, answer, place)
    if isinstance(answer, Response):
        remember(request.root, place, Remembered(body, now, answer.text, answer.status_int))
        return answer
    remember(request.root, place, Remembered(body, now, dumps(answer), request.response.status_int))
    return answer


class SentForm(NamedTuple):
    """`led_to`: the page that it led to the first time, if it led to one."""

    key: str
    first_time: bool
    led_to: str | None = None


def sent_form(request: Request, form: Mapping[str, str], masked: str) -> SentForm:
    """Whether it is sent for the first time: a form names itself (`once`), so the same again is a reload, or comes from
    a page that was gone back to. `masked`: a field that each page has anew."""
    who = request.caller.name if request.caller else ""
    fields_text = json.dumps(sorted((name, text) for name, text in form.items() if name != masked))
    key = hashlib.sha256(
        "\0".join((who, "form", request.path_info, fields_text)).encode("utf-8", "replace")
    ).hexdigest()
    first, now = remembered_of(request.root).get(key), SINCE.steady(request.root, request.now)
    if first is not None and first.at > now - KEEP_S:
        return SentForm(key, False, first.answer)
    remember(request.root, key, Remembered("", now, None, 0))
    return SentForm(key, True)


def leads_to(root: Root, sent: SentForm, place: str) -> None:
    _fill(root, sent.key, place, 303)


def forget_form(root: Root, sent: SentForm) -> None:
    _forget(root, sent.key)


def _meaning(raw: bytes) -> str:
    """A client that repeats itself may write its keys in another order, and `{}` where it sent nothing."""
    try:
        value = loads(raw or b"{}")
    except Malformed:
        return _digest(raw)
    return _digest(json.dumps(value, sort_keys=True, separators=(",", ":")).encode())


def _digest(raw: bytes) -> str:
    return hashlib.sha256(raw).hexdigest()


def _again(first: Remembered, body: set[str], request: Request) -> Response:
    if first.body not in body:
        raise Conflict("This Idempotency-Key came with another body before.", code="idempotency_key_reused")
    if first.answer is None and first.maker not in request.node.nodes.owners(request.root):
        raise Conflict(
            "The process that did this ended before it answered. See whether it was done; another Idempotency-Key does "
            "it again.",
            code="outcome_unknown",
        )
    if first.answer is None:
        raise Conflict("The first request with this Idempotency-Key is still under way.", code="still_under_way")
    response = Response(first.answer, content_type="application/json", charset="utf-8")
    response.status_int = first.status
    return response


def _remember_late(node: Node, answer: Deferred, place: str) -> Deferred:
    """Remember the answer once it is known; a refusal is forgotten, to be tried again."""
    run = answer.fn

    def fn() -> Any:
        try:
            status, headers, value = run()
        except Exception:
            node.transact(_forget, place)
            raise
        node.transact(_fill, place, dumps(value), status)
        return status, headers, value

    answer.fn = fn
    return answer


def _fill(root: Root, place: str, answer: str, status: int) -> None:
    first = remembered_of(root).get(place)
    if first is not None:
        first.answer, first.status = answer, status


def _forget(root: Root, place: str) -> None:
    remembered_of(root).pop(place, None)


def sweep(root: Root, now: float) -> bool:
    """Forget a page of what is older than a day; whether there may be more."""
    remembered, ages, before = remembered_of(root), root.system[AGES], SINCE.steady(root, now) - KEEP_S
    old = [age for age, _ in zip(ages.keys(), range(PAGE), strict=False) if age < _age(before, "")]
    for age in old:
        place = ages.get(age)
        first = remembered.get(place)
        if first is not None and first.at <= before:  # the key may have been used again since
            del remembered[place]
        del ages[age]
    return len(old) == PAGE


def start(node: Node) -> None:
    def forget_old() -> bool:
        return node.transact(sweep, node.clock.now())

    SINCE.carry(node)
    node.supervisor.add("idempotency-sweep", forget_old, every=600.0, lease=SINCE.lease)


def includeme(config: Configurator) -> None:
    config.add_view_deriver(idempotency_deriver, "idempotency", under="returns", over="rendered_view")
    config.add_evolve_step("web-1-idempotency", set_up)
    config.add_engine("opsapp.web.idempotency.start")
