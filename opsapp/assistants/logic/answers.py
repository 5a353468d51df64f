"""What the door answers, with the names that the protocol has for it. Pure."""

from __future__ import annotations

from typing import Annotated

from opsapp.wire.dataclass import frozen
from opsapp.wire.kinds import Anything, AnyValues
from opsapp.wire.records import AT_TIMES, SaidAs

MimeType = Annotated[str, SaidAs("mimeType")]


@frozen
class RpcAnswer:
    id: Annotated[str | int, Anything()]
    result: Annotated[object, Anything()]
    jsonrpc: str = "2.0"


@frozen
class RpcFault:
    code: int
    message: str


@frozen
class RpcRefusal:
    id: Annotated[str | int, Anything()]
    error: RpcFault
    jsonrpc: str = "2.0"


@frozen
class TextContent:
    text: str
    type: str = "text"


@frozen
class ToolHints:
    """A proposal does nothing: it is not destructive, and an equal one is the same."""

    title: str
    reads_only: Annotated[bool, SaidAs("readOnlyHint")]
    destroys: Annotated[bool, SaidAs("destructiveHint")] = False
    is_idempotent: Annotated[bool, SaidAs("idempotentHint")] = True
    is_open_world: Annotated[bool, SaidAs("openWorldHint")] = False


@frozen
class ToolListed:
    name: str
    title: str
    description: str
    input: Annotated[AnyValues, SaidAs("inputSchema")]
    annotations: ToolHints


@frozen
class ToolResult:
    content: tuple[TextContent, ...]
    is_error: Annotated[bool, SaidAs("isError")]


@frozen
class ReadAnswer:
    note: str
    data: Annotated[object, Anything()]


@frozen
class ReadPage(ReadAnswer):
    total: int
    next_cursor: str | None


@frozen
class ResourceListed:
    uri: str
    name: str
    title: str
    mime: MimeType
    description: Annotated[str, AT_TIMES] = ""


@frozen
class ResourceTemplate:
    uri: Annotated[str, SaidAs("uriTemplate")]
    name: str
    title: str
    mime: MimeType


@frozen
class ResourceText:
    uri: str
    mime: MimeType
    text: str


@frozen
class ResourceRead:
    contents: tuple[ResourceText, ...]


@frozen
class PromptArgument:
    name: str
    description: str
    required: bool = True


@frozen
class PromptListed:
    name: str
    title: str
    description: str
    arguments: tuple[PromptArgument, ...]


@frozen
class PromptMessage:
    content: TextContent
    role: str = "user"


@frozen
class PromptRead:
    description: str
    messages: tuple[PromptMessage, ...]
