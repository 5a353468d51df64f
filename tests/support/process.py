"""Real processes for the tests: `opsapp serve` and a ZEO server, started, killed and started again on the same data."""

import fcntl
import os
import random
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import yaml

from . import copies, engines
from .client import Client
from .waiting import SOON_S, patience, until

ROOT = Path(__file__).resolve().parents[2]
PASSWORD = "a long enough password"


# A process that is measured writes down what it reached once it has stopped; that is no part of its stop.
MEASURED = "COVERAGE_PROCESS_CONFIG" in os.environ
FLUSH_S = 20
PORTS = range(20_000, 32_000)  # below those that the system hands out by itself


def free_port(host="127.0.0.1"):
    """A port that nobody else is given while this process lives, whichever test process of this machine asks. One that
    is only free now may be another test's a moment later, whose server then answers to our questions and knows none
    of our passwords."""
    places = Path(tempfile.gettempdir()) / f"opsapp-test-ports-{os.getuid()}"
    places.mkdir(exist_ok=True)
    while True:
        port = random.SystemRandom().choice(PORTS)
        lock = os.open(places / str(port), os.O_CREAT | os.O_WRONLY)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            with socket.socket() as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind((host, port))
        except OSError:
            os.close(lock)
            continue
        return port  # the lock stays open, and goes with the process


def opsapp(*arguments, typed="", **env):
    """The `opsapp` command, until it has ended: whatever its exit code, it never ends with a traceback."""
    done = subprocess.run(
        [sys.executable, "-m", "opsapp.cli", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=60 * patience(),
        input=typed,
        env={**os.environ, "PYTHONPATH": str(ROOT), **env},
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done


class Process:
    """A child process with its output in a file; subclasses say the command and when it is ready."""

    name = "process"
    measured = MEASURED
    inside = ()  # words before the command: in which network namespace it runs, say

    def __init__(self, directory):
        self.directory = Path(directory)
        self.directory.mkdir(parents=True, exist_ok=True)
        self.log = self.directory / f"{self.name}.log"
        self.child = None

    def command(self):
        raise NotImplementedError

    def is_ready(self):
        raise NotImplementedError

    def environment(self):
        return {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}

    def begin(self):
        """Starts it, and does not wait."""
        command, environment = [*self.inside, *self.command()], self.environment()
        with open(self.log, "ab") as log:
            self.child = copies.begin(command, environment, self.directory, log.fileno()) or subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.directory, env=environment
            )

    def start(self, timeout=30):
        """Starts it and waits until it is ready."""
        self.begin()
        try:
            until(self._ready_or_dead, timeout, SOON_S, what=f"{self.name} being ready")
        except BaseException:
            self.kill()
            raise

    def _ready_or_dead(self):
        if self.child.poll() is not None:
            raise AssertionError(f"{self.name} ended with {self.child.returncode}:\n{self.tail()}")
        return self.is_ready()

    @property
    def running(self):
        return self.child is not None and self.child.poll() is None

    def kill(self):
        """kill -9."""
        if self.child is not None:
            self.child.kill()
            self.child.wait(10 * patience())

    def stop(self, timeout=10):
        """SIGTERM; the exit code."""
        self.child.terminate()
        try:
            return self.child.wait(timeout * patience() + FLUSH_S * self.measured)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"{self.name} did not end after SIGTERM:\n{self.tail()}") from None

    def ticks(self):
        """Ticks of processor that it has used: 100 a second. What else the machine does is not in them."""
        fields = Path(f"/proc/{self.child.pid}/stat").read_text().rpartition(")")[2].split()
        return int(fields[11]) + int(fields[12])

    def cpu_s(self):
        """Seconds of processor that it has used."""
        return self.ticks() / os.sysconf("SC_CLK_TCK")

    def tail(self, size=3000):
        return self.log.read_text(errors="replace")[-size:]

    def __enter__(self):
        self.start()
        return self

    def end(self):
        """At the end of a test: at once; but a process that is measured writes down what it reached only when it is
        let go properly."""
        if self.measured and self.running:
            self.child.terminate()
            try:
                self.child.wait(15 * patience())
            except subprocess.TimeoutExpired:
                self.kill()
        self.kill()

    def __exit__(self, *_error):
        self.end()


