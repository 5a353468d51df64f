"""The morning letter of two nodes on one store: a day has one, also when the node that sends it is killed."""

import datetime
import time

import pytest

from tests.support.leases import lease_book
from tests.support.othernode import signed_in_at
from tests.support.postgres import Postgres
from tests.support.process import Zeo
from tests.support.receiver import Receiver
from tests.support.stepped import SteppedServe
from tests.support.waiting import until
from tests.system.test_cluster import holder_and_other, two_nodes

pytestmark = [pytest.mark.system, pytest.mark.own_store]
NIGHTLY = pytest.mark.nightly("the core list has the kill while the letter is on its way, on ZEO")
TO_THE_HOUR_S = 600  # what asks for people ends after an hour


class Morning:
    """Two nodes, `sender` with all leases; something that asks for people; a letter whose hour the clocks can reach."""

    def __init__(self, pair, book, receiver):
        self.book, (self.sender, self.other) = book, holder_and_other(book, pair)
        self.receiver, self.admin = receiver, signed_in_at(self.other, pair[0])
        asks = {"name": "tick", "type": "notification", "params": {"title": "x"}, "requires_approval": True}
        made = self.admin.post("/api/automations", asks, expect=201)
        self.admin.post(f"/api/automations/{made['id']}/run", {}, expect=(200, 201, 202))
        channel = {"name": "team", "url": receiver.url(), "severities": ["critical"]}
        channel_id = self.admin.post("/api/notifications/channels", channel, expect=201)["id"]
        due = datetime.datetime.fromtimestamp(time.time() + TO_THE_HOUR_S, datetime.timezone.utc)
        settings = {"at": f"{due:%H:%M}", "zone": "Etc/UTC", "channel": channel_id}
        self.admin.put("/api/healing/letter/settings", settings)

    def come(self, *nodes):
        """The hour, by the clocks of these nodes."""
        for node in nodes:
            node.step_clock(TO_THE_HOUR_S)

    @property
    def letters(self):
        return [message for message in list(self.receiver.messages) if message["kind"] == "heal.letter"]

    def delivered(self):
        """All deliveries of letters, once none is under way."""
        rows = self.admin.get("/api/notifications/deliveries?limit=100")
        rows = [row for row in rows if row["messages"] and row["messages"][0]["kind"] == "heal.letter"]
        return rows if rows and {row["status"] for row in rows} == {"sent"} else None


@pytest.fixture(params=["zeo", pytest.param("postgresql", marks=NIGHTLY)])
def morning(request, tmp_path):
    with (
        Zeo(tmp_path / "zeo") if request.param == "zeo" else Postgres() as store,
        two_nodes(tmp_path, store, SteppedServe) as pair,
        lease_book(pair[0].flags["store"]) as book,
        Receiver() as receiver,
    ):
        yield Morning(pair, book, receiver)


def whole(morning):
    """One letter, which arrived at least once, and each time as the same one."""
    [letter] = until(morning.delivered, 60, what="the letter, sent by the other one")
    assert {message["delivery_id"] for message in morning.letters} == {letter["id"]}
    last = morning.admin.get("/api/healing/letter")["last"]
    assert (last["sent"], last["asks"]) == (True, 1)


def test_killed_while_its_letter_is_on_the_way(morning):
    """The intent is committed and the outcome is not: it is sent again with the same id, and no second one is made."""
    morning.receiver.open.clear()
    morning.come(morning.sender, morning.other)
    until(lambda: morning.receiver.asked, 60, what="the letter on its way")
    morning.sender.kill()
    morning.receiver.open.set()
    whole(morning)
    assert len(morning.letters) <= 2


@NIGHTLY
def test_killed_before_the_hour_the_other_one_writes_it(morning):
    morning.sender.kill()
    morning.come(morning.other)
    whole(morning)
    assert len(morning.letters) == 1


@NIGHTLY
def test_killed_when_it_is_told_none_comes_again(morning):
    """The outcome is committed: the other one, and the first one once it is back, leave it at that."""
    morning.come(morning.sender, morning.other)
    whole(morning)
    morning.sender.kill()
    until(lambda: morning.book.all_held_by(morning.other.flags["node"]), 60, what="the other one with all leases")
    morning.sender.start()
    whole(morning)
    assert len(morning.letters) == 1
