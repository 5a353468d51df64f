"""The Debian packages on a host with nothing but Debian: installed, upgraded, removed, purged; the agent's likewise."""

import functools
import json
import re
import shutil
import subprocess

import pytest

from distribution import debs, wheel
from tests.support.client import Client
from tests.support.documented_commands import ROOT, commands_on, documented
from tests.support.receiver import Receiver
from tests.support.waiting import until

pytestmark = [pytest.mark.timeout(900), pytest.mark.nightly("minutes of apt")]
INI, YAML = "/etc/opsapp/opsapp.ini", "/etc/opsapp/opsapp.yaml"
SIGN_IN = r"""
import http.cookiejar, re, urllib.parse, urllib.request
opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar()))
base = "http://127.0.0.1:6080"
page = opener.open(base + "/login").read().decode()
token = re.search(r'name="csrf_token" value="([^"]+)"', page)[1]
password = open("/var/lib/opsapp/admin-password").read().strip()
form = {"csrf_token": token, "username": "admin", "password": password}
answer = opener.open(base + "/login", urllib.parse.urlencode(form).encode())
print(answer.status, answer.url, "Sign out" in answer.read().decode())
"""


@pytest.fixture(scope="module")
def packages(tmp_path_factory):
    work = tmp_path_factory.mktemp("packages")
    debs.install(wheel.build(work, work), work / "site", work)
    return debs.service(work / "site", work, work), debs.agent(work, work)


@pytest.fixture(scope="module")
def host(lab):
    host = lab.host()
    yield host
    lab.remove(host)


def put(host, package):
    shutil.copyfile(package, host.root / "root" / package.name)
    return f"/root/{package.name}"


def apt(host, *words):
    return host.exec("env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-y", "-q", *words, timeout=300).stdout


def installed(host, package):
    said = apt(host, "install", put(host, package))
    host.exec("rm", "-f", f"/root/{package.name}")
    return said


def signed_in(host):
    until(lambda: host.exec("curl", "-sf", "http://127.0.0.1:6080/login", check=False).returncode == 0, 60, every=0.1,
          what="the sign-in page")  # fmt: skip
    return host.exec("python3", "-c", SIGN_IN, timeout=90).stdout.split()


def later(package, work, version):
    """The same package, as if of a later release."""
    tree = work / "tree"
    subprocess.run(["dpkg-deb", "-R", package, tree], check=True)
    control = tree / "DEBIAN/control"
    old = next(line for line in control.read_text().splitlines() if line.startswith("Version: "))
    control.write_text(control.read_text().replace(old, f"Version: {version}"))
    subprocess.run(["dpkg-deb", "-Zgzip", "--root-owner-group", "-b", tree, work / "later.deb"], check=True)
    return work / "later.deb"


def open_to_the_lab(host):
    """A change of the owner's, which an upgrade has to leave alone."""
    path = host.root / INI.lstrip("/")
    path.write_text(path.read_text().replace("host = 127.0.0.1", "host = 0.0.0.0"))
    host.exec("systemctl", "restart", "opsapp")


def admin(host):
    client = Client(f"http://{host.address}:6080")
    password = host.read("/var/lib/opsapp/admin-password").strip()
    until(lambda: answers(client), 60, what="an answer of the service")
    return client.login("admin", password)


def answers(client):
    try:
        return client.request("GET", "/api/status/public").status == 200
    except OSError:
        return False


def names(host):
    return [row["name"] for row in admin(host).get("/api/monitoring/endpoints")]


def guide(looks):
    """Commands of docs/guide/upgrade.md, in its order."""
    page = "docs/guide/upgrade.md"
    return [command.text for command in documented() if command.page == page and re.match(looks, command.text)]


def test_from_a_bare_host_to_a_page_and_nothing_left_after_a_purge(host, packages, tmp_path):
    package, agent = packages
    said = installed(host, package)
    assert signed_in(host) == ["200", "http://127.0.0.1:6080/first-steps", "True"], said

    pid = host.exec("systemctl", "show", "--value", "-p", "MainPID", "opsapp").stdout.strip()
    assert host.exec("ps", "-o", "user=", "-p", pid).stdout.strip() == "opsapp"
    doctor = ["runuser", "-u", "opsapp", "--", "opsapp", "doctor", "--ini", INI, "--url", "http://127.0.0.1:6080"]
    found = host.exec(*doctor, check=False, timeout=120)
    assert found.returncode == 0, found.stdout
    units = [f"/usr/lib/systemd/system/{name}" for name in ("opsapp.service", "opsapp-executor.socket")]
    verified = host.exec("systemd-analyze", "verify", *units, check=False, timeout=60)
    assert (verified.returncode, verified.stdout) == (0, "")

    open_to_the_lab(host)
    client = admin(host)
    monitor = {"name": "kept", "type": "http", "url": "http://127.0.0.1/health", "enabled": False}
    client.post("/api/monitoring/endpoints", monitor)
    with_agent(host, client, agent)

    for command in guide("runuser .* opsapp backup|install -d"):
        host.exec("sh", "-ec", command, timeout=60)
    installed(host, later(package, tmp_path, "9.0"))
    assert "0.0.0.0" in host.read(INI)
    assert host.exec("systemctl", "show", "--value", "-p", "MainPID", "opsapp").stdout.strip() not in ("0", pid)
    assert names(host) == ["kept"]
    admin(host).post("/api/monitoring/endpoints", monitor | {"name": "since then"})

    for command in guide("systemctl stop|runuser .* opsapp restore"):
        host.exec("sh", "-ec", command, timeout=60)
    apt(host, "install", "--allow-downgrades", put(host, package))
    assert names(host) == ["kept"]

    apt(host, "remove", "opsapp")
    assert host.exec("systemctl", "is-active", "opsapp", check=False).stdout.strip() == "inactive"
    assert not (host.root / "usr/lib/opsapp").exists()
    for kept in ("/var/lib/opsapp/main.fs", "/var/lib/opsapp/secret.key", YAML):
        assert (host.root / kept.lstrip("/")).stat().st_size > 0
    installed(host, package)
    units = ("opsapp.service", "opsapp-executor.socket")
    assert host.exec("systemctl", "is-enabled", *units).stdout.split() == ["enabled", "enabled"]
    assert names(host) == ["kept"]
    apt(host, "purge", "opsapp")
    assert not list((host.root / "etc/systemd/system").glob("*.wants/opsapp*"))
    for gone in ("/var/lib/opsapp", "/etc/opsapp", "/usr/lib/opsapp"):
        assert not (host.root / gone.lstrip("/")).exists(), gone
    assert "opsapp" not in host.read("/etc/passwd")


