"""One process under everything at once: checks run, clients read, somebody waits for a slow deferred answer, and nobody
holds anybody up. On a file and on ZEO, by one URI. The figures are `make bench ARGS=hub`'s; here is what must hold on
any machine."""

import threading
import time

import pytest

from tests.bench.hub import Watched, under_load, watch_everything
from tests.bench.load import percentile
from tests.bench.rates import Bare
from tests.support.process import Serve, Zeo
from tests.support.waiting import until

pytestmark = pytest.mark.system
MONITORS = 60
MANY, READERS, READS = 2001, 6, 10


@pytest.fixture(params=["file", "zeo"])
def serve(request, tmp_path):
    if request.param == "file":
        with Watched(tmp_path / "serve") as serve:
            yield serve
        return
    with Zeo(tmp_path / "zeo") as zeo, Watched(tmp_path / "serve", store=zeo.uris()["store"]) as serve:
        yield serve


def test_nobody_is_held_up(serve, tmp_path):
    with Bare(tmp_path) as target:
        watch_everything(serve, f"http://127.0.0.1:{target.port}/api/me", MONITORS, interval=5)
        until(lambda: statuses(serve) == {"up"}, 30, every=0.2, what="every monitor being up")
        checked = {each["id"]: each["last_check"] for each in monitors(serve)}
        late, reading, told = under_load(serve, 6, readers=20, per_second=4)
        assert reading.wrong == 0
        assert reading.rate > 20  # 80 on a machine that has nothing else to do
        assert set(told) == {200}
        assert percentile(late, 50) < 50
        until(lambda: all(each["last_check"] > checked[each["id"]] for each in monitors(serve)), 10, what="new checks")
        assert statuses(serve) == {"up"}
        assert serve.stop() == 0


def monitors(serve):
    return serve.admin.get("/api/monitoring/endpoints")


def statuses(serve):
    return {each["status"] for each in monitors(serve)}


@pytest.mark.alone
def test_six_readers_of_a_long_list_hold_up_no_short_answer(tmp_path):
    """Whoever asks meanwhile whether the service is well is answered at once: it waited for 2.8 s."""
    with Serve(tmp_path) as serve:
        monitors = [{"name": f"m{number}", "type": "push", "interval": 86400} for number in range(MANY)]
        serve.admin.post("/api/apply", {"document": {"monitors": monitors}, "dry_run": False})
        assert len(serve.admin.get("/api/monitoring/endpoints")) == MANY
        pages = []
        readers = [threading.Thread(target=read_pages, args=(serve.client(token=serve.admin.token), pages))
                   for _ in range(READERS)]  # fmt: skip
        for reader in readers:
            reader.start()
        waits = []
        while any(reader.is_alive() for reader in readers):
            began = time.monotonic()
            assert serve.client().get("/api/status/public")["status"] == "ok"
            waits.append(time.monotonic() - began)
        assert pages == [200] * READERS * READS
        assert len(waits) > READS
        assert max(waits) < 1


def read_pages(client, pages):
    for _ in range(READS):
        pages.append(client.request("GET", "/monitors").status)
