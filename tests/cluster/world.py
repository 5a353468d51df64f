"""A cluster at work: nodes, a store, agents behind a balancer, writers, runs, checks; and what became of all of it."""

import contextlib
import itertools
import socket
import threading
import time
from pathlib import Path
from typing import NamedTuple

from tests.cluster.timedsite import TimedSite
from tests.support.agent_process import EnrolledAgent
from tests.support.automations import FINAL
from tests.support.client import Refused
from tests.support.leases import LeaseBook
from tests.support.stepped import SteppedServe
from tests.support.waiting import until
from tests.support.writers import GONE, Writer, stored

NODES, AGENTS, MONITORS = 2, 2, 10
INTERVAL_S = 5  # of each monitor: the shortest that there is
PACE_S = 0.05
CONFIG = {"agents": {"report_interval_s": 5}, "healing": {"default_rules": False}}


class ClusterNode(SteppedServe):
    """On a machine of its own, with a wall clock of its own."""

    def __init__(self, directory, name, place, data, uris):
        super().__init__(directory, CONFIG, host=place.address, port=6080, node=name, data=data, **uris)
        self.inside, self.place = place.inside, place

    @property
    def name_in_store(self):
        return self.flags["node"]


class Balancer(threading.Thread):
    """Hands each connection to the first node that takes it. What agents and people have before a cluster."""

    CONNECT_S = 1.0

    def __init__(self, host, addresses):
        super().__init__(daemon=True)
        self.addresses = addresses
        self._door = socket.create_server((host, 0))
        self.url = f"http://{host}:{self._door.getsockname()[1]}"
        self._turns = itertools.cycle(range(len(addresses)))
        self.start()

    def run(self):
        while True:
            try:
                client, _ = self._door.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client):
        first = next(self._turns)
        for address in (*self.addresses[first:], *self.addresses[:first]):
            try:
                node = socket.create_connection(address, timeout=self.CONNECT_S)
            except OSError:
                continue
            node.settimeout(None)
            threading.Thread(target=self._pump, args=(client, node), daemon=True).start()
            self._pump(node, client)
            return
        client.close()

    @staticmethod
    def _pump(source, sink):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                sink.sendall(data)
        for end in (source, sink):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def end(self):
        self._door.close()


class Asker(threading.Thread):
    """Asks for a run again and again, of any node. `answered` are the runs that were promised."""

    def __init__(self, clients, automation):
        super().__init__(daemon=True)
        self.clients, self.automation, self.answered = clients, automation, []
        self._over = threading.Event()
        self.start()

    def run(self):
        for client in itertools.cycle(self.clients):
            if self._over.wait(0.3):
                return
            with contextlib.suppress(Refused, *GONE):
                self.answered.append(client.post(f"/api/automations/{self.automation}/run")["run_id"])

    def end(self):
        self._over.set()
        self.join(60)


class Outcome(NamedTuple):
    """Of one fault: what was promised and what became of it."""

    acknowledged: int
    lost: int
    runs: int
    runs_lost: int  # of a node that was killed: nobody can know how far they came, and the service says so
    twice: int
    unended: int
    gap_s: float
    leases_s: float | None
    agents_s: float
    surprises: tuple[str, ...]

    def problems(self, may_lose_runs):
        found = []
        if self.lost:
            found.append(f"{self.lost} acknowledged writes lost")
        if self.twice:
            found.append(f"{self.twice} runs began twice")
        if self.unended:
            found.append(f"{self.unended} runs have no end")
        if self.runs_lost and not may_lose_runs:
            found.append(f"{self.runs_lost} runs lost")
        if self.gap_s > 15:
            found.append(f"no check for {self.gap_s:.1f} s")
        if self.agents_s > 30:
            found.append(f"agents back after {self.agents_s:.1f} s")
        return [*found, *self.surprises]


