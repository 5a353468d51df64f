"""A host whose agent talks to a small server of the test: single actions, asked for directly."""

import itertools
import json

from opsapp.agents.zipapp import agent_file
from tests.fleet import care
from tests.support.agent_server import KEY
from tests.support.waiting import until

CONFIG = {
    **care.QUICK,
    "lookout_s": 3600,
    "backups": {"home": {"files": "/root/backup/*.tar.gz", "run": ["/usr/local/bin/backup"]}},
    "certificates": {"ops.example": {"file": "/root/ops.pem", "run": ["/usr/local/bin/renew"]}},
}
BACKUP = "#!/bin/sh\nexec tar -czf /root/backup/new.tar.gz -C /etc hostname passwd\n"
RENEW = (
    "#!/bin/sh\nexec openssl req -x509 -newkey rsa:2048 -nodes -days 30 -subj /CN=ops.example"
    " -keyout /root/ops.key -out /root/ops.pem\n"
)


class Box:
    """A host with an agent of a small server, and short words for what it is asked to do."""

    def __init__(self, host, server):
        self.host, self.server, self.numbers = host, server, itertools.count(1)

    def sh(self, text, **more):
        return self.host.exec("sh", "-c", text, **more).stdout.strip()

    def unit(self, name, text):
        self.host.write(f"/etc/systemd/system/{name}", text)
        self.sh("systemctl daemon-reload")

    def heal(self, phase, action, heal_id, given=None, arm_s=None, **params):
        asked = {"snapshot": given, "arm_s": arm_s}
        name = self.server.command(
            "heal",
            heal_id=heal_id,
            token=1,
            phase=phase,
            action_type=action,
            params=params,
            timeout=60,
            **{key: value for key, value in asked.items() if value is not None},
        )
        return until(lambda: self.server.result(name), 90, what=f"{phase} of {action}")

    def do(self, action, arm_s=None, **params):
        """Done, with a snapshot taken before; the result."""
        done = self.heal("execute", action, f"{action}.{next(self.numbers)}", arm_s=arm_s, **params)
        assert done["status"] == "done", (done["reason"], done["output"], done["data"])
        assert done["data"]["snapshot"] is not None, done["data"]
        return done

    def undo(self, action, done, **params):
        back = self.heal("rollback", action, "back", given=done["data"]["snapshot"], **params)
        assert (back["status"], back["data"]["restored"]) == ("done", True), back
        return back

    def prepare(self):
        """The agent, what it is told about its host, and a container."""
        self.host.write("/usr/local/bin/backup", BACKUP, 0o755)
        self.host.write("/usr/local/bin/renew", RENEW, 0o755)
        self.host.write("/opt/opsapp/agent.pyz", agent_file().data, 0o755)
        self.host.write("/opt/opsapp/key", KEY, 0o600)
        self.host.write("/opt/opsapp/agent.json", json.dumps(CONFIG))
        self.unit("opsapp-agent.service", care.AGENT.format(url=self.server.url, id="a1"))
        self.sh("systemctl enable --now opsapp-agent")
        care.make_container(self.host, "web", "--label", "com.docker.compose.project=shop")
        until(self.server.session, 60, what="a session")
        return self
