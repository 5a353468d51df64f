"""How the agent sends a file: what one reader left behind is not what the next one is told."""

from __future__ import annotations

import contextlib
import hashlib
import os

from opsapp.agent.config import AgentConfig
from opsapp.agent.files import SETTLED_S, FileGet
from opsapp.agent.paths import PathRules
from opsapp.agent.streams import StreamStopped
from opsapp.wire.commands import FileGetParams
from opsapp.wire.messages import AGENT, Finish, StreamOpened, decode


class Reader:
    """The service's end of the connection."""

    def __init__(self):
        self.messages = []

    def send(self, frame):
        if isinstance(frame, str):
            self.messages.append(decode(frame, AGENT))

    def wait_for_room(self):
        """It reads at once."""


def test_who_leaves_while_a_digest_is_made_spoils_it_for_nobody(tmp_path):
    file = tmp_path / "log"
    file.write_bytes(b"line\n" * 1000)
    about = file.stat()
    os.utime(file, (about.st_atime, about.st_mtime - 2 * SETTLED_S))
    rules = PathRules(
        AgentConfig(
            server="http://127.0.0.1:1", agent_id="a1", key="k", state_dir=str(tmp_path), allow_paths=[str(tmp_path)]
        )
    )
    params = FileGetParams(str(file), digest=True)

    def opened(leaves):
        reader = Reader()
        stream = FileGet(1, params, reader, rules, most=2**20)
        if leaves:
            stream.leave()
        with contextlib.suppress(StreamStopped):
            stream.run()
        return reader.messages

    opened(leaves=True)
    first, last = opened(leaves=False)
    whole = hashlib.sha256(file.read_bytes()).hexdigest()
    assert isinstance(first, StreamOpened)
    assert first.sha256 == whole
    assert last == Finish(1, 5000, whole)
