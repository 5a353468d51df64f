"""One process under everything at once: checks run, clients read, somebody waits for a slow deferred answer, and nobody
holds anybody up. On a file and on ZEO, by one URI. The figures are `make bench ARGS=hub`'s; here is what must hold on
any machine."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.bench.hub import watch_everything
from tests.bench.rates import Bare
from tests.support.inside import Held
from tests.support.process import Serve, Zeo
from tests.support.waiting import until

pytestmark = pytest.mark.system
MONITORS = 60
MANY, READERS, READS = 2001, 12, 5
READS_AT_ONCE = 200


@pytest.fixture(params=["file", pytest.param("zeo", marks=pytest.mark.nightly("the core list has files"))])
def serve(request, tmp_path):
    if request.param == "file":
        with Held(tmp_path / "serve") as serve:
            yield serve
        return
    with Zeo(tmp_path / "zeo") as zeo, Held(tmp_path / "serve", store=zeo.uris()["store"]) as serve:
        yield serve


def test_nobody_is_held_up(serve, tmp_path):
    with Bare(tmp_path) as target:
        watch_everything(serve, f"http://127.0.0.1:{target.port}/api/me", MONITORS, interval=5)
        until(lambda: statuses(serve) == {"up"}, 30, every=0.2, what="every monitor being up")
        waiter, told = serve.client(timeout=600), []
        waiting = threading.Thread(target=lambda: told.append(waiter.request("GET", "/api/held").status))
        waiting.start()
        until(serve.begun.exists, what="the slow answer being under way")
        checked = {monitor["id"]: monitor["last_check"] for monitor in monitors(serve)}
        with ThreadPoolExecutor(READERS) as readers:
            asked = readers.map(lambda _: serve.admin.request("GET", "/api/me").status, range(READS_AT_ONCE))
            assert set(asked) == {200}
        until(lambda: all_checked_since(serve, checked), 10, what="new checks")
        assert statuses(serve) == {"up"}
        assert told == [], "the slow answer was let go by nobody yet"
        serve.gate.touch()
        waiting.join()
        assert told == [200]
        assert serve.stop() == 0


def all_checked_since(serve, checked):
    return all(monitor["last_check"] > checked[monitor["id"]] for monitor in monitors(serve))


def monitors(serve):
    return serve.admin.get("/api/monitoring/endpoints")


def statuses(serve):
    return {each["status"] for each in monitors(serve)}


def test_readers_of_a_long_list_hold_up_no_short_answer(tmp_path):
    """Whoever asks meanwhile whether the service is well is answered between a few pages, and not once in each round of
    the readers, as if it had to wait behind all of them."""
    with Serve(tmp_path) as serve:
        monitors = [{"name": f"m{number}", "type": "push", "interval": 86400} for number in range(MANY)]
        serve.admin.post("/api/apply", {"document": {"monitors": monitors}, "dry_run": False})
        assert len(serve.admin.get("/api/monitoring/endpoints")) == MANY
        pages = []
        readers = [threading.Thread(target=read_pages, args=(serve.client(token=serve.admin.token), pages))
                   for _ in range(READERS)]  # fmt: skip
        for reader in readers:
            reader.start()
        short = []
        while any(reader.is_alive() for reader in readers):
            short.append(serve.client().get("/api/status/public")["status"])
        assert pages == [200] * READERS * READS
        assert set(short) == {"ok"}
        assert len(short) > READERS  # 30 for the 60 pages, and 6 when all wait in one line


def read_pages(client, pages):
    for _ in range(READS):
        pages.append(client.request("GET", "/monitors").status)
