"""Resources: what the reading tools read, under an address of its own, and the pages of the guide."""

from __future__ import annotations

import re

from pyramid.httpexceptions import HTTPForbidden
from pyramid.request import Request

from opsapp.assistants.interfaces import GuideText, IGuide
from opsapp.assistants.logic import jsonrpc
from opsapp.assistants.logic.answers import ReadAnswer, ResourceListed, ResourceRead, ResourceTemplate, ResourceText
from opsapp.assistants.logic.jsonrpc import RpcError
from opsapp.assistants.logic.tools import MOST_CHARACTERS, READ
from opsapp.lib.problems import Problem
from opsapp.web.answers import Deferred
from opsapp.web.jsontext import dumps

from . import reading

JSON, MARKDOWN = "application/json", "text/markdown"
GUIDE = "guide"
OVERVIEW = "opsapp://overview"
KINDS = {  # noun: tool, its argument
    "cases": ("explain_case", "case_id"),
    "incidents": ("explain_incident", "incident_id"),
    "rules": ("explain_rule", "rule_id"),
    "monitors": ("get_monitor", "monitor_id"),
    "hosts": ("get_host", "agent_id"),
}
_ADDRESS = re.compile(r"opsapp://([a-z]+)/([^/?#]{1,200})")


def listed(request: Request) -> list[ResourceListed]:
    overview = ResourceListed(OVERVIEW, "overview", READ["overview"].title, JSON)
    return [overview, *map(_page, guide(request).values())]


def guide(request: Request) -> dict[str, GuideText]:
    """By name."""
    pages: dict[str, GuideText] = request.registry.getUtility(IGuide)()
    return pages


def _page(page: GuideText) -> ResourceListed:
    uri, title = f"opsapp://{GUIDE}/{page.name}", f"Guide: {page.title}"
    return ResourceListed(uri, f"guide-{page.name}", title, MARKDOWN, page.about or page.title)


def templates() -> list[ResourceTemplate]:
    return [
        ResourceTemplate(f"opsapp://{noun}/{{{name}}}", noun, READ[tool].title, JSON)
        for noun, (tool, name) in KINDS.items()
    ]


def read(request: Request, params: dict[str, object]) -> ResourceRead | Deferred:
    uri = str(params.get("uri"))
    address = _ADDRESS.fullmatch(uri)
    noun, given = ("", "") if address is None else address.groups()
    if noun == GUIDE and given in guide(request):
        return ResourceRead((ResourceText(uri, MARKDOWN, guide(request)[given].markdown),))
    if uri != OVERVIEW and noun not in KINDS:
        raise RpcError(jsonrpc.NOT_FOUND, "There is no such resource.")
    tool, argument = ("overview", "") if uri == OVERVIEW else KINDS[noun]
    try:
        answer = reading.read(request, READ[tool], {argument: given} if argument else {})
    except (Problem, HTTPForbidden) as problem:
        raise RpcError(jsonrpc.NOT_FOUND, str(problem)) from None
    if isinstance(answer, Deferred):
        return Deferred(lambda: _contents(uri, answer.fn()))
    return _contents(uri, answer)


def _contents(uri: str, answer: ReadAnswer) -> ResourceRead:
    text = dumps(answer)
    if len(text) > MOST_CHARACTERS:
        raise RpcError(jsonrpc.INVALID_PARAMS, "This is too long to be read whole: the tools read parts of it.")
    return ResourceRead((ResourceText(uri, JSON, text),))
