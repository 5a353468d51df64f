"""The door for assistants from outside: a real server, a real agent, the protocol's own suite, and calls at random."""

import http.client
import http.server
import json
import os
import shutil
import socketserver
import subprocess
import sys
import threading

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from opsapp.assistants.logic.tools import ASK, NAMES, READ
from tests.support.assistants import REASON
from tests.support.process import Serve, free_port
from tests.support.waiting import until

from .test_healing_causes import OwnAgent

pytestmark = pytest.mark.system

SUITE = "@modelcontextprotocol/conformance@0.1.16"
# The others want tools, resources and prompts of their own test server, logging, sampling or elicitation.
SCENARIOS = (
    "server-initialize", "ping", "tools-list", "resources-list", "server-sse-multiple-streams",
    "dns-rebinding-protection",
)  # fmt: skip
CONFIG = {
    "agents": {"report_interval_s": 0.5},
    "assistants": {"calls_per_minute": 10_000, "open_proposals": 3},
    "healing": {"default_rules": False, "hold_s": 0.2},
}


@pytest.fixture
def server(tmp_path):
    with Serve(tmp_path, CONFIG) as server:
        yield server


class Assistant:
    def __init__(self, server, name="claude"):
        body = {"name": name, "role": "viewer", "assistant": True}
        self.key = server.admin.post("/api/keys", body)["key"]
        self.client = server.client(token=self.key)

    def call(self, tool, **arguments):
        result = self.said({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
                            "params": {"name": tool, "arguments": arguments}})["result"]  # fmt: skip
        assert result["isError"] is False, result
        return json.loads(result["content"][0]["text"])["data"]

    def said(self, message):
        return self.client.post("/api/mcp", message)

    def answer(self, body):
        """Whatever its status."""
        return self.client.request("POST", "/api/mcp", body, {"Content-Type": "application/json"})


# -- the whole way

LISTENS = """
import socket, sys
server = socket.create_server(("127.0.0.1", int(sys.argv[1])))
while True:
    server.accept()[0].close()
"""


@pytest.fixture
def intruder():
    """A program that listens where nothing should."""
    port = free_port()
    process = subprocess.Popen([sys.executable, "-c", LISTENS, str(port)])
    yield process, port
    process.kill()
    process.wait()


def test_what_an_assistant_proposes_and_a_person_allows_the_agent_does_once_and_it_is_measured(
    server, tmp_path, intruder
):
    process, port = intruder
    admin, assistant = server.admin, Assistant(server)
    made = admin.post("/api/agents", {"label": "box"})
    with OwnAgent(tmp_path / "agent", server, made["agent_id"], made["key"]):
        until(lambda: admin.get(f"/api/agents/{made['agent_id']}")["connected"], what="a session")
        monitor = admin.post("/api/monitoring/endpoints", {
            "name": "nothing listens", "type": "tcp", "url": f"tcp://127.0.0.1:{port}", "interval": 5,
            "upside_down": True, "agent_id": made["agent_id"],
        })["id"]  # fmt: skip
        until(lambda: admin.get(f"/api/monitoring/endpoints/{monitor}")["status"] == "down", 60, what="the outage")
        proposed = assistant.call(
            "propose_action", host=made["agent_id"], monitor=monitor, action="process_kill",
            params={"pid": process.pid}, condition='monitor.status == "down"', reason=REASON,
        )  # fmt: skip
        assert process.poll() is None
        assert admin.get("/api/healing/ledger") == []
        request = admin.get(f"/api/approvals/{proposed['request_id']}")
        assert request["assistant"]["whatif"]["now"]["holds"] == 1
        admin.post(f"/api/approvals/{proposed['request_id']}/approve", {})
        assert (
            server.client(token=admin.token)
            .request("POST", f"/api/approvals/{proposed['request_id']}/approve", {})
            .status
            == 409
        )
        until(lambda: process.poll() is not None, 60, what="the end of the program")
        rows = until(
            lambda: (rows := admin.get("/api/healing/ledger")) and rows[0]["state"] == "final" and rows,
            90, what="the verdict",
        )  # fmt: skip
    assert [(row["outcome"], row["action_type"]) for row in rows] == [("verified", "process_kill")]
    heal = admin.get(f"/api/approvals/{rows[0]['approval_id']}")
    assert (heal["requested_by"], heal["decided_by"]) == ("assistant claude", "admin")
    until(lambda: admin.get("/api/healing/rules") == [], what="the end of the rule")
    assert admin.get("/api/healing/ledger/verify")["valid"]


