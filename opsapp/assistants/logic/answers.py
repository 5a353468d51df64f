"""What the door answers, with the names that the protocol has for it. Pure."""

from __future__ import annotations

from typing import Annotated

from opsapp.wire.dataclass import dataclass
from opsapp.wire.kinds import Anything, AnyValues
from opsapp.wire.records import AT_TIMES, SaidAs

MimeType = Annotated[str, SaidAs("mimeType")]


@dataclass(frozen=True)
class RpcAnswer:
    id: Annotated[str | int, Anything()]
    result: Annotated[object, Anything()]
    jsonrpc: str = "2.0"


@dataclass(frozen=True)
class RpcFault:
    code: int
    message: str


@dataclass(frozen=True)
class RpcRefusal:
    id: Annotated[str | int, Anything()]
    error: RpcFault
    jsonrpc: str = "2.0"


@dataclass(frozen=True)
class TextContent:
    text: str
    type: str = "text"


@dataclass(frozen=True)
class ToolHints:
    """A proposal does nothing: it is not destructive, and an equal one is the same."""

    title: str
    reads_only: Annotated[bool, SaidAs("readOnlyHint")]
    destroys: Annotated[bool, SaidAs("destructiveHint")] = False
    is_idempotent: Annotated[bool, SaidAs("idempotentHint")] = True
    is_open_world: Annotated[bool, SaidAs("openWorldHint")] = False


@dataclass(frozen=True)
class ToolListed:
    name: str
    title: str
    description: str
    input: Annotated[AnyValues, SaidAs("inputSchema")]
    annotations: ToolHints


@dataclass(frozen=True)
class ToolResult:
    content: tuple[TextContent, ...]
    is_error: Annotated[bool, SaidAs("isError")]


@dataclass(frozen=True)
class ReadAnswer:
    note: str
    data: Annotated[object, Anything()]


@dataclass(frozen=True)
class ReadPage(ReadAnswer):
    total: int
    next_cursor: str | None


@dataclass(frozen=True)
class ResourceListed:
    uri: str
    name: str
    title: str
    mime: MimeType
    description: Annotated[str, AT_TIMES] = ""


@dataclass(frozen=True)
class ResourceTemplate:
    uri: Annotated[str, SaidAs("uriTemplate")]
    name: str
    title: str
    mime: MimeType


@dataclass(frozen=True)
class ResourceText:
    uri: str
    mime: MimeType
    text: str


@dataclass(frozen=True)
class ResourceRead:
    contents: tuple[ResourceText, ...]


@dataclass(frozen=True)
class PromptArgument:
    name: str
    description: str
    required: bool = True


@dataclass(frozen=True)
class PromptListed:
    name: str
    title: str
    description: str
    arguments: tuple[PromptArgument, ...]


@dataclass(frozen=True)
class PromptMessage:
    content: TextContent
    role: str = "user"


@dataclass(frozen=True)
class PromptRead:
    description: str
    messages: tuple[PromptMessage, ...]
