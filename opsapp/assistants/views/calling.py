"""Tools are listed and called: the table of `logic.tools`, with arguments checked and problems said as results.

A mistake of the assistant is a result that says so (`isError`), so that it can mend it.
Must not: know what a tool does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyramid.httpexceptions import HTTPForbidden
from pyramid.request import Request

from opsapp.assistants.engine import ASKING, ProposalOpened, calls_of, what_if
from opsapp.assistants.inputs import TAKES
from opsapp.assistants.logic import jsonrpc
from opsapp.assistants.logic.jsonrpc import RpcError
from opsapp.assistants.logic.protocol import DATA
from opsapp.assistants.logic.tools import ASK, ASKS, MOST_CHARACTERS, READ, READS, AskTool
from opsapp.assistants.resources import Asker
from opsapp.auth.assistants import KIND
from opsapp.healing.whatif import Rehearsed
from opsapp.lib.problems import Forbidden, Invalid, Problem
from opsapp.runtime.node import Node
from opsapp.tree.acl import roles_from
from opsapp.web.answers import Deferred
from opsapp.web.bodies import judge, refuse
from opsapp.web.declared import body_of
from opsapp.web.errors import body_of as body_of_problem
from opsapp.web.errors import problem_of
from opsapp.web.jsontext import dumps
from opsapp.wire.records import made

from . import reading, toolschemas
from .asker import asker_of

WHAT_IF_ROLE = "operator"  # of POST /api/healing/whatif
FORBIDDEN = "The role of this key does not allow this."


def tools(request: Request) -> list[dict[str, object]]:
    """Those that this caller may call."""
    schemas = toolschemas.of(request.registry)
    listed: list[dict[str, object]] = [
        _listed(tool.name, tool.title, schemas[tool.name], changes=False) for tool in READS
    ]
    return listed + [
        _listed(tool.name, tool.title, schemas[tool.name], changes=tool.proposes)
        for tool in ASKS
        if _refusal(request, tool) is None
    ]  # fmt: skip


def _refusal(request: Request, tool: AskTool) -> Forbidden | None:
    """Why this caller may not ask with this tool: nobody but an assistant gets further here than by the API."""
    if request.caller.kind == KIND:
        return None
    if tool.proposes:
        return Forbidden("Only the key of an assistant proposes.", code="no_assistant")
    return None if request.caller.role in roles_from(WHAT_IF_ROLE) else Forbidden(FORBIDDEN, code="role_too_low")


def _listed(name: str, title: str, told: toolschemas.ToolSchema, *, changes: bool) -> dict[str, object]:
    """A proposal writes a request, and nothing is done by it: it is not destructive, and an equal one is the same."""
    hints = {"readOnlyHint": not changes, "destructiveHint": False, "idempotentHint": True, "openWorldHint": False}
    return {
        "name": name,
        "title": title,
        "description": told.description,
        "inputSchema": told.input,
        "annotations": {"title": title, **hints},
    }


def called(request: Request, params: dict[str, object]) -> dict[str, object] | Deferred:
    name, given = params.get("name"), params.get("arguments")
    given = {} if given is None else given
    if not isinstance(name, str) or not isinstance(given, dict):
        raise RpcError(jsonrpc.INVALID_PARAMS, "A call needs the name of a tool, and its arguments as an object.")
    if name not in READ and name not in ASK:
        calls_of(request.node).count(name, "refused")
        raise RpcError(jsonrpc.INVALID_PARAMS, "There is no such tool.")
    return _settled(request.node, name, lambda: _begun(request, name, given))


def _begun(request: Request, name: str, given: dict[str, object]) -> dict[str, object] | Deferred:
    if name in READ:
        return reading.read(request, READ[name], given)
    record, asker, node = TAKES[name], asker_of(request), request.node
    refusal = _refusal(request, ASK[name])
    if refusal is not None:
        raise refusal
    sound, wrong = judge(body_of(record)(), given)
    refuse(wrong)
    return Deferred(lambda: _asked(node, asker, name, made(record, sound)))


def _asked(node: Node, asker: Asker | None, name: str, given: Any) -> Rehearsed | ProposalOpened:
    return what_if(node, given) if asker is None or name not in ASKING else ASKING[name](node, asker, given)


def _settled(node: Node, name: str, begin: Callable[[], Any]) -> dict[str, object] | Deferred:
    """The tool's answer as a result, and one that comes later too."""
    try:
        answer = begin()
    except (Problem, HTTPForbidden) as problem:
        return _refused(node, name, problem)
    if isinstance(answer, Deferred):
        return Deferred(lambda: _settled(node, name, answer.fn))
    return _well(node, name, answer)


def _well(node: Node, name: str, answer: Any) -> dict[str, object]:
    text = dumps({"note": DATA, **answer} if name in READ else {"note": DATA, "data": answer})
    if len(text) > MOST_CHARACTERS:
        return _refused(node, name, Invalid({"limit": "the answer is too long: ask for fewer rows, or a shorter time"}))
    calls_of(node).count(name, "ok")
    return {"content": [{"type": "text", "text": text}], "isError": False}


def _refused(node: Node, name: str, problem: Exception) -> dict[str, object]:
    calls_of(node).count(name, "refused")
    known = Forbidden(FORBIDDEN, code="role_too_low") if isinstance(problem, HTTPForbidden) else problem_of(problem)
    return {"content": [{"type": "text", "text": dumps(body_of_problem(known))}], "isError": True}
