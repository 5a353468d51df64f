"""A real nginx in a directory of the test, with what the guide says of it."""

import re
import shutil
import socket
from pathlib import Path

import pytest

from .process import ROOT, Process
from .waiting import patience

BINARY = shutil.which("nginx") or ("/usr/sbin/nginx" if Path("/usr/sbin/nginx").exists() else None)
BLOCK = re.compile(r"^```nginx\n(.*?)^```", re.M | re.S)


def guide(word, page="cluster"):
    """The block of that page of the guide that has this word in it."""
    (block_with_word,) = [
        block for block in BLOCK.findall((ROOT / f"docs/guide/{page}.md").read_text()) if word in block
    ]
    return block_with_word


class Nginx(Process):
    """`servers`: what stands within http; `port`: one of those at which it listens."""

    name = "nginx"
    measured = False

    def __init__(self, directory, servers, port):
        if BINARY is None:
            pytest.skip("no nginx is installed")
        super().__init__(directory)
        self.port = port
        places = "".join(
            f"    {kind}_temp_path {self.directory}/{kind};\n"
            for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        )
        self.conf = self.directory / "nginx.conf"
        self.conf.write_text(
            f"daemon off;\nuser root;\nworker_processes 1;\npid {self.directory}/pid;\n"
            f"events {{ worker_connections 1024; }}\n"
            f"http {{\n    log_format answers '\"$request\" $status by $upstream_addr';\n"
            f"    access_log {self.directory}/access.log answers;\n{places}{servers}\n}}\n"
        )

    def command(self):
        return [BINARY, "-p", str(self.directory), "-e", str(self.directory / "error.log"), "-c", str(self.conf)]

    def is_ready(self):
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def access(self):
        return (self.directory / "access.log").read_text()

    def answered_by(self, address):
        """How many requests a server at that address has answered."""
        return sum(line.endswith(address) for line in self.access().splitlines())

    def errors(self):
        return (self.directory / "error.log").read_text()

    def end(self):
        """At once, with its worker."""
        if self.running:
            self.child.terminate()
            self.child.wait(10 * patience())
