"""How serving ends: requests finish, streams and sessions are ended, the process leaves with 0. What hangs holds
it no longer than the product allows, which is less than 10 s."""

import os
import signal
import subprocess
import sys

import pytest

from opsapp.web import server
from tests.support.process import free_port
from tests.support.raw import Raw
from tests.support.serving import ROOT, Serving
from tests.support.waiting import patience, until

pytestmark = pytest.mark.system

UPGRADE = (
    "Upgrade: websocket",
    "Connection: Upgrade",
    "Sec-WebSocket-Version: 13",
    "Sec-WebSocket-Key: " + "A" * 22 + "==",
)


def sent(serving, path, *headers):
    raw = Raw(serving.port)
    return raw.send(("\r\n".join([f"GET {path} HTTP/1.1", f"Host: {raw.host}", *headers]) + "\r\n\r\n").encode())


def test_a_stop_lets_requests_finish_and_ends_what_lasts():
    """It waits for requests that are under way, and for nothing else: here it would wait for ten minutes."""
    with Serving(stop_after=600, leave_within=600) as serving:
        idle, half, silent = Raw(serving.port), Raw(serving.port), sent(serving, "/api/silent")
        assert idle.get("/api/plain").status == 200
        half.send(b"GET /api/pl")
        assert silent.head()[0] == 200
        slow, deferred = sent(serving, "/api/held?gate=a"), sent(serving, "/api/deferred?gate=a")
        session = sent(serving, "/api/session", *UPGRADE)
        assert session.head()[0] == 101
        until(lambda: under_way(idle) == (1, 2), what="the stream, and both requests being held")
        serving.child.terminate()
        until(lambda: _refused(serving.port), what="the closed port")
        assert silent.rest().endswith(b"0\r\n\r\n")
        assert session.rest()[:4] == b"\x88\x12\x03\xe9"
        assert idle.rest() == b""
        assert half.rest() == b""
        assert serving.child.poll() is None
        assert not slow.is_answered()
        assert not deferred.is_answered()
        serving.let_go("a")
        assert serving.wait() == 0
        assert slow.answer().json == {"held": True}
        assert deferred.answer().status == 201
        assert "node stopped" in serving.output()
        assert "Traceback" not in serving.output()
        for raw in (idle, half, silent, slow, deferred, session):
            raw.close()


def under_way(raw):
    counts = raw.get("/api/counts").json
    return counts["opened"], counts["held"]


def test_a_request_that_does_not_end_does_not_hold_the_process():
    """Nobody ever lets them go."""
    with Serving() as serving:
        stuck, endless = sent(serving, "/api/held?gate=never"), sent(serving, "/api/deferred?gate=never")
        with Raw(serving.port) as other:
            until(lambda: under_way(other) == (0, 2), what="both being held")
        assert serving.stop() == 0
        assert stuck.rest() == endless.rest() == b""
        stuck.close()
        endless.close()


def test_what_a_stop_may_take_is_less_than_10_s():
    """A service manager waits for longer than that before it kills."""
    assert server.Limits().stop_after < server.LEAVE_WITHIN_S
    assert server.LEAVE_WITHIN_S + server.TELL_S < 10


def test_a_log_that_takes_nothing_does_not_hold_it_either():
    """What hangs may hold the log's lock, so that even telling of it hangs."""
    program = """if True:
        import logging, threading, time
        from opsapp.web import server
        class Stuck(logging.Handler):
            def emit(self, record):
                time.sleep(600)
        logging.getLogger().addHandler(Stuck())
        threading.Thread(target=logging.getLogger().error, args=["first"], daemon=True).start()
        server.LEAVE_WITHIN_S = 0.1
        server._last_resort(3)
        time.sleep(600)
    """
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    assert subprocess.run([sys.executable, "-c", program], env=environment).returncode == 3


def test_a_hangup_reloads_and_serving_goes_on():
    with Serving() as serving:
        serving.child.send_signal(signal.SIGHUP)
        until(lambda: "hup\n" in serving.lines, 5, what="the reload")
        with Raw(serving.port) as raw:
            assert raw.get("/api/plain").status == 200


def test_an_interrupt_ends_it_too():
    with Serving() as serving:
        serving.child.send_signal(signal.SIGINT)
        assert serving.wait() == 0


def test_nobody_is_accepted_while_it_stops():
    with Serving(stop_after=600, leave_within=600) as serving:
        slow = sent(serving, "/api/held?gate=a")
        with Raw(serving.port) as other:
            until(lambda: under_way(other) == (0, 1), what="the request being held")
        serving.child.terminate()
        until(lambda: _refused(serving.port), 5, what="the closed port")
        serving.let_go("a")
        assert slow.answer().headers["connection"] == "close"
        slow.close()


def _refused(port):
    try:
        Raw(port).close()
    except ConnectionError:
        return True
    return False


def test_an_engine_that_gives_up_ends_the_process_with_1():
    with Serving() as serving:
        with Raw(serving.port) as raw:
            assert raw.get("/api/give-up").status == 200
        assert serving.wait() == 1


def test_a_reload_that_fails_changes_nothing():
    with Serving(bad_reload=True) as serving:
        serving.child.send_signal(signal.SIGHUP)
        until(lambda: "reload failed" in serving.output(), 5, what="the log line")
        with Raw(serving.port) as raw:
            assert raw.get("/api/plain").status == 200


def test_any_application_can_be_served_by_paste(tmp_path):
    """`pserve` with our runner and an application that has no node and no registry."""
    ini = tmp_path / "plain.ini"
    port = free_port()
    ini.write_text(
        "[app:main]\npaste.app_factory = tests.support.serving:plain_application\n"
        f"[server:main]\npaste.server_runner = opsapp.web.server:serve_paste\nhost = 127.0.0.1\nport = {port}\n"
        "reuse_port = yes\nhead_timeout = 3\n"
    )
    command = [sys.executable, "-W", "ignore", "-m", "pyramid.scripts.pserve", str(ini)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as child:
        try:
            until(lambda: not _refused(port), 20, what="the port")
            with Raw(port) as raw:
                got = raw.get("/x")
                assert (got.status, got.body) == (200, b"plain")
                child.send_signal(signal.SIGHUP)
                assert raw.get("/x").status == 200
        finally:
            child.terminate()
        assert child.wait(10 * patience()) == 0