def nothing_held_out(config):
    """The configuration, with no case left alone by chance unless it says so itself."""
    healing = config.get("healing", {})
    if not isinstance(healing, dict) or "holdout" in healing:
        return config
    return {**config, "healing": {**healing, "holdout": {"share": 0}}}


class Serve(Process):
    """`opsapp serve` on an address of this machine, with data and YAML in a directory of the test."""

    name = "serve"

    def __init__(self, directory, config=None, host="127.0.0.1", port=None, data=None, ini=None, **flags):
        super().__init__(directory)
        self.host, self.port = host, port or free_port(host)
        self.data = Path(data or self.directory / "data")
        self.ini = Path(ini or ROOT / "development.ini")
        self.flags = flags if "store" in flags or ini else {**engines.uris(self.data.absolute()), **flags}
        self.config = self.directory / "opsapp.yaml"
        self.config.write_text(yaml.safe_dump(nothing_held_out(config or {})))
        self.url = f"http://{self.host}:{self.port}"
        self._admin = None

    def command(self):
        flags = {"host": self.host, "port": self.port, "data": self.data, "config": self.config, **self.flags}
        words = [f"--{name.replace('_', '-')}={value}" for name, value in flags.items() if value is not None]
        return [sys.executable, "-m", "opsapp.cli", "serve", str(self.ini), *words]

    @property
    def places(self):
        """What tells another command of `opsapp` where the data are, on whatever engine."""
        stores = {name: self.flags[name] for name in ("store", "history_store") if name in self.flags}
        return [f"--{name.replace('_', '-')}={value}" for name, value in {"data": self.data, **stores}.items()]

    def environment(self):
        return {**super().environment(), "OPSAPP_ADMIN_PASSWORD": PASSWORD}

    def client(self, **more):
        return Client(self.url, **more)

    def is_ready(self):
        try:
            return self.client(timeout=2).request("GET", "/api/status/public").status == 200
        except OSError:
            return False

    @property
    def admin(self):
        """A client signed in as the first admin: once, for the login limit counts every attempt."""
        if self._admin is None:
            self._admin = self.client().login("admin", PASSWORD)
        return self._admin


class Zeo(Process):
    """A real ZEO server with the two storages, `main` and `history`."""

    name = "zeo"
    measured = False  # nothing of ours

    def __init__(self, directory, port=None, cuts=False, held=5, host="127.0.0.1", tls=None):
        """`cuts`: by `opsapp store`, which ends who holds a lock too long; else by runzeo, which starts faster. `tls`:
        where the certificates of the store are."""
        super().__init__(directory)
        self.cuts, self.held = cuts, held
        self.host, self.port = host, port or free_port()
        storages = "".join(
            f"<filestorage {name}>\n  path {self.directory / name}.fs\n</filestorage>\n" for name in ("main", "history")
        )
        self.conf = self.directory / "zeo.conf"
        ssl = (
            f"  <ssl>\n    certificate {tls}/cert.pem\n    key {tls}/key.pem\n    authenticate {tls}/ca.pem\n  </ssl>\n"
            if tls
            else ""
        )
        self.conf.write_text(f"<zeo>\n  address {self.host}:{self.port}\n{ssl}</zeo>\n{storages}")

    def command(self):
        if self.cuts:
            return [sys.executable, "-m", "opsapp.cli", "store", str(self.conf), f"--held={self.held}"]
        return [str(Path(sys.executable).parent / "runzeo"), "-C", str(self.conf)]

    def is_ready(self):
        with socket.socket() as probe:
            return probe.connect_ex((self.host, self.port)) == 0

    def stop(self, timeout=10):
        """TERM, wait, KILL: it is known to swallow a TERM."""
        self.child.terminate()
        try:
            return self.child.wait(timeout)
        except subprocess.TimeoutExpired:
            self.kill()
            return self.child.returncode

    def uris(self):
        """What `opsapp serve` takes to use this server."""
        where = f"zeo://{self.host}:{self.port}"
        return {"store": f"{where}?storage=main", "history_store": f"{where}?storage=history"}
