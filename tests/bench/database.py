"""How soon a node knows what PostgreSQL knows: a commit of another process, and that the database does not answer."""

import contextlib
import tempfile
import time

from tests.bench import Row, seconds_of
from tests.support.postgres import Postgres
from tests.support.process import Serve
from tests.support.stores import opened
from tests.support.waiting import until

COMMITS, ASKED = 50, 20


def heard(server):
    """Seconds from a commit of one database object until another one knows of it, without a transaction."""
    uri, times = server.uri(server.make_database()), []
    with opened(uri) as writes, opened(uri) as hears:
        for number in range(COMMITS):
            with writes.transaction() as connection:
                connection.root()["number"] = number
            began = time.monotonic()
            until(lambda: hears.lastTransaction() == writes.lastTransaction(), every=0.002, what="the commit heard of")
            times.append(time.monotonic() - began)
    return sorted(times)


def refused(client):
    assert client.request("GET", "/api/me").status == 503


def told(place, server, outage):
    """Seconds that the first who asks, and the slowest of those after it, wait until they are told of an outage."""
    with Serve(place, node="one", **server.uris()) as serve:
        assert serve.admin.get("/api/me")["username"] == "admin"
        with outage():
            return seconds_of(refused, serve.admin), max(seconds_of(refused, serve.admin) for _ in range(ASKED))


def measure():
    with tempfile.TemporaryDirectory() as place, Postgres() as server:
        yield Row("commit heard of by another process, median", heard(server)[COMMITS // 2] * 1000, "ms", "at most 200")
        for name, outage in (("frozen", server.frozen), ("crashed", lambda: contextlib.nullcontext(server.kill()))):
            first, slowest = told(f"{place}/{name}", server, outage)
            yield Row(f"{name}: the first is told so", first, "s", "at most 2")
            yield Row(f"{name}: slowest of {ASKED} after that", slowest, "s", "at most 0.5")
