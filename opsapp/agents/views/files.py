"""Files of an agent, both ways: streamed with back-pressure, hashed end to end, never held in memory."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator
from typing import Any, NamedTuple
from urllib.parse import quote

from pyramid.request import Request

from opsapp.agents import schemas
from opsapp.agents.config import AgentSettings
from opsapp.agents.engine import records
from opsapp.agents.engine.sessions import sessions_of
from opsapp.agents.engine.streams import AgentStream, EndOfStream, problem_of
from opsapp.agents.resources import Agent
from opsapp.lib.problems import BeyondTheEnd, Invalid, Problem, TooLarge, Unavailable, UpstreamFailed
from opsapp.runtime.node import Node
from opsapp.web import api, peers
from opsapp.web.answers import Head, Sink
from opsapp.web.answers import Stream as StreamAnswer
from opsapp.web.bodies import RAW
from opsapp.web.uploads import FileForm, boundary_of, receive_form
from opsapp.wire.commands import LogParams
from opsapp.wire.frames import CHUNK
from opsapp.wire.messages import StreamClosed, StreamOpened

from . import held_elsewhere
from .journals import require_reader

PATIENCE_S = 60.0
UPLOAD = FileForm(needs=("dest",), optional=("sha256",), sample=(("dest", "/etc/motd"),))
FORM_ROOM = 64 * 1024  # of a multipart body, beside the file


class Range(NamedTuple):
    """`first` is None for the last `last` bytes; `last` is None for everything from `first` on."""

    first: int | None
    last: int | None


def range_of(header: str | None) -> Range | None:
    """Several, or what is none, count as no range at all, as RFC 9110 wants it."""
    match = re.fullmatch(r"bytes=([0-9]{0,40})-([0-9]{0,40})", (header or "").strip())
    if match is None or match.groups() == ("", ""):
        return None
    first, last = (int(text) if text else None for text in match.groups())
    return None if first is not None and last is not None and last < first else Range(first, last)


class FileSource:
    """Or a part of a file."""

    def __init__(self, node: Node, agent_id: str, path: str, role: str, wanted: Range | None, if_range: str | None):
        self._node, self._agent_id = node, agent_id
        self._path, self._role = path, role
        self._wanted, self._if_range = wanted, if_range
        self._stream: AgentStream | None = None
        self._length = 0

    def open(self) -> Head:
        wanted, size, mark = self._wanted, 0, ""
        if wanted is not None:
            size, mark = self._look()
            wanted = wanted if self._if_range in (None, mark) else None
        if wanted is None:
            return self._begin(None, 0, None)
        first = max(0, size - (wanted.last or 0)) if wanted.first is None else wanted.first
        last = size - 1 if wanted.first is None or wanted.last is None else min(wanted.last, size - 1)
        if first > last:
            raise BeyondTheEnd(f"The file has {size} bytes.", size=size)
        return self._begin((first, last), first, last - first + 1)

    def _look(self) -> tuple[int, str]:
        """Size and mark, without any of the file."""
        about = self._open(offset=0, length=0)
        self.close()
        return about.size or 0, mark_of(about)

    def _begin(self, part: tuple[int, int] | None, offset: int, length: int | None) -> Head:
        about = self._open(offset=offset, digest=True, **({} if length is None else {"length": length}))
        most = self._node.config[AgentSettings].max_file_bytes
        length = self._length = about.length or 0
        if length > most:
            self.close()
            raise TooLarge(f"At most {most} bytes of a file are sent.")
        name = quote(self._path.rpartition("/")[2])
        headers = {
            "Content-Length": str(length),
            "Content-Disposition": f"attachment; filename*=UTF-8''{name}",
            "Accept-Ranges": "bytes",
            "ETag": mark_of(about),
        }
        if about.sha256:
            headers |= digest_headers(about.sha256)
        if part is None:
            return Head(headers=headers)
        headers["Content-Range"] = f"bytes {part[0]}-{part[1]}/{about.size}"
        return Head("206 Partial Content", headers)

    def _open(self, **more: object) -> StreamOpened:
        asked = {"path": self._path, "role": self._role, **more}
        self._stream = sessions_of(self._node).open_stream(self._agent_id, "file_get", asked)
        return self._stream.opened()

    def __iter__(self) -> Iterator[bytes]:
        """The last piece is held back until the agent has vouched for all of them."""
        stream, digest, size, held, sealed = self._stream, hashlib.sha256(), 0, b"", False
        while stream is not None and self._length:
            try:
                item = stream.take(PATIENCE_S)
            except EndOfStream as ended:
                if sealed and ended.message.code == "end":
                    break
                raise problem_of(ended.message) from None
            if item is None:
                raise Unavailable("The agent has stopped sending.", code="agent_silent")
            if not isinstance(item, bytes):
                if (item.size, item.sha256) != (size, digest.hexdigest()):
                    raise UpstreamFailed("The file changed while it was transferred.", code="bad_hash")
                sealed = True
                continue
            if held:
                yield held
            held, size = item, size + len(item)
            digest.update(item)
            stream.used(len(item))
        if held:
            yield held

    def close(self) -> None:
        if self._stream is not None:
            self._stream.close()
            self._stream = None


def mark_of(about: StreamOpened) -> str:
    """An ETag, by size and time."""
    return f'"{about.size:x}-{int((about.mtime or 0) * 1e6):x}"'


def digest_headers(sha256: str) -> dict[str, str]:
    """Of the whole file, also on a part of it: as RFC 9530 writes it, and as sha256sum does."""
    encoded = base64.b64encode(bytes.fromhex(sha256)).decode("ascii")
    return {"Repr-Digest": f"sha-256=:{encoded}:", "X-Content-SHA256": sha256}


@api.get(
    Agent,
    "files",
    query=schemas.FileWanted,
    returns="application/octet-stream",
    errors=(413, 416, 429, 502),
    teams="see",
)
def read_file(context: Agent, request: Request) -> Any:
    """A file from the agent. Viewers read what is world-readable under its `viewer_paths`, operators what its own rules
    permit; logs that `agents.private_logs` names are for admins."""
    require_reader(request, LogParams("file", path=request.valid_query["path"]))
    require_connected(request.node, context)
    other_node = held_elsewhere(request, context)
    if other_node:
        return peers.forward(request, other_node)
    role = "viewer" if request.caller.role == "viewer" else "operator"
    wanted, if_range = range_of(request.headers.get("Range")), request.headers.get("If-Range")
    return StreamAnswer(FileSource(request.node, context.id, request.valid_query["path"], role, wanted, if_range))


class FileUpload:
    """A form's file on its way to the agent (a `Receiver` of web.uploads)."""

    def __init__(self, node: Node, agent_id: str):
        self._node, self._agent_id = node, agent_id
        self._most = node.config[AgentSettings].max_file_bytes
        self._stream: AgentStream | None = None
        self._digest, self._size = hashlib.sha256(), 0

    def open(self, fields: dict[str, str], filename: str | None) -> None:
        path = fields["dest"]
        if not path.startswith("/") or "\0" in path or len(path) > 4096:
            raise Invalid({"dest": "must be an absolute path"})
        self._fields = fields  # a field may also come behind the file
        self._stream = sessions_of(self._node).open_stream(self._agent_id, "file_put", {"path": path})
        try:
            self._stream.opened()
        except Invalid as wrong:
            raise Invalid({"dest": wrong.fields.get("path", "cannot be used")}) from None

    def write(self, data: bytes) -> None:
        assert self._stream is not None
        if self._size + len(data) > self._most:
            raise TooLarge(f"A file may have {self._most} bytes.")
        try:
            for start in range(0, len(data), CHUNK):
                piece = data[start : start + CHUNK]
                self._stream.write(self._size, piece)
                self._digest.update(piece)
                self._size += len(piece)
        except EndOfStream as ended:
            raise refusal(ended.message) from None

    def finish(self) -> Any:
        assert self._stream is not None
        sent = (self._size, self._digest.hexdigest())
        if self._fields.get("sha256", sent[1]).lower() != sent[1]:
            self._stream.close()
            raise Invalid({"sha256": "is not that of the file that came"})
        stored = self._stream.finish(*sent)
        if stored.code != "end":
            raise refusal(stored)
        if (stored.size, stored.sha256) != sent:
            raise UpstreamFailed("The agent stored other bytes than those that were sent.", code="bad_hash")
        return 200, {}, {"status": "stored", "path": stored.path, "size": sent[0], "sha256": sent[1]}

    def abort(self) -> None:
        assert self._stream is not None
        self._stream.close()


def refusal(closed: StreamClosed) -> Problem:
    problem = problem_of(closed)
    return Invalid({"dest": closed.message or "cannot be used"}) if isinstance(problem, Invalid) else problem


@api.act(
    Agent,
    "files",
    body=RAW,
    takes=UPLOAD,
    returns=schemas.FileStored,
    errors=(429, 502),
    audit="agent.file.write",
    teams="act",
)
def write_file(context: Agent, request: Request) -> Any:
    """A file to the agent (multipart: `file`, `dest`, and `sha256` if it shall be checked), put in place once it is
    whole and its hash is right."""
    boundary_of(request.headers.get("Content-Type", ""))
    require_connected(request.node, context)
    node, agent_id = request.node, context.id
    most = node.config[AgentSettings].max_file_bytes + FORM_ROOM
    other_node = held_elsewhere(request, context)
    if other_node:
        return peers.forward_body(request, other_node, most)
    return Sink(lambda body: receive_form(body, FileUpload(node, agent_id), UPLOAD), limit=most)


def require_connected(node: Node, agent: Agent) -> None:
    if not records.is_connected(node, agent.state, agent.id):
        raise Unavailable("The agent is not connected.", code="agent_offline", retry_after=10)
