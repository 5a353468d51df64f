"""The server's side of an agent's streams: what of them counts against the rate of messages."""

import pytest

from opsapp.agents.engine.streams import AgentStreams
from opsapp.wire.frames import CHUNK, FileChunk


@pytest.mark.parametrize(("size", "cost"), [(CHUNK, 0), (4 * CHUNK, 0), (CHUNK // 2, 0.5), (1, 1 - 1 / CHUNK)])
def test_whole_chunks_of_a_file_may_come_as_fast_as_they_are_read(size, cost):
    """A fast link carries more of them in a second than an agent may send messages."""
    streams = AgentStreams(lambda message: None)
    stream = streams.open("file_get", {"path": "/x"})
    assert streams.cost(FileChunk(stream.number, 0, bytes(size))) == cost
    assert streams.cost(FileChunk(stream.number + 1, 0, bytes(size))) == 1
    stream.close()
    assert streams.cost(FileChunk(stream.number, 0, bytes(size))) == 1
