"""From nothing to an agent that works, on a real host, by the API alone; and what goes wrong on the way is told."""

import hashlib
import os
import subprocess

import pytest

from tests.support.waiting import until
from tests.system.test_agent_streams import Events

# Who notices that the network is gone before it is back: a service soon, an agent after a minute or so.
NOTICED_BY = ["service", pytest.param("agent", marks=pytest.mark.soak)]


@pytest.fixture
def key(tmp_path):
    path = tmp_path / "id_lab"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(path)], check=True)
    return path


def let_in(host, key, user):
    home = f"/home/{user}"
    host.write(f"{home}/.ssh/authorized_keys", key.with_suffix(".pub").read_text(), 0o600)
    host.exec("chown", "-R", f"{user}:{user}", f"{home}/.ssh")
    host.exec("chmod", "700", f"{home}/.ssh")


def fingerprint(host):
    return host.exec("ssh-keygen", "-lf", "/etc/ssh/ssh_host_ed25519_key.pub").stdout.split()[1]


def ask(serve, host, key, user="ops", **more):
    body = {
        "host": host.address,
        "ssh_user": user,
        "ssh_port": 22,
        "ssh_key": str(key),
        "label": host.name,
        "allow_plain_http": True,
        **more,
    }
    return serve.client(token=serve.admin.token, timeout=120).request("POST", "/api/agents/deploy", body)


class Deployed:
    """A host with an agent that the API has put there."""

    def __init__(self, serve, host, key):
        unknown = ask(serve, host, key)
        assert (unknown.status, unknown.json["code"]) == (409, "host_key_unknown"), unknown.body
        done = ask(serve, host, key, host_key=unknown.json["fingerprint"])
        assert (done.status, done.json["status"]) == (200, "deployed"), done.body
        self.serve, self.host, self.id = serve, host, done.json["agent_id"]
        self.path, self.key = f"/api/agents/{self.id}", done.json["key"]

    def seen(self):
        return self.serve.admin.get(self.path)

    def online(self, timeout):
        return until(lambda: self.seen()["connected"], timeout, what="the agent being online")

    def shell(self, command, **more):
        body = {"type": "shell", "params": {"command": command, **more}}
        return self.serve.admin.post(f"{self.path}/commands", body)["command_id"]

    def ended(self, command_id, timeout=90):
        def final():
            record = self.serve.admin.get(f"{self.path}/commands/{command_id}")
            return record if record["status"] not in ("queued", "delivered", "running") else None

        return until(final, timeout, what=f"the end of {command_id}")


@pytest.mark.timeout(600)
@pytest.mark.parametrize("noticed_by", NOTICED_BY)
def test_a_host_is_deployed_used_restarted_and_cut_off(server, host, key, noticed_by):
    let_in(host, key, "ops")
    serve = server()
    box = Deployed(serve, host, key)
    box.online(10)
    assert box.ended(box.shell("id -un; hostname"))["output"] == f"root\n{host.name}\n"
    the_journal_is_streamed(serve, host, box)
    files_go_both_ways(serve, host, box)
    asked = a_restart_of_the_host(host, box)
    asked |= a_cut_of_the_network(host, box, noticed_by)
    lines = host.exec("cat", "/root/marker").stdout.split()
    ends = {word: box.ended(command)["status"] for word, command in asked.items()}
    assert len(lines) == len(set(lines)), "a command ran twice"
    assert set(ends.values()) <= {"done", "lost", "cancelled"}  # the last by the host's orderly end
    assert {word for word, end in ends.items() if end == "done"} <= set(lines)
    assert [end for word, end in ends.items() if word.startswith("cut")] == ["done"] * 6  # a cut loses no result
    it_is_removed_again(serve, host, box)


def the_journal_is_streamed(serve, host, box):
    reader = Events(serve.admin, f"{box.path}/stream/logs?source=journald&unit=cron&token={serve.admin.token}")
    host.exec("systemctl", "restart", "cron")
    until(lambda: "Started cron" in (reader.next()[1].get("line") or ""), 30, what="cron's start in the journal")
    reader.close()
    until(lambda: host.exec("pgrep", "-c", "journalctl", check=False).stdout.strip() == "0", what="no journalctl left")


def files_go_both_ways(serve, host, box):
    data = os.urandom(2_000_003)
    digest = hashlib.sha256(data).hexdigest()
    body = b'--b\r\nContent-Disposition: form-data; name="dest"\r\n\r\n/root/there\r\n'
    body += b'--b\r\nContent-Disposition: form-data; name="file"; filename="x"\r\n\r\n' + data + b"\r\n--b--\r\n"
    headers = {"Content-Type": "multipart/form-data; boundary=b"}
    stored = serve.admin.request("POST", f"{box.path}/files", body, headers)
    assert stored.json == {"status": "stored", "path": "/root/there", "size": len(data), "sha256": digest}
    assert host.exec("sha256sum", "/root/there").stdout.split()[0] == digest
    assert serve.admin.request("GET", f"{box.path}/files?path=/root/there").body == data


