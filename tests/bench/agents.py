"""Simulated agents with open sessions: CPU, memory each, report → readable, command round trip. OPSAPP_BENCH_AGENTS=N.

The load generator shares the machine with the server.
"""

from __future__ import annotations

import base64
import json
import os
import random
import statistics
import tempfile
import time
from pathlib import Path

import gevent
from gevent import socket

from tests.bench import Row
from tests.support import wire_messages
from tests.support.frames import PING, PONG, TEXT, frame
from tests.support.process import Serve

COUNT = int(os.environ.get("OPSAPP_BENCH_AGENTS", "300"))
INTERVAL_S = 15.0
LOAD_S = 20.0
PROBES = 100


class Simulated:
    """One agent: says hello, reports, answers commands at once."""

    def __init__(self, port, agent_id, key):
        self.id, self.link, self.buffer = agent_id, socket.create_connection(("127.0.0.1", port)), b""
        self.link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # as the agent itself does
        self.welcomed = False
        self.probed = False  # while one of its reports is waited for it sends no other
        nonce = base64.b64encode(os.urandom(16)).decode()
        head = (
            f"GET /api/agents/{agent_id}/session HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\n"
            f"Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {nonce}\r\n"
            f"X-Agent-Key: {key}\r\n\r\n"
        )
        self.link.sendall(head.encode())
        while b"\r\n\r\n" not in self.buffer:
            self.more()
        self.buffer = self.buffer.partition(b"\r\n\r\n")[2]
        self.say("hello", protocol=1, agent_id=agent_id, machine_id=agent_id, hostname=f"h-{agent_id}", version="0")

    def say(self, kind, **fields):
        self.link.sendall(frame(TEXT, wire_messages.encode(kind, **fields)))

    def more(self):
        data = self.link.recv(65536)
        if not data:
            raise ConnectionError("the server hung up")
        self.buffer += data

    def text(self):
        while True:
            if len(self.buffer) >= 2:
                size, start = self.buffer[1] & 0x7F, 2
                if size == 126 and len(self.buffer) >= 4:
                    size, start = int.from_bytes(self.buffer[2:4], "big"), 4
                if (size < 126 or start == 4) and len(self.buffer) >= start + size:
                    opcode, payload = self.buffer[0] & 15, self.buffer[start : start + size]
                    self.buffer = self.buffer[start + size :]
                    if opcode == TEXT:
                        return json.loads(payload)
                    if opcode == PING:
                        self.link.sendall(frame(PONG, payload))
                    continue
            self.more()

    def listen(self):
        while True:
            message = self.text()
            if message["type"] == "welcome":
                self.welcomed = True
            elif message["type"] == "command":
                name = message["id"]
                self.say("ack", id=name, of="command")
                self.say("started", command_id=name, started_at=time.time())
                self.say("result", id=name, result={"command_id": name, "status": "done", "exit_code": 0})

    def report(self, cpu):
        disks = {"/": 50.0, "/var": 20.0}
        services = {f"unit{n}": "active" for n in range(30)}
        values = {"cpu_percent": cpu, "mem_percent": 40.0, "load1": 0.5, "disks": disks, "services": services}
        self.say("report", id=f"r{time.monotonic_ns()}", report={"hostname": f"h-{self.id}", "os": "x", **values})

    def live(self):
        gevent.sleep(random.uniform(0, INTERVAL_S))
        while True:
            if not self.probed:
                self.report(random.uniform(0, 100))
            gevent.sleep(INTERVAL_S)


def figures(pid):
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    cpu = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return cpu, int(fields[21]) * os.sysconf("SC_PAGE_SIZE") / 1024


def within(seconds, fn):
    """Seconds until `fn` was true. Waits as the hub does, so that the simulated agents go on."""
    began = time.monotonic()
    while not fn():
        if time.monotonic() - began > seconds:
            raise AssertionError("it did not come true in time")
        gevent.sleep(0.001)
    return time.monotonic() - began


