"""The command `opsapp serve` as a process: first start, stop, reload, a second one on the same data, pserve."""

import json
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.inside import Held
from tests.support.process import ROOT, Serve
from tests.support.proctexts import texts
from tests.support.raw import HANGS_S
from tests.support.waiting import patience, until

pytestmark = [pytest.mark.system, pytest.mark.usefixtures("own_program")]


# As the guide has it: nothing about logging, so the YAML file's `log` section says how lines look.
SHORT = "[app:main]\nuse = egg:opsapp\n[server:main]\nuse = egg:opsapp#gevent\n"


class FirstStart(Serve):
    """Without a password in the environment, as a new user starts it."""

    def environment(self):
        return {name: value for name, value in super().environment().items() if name != "OPSAPP_ADMIN_PASSWORD"}


def private_files(directory):
    return [path for path in directory.rglob("*") if path.is_file() and path.stat().st_mode & 0o077 == 0]


def test_the_first_start_makes_an_admin_and_says_how_to_sign_in_and_sigterm_ends_it_with_0(tmp_path):
    with FirstStart(tmp_path) as serve:
        told = serve.tail()
        assert serve.url in told
        assert "admin-password" in told
        assert serve.data / "admin-password" in private_files(serve.data)
        password = (serve.data / "admin-password").read_text().strip()
        assert password not in told
        signed_in = serve.client().login("admin", password)
        assert signed_in.get("/api/me") == {"username": "admin", "role": "admin"}
        assert serve.stop() == 0
        serve.start()
        assert password not in serve.tail()
        assert signed_in.get("/api/me") == {"username": "admin", "role": "admin"}, "data stay, also those of sessions"


def test_systemd_is_told_when_requests_are_answered(tmp_path):
    """So `systemctl start`, and `apt install`, return when one can sign in."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(tmp_path / "notify"))
        manager.settimeout(HANGS_S)
        serve = Serve(tmp_path / "serve")
        serve.environment = lambda: {**Serve.environment(serve), "NOTIFY_SOCKET": str(tmp_path / "notify")}
        serve.begin()
        try:
            assert manager.recv(100) == b"READY=1"
            assert serve.is_ready()
        finally:
            serve.end()


def test_sigterm_with_an_open_stream_and_an_idle_connection(tmp_path):
    with Serve(tmp_path) as serve:
        stream = subprocess.Popen(["curl", "-sN", f"{serve.url}/api/stream?token={serve.admin.token}"],
                                  stdout=subprocess.DEVNULL)  # fmt: skip
        try:
            until(lambda: connections(serve.port) > 0, 10, what="an open stream")
            assert serve.stop() == 0
            assert stream.wait(10 * patience()) is not None
        finally:
            stream.kill()
            stream.wait()


def connections(port):
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return sum(row[3] == "01" and row[1].endswith(f":{port:04X}") for row in rows)


@pytest.mark.files("a second process may open any other store")
def test_a_second_server_on_the_same_data_or_port_refuses_to_start(tmp_path):
    with Serve(tmp_path) as serve:
        second = Serve(tmp_path / "second", data=serve.data)
        done = subprocess.run(second.command(), env=second.environment(), capture_output=True, text=True)
        assert done.returncode == 1
        assert "Traceback" not in done.stderr
        assert "already" in done.stderr
        taken = Serve(tmp_path / "taken", port=serve.port)
        done = subprocess.run(taken.command(), env=taken.environment(), capture_output=True, text=True)
        assert done.returncode == 1
        assert "Traceback" not in done.stderr
        assert f"cannot listen at 127.0.0.1:{serve.port}: Address already in use" in done.stderr
        assert not taken.data.exists()  # looked at before anything is made
        assert serve.admin.get("/api/me")["username"] == "admin"


def whole_lines(serve):
    """Of its log, without the one that is being written."""
    return serve.log.read_text().rpartition("\n")[0].splitlines()


def of_request(serve, request_id):
    lines = (json.loads(line) for line in whole_lines(serve) if line.startswith("{"))
    return next((line for line in lines if line.get("request_id") == request_id), None)


def test_sighup_takes_a_good_configuration_and_keeps_the_old_one_when_it_is_bad(tmp_path):
    (tmp_path / "short.ini").write_text(SHORT)
    config = {"web": {"base_url": "http://one.example"}, "log": {"format": "json"}}
    with Serve(tmp_path, config=config, ini=tmp_path / "short.ini") as serve:
        lines = [line for line in whole_lines(serve) if not line.startswith(("Serving at", "First "))]
        assert {"time", "level", "logger", "message"} <= set.intersection(*(set(json.loads(line)) for line in lines))
        found = serve.admin.request("GET", "/api/me?token=wrong")
        asked = until(lambda: of_request(serve, found.headers["x-request-id"]), 10, what="the request in the log")
        assert (asked["method"], asked["path"], asked["status"]) == ("GET", "/api/me?token=[redacted]", found.status)
        serve.config.write_text("web: {base_url: 'http://two.example', no_such_key: 1}\n")
        serve.child.send_signal(signal.SIGHUP)
        until(lambda: "no_such_key" in serve.tail(), 10, what="the mistake in the log")
        assert serve.admin.get("/api/me")["username"] == "admin"
        assert serve.stop() == 0


class Pserve(Serve):
    name = "pserve"

    def command(self):
        ini = self.directory / "pserve.ini"
        text = (ROOT / "development.ini").read_text()
        ini.write_text(text.replace("%(here)s", str(self.directory)).replace("6080", str(self.port)))
        return [str(Path(sys.executable).parent / "pserve"), str(ini)]


def test_pserve_serves_the_same_ini(tmp_path):
    with Pserve(tmp_path) as serve:
        assert serve.admin.get("/api/me")["username"] == "admin"
        assert serve.stop() == 0


@pytest.mark.nightly("packing has tests in tests/engine")
@pytest.mark.files("other stores are packed by a command")
def test_a_server_packs_its_store_by_itself(tmp_path):
    pack = {"hour": None, "look_s": 0.2, "days": 0}
    with Serve(tmp_path, {"store": {"pack": pack}}) as serve:
        state = until(lambda: serve.admin.get("/api/store")["packed_at"] and serve.admin.get("/api/store"), 30)
        assert state["pack_problem"] is None
        assert not list(serve.data.glob("*.old")) + list(serve.data.glob("*.pack"))
        assert serve.admin.get("/api/me")["username"] == "admin"
        assert serve.stop() == 0
    with Serve(tmp_path) as serve:
        assert serve.admin.get("/api/store")["packed_at"] == state["packed_at"]


def wakes(pid):
    """How often its threads have gone to sleep since they began."""
    told = texts(Path(f"/proc/{pid}/task").glob("*/status"))
    return sum(int(line.split()[1]) for text in told for line in text.splitlines() if line.startswith("voluntary"))


def wakes_per_pulse(serve, pulses=12):
    woken, begun = wakes(serve.child.pid), serve.beats()
    until(lambda: serve.beats() >= begun + pulses, what=f"{pulses} pulses")
    return (wakes(serve.child.pid) - woken) / (serve.beats() - begun)


def test_a_service_with_nothing_to_do_sleeps(tmp_path):
    """In a pulse, of which there are four a second, there is a look now and then. It was 27 wakes a pulse."""
    with Held(tmp_path, data=tmp_path / "data", store=None) as serve:
        until(lambda: wakes_per_pulse(serve) < 10, 30, every=0.1, what="fewer than 10 wakes a pulse")
