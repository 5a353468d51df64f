"""Subscribers of the status page, and kill -9 of the server while they are told: nobody is missed, and who hears twice
hears it under the same id."""

import random
from collections import Counter

import pytest

from opsapp.statuspages.engine.webhooks import AT_ONCE
from opsapp.statuspages.resources import store_of
from opsapp.tree.root import root_of
from tests.bench.hub import Watched
from tests.support.mailbox import Mailbox
from tests.support.receiver import Receiver
from tests.support.stores import opened
from tests.support.waiting import until

pytestmark = [pytest.mark.system, pytest.mark.crash]
COUNT, BATCH = 240, 20
CONFIG = {"status_page": {"gather_s": 0.2, "batch": BATCH, "webhook_allow_networks": ["127.0.0.0/8"]},
          "notifications": {"retry": {"first_s": 0.2, "longest_s": 1}}}  # fmt: skip
DOWN = {"name": "Shop", "type": "tcp", "url": "tcp://127.0.0.1:1", "interval": 5, "timeout": 1, "retries": 0}


class Letters:
    """What came by mail: (to whom, id) of each."""

    def __init__(self):
        self.mailbox = Mailbox()
        self.close = self.mailbox.close

    def wanted(self):
        return f"mail={COUNT}"

    def came(self):
        return [(mail["To"], mail["Message-ID"]) for mail in list(self.mailbox.mails)]


class Calls:
    """The same by webhook."""

    def __init__(self):
        self.receiver, self.mailbox = Receiver(), None
        self.close = self.receiver.close

    def wanted(self):
        return f"webhook={COUNT}&url={self.receiver.url('hook').replace('json://', 'http://')}"

    def came(self):
        receiver = self.receiver
        return list(zip(list(receiver.paths), [message["id"] for message in list(receiver.messages)], strict=False))


def claims(serve, kind):
    """How many messages the server that was killed had under way: of webhooks the more, the slower they answer."""
    uri = serve.flags.get("store", f"file://{serve.data.absolute()}/main.fs?read_only=1")
    with opened(uri) as db, db.transaction() as connection:
        return len(store_of(root_of(connection)).queues[kind].owners)


def told_through_kills(tmp_path, kind, ways, kills, seed):
    chance, claimed = random.Random(seed), []
    try:
        with Watched(tmp_path, "tests.support.seeded", config=CONFIG) as serve:
            page = {"public_url": "https://status.example", "subscribe_by": [kind]}
            if ways.mailbox is not None:
                page |= {"mail_from": "s@example.org", "mail_server": f"smtp://127.0.0.1:{ways.mailbox.port}"}
            serve.admin.put("/api/status/settings", page)
            assert serve.admin.get(f"/api/seed?{ways.wanted()}") == {"confirmed": COUNT}
            serve.admin.post("/api/monitoring/endpoints", DOWN | {"tags": ["public"]})
            points = sorted(chance.sample(range(1, COUNT - BATCH), kills))
            for point in points:
                until(lambda point=point: len(ways.came()) >= point, 60, every=0.001, what=f"{point} messages")
                serve.kill()
                claimed.append(claims(serve, kind))
                serve.start()
            until(lambda: len({to for to, _ in ways.came()}) == COUNT, 60, what="everybody")
            until(
                lambda: serve.admin.get("/api/status/subscriptions/counts")["waiting"] == 0, 30, what="an empty queue"
            )
    finally:
        ways.close()
    came = ways.came()
    again = {to for to, count in Counter(to for to, _ in came).items() if count > 1}
    assert len(again) <= sum(claimed), "nobody whose message was stored as sent"
    assert max(claimed) <= (BATCH if kind == "mail" else AT_ONCE)
    assert len(set(came)) == COUNT, "who hears it twice hears it under the same id"


@pytest.mark.parametrize(
    ("kind", "ways"),
    [("mail", Letters), pytest.param("webhook", Calls, marks=pytest.mark.nightly("the core list has mail"))],
)
def test_nobody_is_missed_and_who_hears_it_twice_can_tell(tmp_path, kind, ways):
    told_through_kills(tmp_path, kind, ways(), kills=4, seed=4)


@pytest.mark.soak
@pytest.mark.parametrize(("kind", "ways"), [("mail", Letters), ("webhook", Calls)])
@pytest.mark.parametrize("seed", range(20))
def test_nobody_is_missed_at_any_point(tmp_path, kind, ways, seed):
    told_through_kills(tmp_path, kind, ways(), kills=6, seed=seed)