def a_restart_of_the_host(host, box):
    asked = {f"before{n}": box.shell(f"echo before{n} >> /root/marker; sync; sleep {n}") for n in range(3)}
    host.stop()
    asked |= {f"off{n}": box.shell(f"echo off{n} >> /root/marker") for n in range(2)}
    host.start()
    box.online(60)
    assert [box.ended(asked[f"off{n}"])["status"] for n in range(2)] == ["done"] * 2
    return asked


def a_cut_of_the_network(host, box, noticed_by):
    """Commands from before, that run on through it, and from within."""
    ask = lambda word, pause: box.shell(f"echo {word} >> /root/marker; sleep {pause}; echo ok")  # noqa: E731
    asked = {f"cut{n}": ask(f"cut{n}", 2 * n) for n in range(3)}
    until(lambda: "cut2" in host.exec("cat", "/root/marker").stdout, what="the commands having begun")
    host.cut()
    asked |= {f"cut{n}": ask(f"cut{n}", 0) for n in range(3, 6)}
    until(lambda: "sleep" not in host.exec("ps", "-eo", "comm").stdout, 30, what="the end of what began before the cut")
    until(lambda: not box.seen()["connected"], 60, what="the service noticing that the host is gone")
    if noticed_by == "agent":
        until(lambda: host.exec("ss", "-Htn", "state", "syn-sent").stdout, 120, what="the agent trying to come back")
    host.mend()
    for command in asked.values():
        assert box.ended(command, 120)["output"] in ("ok\n", "")
    return asked


def it_is_removed_again(serve, host, box):
    script = f"curl -fsS -H 'X-Agent-Key: {box.key}' {serve.url}/api/agents/install-script"
    refused = host.exec("sh", "-c", f"{script} | sh -s", check=False, timeout=60)
    assert (refused.returncode, "has no TLS" in refused.stdout) == (1, True), refused.stdout
    for _ in range(2):  # as often as one likes
        host.exec("sh", "-c", f"{script} | sh -s -- --allow-plain-http", timeout=60)
    box.online(20)
    host.exec("sh", "-c", f"{script} | sh -s -- --uninstall", timeout=60)
    assert host.exec("systemctl", "is-active", "opsapp-agent", check=False).stdout.strip() != "active"
    left = "ls /usr/local/lib/opsapp-agent /etc/opsapp-agent /var/lib/opsapp-agent 2>/dev/null"
    assert host.exec("sh", "-c", left, check=False).stdout == ""
    assert host.exec("pgrep", "-fc", "opsapp-agent[.]pyz", check=False).stdout.strip() == "0"


@pytest.mark.nightly("the core list has the deployment that works")
@pytest.mark.timeout(600)
def test_what_goes_wrong_on_a_host_is_told_with_its_step(server, host, key):
    for user in ("ops", "plain"):
        let_in(host, key, user)
    serve = server()
    known = {"host_key": fingerprint(host)}

    def step(**more):
        answer = ask(serve, host, key, **{**known, **more})
        assert answer.status == 502, answer.body
        return answer.json["step"], answer.json["error"]

    assert step(user="plain")[0] == "sudo"
    assert "password" in step(user="plain")[1]
    host.exec("mv", "/usr/bin/sudo", "/usr/bin/sudo.away")
    assert step()[0] == "sudo"
    host.exec("mv", "/usr/bin/sudo.away", "/usr/bin/sudo")
    host.exec("sh", "-c", "mkdir /away; mv /usr/bin/python3* /away/")
    assert step()[0] == "python"
    host.exec("sh", "-c", "mv /away/* /usr/bin/")
    host.exec("sh", "-c", "cat /dev/zero > /fill; sync", check=False, timeout=120)
    assert step()[0] == "space"
    assert "no space left" in step()[1]
    host.exec("rm", "/fill")
    host.exec("sh", "-c", "rm /etc/ssh/ssh_host_*; ssh-keygen -A; systemctl restart ssh", timeout=60)
    changed = ask(serve, host, key)
    assert (changed.status, changed.json["code"]) == (409, "host_key_changed")  # it was confirmed above, and kept
    host.kill()
    assert step()[0] == "connect"
    assert serve.admin.get("/api/agents") == []  # none of them has left a record