# -- calls at random

IDS = st.sampled_from(["", "0" * 16, "admin", "../users", "once-1", "box-1", "%2e%2e", "a/b"]) | st.text(max_size=20)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**6), 10**6) | st.floats(-9, 9, width=32) | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip
ACTIONS = st.sampled_from(["restart_service", "process_kill", "run", "automation", "webhook", "reboot", "clear_cache"])
RULES = st.fixed_dictionaries(
    {"condition": st.sampled_from(["cpu_percent > 0", "cpu_percent >= 0", "((", 'monitor.status == "up"'])},
    optional={
        "id": st.sampled_from(["a", "b", "c", "A B"]),
        "action": st.fixed_dictionaries({"type": ACTIONS}, optional={"params": JSON}),
        "initial_level": st.sampled_from(["execute", "approve", "notify", "observation"]),
        "enabled": st.booleans(),
    },
)
ARGUMENTS = st.dictionaries(st.text(max_size=8), JSON, max_size=3) | st.fixed_dictionaries(
    {"reason": st.text(max_size=20)},
    optional={
        "rule": RULES,
        "automation_id": st.just("AUTOMATION") | IDS,
        "inputs": st.just({}) | JSON,
        "host": st.just("HOST") | IDS,
        "action": ACTIONS,
        "params": st.just({"service": "ssh"}) | st.just({"pid": 2}) | JSON,
        "condition": st.sampled_from(["cpu_percent >= 0", "true", ""]),
        "case_id": IDS,
        "rule_id": IDS,
        "request_id": IDS,
        "limit": st.integers(-5, 200),
    },
)
TOOLS = st.sampled_from(sorted(NAMES)) | st.sampled_from(["approve", "run", "POST /api/approvals/x/approve", ""])
METHODS = st.sampled_from(
    [
        "tools/list",
        "resources/read",
        "prompts/get",
        "prompts/list",
        "ping",
        "initialize",
        "tools/destroy",
        "resources/list",
    ]
)
CALLS = st.fixed_dictionaries({"name": TOOLS, "arguments": ARGUMENTS | JSON})
SOUND = st.fixed_dictionaries(
    {"name": st.just("propose_run"),
     "arguments": st.fixed_dictionaries({"automation_id": st.just("AUTOMATION"), "inputs": st.just({}),
                                         "reason": st.text("ab", min_size=1, max_size=9)})}
) | st.fixed_dictionaries(
    {"name": st.just("propose_rule"),
     "arguments": st.fixed_dictionaries({"rule": RULES, "reason": st.text("ab", min_size=1, max_size=9)})}
)  # fmt: skip
CALLS |= SOUND
MESSAGES = (
    st.builds(lambda params: {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}, CALLS)
    | st.builds(lambda name, more: {"jsonrpc": "2.0", "id": 1, "method": name, "params": more}, METHODS, JSON)
    | JSON
    | st.binary(max_size=60)
)


