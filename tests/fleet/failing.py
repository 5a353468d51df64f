"""A host with a unit that fails when the test says so, and comes back by itself when the test says so.

What lives here is shared by the tests of what healing is worth. Must not: assert.
"""

from tests.fleet.healed import Patient, final, newest
from tests.support.client import Refused
from tests.support.waiting import until

UNIT = """[Unit]
StartLimitIntervalSec=0
[Service]
ExecStart=/bin/sleep infinity
Restart={restart}
RestartSec={seconds:.1f}
"""
NEVER_S = 3600.0
COOLDOWN_S = 16  # of the rule: longer than an outage, so that each is one case
GRACE_S = 9.0  # beyond a case's window: it begins with a report, and the next look may come so late


class FailingUnit(Patient):
    """`name` is a unit of this host."""

    def __init__(self, host, serve, name):
        super().__init__(host, serve)
        self.name, self.target = name, f"{host.name}/{name}"
        self.until_online()
        self._run()

    def _write(self, restart, seconds):
        self.host.write(f"/etc/systemd/system/{self.name}.service", UNIT.format(restart=restart, seconds=seconds))
        self.host.exec("systemctl", "daemon-reload")

    def fail(self, restart_s=None):
        """It is killed; after `restart_s` systemd starts it again. None: it stays down."""
        self._write(*(("always", restart_s) if restart_s is not None else ("no", 1.0)))
        self.host.exec("systemctl", "kill", "--signal=KILL", self.name)

    def start(self, rule_id):
        """It runs, the service knows, no case of it is open, and the next failure is a new one."""
        self._run()

        def is_ready():
            rows = self.entries(rule_id)
            recent = [row for row in rows if self.reported_at() < row["created_at"] + COOLDOWN_S + 2]
            return not recent and all(row["state"] == "final" for row in rows)

        until(is_ready, 30, every=0.2, what="the end of its cases")

    def _run(self):
        self._write("no", 1.0)
        self.host.exec("systemctl", "start", self.name)
        until(self.runs, 30, what=f"a report of {self.name}")

    def runs(self):
        return self.agent()["metrics"].get("services", {}).get(self.name) == "active"

    def reported_at(self):
        """The time of the service, as far as its reports of this host go: what it judges a case by."""
        return self.agent()["last_seen"]

    def entries(self, rule_id, after=0):
        rows = self.api.get(f"/api/healing/ledger?rule_id={rule_id}&limit=1000")
        return [row for row in rows if row["target"] == self.target and row["id"] > after]

    def case(self, rule_id, restart_s, window_s):
        """One outage from its beginning to its end; what waits for a person is approved. It is known to be over, or to
        last longer than `window_s`, before this returns."""
        before = newest(self.entries(rule_id))
        self.fail(restart_s)
        failed_at = self.reported_at()

        def is_over():
            rows = self.entries(rule_id, before)
            self._approve(rows)
            if not rows or len(final(rows)) < len(rows):
                return False
            return self.runs() or self.reported_at() > failed_at + window_s + GRACE_S

        until(is_over, 60, every=0.2, what=f"the end of a case of {self.target}")
        self.start(rule_id)

    def _approve(self, rows):
        """A request that was withdrawn meanwhile, because the condition is gone, is refused with 409."""
        if all(row["state"] != "awaiting_approval" for row in rows):
            return
        for asked in self.api.get("/api/approvals"):
            try:
                self.api.post(f"/api/approvals/{asked['request_id']}/approve", {})
            except Refused as refused:
                if refused.answer.status != 409:
                    raise
