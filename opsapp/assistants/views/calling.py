"""Tools are listed and called. A mistake of the assistant is a result that says so (`isError`), so that it can mend it.
Must not: know what a tool does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyramid.httpexceptions import HTTPForbidden
from pyramid.request import Request

from opsapp.assistants.engine import ASKING, ProposalOpened, calls_of, what_if
from opsapp.assistants.inputs import TAKES
from opsapp.assistants.logic import jsonrpc
from opsapp.assistants.logic.answers import ReadAnswer, TextContent, ToolHints, ToolListed, ToolResult
from opsapp.assistants.logic.jsonrpc import RpcError
from opsapp.assistants.logic.protocol import DATA
from opsapp.assistants.logic.tools import ASK, ASKS, MOST_CHARACTERS, READ, READS, AskTool, ReadTool
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


def tools(request: Request) -> list[ToolListed]:
    schemas = toolschemas.of(request.registry)
    asking = [tool for tool in ASKS if _refusal(request, tool) is None]
    offered = [(tool, True) for tool in READS] + [(tool, not tool.proposes) for tool in asking]
    return [_listed(tool, schemas[tool.name], reads_only=reads_only) for tool, reads_only in offered]


def _refusal(request: Request, tool: AskTool) -> Forbidden | None:
    """Nobody but an assistant gets further here than by the API."""
    if request.caller.kind == KIND:
        return None
    if tool.proposes:
        return Forbidden("Only the key of an assistant proposes.", code="no_assistant")
    return None if request.caller.role in roles_from(WHAT_IF_ROLE) else Forbidden(FORBIDDEN, code="role_too_low")


def _listed(tool: ReadTool | AskTool, told: toolschemas.ToolSchema, *, reads_only: bool) -> ToolListed:
    return ToolListed(tool.name, tool.title, told.description, told.input, ToolHints(tool.title, reads_only))


def called(request: Request, params: dict[str, object]) -> ToolResult | Deferred:
    name, given = params.get("name"), params.get("arguments")
    given = {} if given is None else given
    if not isinstance(name, str) or not isinstance(given, dict):
        raise RpcError(jsonrpc.INVALID_PARAMS, "A call needs the name of a tool, and its arguments as an object.")
    if name not in READ and name not in ASK:
        calls_of(request.node).count(name, "refused")
        raise RpcError(jsonrpc.INVALID_PARAMS, "There is no such tool.")
    return _settled(request.node, name, lambda: _begun(request, name, given))


def _begun(request: Request, name: str, given: dict[str, object]) -> ReadAnswer | Deferred:
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


def _settled(node: Node, name: str, begin: Callable[[], Any]) -> ToolResult | Deferred:
    try:
        answer = begin()
    except (Problem, HTTPForbidden) as problem:
        return _refused(node, name, problem)
    if isinstance(answer, Deferred):
        return Deferred(lambda: _settled(node, name, answer.fn))
    return _well(node, name, answer)


def _well(node: Node, name: str, answer: Any) -> ToolResult:
    text = dumps(answer if name in READ else ReadAnswer(DATA, answer))
    if len(text) > MOST_CHARACTERS:
        return _refused(node, name, Invalid({"limit": "the answer is too long: ask for fewer rows, or a shorter time"}))
    calls_of(node).count(name, "ok")
    return ToolResult((TextContent(text),), False)


def _refused(node: Node, name: str, problem: Exception) -> ToolResult:
    calls_of(node).count(name, "refused")
    known = Forbidden(FORBIDDEN, code="role_too_low") if isinstance(problem, HTTPForbidden) else problem_of(problem)
    return ToolResult((TextContent(dumps(body_of_problem(known))),), True)