class Cluster:
    """Everything that runs. `during(fault)` lets a fault happen to it under load."""

    def __init__(self, directory, site, store):
        self.directory, self.outside, self.store = Path(directory), site.outside, store
        self.places = [site.place(number) for number in range(11, 11 + NODES)]
        self.nodes, self.agents, self._ends = [], [], contextlib.ExitStack()
        self.began = self.directory / "began"
        self._runs = itertools.count(1)

    def __enter__(self):
        try:
            self._start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _start(self):
        self.store.start(60)
        uris = self.store.uris()
        for number, place in enumerate(self.places):
            name = f"node{number + 1}"
            node = ClusterNode(self.directory / name, name, place, self.directory / "data", uris)
            self.nodes.append(node)
            node.start(60)
        self.token = self.nodes[0].admin.token
        self.book = LeaseBook(uris["store"])
        self.balancer = Balancer(self.outside, [(node.host, node.port) for node in self.nodes])
        self.site = TimedSite(self.outside)
        for part in (self.book.close, self.balancer.end, self.site.__exit__):
            self._ends.callback(part)
        self.site.__enter__()
        self._furnish()

    def _furnish(self):
        admin = self.nodes[0].admin
        for number in range(MONITORS):
            made = {"name": f"m{number}", "type": "http", "url": f"{self.site.url}/m{number}", "interval": INTERVAL_S}
            admin.post("/api/monitoring/endpoints", made, expect=201)
        text = f'sleep 0.5; echo "$OPSAPP_RUN_ID" >> {self.began}'
        made = {"name": "counted", "type": "script", "params": {"script": text}}
        self.automation = admin.post("/api/automations", made)["id"]
        front = Front(self)
        for number in range(AGENTS):
            self.agents.append(
                EnrolledAgent(self.directory / f"agent{number}", front, f"host{number}", allow_plain_http=True).start()
            )
        until(lambda: all(self.is_back(agent) for agent in self.agents), 60, what="agents at work")
        until(lambda: len(self.site.counts()) == MONITORS, 60, what="checks of all monitors")

    def client(self, node, timeout=20):
        return node.client(token=self.token, timeout=timeout)

    def is_back(self, agent):
        """Whether it does what it is told, whichever node it is at."""
        for node in self.nodes:
            with contextlib.suppress(AssertionError, *GONE):  # a refusal, or no answer in time
                client = self.client(node, 5)
                if not client.get(agent.path)["connected"]:
                    continue
                body = {"type": "shell", "params": {"command": "echo back"}}
                path = f"{agent.path}/commands/{client.post(f'{agent.path}/commands', body)['command_id']}"
                until(lambda c=client, p=path: c.get(p)["status"] == "done", 1, what="an answer")
                return True
        return False

    def holder(self):
        """The node that holds most leases, and the others."""
        owners = list(self.book.owners().values())
        first = max(self.nodes, key=lambda node: owners.count(node.name_in_store))
        return first, [node for node in self.nodes if node is not first]

    def during(self, fault):
        """The outcome. `fault(self)` answers when its worst was over, and how long leases were without a holder."""
        number = next(self._runs)
        clients = [self.client(node) for node in self.nodes]
        writers = [Writer(client, f"w{number}-{n}", PACE_S) for n, client in enumerate(clients)]
        asker = Asker(clients, self.automation)
        until(lambda: all(writer.answered for writer in writers), 60, what="writes through all nodes")
        began = time.monotonic()
        leases_s = fault(self)
        over = time.monotonic()
        agents_s = self._agents_back(over)
        before = [len(writer.answered) for writer in writers]
        until(lambda: all(len(w.answered) > n for w, n in zip(writers, before, strict=True)), 60, what="writes again")
        time.sleep(INTERVAL_S)
        ended = time.monotonic()
        surprises = self._end(writers, asker)
        reader = clients[0]
        acknowledged = {key: label for writer in writers for key, label in writer.answered.items()}
        there = stored(reader)
        lost = [key for key, label in acknowledged.items() if there.get(key) != label]
        statuses = self._ends_of(reader, asker.answered)
        begun = self.began.read_text().split() if self.began.exists() else []
        self.began.unlink(missing_ok=True)
        for key in acknowledged:
            reader.request("DELETE", f"/api/agents/{key}")
        return Outcome(
            len(acknowledged),
            len(lost),
            len(asker.answered),
            statuses.count("lost"),
            len(begun) - len(set(begun)),
            sum(status not in FINAL for status in statuses),
            self.site.longest_gap(began, ended),
            leases_s,
            agents_s,
            surprises,
        )

    def _agents_back(self, since):
        for agent in self.agents:
            until(lambda agent=agent: self.is_back(agent), 60, what="the agents back")
        return time.monotonic() - since

    @staticmethod
    def _end(writers, asker):
        asker.end()
        found = []
        for writer in writers:
            try:
                writer.end()
            except AssertionError as surprise:
                found.append(str(surprise)[:120])
        return tuple(found)

    @staticmethod
    def _ends_of(reader, run_ids):
        def statuses():
            found = [reader.get(f"/api/automations/runs/{run_id}")["status"] for run_id in run_ids]
            return found if all(status in FINAL for status in found) else None

        with contextlib.suppress(AssertionError):
            return until(statuses, 30, every=0.5, what="the end of all runs")
        return [reader.get(f"/api/automations/runs/{run_id}")["status"] for run_id in run_ids]

    def __exit__(self, *_):
        for agent in self.agents:
            agent.kill()
        self._ends.close()
        for node in self.nodes:
            node.end()


class Front:
    """What an agent is enrolled at: the balancer, not a node."""

    def __init__(self, cluster):
        self.url, self._cluster = cluster.balancer.url, cluster

    @property
    def admin(self):
        return self._cluster.client(self._cluster.nodes[0])