class Effects:
    """A server with a host that polls and an automation, and all that an act would change."""

    def __init__(self, server):
        self.server, admin = server, server.admin
        self.host = admin.post("/api/agents", {"label": "box"})["agent_id"]
        call = {"name": "Call", "type": "webhook", "params": {"url": "http://127.0.0.1:9/"}}
        self.automation = admin.post("/api/automations", call)["id"]
        self.assistant = Assistant(server)
        self.pending = 0
        self.before = self.seen()

    def seen(self):
        """Everything but what waits for people."""
        admin = self.server.admin
        runs = admin.get("/api/automations/runs")
        return {
            "commands": admin.get(f"/api/agents/{self.host}/commands"),
            "runs": [run for run in runs if run["status"] not in ("pending_approval", "rejected")],
            "ledger": admin.get("/api/healing/ledger"),
            "config": admin.get("/api/export"),
            "users": [user["username"] for user in admin.get("/api/users")],
            "keys": len(admin.get("/api/keys")),
            "decided": [row for row in admin.get("/api/approvals?status=approved")],
            "windows": admin.get("/api/healing/maintenance"),
        }

    def send(self, message):
        if isinstance(message, bytes):
            body = message
        else:
            text = (
                json.dumps(message).replace('"HOST"', f'"{self.host}"').replace('"AUTOMATION"', f'"{self.automation}"')
            )
            body = text.encode()
        answer = self.assistant.answer(body)
        assert answer.status in (200, 202, 400), (answer.status, answer.body[:500])

    def clear(self):
        """A person says no to all, so that there is room for more. How many there were."""
        waiting = self.server.admin.get("/api/approvals?limit=100")
        for row in waiting:
            self.server.admin.post(f"/api/approvals/{row['request_id']}/reject", {})
        return len(waiting)


def at_random(server, examples):
    effects = Effects(server)
    sent = 0

    @settings(max_examples=examples, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(MESSAGES)
    def send(message):
        nonlocal sent
        effects.send(message)
        sent += 1
        if sent % 100 == 0:
            effects.pending += effects.clear()

    send()
    effects.pending += effects.clear()
    assert effects.seen() == effects.before
    assert sent >= examples
    assert effects.pending > 0  # some were sound proposals


def test_no_call_acts(server):
    at_random(server, 400)


@pytest.mark.nightly("ten thousand calls take minutes")
def test_ten_thousand_calls_and_none_acts(server):
    at_random(server, 10_000)


# -- the suite of the protocol


class _WithKey(http.server.BaseHTTPRequestHandler):
    """Hands a request on as it is, with the key that the suite cannot send."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        link = http.client.HTTPConnection(self.server.behind)
        link.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
        for name, value in self.headers.items():
            if name.lower() != "connection":
                link.putheader(name, value)
        link.putheader("Authorization", f"Bearer {self.server.key}")
        link.endheaders(body)
        answer = link.getresponse()
        sent = answer.read()
        link.close()
        self.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in ("content-length", "connection", "transfer-encoding"):
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(sent)))
        self.end_headers()
        self.wfile.write(sent)

    do_GET = do_DELETE = do_POST

    def log_message(self, *_):
        pass


@pytest.fixture
def with_key(server):
    proxy = socketserver.ThreadingTCPServer(("127.0.0.1", 0), _WithKey)
    proxy.daemon_threads = True
    proxy.behind, proxy.key = server.url.removeprefix("http://"), Assistant(server).key
    threading.Thread(target=proxy.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{proxy.server_address[1]}/api/mcp"
    proxy.shutdown()
    proxy.server_close()


def suite():
    """How the suite is run here: OPSAPP_MCP_CONFORMANCE says it, else npx fetches it."""
    told = os.environ.get("OPSAPP_MCP_CONFORMANCE")
    return told.split() if told else ["npx", "--yes", SUITE] if shutil.which("npx") else None


@pytest.mark.nightly("it is fetched from npm, and needs Node.js 22")
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_suite_of_the_protocol_passes_where_it_applies(with_key, scenario):
    command = suite()
    if command is None:
        pytest.skip("there is no npx here")
    asked = [*command, "server", "--url", with_key, "--scenario", scenario]
    done = subprocess.run(asked, capture_output=True, text=True, timeout=300, check=False)
    if "globSync" in done.stderr:
        pytest.skip("the suite needs Node.js 22")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 failed" in done.stdout


def test_the_table_of_tools_names_each_once():
    assert len(READ) + len(ASK) == len(NAMES)
