"""A real rsyslogd in a directory of the test, configured by what the guide says."""

import re
import shutil
from pathlib import Path

import pytest

from .process import ROOT, Process, free_port

BINARY = shutil.which("rsyslogd") or ("/usr/sbin/rsyslogd" if Path("/usr/sbin/rsyslogd").exists() else None)
BLOCK = re.compile(r"^```rsyslog\n(.*?)^```", re.M | re.S)
GUIDE = ROOT / "docs/guide/audit.md"
MODULES = Path("/usr/lib")


class Rsyslog(Process):
    """`certificate`, `authority`: files, for TLS."""

    name = "rsyslog"
    measured = False

    def __init__(self, directory, certificate=None, authority=None):
        if BINARY is None:
            pytest.skip("no rsyslogd is installed")
        if certificate and not any(MODULES.glob("*/rsyslog/lmnsd_gtls.so")):
            pytest.skip("no rsyslog-gnutls is installed")
        super().__init__(directory)
        self.port, self.received = free_port(), self.directory / "received"
        (said,) = [block for block in BLOCK.findall(GUIDE.read_text()) if ("gtls" in block) == bool(certificate)]
        said = re.sub(r'port="\d+"', f'port="{self.port}" address="127.0.0.1"', said)
        said = said.replace("/var/log/opsapp-audit.log", str(self.received))
        if certificate:
            for name, path in (("ca", authority), ("cert", certificate[0]), ("key", certificate[1])):
                said = said.replace(f"/etc/rsyslog.d/{name}.pem", path)
        self.conf = self.directory / "rsyslog.conf"
        self.conf.write_text(f'global(workDirectory="{self.directory}")\n' + said)

    def command(self):
        return [BINARY, "-n", "-f", str(self.conf), "-i", str(self.directory / "pid")]

    def is_ready(self):
        return f":{self.port:04X} " in Path("/proc/net/tcp").read_text()
