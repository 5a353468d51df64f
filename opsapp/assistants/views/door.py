"""A message at the door: who may knock, which version and which method is meant. Must not: do what a tool does."""

from __future__ import annotations

from typing import Any

from pyramid.request import Request
from pyramid.response import Response

from opsapp.assistants.engine import admit
from opsapp.assistants.logic import jsonrpc, prompts, protocol
from opsapp.assistants.logic.answers import RpcAnswer, RpcRefusal
from opsapp.assistants.logic.jsonrpc import RpcCall, RpcError
from opsapp.lib.ids import new_id
from opsapp.lib.problems import Forbidden, Malformed
from opsapp.web.answers import Deferred, later
from opsapp.web.bodies import require_plain_json
from opsapp.web.config import WebSettings
from opsapp.web.jsontext import dumps, loads

from . import calling, places
from .asker import SESSION, session_for


def answer(request: Request) -> Any:
    _require_own_page(request)
    _require_version(request)
    require_plain_json(request)
    message = loads(request.body)
    try:
        read = jsonrpc.read(message)
    except RpcError as error:
        call_id = jsonrpc.id_of(message)
        if call_id is None:
            raise Malformed(error.message, code="bad_message") from None
        return _said(jsonrpc.refused(call_id, error))
    if not isinstance(read, RpcCall):
        return Response(status=202)
    admit(request.node, request.caller.session_id or request.caller.name)
    return _answer(request, read)


def _answer(request: Request, call: RpcCall) -> Any:
    try:
        result = _result(request, call)
    except RpcError as error:
        return _said(jsonrpc.refused(call.id, error))
    if isinstance(result, Deferred):
        return later(lambda: _later(call, result))
    response = _said(RpcAnswer(call.id, result))
    if call.method == "initialize":
        response.headers[SESSION] = session_for(new_id(), call.params)
    return response


def _later(call: RpcCall, result: Deferred) -> RpcAnswer | RpcRefusal:
    try:
        return RpcAnswer(call.id, result.fn())
    except RpcError as error:
        return jsonrpc.refused(call.id, error)


def _result(request: Request, call: RpcCall) -> object:
    """A Deferred where it takes time: what it answers is the result."""
    match call.method:
        case "initialize":
            return protocol.greeting(call.params.get("protocolVersion"))
        case "ping":
            return {}
        case "tools/list":
            return {"tools": calling.tools(request)}
        case "tools/call":
            return calling.called(request, call.params)
        case "resources/list":
            return {"resources": places.listed(request)}
        case "resources/templates/list":
            return {"resourceTemplates": places.templates()}
        case "resources/read":
            return places.read(request, call.params)
        case "prompts/list":
            return {"prompts": prompts.listed()}
        case "prompts/get":
            return prompts.got(call.params)
    raise RpcError(jsonrpc.METHOD_NOT_FOUND, "There is no such method here.")


def _said(message: RpcAnswer | RpcRefusal) -> Response:
    return Response(dumps(message), content_type="application/json", charset="utf-8")


def _require_own_page(request: Request) -> None:
    """Against names that are made to lead here: a browser says whose page asks."""
    origin = request.headers.get("Origin")
    if origin and not protocol.may_come_from(origin, request.node.config[WebSettings].base_url):
        raise Forbidden("A page of another site may not call here.", code="foreign_origin")


def _require_version(request: Request) -> None:
    wanted = request.headers.get("MCP-Protocol-Version")
    if wanted is not None and wanted not in protocol.TAKEN:
        spoken = ", ".join(protocol.VERSIONS)
        raise Malformed(f"MCP-Protocol-Version must be one of {spoken}.", code="protocol_version")