def with_agent(host, client, package):
    """The agent's package on the same host: it waits for a key, reports, goes without a trace."""
    said = installed(host, package)
    assert "opsapp-agent-setup" in said
    assert host.exec("systemctl", "is-active", "opsapp-agent", check=False).stdout.strip() == "inactive"
    made = client.post("/api/agents", {"label": "here"})
    where = ["--server", "http://127.0.0.1:6080", "--id", made["agent_id"]]
    apt(host, "remove", "opsapp-agent")
    installed(host, package)
    assert host.exec("systemctl", "is-enabled", "opsapp-agent").stdout.strip() == "enabled"
    wrong = host.exec("opsapp-agent-setup", *where, check=False, timeout=90, stdin="no-such-key\n")
    assert wrong.returncode != 0, wrong.stdout
    host.exec("opsapp-agent-setup", *where, timeout=90, stdin=made["key"] + "\n")
    assert (host.root / "etc/opsapp-agent/key").stat().st_mode & 0o777 == 0o600
    assert host.exec("opsapp-agent-setup", *where, check=False, timeout=90, stdin="no-such-key\n").returncode != 0
    assert host.exec("systemctl", "is-active", "opsapp-agent").stdout.strip() == "active"

    def status():
        return client.get(f"/api/agents/{made['agent_id']}")["status"]

    until(lambda: status() == "online", 60, what="the agent's first report")
    apt(host, "purge", "opsapp-agent")
    for gone in ("/var/lib/opsapp-agent", "/etc/opsapp-agent", "/usr/lib/opsapp-agent"):
        assert not (host.root / gone.lstrip("/")).exists(), gone


class Shell:
    """A shell of a host whose variables and functions live on from one command to the next."""

    def __init__(self, host):
        self.host = host

    def run(self, command, stdin=None):
        kept = "declare -p PASSWORD TOKEN CHANNEL AGENT 2>/dev/null || true; declare -f"
        text = f"[ ! -e state ] || . ./state\n{command}\n{{ {kept}; }} >state"
        return self.host.exec("bash", "-c", f"set -eo pipefail; cd /root; {text}", timeout=120, stdin=stdin).stdout


def test_the_first_hour_from_a_bare_host_to_a_heal(lab, packages, tmp_path):
    """docs/guide/first-hour.md, command by command, on two hosts."""
    ops, web, receiver = lab.host(), lab.host(), Receiver(lab.address)
    here, there, said = Shell(ops), Shell(web), {}

    @functools.cache
    def client():  # each sign-in counts against the limit
        return admin(ops)

    def outcomes():
        entries = client().get("/api/healing/ledger?rule_id=shop-failed")
        return [entry["outcome"] for entry in entries if entry["outcome"] is not None]

    newer = later(packages[0], tmp_path, "9.0")
    packed = iter(((ops, packages[0]), (web, packages[1]), (ops, packages[1]), (ops, newer)))
    failures = iter((["notified"], ["verified", "notified"]))
    for command in commands_on(ROOT / "docs/guide/first-hour.md"):
        word = command.split()[0]
        meant = command.replace("json://OPS:9099/hook", receiver.url()).replace("OPS", ops.address)
        if word == "apt":
            installed(*next(packed))
        elif word == "opsapp-agent-setup":
            agent_id = json.loads(ops.read("/root/agent.json"))["agent_id"]
            said[word] = there.run(meant.replace("AGENT", agent_id), stdin=said["field"])
        elif command.endswith((" shop", "/shop.service", " daemon-reload")):
            there.run(meant)
            if "kill" in command:
                expected = next(failures)
                until(lambda expected=expected: outcomes() == expected, 60, what=f"{expected} in the ledger")
        else:
            said[word] = here.run(meant)
    assert (next(packed, None), next(failures, None)) == (None, None)
    assert "opsapp itself" in ops.exec("curl", "-sS", "http://127.0.0.1:6080/status").stdout
    online = [agent["label"] for agent in client().get("/api/agents") if agent["status"] == "online"]
    assert sorted(online) == ["ops", "web"]
    assert outcomes() == ["verified", "notified"]
    assert web.exec("systemctl", "is-active", "shop").stdout == "active\n"
    until(lambda: any("shop" in title for title in receiver.titles), 60, what="the message about the unit")
    assert (ops.root / "var/backups/opsapp/main.fs").stat().st_size > 0
    receiver.close()
