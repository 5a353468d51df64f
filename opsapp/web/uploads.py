"""Large bodies that nobody holds in memory: a multipart form read off the socket, inside a Sink's `receive`. A field
that decides where the file goes may come behind it: until then the file is spooled. Must not be here: where a file
goes."""

from __future__ import annotations

import tempfile
from dataclasses import field
from typing import IO, Any, Protocol

from multipart import MultipartError, ParserLimitReached, PushMultipartParser, parse_options_header

from opsapp.lib.problems import Invalid, Malformed, TooLarge, UnsupportedType
from opsapp.wire.dataclass import dataclass, frozen

FORM = "multipart/form-data"
_READ = 64 * 1024
_MAX_PARTS = 16
_MAX_FIELD = 16 * 1024
_SPOOL_IN_MEMORY = 256 * 1024
_LONGEST_BOUNDARY = 70


class Receiver(Protocol):
    def open(self, fields: dict[str, str], filename: str | None) -> None:
        """All needed fields are there: refuse now (raise a problem), or get ready."""

    def write(self, data: bytes) -> None:
        """The next piece; may wait while the other side is slow."""

    def finish(self) -> Any:
        """The file is whole: the answer, as a Deferred's function gives it."""

    def abort(self) -> None:
        """It will not be whole: undo. Called after a successful `open` in place of `finish`."""


@dataclass
class _Form:
    receiver: Receiver
    file: str
    needs: tuple[str, ...]
    optional: tuple[str, ...]
    fields: dict[str, str] = field(default_factory=dict)
    filename: str | None = None
    spool: IO[bytes] | None = None
    opened: bool = False
    seen_file: bool = False
    wrong: dict[str, str] = field(default_factory=dict)

    def ready(self) -> bool:
        return not self.wrong and all(name in self.fields for name in self.needs)

    def open(self) -> None:
        """The receiver can start; what was spooled goes first."""
        self.receiver.open(self.fields, self.filename)
        self.opened = True
        if self.spool is not None:
            self.spool.seek(0)
            while piece := self.spool.read(_READ):
                self.receiver.write(piece)

    def write(self, data: bytes) -> None:
        if self.opened:
            self.receiver.write(data)
        elif self.spool is not None:
            self.spool.write(data)

    def close(self, *, whole: bool) -> None:
        if self.spool is not None:
            self.spool.close()
        if self.opened and not whole:
            self.receiver.abort()


@frozen
class FileForm:
    """One file, and fields of text beside it."""

    component: str = "FileUpload"
    needs: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    file: str = "file"
    sample: tuple[tuple[str, str], ...] = ()  # of its fields, for the API document

    @property
    def example(self) -> dict[str, str]:
        return {**dict(self.sample), self.file: "what is in the file"}

    @property
    def openapi(self) -> dict[str, object]:
        fields: dict[str, object] = {name: {"type": "string"} for name in (*self.needs, *self.optional)}
        fields[self.file] = {"type": "string", "format": "binary"}
        return {"type": "object", "properties": fields, "required": [*self.needs, self.file]}


def receive_form(body: Any, receiver: Receiver, wanted: FileForm) -> Any:
    """Feed the file to the receiver once every field that it needs is known."""
    boundary, file, needs = boundary_of(body.content_type), wanted.file, wanted.needs
    form = _Form(receiver, file, needs, wanted.optional)
    whole = False
    try:
        _read_parts(body, boundary, form)
        missing = [name for name in needs if name not in form.fields] + ([] if form.seen_file else [file])
        if missing or form.wrong:
            raise Invalid(dict.fromkeys(missing, "is required") | form.wrong)
        answer = receiver.finish()
        whole = True
        return answer
    finally:
        form.close(whole=whole)


def boundary_of(content_type: str) -> str:
    """What stands between the parts of a form with files; the problem, if the body is nothing of the kind."""
    kind, options = parse_options_header(content_type)
    boundary = options.get("boundary", "")
    if kind != FORM:
        raise UnsupportedType("The body must be multipart/form-data.")
    if not 1 <= len(boundary) <= _LONGEST_BOUNDARY or not boundary.isascii():
        raise Malformed("The form's boundary cannot be read.")
    return boundary


def _read_parts(body: Any, boundary: str, form: _Form) -> None:
    try:
        with PushMultipartParser(boundary, max_segment_count=_MAX_PARTS) as parser:
            part = _Part(form)
            while not parser.closed:
                data = body.read(_READ)
                for event in parser.parse(data):
                    part.on(event)
                if form.wrong and form.opened:
                    raise Invalid(form.wrong)
    except ParserLimitReached as problem:
        if form.wrong:
            raise Invalid(form.wrong) from problem
        raise TooLarge("The form has too many or too long parts.") from problem
    except MultipartError as problem:
        raise Malformed("The form cannot be read.") from problem


class _Part:
    def __init__(self, form: _Form):
        self._form = form
        self._name: str | None = None
        self._is_file = False
        self._skipped = False
        self._passed = 0  # bytes of what was skipped: a client learns what is wrong without sending all of it
        self._value = b""

    def on(self, event: Any) -> None:
        if event is None:
            self._end()
        elif isinstance(event, bytes | bytearray):
            self._piece(bytes(event))
        else:
            self._begin(event)

    def _begin(self, segment: Any) -> None:
        form = self._form
        self._name, self._value = segment.name, b""
        self._is_file = segment.name == form.file
        self._skipped = self._misplaced(segment.name)
        if self._skipped or not self._is_file:
            return
        form.seen_file = True
        if form.wrong:
            self._skipped = True
            return
        form.filename = segment.filename
        if form.ready():
            form.open()
        else:
            form.spool = tempfile.SpooledTemporaryFile(_SPOOL_IN_MEMORY)  # noqa: SIM115 - closed by _Form.close

    def _misplaced(self, name: str | None) -> bool:
        """Whether this part is one too many; its content is passed over."""
        form = self._form
        if name not in (form.file, *form.needs, *form.optional):
            form.wrong[str(name)[:100]] = "is not known here"
        elif name in form.fields or (name == form.file and form.seen_file):
            form.wrong[str(name)] = "is there more than once"
        else:
            return False
        return True

    def _piece(self, data: bytes) -> None:
        if self._skipped:
            self._passed += len(data)
            if self._passed > _MAX_FIELD:
                raise Invalid(self._form.wrong)
            return
        if self._is_file:
            self._form.write(data)
            return
        self._value += data
        if len(self._value) > _MAX_FIELD:
            raise TooLarge(f"The field {self._name} is longer than {_MAX_FIELD} bytes.")

    def _end(self) -> None:
        form = self._form
        if self._skipped:
            return
        if not self._is_file and self._name is not None:
            try:
                form.fields[self._name] = self._value.decode("utf-8")
            except UnicodeDecodeError:
                form.wrong[self._name] = "is not UTF-8"
        if form.seen_file and not form.opened and form.ready():
            form.open()
