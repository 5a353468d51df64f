"""How serving ends: requests finish, streams and sessions are ended, the process leaves with 0 within 10 s."""

import os
import signal
import subprocess
import sys

import pytest

from tests.support.process import free_port
from tests.support.raw import Raw
from tests.support.serving import ROOT, Serving
from tests.support.waiting import until

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
    with Serving() as serving:
        idle, half, silent = Raw(serving.port), Raw(serving.port), sent(serving, "/api/silent")
        assert idle.get("/api/plain").status == 200
        half.send(b"GET /api/pl")
        assert silent.head()[0] == 200
        slow, deferred = sent(serving, "/api/slow?s=1.5"), sent(serving, "/api/deferred?s=1.5")
        session = sent(serving, "/api/session", *UPGRADE)
        assert session.head()[0] == 101
        until(lambda: idle.get("/api/counts").json["opened"] == 1, 5, what="the stream")
        code, seconds = serving.terminate()
        assert code == 0
        assert 1 < seconds < 8
        assert slow.answer().json == {"slept": True}
        assert deferred.answer().status == 201
        assert silent.rest().endswith(b"0\r\n\r\n")
        assert session.rest()[:4] == b"\x88\x12\x03\xe9"
        assert idle.rest() == b""
        assert half.rest() == b""
        assert "node stopped" in serving.output()
        assert "Traceback" not in serving.output()
        for raw in (idle, half, silent, slow, deferred, session):
            raw.close()


def test_a_request_that_does_not_end_does_not_hold_the_process():
    with Serving() as serving:
        stuck, endless = sent(serving, "/api/slow?s=60"), sent(serving, "/api/deferred?s=60")
        with Raw(serving.port) as other:
            assert other.get("/api/plain").status == 200
        code, seconds = serving.terminate()
        assert (code, seconds < 10) == (0, True)
        stuck.close()
        endless.close()


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
    assert subprocess.run([sys.executable, "-c", program], env=environment, timeout=60).returncode == 3


def test_a_hangup_reloads_and_serving_goes_on():
    with Serving() as serving:
        serving.child.send_signal(signal.SIGHUP)
        until(lambda: "hup\n" in serving.lines, 5, what="the reload")
        with Raw(serving.port) as raw:
            assert raw.get("/api/plain").status == 200


def test_an_interrupt_ends_it_too():
    with Serving() as serving:
        serving.child.send_signal(signal.SIGINT)
        assert serving.child.wait(10) == 0


def test_nobody_is_accepted_while_it_stops():
    with Serving() as serving:
        slow = sent(serving, "/api/slow?s=1")
        serving.child.terminate()
        until(lambda: _refused(serving.port), 5, what="the closed port")
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
        assert serving.child.wait(10) == 1


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
        assert child.wait(10) == 0
