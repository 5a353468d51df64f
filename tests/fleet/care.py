"""A host under care for whole modules: an agent whose looks are frequent, and what the API says of its heals."""

import contextlib
import json
import time

from opsapp.wire.commands import ASKING
from tests.fleet.lab.machine import run as outside
from tests.support.process import ROOT
from tests.support.waiting import until

PACKAGED = ROOT / "distribution/debian/opsapp-agent/root/usr/lib/systemd/system/opsapp-agent.service"
RULES = ("Lock", "Restrict", "Keyring", "CapabilityBounding", "SystemCall", "UMask")
# What the package's unit takes from the agent is taken from it here, too: every action is tried under it.
TAKEN = "\n".join(line for line in PACKAGED.read_text().splitlines() if line.startswith(RULES))
AGENT = f"""[Unit]
Description=opsapp agent
StartLimitIntervalSec=0
[Service]
Environment=OPSAPP_SERVER={{url}} OPSAPP_AGENT_ID={{id}}
ExecStart=/usr/bin/python3 -I -S /opt/opsapp/agent.pyz --key-file /opt/opsapp/key --state /var/lib/opsapp \
 --config /opt/opsapp/agent.json
Restart=always
RestartSec=0.2
KillMode=process
{TAKEN}
[Install]
WantedBy=multi-user.target
"""
SERVICE = """[Unit]
StartLimitIntervalSec=0
[Service]
{more}
ExecStart={start}
[Install]
WantedBy=multi-user.target
"""
TIMES = ("atime", "mtime", "ctime", "crtime")
QUICK = {
    "allow_plain_http": True,
    "lookout_s": 0.5,
    "service_check_s": 0.3,
    "container_check_s": 5,
    "retry_first_s": 0.2,
    "retry_most_s": 1,
}

DEFAULT = {"lookout_s": 15, "service_check_s": 1, "container_check_s": 120, "retry_first_s": 1, "retry_most_s": 60}


def make_container(host, name, *options):
    """A running container of an image that the host makes itself."""
    host.exec(
        "sh",
        "-c",
        "mkdir -p /root/box/bin; cp /bin/busybox /root/box/bin/; ln -sf busybox /root/box/bin/sleep;"
        " tar -C /root/box -c . | podman import - localhost/box:1",
        timeout=90,
    )
    host.exec(
        "podman",
        "run",
        "--detach",
        "--name",
        name,
        "--network",
        "host",
        *options,
        "localhost/box:1",
        "/bin/sleep",
        "100000",
        timeout=60,
    )


@contextlib.contextmanager
def old_disk(host, mount, *files):
    """A disk of 40 MB at `mount` with these files (path → size in MB), all of them two months old in every respect: its
    times are written while nobody has it mounted, for no program may set a change time or a birth."""
    place, image = host.dir / "old", host.dir / "old.img"
    for path, size in files:
        (place / path).parent.mkdir(parents=True, exist_ok=True)
        (place / path).write_bytes(b"x" * (size << 20))  # zeros would take no room
    with open(image, "wb") as file:
        file.truncate(40 << 20)
    outside("mkfs.ext4", "-q", "-F", "-m", "0", "-d", place, image)
    then = time.strftime("%Y%m%d%H%M%S", time.gmtime(time.time() - 60 * 86400))
    words = [f"set_inode_field /{path} {name} {then}" for path, _ in files for name in TIMES]
    (host.dir / "times").write_text("\n".join(words) + "\n")
    outside("debugfs", "-w", "-f", host.dir / "times", image)
    device = outside("losetup", "--find", "--show", image).stdout.strip()
    try:
        number = device.removeprefix("/dev/loop")
        host.exec(
            "sh", "-c", f"mknod -m 600 {device} b 7 {number} 2>/dev/null; mkdir -p {mount}; mount {device} {mount}"
        )
        yield
        host.exec("umount", mount)
    finally:
        outside("losetup", "--detach", device)


class Ward:
    """`host` with an agent of `serve`; rules are those that opsapp comes with."""

    def __init__(self, host, serve, **config):
        self.host, self.serve, self.api = host, serve, serve.admin
        made = self.api.post("/api/agents", {"label": host.name})
        self.agent_id = made["agent_id"]
        host.write("/opt/opsapp/agent.pyz", serve.client().request("GET", "/api/agents/agent.pyz").body, 0o755)
        host.write("/opt/opsapp/key", made["key"] + "\n", 0o600)
        host.write("/opt/opsapp/agent.json", json.dumps({**QUICK, **config}))
        host.write("/etc/systemd/system/opsapp-agent.service", AGENT.format(url=serve.url, id=made["agent_id"]))
        host.exec("systemctl", "daemon-reload")
        host.exec("systemctl", "enable", "--now", "opsapp-agent")
        until(lambda: self.api.get(f"/api/agents/{self.agent_id}")["status"] == "online", 60, what="the agent online")
        until(self.capabilities, 90, what="the manifest")

    def capabilities(self):
        found = self.api.get(f"/api/healing/capabilities/{self.host.name}")
        return found["manifest"].get("capabilities")

    def metrics(self):
        """What the newest report says, by the names of conditions."""
        found = self.api.get(f"/api/agents/{self.agent_id}")["metrics"]
        return {**found, **(found.get("metrics") or {})}

    def commands(self):
        listed = self.api.get(f"/api/agents/{self.agent_id}/commands")
        return [one for one in listed if one["type"] == "heal" and one["params"]["phase"] not in ASKING]

    def ledger(self, rule, target):
        entries = self.api.get(f"/api/healing/ledger?rule_id={rule}&target={self.host.name}&limit=1000")
        return sorted((entry for entry in entries if entry["target"] == target), key=lambda entry: entry["id"])

    def ended(self, rule, target, outcome, timeout, after=0):
        """The newest entry with this outcome, waited for. `after` is the id of an entry that is known already."""

        def found():
            return [one for one in self.ledger(rule, target) if one["outcome"] == outcome and one["id"] > after]

        try:
            return until(found, timeout, what=f"{outcome} of {rule}")[-1]
        except AssertionError as missed:
            raise AssertionError(f"{missed}: {self.why(rule, target)}\n{self.log()}") from None

    def run(self, *names):
        """Units that run until somebody stops them, each in a report as active."""
        for name in names:
            self.host.write(f"/etc/systemd/system/{name}.service", SERVICE.format(start="/bin/sleep infinity", more=""))
        self.host.exec("systemctl", "daemon-reload")
        self.host.exec("systemctl", "enable", "--now", *names)
        until(
            lambda: all(self.metrics()["services"].get(name) == "active" for name in names),
            90,
            what=f"{names} in a report",
        )

    def why(self, rule, target):
        """For a failure: the story so far."""
        lines = [
            f"{one['action_type']} {one['state']} {one['outcome']} {one['reason']}" for one in self.ledger(rule, target)
        ]
        return "; ".join(lines) or "no entry"

    def log(self):
        return self.host.exec("journalctl", "-u", "opsapp-agent", "--no-pager", "-n", "60", check=False).stdout
