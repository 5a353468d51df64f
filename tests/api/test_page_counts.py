"""The figures at the top of every page are kept for all who read the same state, and for nobody else."""

from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from opsapp.runtime.threads.hub import Hub
from opsapp.tree.root import root_of
from opsapp.ui.counts import counts_of
from tests.support.monitoring import DOWN, Lookout


@pytest.fixture
def reader(service):
    """`with reader() as request`: a page whose transaction begins now, and what it needs of its request."""

    @contextmanager
    def reader():
        place = service.node.store.borrow()
        place.manager.begin()
        try:
            yield SimpleNamespace(
                root=root_of(place.connection),
                node=service.node,
                now=service.node.clock.now(),
                registry=service.app.registry,
                sight=None,
                caller=SimpleNamespace(role="admin"),
            )
        finally:
            place.manager.abort()
            service.node.store.give_back(place)

    return reader


@pytest.fixture
def lookout(service):
    return Lookout(service)


@pytest.fixture
def counted(monkeypatch):
    """On a node whose hub follows the outbox, as a server's does: only then is anything kept."""

    def counted(request):
        with monkeypatch.context() as patched:
            patched.setattr(Hub, "running", True)
            return counts_of(request)

    return counted


def test_what_a_page_counted_in_an_older_state_is_not_shown_to_the_next(service, lookout, reader, counted):
    """It took its time: meanwhile a monitor went down, and this node has heard of it."""
    service.node.events.step()
    with reader() as slow:
        lookout.watch_through((DOWN, 60), name="Shop")
        service.node.events.step()
        counted(slow)
    with reader() as fresh:
        counts = counted(fresh)
    assert (counts.down, counts.incidents) == (1, 1)


def test_pages_of_one_state_count_once(service, lookout, reader, counted):
    lookout.watch_through((DOWN, 60), name="Shop")
    service.node.events.step()
    with reader() as first, reader() as second:
        assert counted(first).incidents == 1
        assert counted(second) is counted(first)
