"""Files both ways: streamed with back-pressure, hashed end to end, a written one put in place by rename.

Must not: hold more than the window in memory, leave half a file behind, follow a link out of the allowed paths.
"""

from __future__ import annotations

import collections
import hashlib
import io
import os
import queue
import secrets
import stat
import time
from typing import Any, Iterator, Optional, Tuple

from opsapp.wire.commands import FileGetParams, FilePutParams
from opsapp.wire.frames import CHUNK, WINDOW, FileChunk
from opsapp.wire.messages import Credit, Finish, StreamOpened

from .paths import NotAllowed, PathRules
from .streams import OpenStream, StoredFile, StreamStopped, explain
from .websocket import ServerSocket

_CREDIT_STEP = 4 * CHUNK
DIGEST_S = 5.0  # of reading a file ahead for its hash; who asks waits for it
SETTLED_S = 2.0
DIGESTS_MOST = 64
MADE_UP_MOST = 4 * 1024 * 1024
PAGE = os.sysconf("SC_PAGE_SIZE")
_DIGESTS: "collections.OrderedDict[Tuple[int, ...], str]" = collections.OrderedDict()


class FileStream(OpenStream):
    """`most`: bytes of a file."""

    def __init__(self, number: int, params: Any, ws: ServerSocket, rules: PathRules, most: int):
        super().__init__(number, params, ws)
        self._rules = rules
        self._most = most


class FileGet(FileStream):
    params: FileGetParams

    def run(self) -> None:
        try:
            with self._rules.open_for_reading(self.params.path, self.params.role) as file:
                self._send(file)
        except OSError as error:
            raise explain(error) from None

    def _send(self, file: Any) -> None:
        about = os.fstat(file.fileno())
        file, size = _contents(file, about)
        offset, length = self.params.offset, self.params.length
        if size > self._most:
            raise StreamStopped("too_large", f"the file has {size} bytes, {self._most} are allowed")
        if offset > size:
            raise StreamStopped("bad_request", "the offset is behind the file's end")
        end = size if length is None else min(size, offset + length)
        whole = self._digest_of(file, about, size) if self.params.digest else None
        self.say(StreamOpened(self.number, size, about.st_mtime, offset, end - offset, self.params.path, whole))
        file.seek(offset)
        digest, place = hashlib.sha256(), offset
        for data in _pieces(file, end - offset):
            digest.update(data)
            self.send_chunk(place, data)
            place += len(data)
        if whole and (offset, place) == (0, size) and digest.hexdigest() != whole:
            raise StreamStopped("io_error", "the file changed while it was read")
        self.say(Finish(self.number, place - offset, digest.hexdigest()))

    def _digest_of(self, file: Any, about: os.stat_result, size: int) -> Optional[str]:
        """The digest of the whole file, remembered for who comes for it part by part; None when it takes too long."""
        key = (about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns, about.st_ctime_ns)
        known = _DIGESTS.get(key)
        if known:
            return known
        digest, until = hashlib.sha256(), time.monotonic() + DIGEST_S
        for data in _pieces(file, size):
            if self.left.is_set() or time.monotonic() > until:
                return None
            digest.update(data)
        if size == about.st_size and time.time() - about.st_mtime > SETTLED_S:
            # (a younger one may change and look the same)
            _DIGESTS[key] = digest.hexdigest()
            while len(_DIGESTS) > DIGESTS_MOST:
                _DIGESTS.popitem(last=False)
        return digest.hexdigest()


def _pieces(file: Any, size: int) -> Iterator[bytes]:
    while size > 0:
        data = file.read(min(CHUNK, size))
        if not data:
            raise StreamStopped("io_error", "the file became shorter while it was read")
        yield data
        size -= len(data)


def _contents(file: Any, about: os.stat_result) -> Tuple[Any, int]:
    """Files of /proc and /sys are made while they are read, and their size says 0 or one page whatever is in them: they
    are read at once."""
    if about.st_blocks or about.st_size > PAGE:
        return file, about.st_size
    data = b""
    while len(data) <= MADE_UP_MOST:
        piece = file.read(CHUNK)
        if not piece:  # None: it would wait for more (/proc/kmsg)
            return io.BytesIO(data), len(data)
        data += piece
    raise StreamStopped("too_large", f"what the kernel tells here has more than {MADE_UP_MOST} bytes")


