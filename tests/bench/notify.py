"""Telling people: a storm of 10,000 events with one root cause, and the rate at which one channel is sent messages."""

import tempfile
import time

from opsapp.notify.engine import routes, tell
from opsapp.notify.engine.workers import sender_of
from tests.bench import Row
from tests.support.app import Service
from tests.support.clock import FakeClock
from tests.support.receiver import Receiver

EVENTS, AT_ONCE, MESSAGES = 10_000, 100, 200
NOON = 1_800_000_000


def measure():
    receiver = Receiver()
    with tempfile.TemporaryDirectory() as place:
        service = Service(place, FakeClock(NOON), **{"opsapp.config": config(place)})
        service.ada.post_json("/api/notifications/channels", {"name": "one", "url": receiver.url()})
        service.node.leases.want("notify")
        service.node.leases.step()
        yield from storm(service, receiver)
        yield from rate(service, receiver)
        service.close()
    receiver.close()


def config(place):
    """Every message leaves by itself, however many wait."""
    path = f"{place}/opsapp.yaml"
    with open(path, "w", encoding="utf-8") as file:
        file.write("notifications: {burst: 1000}\n")
    return path


def told(service, names, key):
    def tell_them(root):
        for name in names:
            tell(root, service.clock.now(), key=key(name), kind="bench.told", severity="info", title=name, text="")

    service.transact(tell_them)


def delivered(service):
    """Processor of everything that is done until nothing is left."""
    service.clock.advance(5)
    began = time.process_time()
    while routes.step(service.node) or sender_of(service.node).step():
        pass
    return time.process_time() - began


def storm(service, receiver):
    began = time.process_time()
    for start in range(0, EVENTS, AT_ONCE):
        told(service, [f"event {start + n}" for n in range(AT_ONCE)], lambda _: "incident:one")
    yield Row("10,000 events of one cause: processor to tell of them", time.process_time() - began, "s")
    yield Row("processor to make one message of them and send it", delivered(service), "s")
    yield Row("messages that arrived", len(receiver.messages), "", "1 a channel")


def rate(service, receiver):
    before, began = len(receiver.messages), time.monotonic()
    told(service, [f"message {n}" for n in range(MESSAGES)], lambda name: f"bench:{name}")
    spent = delivered(service)
    arrived = len(receiver.messages) - before
    yield Row("messages to one channel, one after the other", arrived / (time.monotonic() - began), "/s")
    yield Row("processor of one of them (the receiver's included)", 1000 * spent / max(1, arrived), "ms")
