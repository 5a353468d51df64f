"""A session at the level of messages: acknowledgements, takeover, clones, reconciliation, and what is refused."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from opsapp.wire.messages import MESSAGES
from tests.support.agent_wire import Wire
from tests.support.frames import BINARY, TEXT, frame
from tests.support.process import Serve
from tests.support.raw import Raw
from tests.support.waiting import until

pytestmark = pytest.mark.system
REPORT = {"hostname": "h1", "os": "Debian 12", "cpu_percent": 5}


@pytest.fixture(scope="module")
def serve(tmp_path_factory):
    with Serve(tmp_path_factory.mktemp("serve"), config={"agents": {"report_interval_s": 1}}) as serve:
        yield serve


class Box:
    def __init__(self, serve, label="box"):
        made = serve.admin.post("/api/agents", {"label": label})
        self.serve, self.id, self.key = serve, made["agent_id"], made["key"]
        self.path = f"/api/agents/{self.id}"
        self.wires = []

    def connect(self, **hello):
        wire = self.dial()
        wire.hello(**hello)
        assert wire.hear()["type"] == "welcome"
        return wire

    def dial(self):
        wire = Wire(self.serve, self.id, self.key)
        self.wires.append(wire)
        return wire

    def seen(self):
        return self.serve.admin.get(self.path)

    def ask(self):
        body = {"type": "shell", "params": {"command": "true"}}
        return self.serve.admin.post(f"{self.path}/commands", body)["command_id"]

    def command(self, command_id):
        return self.serve.admin.get(f"{self.path}/commands/{command_id}")

    def is_in(self, command_id, status):
        return until(lambda: self.command(command_id)["status"] == status, what=f"{command_id} being {status}")


@pytest.fixture
def box(serve):
    box = Box(serve)
    yield box
    for wire in box.wires:
        wire.sock.close()


def done(command_id, **more):
    return {"command_id": command_id, "status": "done", "exit_code": 0, "output": "hi", **more}


def test_a_command_goes_through_its_states_and_its_result_is_thanked_each_time(box):
    wire = box.connect()
    wire.say("report", id="r1", report=REPORT)
    assert wire.hear() == {"type": "ack", "id": "r1", "of": "report"}
    assert box.seen()["metrics"]["cpu_percent"] == 5
    asked = box.ask()
    message = wire.hear("command")
    assert (message["id"], message["command"]["command_id"]) == (asked, asked)
    assert box.command(asked)["status"] == "queued"
    wire.say("ack", id=asked, of="command")
    box.is_in(asked, "delivered")
    wire.say("started", command_id=asked, started_at=1)
    box.is_in(asked, "running")
    for _ in range(2):
        wire.say("result", id=asked, result=done(asked))
        assert wire.hear() == {"type": "ack", "id": asked, "of": "result"}
        assert box.command(asked)["status"] == "done"
    wire.say("ping", id="p")
    assert wire.hear() == {"type": "pong", "id": "p"}


def test_what_the_agent_came_back_without_is_lost_and_the_rest_goes_on(box):
    first = box.connect()
    kept, lost = box.ask(), box.ask()
    for command in (kept, lost):
        first.hear("command")
        first.say("ack", id=command, of="command")
        box.is_in(command, "delivered")
    unsaid = box.ask()
    first.hear("command")
    second = box.connect(held=[{"command_id": kept, "state": "finished"}])
    assert first.hear("close")["code"] == 4410
    assert box.command(lost)["status"] == "lost"
    assert second.hear("command")["id"] == unsaid, "never acknowledged: sent again"
    second.say("result", id=kept, result=done(kept))
    box.is_in(kept, "done")


def test_a_session_of_another_machine_is_a_clone(box):
    wire = box.connect()
    clone = box.dial()
    clone.hello(machine_id="m2")
    assert clone.hear()["code"] == "clone"
    assert clone.hear("close")["code"] == 4409
    until(lambda: box.seen()["clone_detected_at"], what="the flag")
    wire.say("ping", id="p")
    assert wire.hear()["type"] == "pong"
    wire.sock.close()
    until(lambda: not box.seen()["connected"], what="the end")
    box.connect(machine_id="m2")


def test_the_key_opens_its_own_agents_session_alone(serve, box):
    other = Box(serve, "other")
    link = Raw(serve.port)
    handshake = ("Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13")
    ask = lambda path, *headers: link.get(  # noqa: E731
        path, "Sec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==", *handshake, *headers
    )
    assert ask(f"{box.path}/session", f"X-Agent-Key: {other.key}").status == 403
    assert ask(f"{box.path}/session", f"X-Agent-Key: {'0' * 64}").status == 401
    assert ask(f"{box.path}/session", f"Authorization: Bearer {serve.admin.token}").status == 403
    assert link.get(f"{box.path}/session", f"X-Agent-Key: {box.key}").status == 426
    link.sock.close()


def test_a_hello_of_another_agent_or_protocol_is_refused(serve, box):
    for wrong in ({"agent_id": Box(serve, "other").id}, {"protocol": 2}):
        wire = box.dial()
        wire.hello(**wrong)
        assert wire.hear()["type"] == "refuse"
        assert wire.hear("close")["code"] == 4400
    assert box.seen()["status"] == "pending"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        '{"type": "odd"}',
        '{"type": "welcome", "protocol": 1, "interval": 1}',
        '{"type": "report", "id": "r", "report": {"hostname": 7}}',
        '{"type": "result", "id": "a", "result": {"command_id": "b", "status": "done"}}',
        '{"type": "result", "id": "a", "result": {"command_id": "a", "status": "queued"}}',
        '{"type": "ping", "id": NaN}',
        "[" * 10_000,
    ],
)
def test_what_cannot_be_read_ends_the_session(box, text):
    wire = box.connect()
    wire.text(text)
    assert wire.hear("close")["code"] == 4400
    box.connect().sock.close()


def test_oversized_and_unasked_frames_end_the_session(box):
    wire = box.connect()
    wire.send(frame(TEXT, b"x" * (3 << 20)))
    assert wire.hear("close")["code"] == 1009
    wire = box.connect()
    wire.send(frame(BINARY, b"x" * 40))
    assert wire.hear("close")["code"] == 4400


def test_one_that_sends_too_fast_is_cut_and_others_are_not(serve, box):
    calm = Box(serve, "calm").connect()
    wire = box.connect()
    wire.send(b"".join(frame(TEXT, b'{"type":"pong","id":"p"}', key=b"abcd") for _ in range(4000)))
    assert wire.hear("close")["code"] == 4429
    calm.say("ping", id="p")
    assert calm.hear()["type"] == "pong"
    calm.sock.close()


def test_an_unknown_commands_result_is_thanked_and_forgotten(box):
    wire = box.connect()
    wire.say("result", id="nothing", result=done("nothing"))
    assert wire.hear() == {"type": "ack", "id": "nothing", "of": "result"}
    assert box.serve.admin.get(f"{box.path}/commands") == []


def test_what_the_agent_refuses_has_failed(box):
    wire = box.connect()
    asked = box.ask()
    wire.hear("command")
    wire.say("refuse", id=asked, of="command", code="busy", message="too much")
    box.is_in(asked, "failed")
    assert "busy" in box.command(asked)["reason"]


def test_an_outcome_is_thanked_once_it_is_stored(box):
    wire = box.connect()
    outcome = {"outcome_id": "o1", "rule_id": "r", "outcome": "verified", "created_at": 1}
    wire.say("outcome", id="o1", outcome=outcome)
    assert wire.hear() == {"type": "ack", "id": "o1", "of": "outcome"}


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    kind=st.sampled_from(sorted(MESSAGES)),
    fields=st.dictionaries(
        st.sampled_from(["id", "of", "report", "result", "command_id", "stream", "offset", "size", "code", "held"]),
        st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=20), st.lists, max_leaves=4),
        max_size=4,
    ),
)
def test_no_message_breaks_the_server(box, kind, fields):
    wire = box.connect()
    wire.text(json.dumps({**fields, "type": kind}))
    wire.sock.close()
    assert box.serve.client().get("/api/status/public")["status"] == "ok"
    assert "Traceback" not in box.serve.tail(20_000)