class FilePut(FileStream):
    """Chunks come in the session's thread and are written in this stream's own."""

    params: FilePutParams

    def __init__(self, number: int, params: FilePutParams, ws: ServerSocket, rules: PathRules, most: int):
        super().__init__(number, params, ws, rules, most)
        self._inbox: "queue.SimpleQueue[Any]" = queue.SimpleQueue()
        self._granted = WINDOW
        self._received = 0

    # ---- from the session's thread
    def on_chunk(self, chunk: FileChunk) -> None:
        if chunk.offset != self._received:
            raise StreamStopped("bad_request", "chunks must come in order")
        self._received += len(chunk.data)
        if self._received > self._granted:
            raise StreamStopped("bad_request", "more was sent than the window allows")
        self._inbox.put(chunk.data)

    def on_finish(self, message: Finish) -> None:
        self._inbox.put((message.size, message.sha256))

    def leave(self) -> None:
        super().leave()
        self._inbox.put(None)

    # ---- its own thread
    def run(self) -> None:
        try:
            if self.params.size is not None and self.params.size > self._most:
                raise StreamStopped("too_large", f"{self._most} bytes are allowed")
            directory, name = self._place()
            try:
                self._store(directory, name)
            finally:
                os.close(directory)
        except OSError as error:
            raise explain(error) from None

    def _place(self) -> Tuple[int, str]:
        """The directory that is really meant, and the name in it."""
        path = self.params.path
        real = self._rules.check(path, "operator")
        parent, name = os.path.split(real)
        if path.endswith("/") or not name or os.path.isdir(real):
            raise StreamStopped("bad_request", "the destination is a directory")
        directory = os.open(parent, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        if os.readlink(f"/proc/self/fd/{directory}") != parent:
            os.close(directory)
            raise NotAllowed("the path changed while it was opened")
        room = os.fstatvfs(directory)
        if self.params.size is not None and room.f_bavail * room.f_frsize < self.params.size:
            os.close(directory)
            raise StreamStopped("no_space", "the file system has not enough room")
        return directory, name

    def _store(self, directory: int, name: str) -> None:
        mode, owner = self._like_before(directory, name)
        temporary = f".opsapp-{secrets.token_hex(8)}.part"
        handle = os.open(
            temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=directory
        )
        kept = False
        try:
            self.say(StreamOpened(self.number, path=self.params.path))
            size, sha256 = self._receive(handle)
            if owner and os.geteuid() == 0:
                os.fchown(handle, *owner)
            os.fchmod(handle, mode)
            os.fsync(handle)
            os.rename(temporary, name, src_dir_fd=directory, dst_dir_fd=directory)
            kept = True
            os.fsync(directory)
        finally:
            os.close(handle)
            if not kept:
                os.unlink(temporary, dir_fd=directory)
        raise StreamStopped("end", "stored", StoredFile(self.params.path, size, sha256))

    def _receive(self, handle: int) -> Tuple[int, str]:
        digest, size, owed = hashlib.sha256(), 0, 0
        while True:
            piece = self._inbox.get()
            if piece is None:
                raise StreamStopped("left")
            if isinstance(piece, tuple):
                break
            size += len(piece)
            if size > self._most:
                raise StreamStopped("too_large", f"{self._most} bytes are allowed")
            digest.update(piece)
            view = memoryview(piece)
            while view:
                view = view[os.write(handle, view) :]
            owed += len(piece)
            if owed >= _CREDIT_STEP:
                self._granted += owed
                self.say(Credit(self.number, owed))
                owed = 0
        if piece != (size, digest.hexdigest()):
            raise StreamStopped("bad_hash", "what arrived is not what was sent")
        return size, digest.hexdigest()

    @staticmethod
    def _like_before(directory: int, name: str) -> Tuple[int, Optional[Tuple[int, int]]]:
        """The mode and owner of the file that is replaced; a new one has 0644 and our own."""
        try:
            about = os.stat(name, dir_fd=directory, follow_symlinks=False)
        except FileNotFoundError:
            return 0o644, None
        if not stat.S_ISREG(about.st_mode):
            raise NotAllowed("only regular files can be replaced")
        return stat.S_IMODE(about.st_mode), (about.st_uid, about.st_gid)
