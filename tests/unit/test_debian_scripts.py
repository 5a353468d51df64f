"""What the Debian packages run on a host, with its places moved into a directory and a systemctl that notes what it is
asked. tests/fleet/test_packages.py runs them as they are, on Debian."""

import json
import os
import subprocess
from pathlib import Path

import pytest

DEBIAN = Path(__file__).resolve().parents[2] / "distribution/debian"
MOVED = ("/run/systemd/system", "/etc/", "/var/lib/", "/usr/lib/")
SYSTEMCTL = """#!/bin/sh
echo "$*" >>$HOST/asked
verb=$1; shift
for word; do
    case $word in *.service|*.socket)
        case $verb in
            enable) for place in multi-user sockets; do mkdir -p $HOST/etc/systemd/system/$place.target.wants; done
                place=multi-user; case $word in *.socket) place=sockets ;; esac
                ln -sf /usr/lib/systemd/system/$word $HOST/etc/systemd/system/$place.target.wants/$word ;;
            disable) rm -f $HOST/etc/systemd/system/*.wants/$word ;;
        esac ;;
    esac
done
"""
AGENT = """
import json, pathlib, sys
given = dict(zip(sys.argv[1::2], sys.argv[2::2]))
key = pathlib.Path(given["--key-file"]).read_text()
assert "--check" in sys.argv
assert json.loads(pathlib.Path(given["--config"]).read_text())["server"]
sys.exit(0 if key == "the right key\\n" else 1)
"""


class Host:
    def __init__(self, place):
        self.place = place
        for path in ("run/systemd/system", "etc/opsapp-agent", "etc/opsapp", "var/lib", "usr/lib/opsapp-agent", "bin"):
            (place / path).mkdir(parents=True)
        (place / "usr/lib/opsapp").mkdir()
        (place / "usr/lib/opsapp-agent/opsapp-agent.pyz").write_text(AGENT)
        (place / "etc/opsapp-agent/agent.json").write_text("{}")
        (place / "etc/opsapp/opsapp.yaml").write_text("")
        self.program("systemctl", SYSTEMCTL)
        self.program("id", "#!/bin/sh\necho 0\n")
        for name in ("useradd", "userdel", "chown"):
            self.program(name, "#!/bin/sh\n")

    def program(self, name, text):
        (self.place / "bin" / name).write_text(text)
        (self.place / "bin" / name).chmod(0o755)

    def run(self, script, *words, stdin=""):
        text = script.read_text()
        for path in MOVED:
            text = text.replace(path, f"{self.place}{path}")
        environ = {**os.environ, "PATH": f"{self.place}/bin:{os.environ['PATH']}", "HOST": str(self.place)}
        command = ["sh", "-c", text, "script", *words]
        return subprocess.run(command, env=environ, input=stdin, capture_output=True, text=True)

    def maintain(self, package, *steps):
        for script, *words in steps:
            done = self.run(DEBIAN / package / script, *words)
            assert done.returncode == 0, done.stderr

    @property
    def enabled(self):
        return sorted(path.name for path in (self.place / "etc/systemd/system").glob("*.wants/*"))

    def asked(self, word):
        asked = self.place / "asked"
        return [line for line in asked.read_text().splitlines() if word in line] if asked.exists() else []


@pytest.fixture
def host(tmp_path):
    return Host(tmp_path)


UNITS = {"opsapp": ["opsapp-executor.socket", "opsapp.service"], "opsapp-agent": ["opsapp-agent.service"]}
REMOVED = (["prerm", "remove"], ["postrm", "remove"])


@pytest.mark.parametrize("package", UNITS)
def test_what_is_removed_and_installed_again_starts_with_the_host_again(host, package):
    host.maintain(package, ["postinst", "configure", ""])
    assert host.enabled == UNITS[package]
    host.maintain(package, *REMOVED)
    assert all(any(unit in line for line in host.asked("stop") + host.asked("--now")) for unit in UNITS[package])
    host.maintain(package, ["postinst", "configure", "0.2.0"])  # the version whose configuration is still there
    assert host.enabled == UNITS[package]


@pytest.mark.parametrize("package", UNITS)
def test_what_somebody_has_disabled_stays_so(host, package):
    host.maintain(package, ["postinst", "configure", ""])
    for link in (host.place / "etc/systemd/system").glob("*.wants/*"):
        link.unlink()
    host.maintain(package, ["postinst", "configure", "0.2.0"], *REMOVED, ["postinst", "configure", "0.2.0"])
    assert host.enabled == []


@pytest.mark.parametrize("package", UNITS)
def test_a_purge_leaves_nothing_enabled(host, package):
    host.maintain(package, ["postinst", "configure", ""], *REMOVED, ["postrm", "purge"])
    assert host.enabled == []


SETUP = DEBIAN / "opsapp-agent/root/usr/sbin/opsapp-agent-setup"


def set_up(host, server, key):
    return host.run(SETUP, "--server", server, "--id", "a1", stdin=key + "\n")


def test_a_wrong_key_changes_nothing_and_stops_nothing(host):
    etc = host.place / "etc/opsapp-agent"
    assert set_up(host, "https://ops", "the right key").returncode == 0
    before = {path.name: path.read_bytes() for path in etc.iterdir()}
    (host.place / "asked").unlink()
    wrong = set_up(host, "https://elsewhere", "a wrong key")
    assert wrong.returncode != 0
    assert "nothing was changed" in wrong.stderr
    assert {path.name: path.read_bytes() for path in etc.iterdir()} == before
    assert host.asked("") == []


def test_the_right_key_is_kept_for_its_owner_and_starts_the_agent(host):
    etc = host.place / "etc/opsapp-agent"
    assert set_up(host, "https://ops", "the right key").returncode == 0
    assert json.loads((etc / "agent.json").read_text()) == {"server": "https://ops", "agent_id": "a1"}
    assert (etc / "key").stat().st_mode & 0o777 == 0o600
    assert host.asked("restart") == ["restart opsapp-agent.service"]
    assert sorted(path.name for path in etc.iterdir()) == ["agent.json", "key"]
