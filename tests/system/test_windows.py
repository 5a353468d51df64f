"""A window and a channel of a real service: a monitor goes into maintenance and out of it, and through a restart."""

import contextlib
import datetime

import pytest

from tests.support.process import Serve
from tests.support.receiver import Receiver
from tests.support.targets import refused_port
from tests.support.waiting import until

pytestmark = pytest.mark.system

QUICK = {"group_wait_s": 0.2, "group_s": 1, "timeout_s": 30, "retry": {"first_s": 0.2, "longest_s": 0.5}}
MONITORS, INCIDENTS, WINDOWS = "/api/monitoring/endpoints", "/api/monitoring/incidents", "/api/maintenance"


@contextlib.contextmanager
def service(tmp_path, **config):
    receiver = Receiver()
    serve = Serve(tmp_path, config={"notifications": QUICK, **config})
    try:
        with serve:
            yield serve, receiver
    finally:
        receiver.close()


def down(serve, name):
    body = {"name": name, "type": "tcp", "url": f"tcp://127.0.0.1:{refused_port()}"}
    return serve.admin.post(MONITORS, body | {"interval": 5, "timeout": 1, "retries": 0})["id"]


def window(serve, scope):
    """An hour that begins tomorrow."""
    now = datetime.datetime.now(datetime.timezone.utc).replace(tzinfo=None, microsecond=0)
    start = now + datetime.timedelta(days=1)
    times = {"start": start.isoformat(), "end": (start + datetime.timedelta(hours=1)).isoformat()}
    return serve.admin.post(WINDOWS, {"name": "patch", "scope": scope, **times})["id"]


def status(serve, monitor):
    return serve.admin.get(f"{MONITORS}/{monitor}")["status"]


def channel(serve, receiver):
    return serve.admin.post("/api/notifications/channels", {"name": "on-call", "url": receiver.url()})["id"]


@pytest.mark.nightly("windows have tests in tests/engine; the restart is of the night")
def test_in_a_window_nothing_opens_nothing_is_told_and_a_restart_changes_nothing(tmp_path):
    with service(tmp_path) as (serve, receiver):
        channel(serve, receiver)
        shop = serve.admin.post(MONITORS, {"name": "Shop", "type": "push", "interval": 5, "timeout": 1, "retries": 0})[
            "id"
        ]
        made = window(serve, [shop])
        serve.admin.post(f"{WINDOWS}/{made}/activate")
        blog = down(serve, "Blog")
        until(lambda: receiver.titles == ["[critical] Blog is down"], 20, what="the message about what is not covered")
        until(lambda: status(serve, shop) == "maintenance", 20, what="maintenance")
        serve.kill()
        serve.start()
        until(lambda: status(serve, shop) == "maintenance", 20, what="maintenance after a kill")
        checked = serve.admin.get(f"{MONITORS}/{shop}")["last_check"]
        until(lambda: serve.admin.get(f"{MONITORS}/{shop}")["last_check"] != checked, 20, what="another check")
        assert [each["monitor_id"] for each in serve.admin.get(INCIDENTS)] == [blog]
        serve.admin.post(f"{WINDOWS}/{made}/deactivate")
        until(lambda: status(serve, shop) == "down", 20, what="checks that count again")
        until(lambda: "[critical] Shop is down" in receiver.titles, 20, what="its message")
        assert serve.admin.get(f"{WINDOWS}/{made}")["active"] is False


def test_what_was_being_sent_when_the_process_was_killed_arrives(tmp_path):
    with service(tmp_path) as (serve, receiver):
        channel(serve, receiver)
        receiver.open.clear()
        down(serve, "Shop")
        until(lambda: receiver.asked, 20, what="the message being sent")
        serve.kill()
        receiver.open.set()
        until(lambda: len(receiver.messages) == receiver.asked, 20, what="the first attempt's end")
        receiver.messages.clear()
        serve.start()
        until(lambda: receiver.titles == ["[critical] Shop is down"], 20, what="the message once more")
        (entry,) = until(
            lambda: serve.admin.get("/api/notifications/deliveries?status=sent"), 20, what="the outcome in the log"
        )
        assert entry["attempts"] == 2


def test_a_channel_that_hangs_keeps_nobody_from_anything(tmp_path):
    with service(tmp_path) as (serve, receiver):
        hanging = Receiver()
        try:
            hanging.open.clear()
            channel(serve, receiver)
            serve.admin.post("/api/notifications/channels", {"name": "hangs", "url": hanging.url()})
            down(serve, "Shop")
            until(lambda: receiver.titles == ["[critical] Shop is down"], 20, what="the other channel's message")
            until(lambda: hanging.asked == 1, 20, what="the one that hangs being asked")
            assert hanging.messages == []
            assert serve.admin.get("/api/status/public")["status"] == "ok"
            assert serve.stop() == 0
        finally:
            hanging.close()
