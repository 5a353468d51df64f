"""JSON-RPC 2.0 as the Model Context Protocol uses it. Pure. Must not: know a tool, or HTTP."""

from __future__ import annotations

from typing import NamedTuple

from opsapp.wire.kinds import Anything

from .answers import RpcFault, RpcRefusal

INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS = -32600, -32601, -32602
NOT_FOUND = -32002  # a resource
LONGEST_ID = 200


class RpcError(Exception):
    """Becomes the `error` of the answer."""

    def __init__(self, code: int, message: str):
        super().__init__(message)
        self.code, self.message = code, message


class RpcCall(NamedTuple):
    id: str | int
    method: str
    params: dict[str, object]


class RpcNotice(NamedTuple):
    """A notification, or the answer to a question that nobody here has asked: nothing is answered."""

    method: str


def read(message: object) -> RpcCall | RpcNotice:
    if isinstance(message, list):
        raise RpcError(INVALID_REQUEST, "Send one message at a time: batches are not supported.")
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
        raise RpcError(INVALID_REQUEST, 'The body must be one JSON-RPC message with "jsonrpc": "2.0".')
    if "method" not in message and ("result" in message or "error" in message):
        return RpcNotice("")
    method, params = message.get("method"), message.get("params", {})
    if not isinstance(method, str):
        raise RpcError(INVALID_REQUEST, "A message needs a method.")
    if "id" not in message:
        return RpcNotice(method)
    if not is_id(message["id"]):
        raise RpcError(INVALID_REQUEST, "The id must be a text or a whole number.")
    if not isinstance(params, dict):
        raise RpcError(INVALID_PARAMS, "The params must be an object.")
    problem = Anything().problem(params)
    if problem is not None:
        raise RpcError(INVALID_PARAMS, f"Something in the params {problem}.")
    return RpcCall(message["id"], method, params)


def is_id(value: object) -> bool:
    if isinstance(value, str):
        return len(value) <= LONGEST_ID and Anything().problem(value) is None
    return isinstance(value, int) and not isinstance(value, bool)


def id_of(message: object) -> str | int | None:
    known = message.get("id") if isinstance(message, dict) else None
    return known if isinstance(known, str | int) and is_id(known) else None


def refused(call_id: str | int, error: RpcError) -> RpcRefusal:
    return RpcRefusal(call_id, RpcFault(error.code, error.message))
