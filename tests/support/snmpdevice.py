"""Debian's snmpd as a device: started on a free port of loopback with a configuration of its own, without root."""

from __future__ import annotations

import contextlib
import shutil
import socket
import subprocess

from tests.support.waiting import until

SNMPD = shutil.which("snmpd") or shutil.which("snmpd", path="/usr/sbin")
COMMUNITY, PASSWORD, SEAL = "well-known-here", "correct horse battery", "staple of the stable"
UPTIME, NAME, NUMBERS = "1.3.6.1.2.1.1.3.0", "1.3.6.1.2.1.1.5.0", "1.3.6.1.2.1.1.7.0"  # sysUpTime, sysName, sysServices
USERS = {"md5": "MD5", "sha": "SHA", "sha256": "SHA-256", "sha512": "SHA-512"}
CONFIGURATION = f"""
sysName rack-7
sysServices 72
rocommunity {COMMUNITY} 127.0.0.1
{{users}}
rouser nobody noauth
createUser nobody
"""


def _users():
    for name, method in USERS.items():
        yield f"createUser {name} {method} {PASSWORD!r} AES {SEAL!r}\nrouser {name} auth"
    yield f"createUser old SHA {PASSWORD!r} DES {SEAL!r}\nrouser old priv"


@contextlib.contextmanager
def snmpd(folder):
    """Its port."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    written = folder / "snmpd.conf"
    written.write_text(CONFIGURATION.format(users="\n".join(_users()).replace("'", '"')))
    command = [SNMPD, "-f", "-Lo", "-C", "-c", str(written), "-I", "-smux", f"udp:127.0.0.1:{port}"]
    environment = {"SNMP_PERSISTENT_DIR": str(folder), "MIBS": ""}
    with (
        (folder / "log").open("wb") as log,
        subprocess.Popen(command, stdout=log, stderr=log, env=environment) as device,
    ):
        try:
            until(lambda: b"NET-SNMP version" in (folder / "log").read_bytes(), what="snmpd to listen")
            yield port
        finally:
            device.terminate()