class Api:
    """A client on gevent sockets: the tests' own would hold up the simulated agents."""

    def __init__(self, serve):
        self.port, self.token = serve.port, serve.admin.token
        self.link = None

    def ask(self, method, path, body=None):
        data = b"" if body is None else json.dumps(body).encode()
        head = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\nAuthorization: Bearer {self.token}\r\n"
        head += f"Content-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n"
        if self.link is None:
            self.link = socket.create_connection(("127.0.0.1", self.port)).makefile("rwb", buffering=65536)
        self.link.write(head.encode() + data)
        self.link.flush()
        length = 0
        while (line := self.link.readline().strip()) != b"":
            name, _, value = line.partition(b":")
            length = int(value) if name.lower() == b"content-length" else length
        return json.loads(self.link.read(length))


def round_trips(api, agents, count):
    times = []
    for agent in random.choices(agents, k=count):
        path = f"/api/agents/{agent.id}/commands"
        began = time.monotonic()
        asked = api.ask("POST", path, {"type": "shell", "params": {"command": "true"}})["command_id"]
        within(20, lambda path=path, asked=asked: api.ask("GET", f"{path}/{asked}")["status"] == "done")
        times.append((time.monotonic() - began) * 1000)
    return times


def report_to_readable(api, agents, count):
    times = []
    for n, agent in enumerate(random.choices(agents, k=count)):
        agent.probed = True
        agent.report(1000 + n)
        path, wanted = f"/api/agents/{agent.id}", 1000 + n
        cpu = lambda path=path: api.ask("GET", path)["metrics"].get("cpu_percent", 0)  # noqa: E731
        times.append(1000 * within(20, lambda wanted=wanted, cpu=cpu: cpu() == wanted))
        agent.probed = False
    return times


def p99(values):
    return statistics.quantiles(values, n=100)[98]


def measure():
    with tempfile.TemporaryDirectory() as place, Serve(place) as serve:
        made = [serve.admin.post("/api/agents", {"label": f"a{n}"}) for n in range(COUNT)]
        first = Simulated(serve.port, made[0]["agent_id"], made[0]["key"])
        workers = [gevent.spawn(first.listen)]
        within(10, lambda: first.welcomed)
        first.report(1.0)
        gevent.sleep(1)
        _, alone = figures(serve.child.pid)
        began = time.monotonic()
        agents = [first]
        for one in made[1:]:  # each listens from the beginning: it has to answer pings while the others come
            agents.append(Simulated(serve.port, one["agent_id"], one["key"]))
            workers.append(gevent.spawn(agents[-1].listen))
        within(60 + COUNT / 10, lambda: all(agent.welcomed for agent in agents))
        yield Row(f"{COUNT} sessions opened", COUNT / (time.monotonic() - began), "1/s")
        api = Api(serve)
        idle = round_trips(api, agents, PROBES)
        yield Row("command round trip without load p50", statistics.median(idle), "ms")
        yield Row("command round trip without load p99", p99(idle), "ms", "at most 50")
        workers += [gevent.spawn(agent.live) for agent in agents]
        gevent.sleep(INTERVAL_S + 2)
        (before, _), began = figures(serve.child.pid), time.monotonic()
        gevent.sleep(LOAD_S)
        after, memory = figures(serve.child.pid)
        yield Row("CPU of the server, reports alone", 100 * (after - before) / (time.monotonic() - began), "%")
        yield Row("memory per agent beyond the first", (memory - alone) / max(1, COUNT - 1), "KB", "at most 40")
        seen = report_to_readable(api, agents, PROBES)
        yield Row("report → readable p50", statistics.median(seen), "ms")
        yield Row("report → readable p99", p99(seen), "ms", "at most 2000")
        loaded = round_trips(api, agents, PROBES)
        yield Row("command round trip with reports p50", statistics.median(loaded), "ms")
        yield Row("command round trip with reports p99", p99(loaded), "ms", "at most 250")
        gevent.killall(workers)
