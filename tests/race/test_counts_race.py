"""The stored numbers of long lists stay right while many write."""

from opsapp.notify.logic.texts import MessageContent
from opsapp.notify.resources.deliveries import deliveries_of
from tests.race.test_transact import TIMES, in_threads, service

__all__ = ["service"]
THREADS = 6


def test_deliveries_of_many_threads_are_all_counted(service):
    node = service.node
    service.ada.post_json("/api/notifications/channels", {"name": "mail", "url": "json://127.0.0.1:9/x"}, status=201)

    def add(root):
        (channel,) = root["api"]["notifications"]["channels"].values()
        log, now = deliveries_of(root), node.clock.now()
        content = MessageContent(
            "monitor:1", "monitor.down", "critical", "Shop", "It is down.", first_at=now, last_at=now
        )
        delivery = log.enqueue(channel, [log.add_message(content, now)], now, now, None)
        log.end(delivery, "sent", now)

    in_threads(lambda n: [node.transact(add) for _ in range(TIMES)], THREADS)
    for status in (None, "sent"):
        page, count = node.transact(lambda root, status=status: deliveries_of(root).page(status, None, 1000, 0))
        assert len(page) == count == THREADS * TIMES
