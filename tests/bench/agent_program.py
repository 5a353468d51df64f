"""The agent program itself: memory, CPU at reports every 15 s, and a large file up and down. OPSAPP_BENCH_FILE_MB=N.

Both sides' memory is the most that each had while the file passed, beyond what it had before.
"""

from __future__ import annotations

import hashlib
import http.client
import os
import tempfile
import time
from pathlib import Path

from tests.bench import Row
from tests.support.agent_process import EnrolledAgent
from tests.support.process import Serve
from tests.support.waiting import until

WATCHED_S = float(os.environ.get("OPSAPP_BENCH_AGENT_S", "60"))
FILE_MB = int(os.environ.get("OPSAPP_BENCH_FILE_MB", "256"))
PIECE = os.urandom(1 << 20)
EDGE = b"--edge"


def status(pid, name):
    """A line of /proc/PID/status, in MB."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(name + ":"))


def cpu_s(pid):
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Growth:
    """The most memory of some processes from now on, beyond what they have now."""

    def __init__(self, *pids):
        self.pids = pids
        for pid in pids:
            Path(f"/proc/{pid}/clear_refs").write_text("5")  # the high-water mark begins anew
        self.before = [status(pid, "VmRSS") for pid in pids]

    def seen(self):
        return [status(pid, "VmHWM") - before for pid, before in zip(self.pids, self.before, strict=True)]


def upload(serve, agent, dest):
    head = EDGE + b'\r\nContent-Disposition: form-data; name="dest"\r\n\r\n' + str(dest).encode() + b"\r\n"
    head += EDGE + b'\r\nContent-Disposition: form-data; name="file"; filename="x"\r\n\r\n'
    tail = b"\r\n" + EDGE + b"--\r\n"
    link = http.client.HTTPConnection("127.0.0.1", serve.port, timeout=600)
    link.putrequest("POST", f"{agent.path}/files")
    link.putheader("Authorization", f"Bearer {serve.admin.token}")
    link.putheader("Content-Type", "multipart/form-data; boundary=edge")
    link.putheader("Content-Length", str(len(head) + len(tail) + FILE_MB * len(PIECE)))
    link.endheaders(head)
    digest = hashlib.sha256()
    for _ in range(FILE_MB):
        digest.update(PIECE)
        link.send(PIECE)
    link.send(tail)
    answer = link.getresponse()
    said = answer.read()
    assert answer.status == 200, said
    assert digest.hexdigest().encode() in said
    return digest.hexdigest()


def download(serve, agent, path):
    link = http.client.HTTPConnection("127.0.0.1", serve.port, timeout=600)
    link.request("GET", f"{agent.path}/files?path={path}", headers={"Authorization": f"Bearer {serve.admin.token}"})
    answer, digest = link.getresponse(), hashlib.sha256()
    while piece := answer.read(1 << 20):
        digest.update(piece)
    return digest.hexdigest()


def measure():
    with tempfile.TemporaryDirectory() as place, Serve(f"{place}/serve") as serve:
        with EnrolledAgent(f"{place}/agent", serve, service_check_s=1.0) as agent:
            agent.online()
            until(lambda: agent.seen()["capabilities"], 60, what="the capabilities")
            pid = agent.process.pid
            before, began = cpu_s(pid), time.monotonic()
            time.sleep(WATCHED_S)
            share = 100 * (cpu_s(pid) - before) / (time.monotonic() - began)
            yield Row("CPU of the agent at reports every 15 s", share, "%", "at most 0.5")
            yield Row("memory of the agent", status(pid, "VmRSS"), "MB", "at most 30")
            growth, began = Growth(serve.child.pid, pid), time.monotonic()
            sent = upload(serve, agent, f"{place}/file")
            took = time.monotonic() - began
            yield Row(f"{FILE_MB} MB to the agent", FILE_MB / took, "MB/s")
            yield Row("  more memory in the server", growth.seen()[0], "MB", "flat")
            yield Row("  more memory in the agent", growth.seen()[1], "MB", "flat")
            growth, began = Growth(serve.child.pid, pid), time.monotonic()
            assert download(serve, agent, f"{place}/file") == sent
            yield Row(f"{FILE_MB} MB from the agent", FILE_MB / (time.monotonic() - began), "MB/s")
            yield Row("  more memory in the server", growth.seen()[0], "MB", "flat")
            yield Row("  more memory in the agent", growth.seen()[1], "MB", "flat")
