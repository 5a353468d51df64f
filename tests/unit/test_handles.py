"""Waiting for file descriptors, those above 1023 among them: select.select refuses such, whoever waits."""

import contextlib
import os
import socket

import pytest

from opsapp.wire.handles import readable, ready
from tests.support.manyfiles import holding


@pytest.fixture
def pair():
    """Two ends of a connection, in a process that holds many others."""
    with holding(1100):
        near, far = socket.socketpair()
        with near, far:
            assert near.fileno() > 1023
            yield near, far


def test_what_came_can_be_read(pair):
    near, far = pair
    assert readable([near.fileno()], 0) == set()
    far.send(b"x")
    assert readable([near.fileno()]) == {near.fileno()}


def test_one_handle_is_watched_both_ways(pair):
    near, far = pair
    handle = near.fileno()
    assert ready([handle], [handle], 0) == (set(), {handle})
    far.send(b"x")
    assert ready([handle], [handle], None) == ({handle}, {handle})


def test_what_is_full_takes_nothing(pair):
    near, _far = pair
    near.setblocking(False)
    with contextlib.suppress(BlockingIOError):
        while near.send(bytes(65536)):
            pass
    assert ready([], [near.fileno()], 0).writes == set()


def test_an_end_is_something_to_read(pair):
    near, far = pair
    far.close()
    handle = near.fileno()
    assert ready([handle], [handle], 0) == ({handle}, {handle})


def test_others_are_waited_for_beside_it(pair):
    near, _far = pair
    reads, writes = os.pipe()
    try:
        os.write(writes, b"x")
        assert readable([near.fileno(), reads]) == {reads}
    finally:
        os.close(reads)
        os.close(writes)
