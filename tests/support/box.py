"""A host that polls: reports over HTTP, keeps command ids like the real agent, and has one service, nginx."""

import threading
import time

from .client import Client
from .waiting import patience


class Box:
    """`state` is nginx's; `restarts` counts what was done. A command's id is remembered for ever, its result until the
    report that carries it was answered."""

    def __init__(self, url, agent_id, key, hostname="box-1", every=0.1):
        self.url, self.agent_id, self.hostname, self.every = url, agent_id, hostname, every
        self.client = Client(url, headers={"X-Agent-Key": key}, timeout=5)
        self.state = "active"
        self.cures = True
        self.silent = False
        self.restarts = 0
        self.phases = []
        self._results, self._seen = {}, set()
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self):
        self._thread.start()
        return self

    def stop(self):
        self._ending.set()
        self._thread.join(10 * patience())

    def _run(self):
        while not self._ending.wait(self.every):
            try:
                self._report()
            except (OSError, AssertionError):
                self._ending.wait(0.05)

    def _report(self):
        results = list(self._results.values())
        body = {
            "hostname": self.hostname,
            "os": "Test",
            "cpu_percent": 5,
            "mem_percent": 10,
            "disk_percent": 20,
            "uptime_s": 9,
            "services": {} if self.silent else {"nginx": self.state},
            "results": results,
            "held": list(self._held()),
            "capabilities": {"capabilities": {"systemctl": {"available": True, "usable": True, "version": "1"}}},
        }
        answer = self.client.call("POST", f"/api/agents/{self.agent_id}/report", body)
        for result in results:
            self._results.pop(result["command_id"], None)
        for command in answer["commands"]:
            if command["command_id"] not in self._seen:
                self._seen.add(command["command_id"])
                self._results[command["command_id"]] = self._perform(command)

    def _held(self):
        return ({"command_id": command_id, "state": "finished"} for command_id in self._results)

    def _perform(self, command):
        phase = command["params"].get("phase")
        self.phases.append(phase)
        data = (
            {"snapshot": {"kind": "unit", "taken_at": time.time(), "state": {"active": self.state}}}
            if phase == "snapshot"
            else {}
        )
        if phase == "execute":
            self.restarts += 1
            self.state = "active" if self.cures else self.state
        return {"command_id": command["command_id"], "status": "done", "exit_code": 0, "output": "", "data": data}
