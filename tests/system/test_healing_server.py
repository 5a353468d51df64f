"""What the service does by itself for a heal, over the wire, with the process killed in between."""

import threading

import pytest

from tests.support.box import Box
from tests.support.process import Serve
from tests.support.targets import Website, website
from tests.support.waiting import until

pytestmark = [pytest.mark.system, pytest.mark.crash]


class Hook(Website):
    """Answers when it may."""

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"] or 0))
        self.server.seen.append(self.path)
        self.server.may_answer.wait(60)
        self._answer(204)


def config(url):
    return {
        "agents": {"report_interval_s": 0.5},
        "healing": {
            "default_rules": False,
            "hold_s": 0.1,
            "rules": [
                {
                    "id": "call",
                    "condition": 'service.nginx.state == "failed"',
                    "action": {"type": "webhook", "params": {"url": url}},
                    "initial_level": "notify",
                    "settle_s": 0.1,
                    "cooldown_s": 300,
                }
            ],
        },
    }


@pytest.fixture
def hook():
    with website(handler=Hook) as made:
        made.may_answer = threading.Event()
        yield made
        made.may_answer.set()


def test_a_webhook_is_never_sent_twice_and_what_nobody_knows_is_said(tmp_path, hook):
    """kill -9 while the call is on its way: the other side has it, we have no answer."""
    with Serve(tmp_path, config(f"{hook.url}/hook")) as server:
        made = server.admin.post("/api/agents", {"label": "web", "tags": []})
        box = Box(server.url, made["agent_id"], made["key"]).start()
        try:
            until(lambda: server.admin.get("/api/agents")[0]["status"] == "online", 30, what="the agent being online")
            server.admin.post("/api/healing/trust/call/promote", {"level": "execute"})
            box.state = "failed"
            until(lambda: hook.seen, 30, what="the call")
            server.kill()
            hook.may_answer.set()
            server.start()

            def ended():
                [row] = server.admin.get("/api/healing/ledger")
                return row if row["state"] == "final" else None

            entry = until(ended, 30, what="the entry's end")
            assert (entry["outcome"], len(hook.seen)) == ("lost", 1)
            assert "nobody can tell" in entry["reason"]
            assert server.admin.get("/api/healing/ledger/verify")["valid"]
        finally:
            box.stop()
