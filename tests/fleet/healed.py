"""A host with our agent and a counted nginx, and what the API says of its incidents and heals."""

from tests.support.waiting import until

RULE = {
    "id": "nginx-down",
    "condition": 'monitor.status == "down"',
    "severity": "critical",
    "targets": {"monitors": ["tag:web"]},
    "escalation_chain": [{"action": "restart_service", "params": {"service": "nginx"}}],
    "settle_s": 1,
    "verify_timeout_s": 20,
    "cooldown_s": 1,
    "initial_level": "notify",
}
SERVICE_RULE = {
    **RULE,
    "id": "nginx-dead",
    "condition": 'service.nginx.state != "active"',
    "targets": {"agents": ["tag:web"]},
}

UNIT = """[Unit]
Description=opsapp agent
StartLimitIntervalSec=0
[Service]
Environment=OPSAPP_SERVER={url} OPSAPP_AGENT_ID={id}
ExecStart=/usr/bin/python3 /opt/opsapp/agent.pyz --key-file /opt/opsapp/key --state /var/lib/opsapp \
 --allow-plain-http
Restart=always
RestartSec=0.2
[Install]
WantedBy=multi-user.target
"""
COUNT = "[Service]\nExecStartPre=/bin/sh -c 'date +%%s.%%N >> /var/lib/nginx-starts'\n"


class Patient:
    """One host under care: `agent_id`, `monitor_id`, and short words for what the tests do to it. Its agent and its
    monitor have the tag that rules aim at."""

    def __init__(self, host, serve, tag="web"):
        self.host, self.serve, self.api, self.tag = host, serve, serve.admin, tag
        host.write("/etc/systemd/system/nginx.service.d/count.conf", COUNT)
        host.exec("systemctl", "daemon-reload")
        self.agent_id = self._install_agent()
        self.monitor_name, self.monitor_id = f"nginx on {host.name}", None

    def _install_agent(self):
        made = self.api.post("/api/agents", {"label": self.host.name, "tags": [self.tag]})
        program = self.serve.client().request("GET", "/api/agents/agent.pyz")
        assert program.status == 200
        self.host.write("/opt/opsapp/agent.pyz", program.body, 0o755)
        self.host.write("/opt/opsapp/key", made["key"] + "\n", 0o600)
        unit = UNIT.format(url=self.serve.url, id=made["agent_id"])
        self.host.write("/etc/systemd/system/opsapp-agent.service", unit)
        self.host.exec("systemctl", "daemon-reload")
        self.host.exec("systemctl", "enable", "--now", "opsapp-agent")
        return made["agent_id"]

    def until_online(self):
        until(lambda: self.agent()["status"] == "online", 30, what="the agent being online")
        return self

    def watch(self):
        """An http monitor on the host's nginx, which says which host it runs on."""
        made = self.api.post(
            "/api/monitoring/endpoints",
            {"name": self.monitor_name, "url": f"http://{self.host.address}/health", "type": "http",
             "interval": 5, "timeout": 4, "retries": 0, "tags": [self.tag], "agent_id": self.agent_id},
        )  # fmt: skip
        self.monitor_id = made["id"]
        until(lambda: self.monitor()["status"] == "up", 30, what="the monitor being up")
        return self

    def discharge(self):
        """Nobody cares for it any more: what comes of it is no failure."""
        self.api.delete(f"/api/monitoring/endpoints/{self.monitor_id}")
        self.api.delete(f"/api/agents/{self.agent_id}")

    def agent(self):
        return self.api.get(f"/api/agents/{self.agent_id}")

    def monitor(self):
        return self.api.get(f"/api/monitoring/endpoints/{self.monitor_id}")

    def stop_nginx(self):
        self.host.exec("systemctl", "stop", "nginx")

    def nginx(self):
        return self.host.exec("systemctl", "is-active", "nginx", check=False).stdout.strip()

    def starts(self):
        return len(self.host.read("/var/lib/nginx-starts").splitlines())

    def incidents(self, status="all"):
        found = self.api.get(f"/api/monitoring/incidents?status={status}&limit=1000")
        return [incident for incident in found if incident["monitor_id"] == self.monitor_id]

    def ledger(self, rule):
        """Entries of this host: a monitor's target is its name, a service's `host/service`."""
        mine = (self.host.name, f"{self.host.name}/nginx", f"{self.host.name}/ghost", self.monitor_name)
        return [e for e in self.api.get(f"/api/healing/ledger?rule_id={rule}&limit=1000") if e["target"] in mine]


def promote(api, rule):
    for level in ("approve", "execute"):
        assert api.post(f"/api/healing/trust/{rule}/promote", {"level": level})["new_level"] == level


def final(entries):
    return [entry for entry in entries if entry["state"] == "final"]


def verified(entries, after=0):
    return [entry for entry in final(entries) if entry["verified"] == 1 and entry["id"] > after]


def newest(entries):
    return max((entry["id"] for entry in entries), default=0)


def heal_once(patient, rule, by_monitor=True):
    """Stops nginx and waits for the whole story; every step of it is asserted. A rule about what its agent reports (not
    `by_monitor`) may have healed it before the monitor looks again: then there is no incident."""
    before, starts, known = newest(patient.ledger(rule)), patient.starts(), len(patient.incidents())
    patient.stop_nginx()
    if by_monitor:
        until(lambda: len(patient.incidents()) == known + 1, 30, what="an incident")
    (heal,) = until(lambda: verified(patient.ledger(rule), before), 60, what="a verified heal")
    until(lambda: patient.incidents("open") == [], 30, what="the incident's end")
    assert heal["outcome"] == "verified"
    assert heal["action_type"] == "restart_service"
    assert heal["action_success"] == 1
    assert heal["trust_level"] == "execute"
    assert patient.nginx() == "active"
    assert patient.starts() == starts + 1
