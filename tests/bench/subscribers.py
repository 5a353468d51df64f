"""10,000 subscribers of the status page are told of one incident: time, memory, bytes stored, how late the hub is.

Once all by mail, once all by webhook, of which one in a hundred hangs. The receivers are in this process.
"""

import re
import tempfile
import time
from pathlib import Path

from tests.bench import Row
from tests.bench.hub import Watched
from tests.bench.load import percentile
from tests.support.mailbox import Mailbox
from tests.support.receiver import Receiver
from tests.support.waiting import until

SUBSCRIBERS, HANGING = 10_000, 100
CONFIG = {"status_page": {"gather_s": 0.5, "webhook_allow_networks": ["127.0.0.0/8"]}}
PAGE = {"name": "Bench", "public_url": "https://status.example", "mail_from": "status@example.org"}


def measure():
    mailbox = Mailbox()
    yield from told("mail", mailbox, lambda: len(mailbox.mails), {"mail": SUBSCRIBERS})
    yield Row("mail: twice", SUBSCRIBERS - len({mail["To"] for mail in mailbox.mails}), "", "0")
    mailbox.close()
    receiver, hanging = Receiver(), Receiver()
    hanging.open.clear()
    well = {"webhook": SUBSCRIBERS - HANGING, "url": web(receiver)}
    yield from told("webhook", mailbox, lambda: len(receiver.messages), well, {"webhook": HANGING, "url": web(hanging)})
    yield Row("webhook: twice", len(receiver.paths) - len(set(receiver.paths)), "", "0")
    receiver.close()
    hanging.close()


def web(receiver):
    return receiver.url("hook").replace("json://", "http://")


def told(kind, mailbox, arrived, *seeds):
    with tempfile.TemporaryDirectory() as place, Watched(place, "tests.support.seeded", config=CONFIG) as serve:
        server = {"mail_server": f"smtp://127.0.0.1:{mailbox.port}"}
        serve.admin.put("/api/status/settings", PAGE | server | {"subscribe_by": [kind]})
        for seed in seeds:
            serve.admin.get("/api/seed?" + "&".join(f"{name}={value}" for name, value in seed.items()))
        wanted = int(seeds[0][kind])
        skip = serve.lines() + 1
        time.sleep(3)  # what seeding left behind is over
        yield Row(f"{kind}: hub late before, worst", max(serve.lateness(skip)), "ms")
        memory, stored, cpu, skip = resident(serve), size(serve), serve.cpu_s(), serve.lines() + 1
        down = {"name": "Shop", "type": "tcp", "url": "tcp://127.0.0.1:1", "interval": 5, "timeout": 1, "retries": 0}
        serve.admin.post("/api/monitoring/endpoints", down | {"tags": ["public"]})
        until(arrived, 60, what="the first message")
        began = time.monotonic()
        until(lambda: arrived() >= wanted, 600, every=0.2, what="the last message")
        took, late = time.monotonic() - began, serve.lateness(skip)
        yield Row(f"{kind}: from the first message to the last", took, "s")
        yield Row(f"{kind}: processor of the server", serve.cpu_s() - cpu, "s")
        yield Row(f"{kind}: memory more than before", resident(serve) - memory, "MB")
        yield Row(f"{kind}: stored", size(serve) - stored, "MB")
        yield Row(f"{kind}: hub late, p99", percentile(late, 99), "ms", "at most 10")
        yield Row(f"{kind}: hub late, worst", max(late), "ms", "at most 50")


def resident(serve):
    text = Path(f"/proc/{serve.child.pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+) kB", text)[1]) / 1000


def size(serve):
    return sum(path.stat().st_size for path in serve.data.rglob("*.fs")) / 1e6
