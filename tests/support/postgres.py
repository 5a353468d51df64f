"""A real PostgreSQL server, started, crashed, frozen and started again; each test has databases of its own in it."""

import contextlib
import itertools
import os
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

import psycopg2
import pytest

from .process import Process, free_port
from .waiting import patience

USER = "opsapp"
NOT_ROOT = "postgres"  # the server refuses to run as root
_numbers = itertools.count(1)


def binaries():
    """The directory of the newest PostgreSQL server that is installed; None without one."""
    places = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[4]))
    if places:
        return places[-1].parent
    initdb = shutil.which("initdb")
    return Path(initdb).resolve().parent if initdb else None


class Postgres(Process):
    """One server with a directory of its own, below the system's for temporary files: whoever it runs as has to reach
    it, and a socket's name is short."""

    name = "postgres"
    measured = False

    def __init__(self, port=None, settings=(), host="127.0.0.1"):
        if binaries() is None:
            pytest.skip("no PostgreSQL server is installed")
        super().__init__(tempfile.mkdtemp(prefix="opsapp-pg-"))
        self.host, self.port = host, port or free_port()
        self.files = self.directory / "data"
        self.settings = {"fsync": "off", "max_connections": "200", **dict(settings)}
        if os.geteuid() == 0:
            shutil.chown(self.directory, NOT_ROOT, NOT_ROOT)

    def move(self, directory):
        """Its files lie in this directory, of another file system say, from the next start on: a new database."""
        self.end()
        if os.geteuid() == 0:
            shutil.chown(directory, NOT_ROOT, NOT_ROOT)
        self.files = Path(directory) / "data"

    def _as_somebody(self, *words):
        become = ["setpriv", f"--reuid={NOT_ROOT}", f"--regid={NOT_ROOT}", "--clear-groups"] if not os.geteuid() else []
        return [*become, *map(str, words)]

    def run(self, program, *words):
        """One of PostgreSQL's programs, as the user that the server runs as."""
        command = [*self.inside, *self._as_somebody(binaries() / program, *words)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60 * patience(), cwd=self.directory)
        assert done.returncode == 0, f"{program}: {done.stderr}"
        return done.stdout

    def init(self):
        self.run("initdb", "-D", self.files, "-A", "trust", "-U", USER, "-E", "UTF8", "--locale=C", "--no-sync")

    def command(self):
        if not self.files.exists():
            self.init()
        options = [word for name, value in self.settings.items() for word in ("-c", f"{name}={value}")]
        return self._as_somebody(
            binaries() / "postgres", "-D", self.files, "-p", self.port, "-h", self.host, "-k", self.directory, *options
        )

    def connect(self, database="postgres"):
        connection = psycopg2.connect(host=self.host, port=self.port, user=USER, dbname=database, connect_timeout=2)
        connection.autocommit = True
        return connection

    def ask(self, question, *values, database="postgres"):
        with contextlib.closing(self.connect(database)) as connection, connection.cursor() as cursor:
            cursor.execute(question, values)
            return cursor.fetchall() if cursor.description else []

    def is_ready(self):
        try:
            self.connect().close()
        except psycopg2.OperationalError:
            return False
        return True

    def kill(self):
        """At once, as a power cut is to the server: nothing is finished, and the next start recovers."""
        if self.running:
            with contextlib.suppress(ProcessLookupError):
                self.child.send_signal(signal.SIGCONT)
                self.child.send_signal(signal.SIGQUIT)
            self.child.wait(10 * patience())

    def stop(self, timeout=10):
        """The fast way: sessions are ended, and everything is written."""
        self.child.send_signal(signal.SIGINT)
        return self.child.wait(timeout * patience())

    def processes(self):
        """Its own and those of its sessions."""
        children = Path(f"/proc/{self.child.pid}/task/{self.child.pid}/children").read_text().split()
        return [self.child.pid, *map(int, children)]

    @contextlib.contextmanager
    def frozen(self):
        """All of it stands still, and its sockets stay open."""
        stopped = self.processes()
        for pid in stopped:
            os.kill(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            for pid in stopped:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGCONT)

    def make_database(self):
        name = f"test_{os.getpid()}_{next(_numbers)}"
        self.ask(f"CREATE DATABASE {name} TEMPLATE template0")
        return name

    def uri(self, database, **options):
        query = "&".join(f"{name}={value}" for name, value in options.items())
        return f"postgresql://{USER}@{self.host}:{self.port}/{database}" + (f"?{query}" if query else "")

    def uris(self, **options):
        """What `opsapp serve` takes to use this server: two new databases."""
        return {
            "store": self.uri(self.make_database(), **options),
            "history_store": self.uri(self.make_database(), **options),
        }

    def remove(self):
        self.end()
        shutil.rmtree(self.directory, ignore_errors=True)

    def __exit__(self, *_error):
        self.remove()
