"""The session's vocabulary: what is accepted, what is refused, and that nothing else can happen."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opsapp.wire import messages
from opsapp.wire.commands import COMMANDS, check_params, check_report, clean_output, fit_result, read_report
from opsapp.wire.fields import WireError, dumps
from opsapp.wire.frames import CHUNK, MAX_TEXT_FRAME, OUTPUT_LIMIT, FileChunk, pack_chunk, unpack_chunk
from opsapp.wire.records import plain
from opsapp.wire.reports import RESULT_STATES, CommandResult
from tests.support import wire_messages

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=10), inner, max_size=5),
    max_leaves=20,
)
REPORT = {"hostname": "box-1", "os": "Debian 12", "cpu_percent": 3.5, "uptime_s": 12}
RESULT = {"command_id": "c1", "status": "done", "exit_code": 0, "output": "hello\n"}


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        (
            "hello",
            {
                "protocol": 1,
                "agent_id": "a1",
                "machine_id": "m",
                "hostname": "box-1",
                "version": "0.1.0",
                "held": [{"command_id": "c1", "state": "running"}],
            },
        ),
        ("report", {"id": "r1", "report": REPORT}),
        ("result", {"id": "c1", "result": RESULT}),
        ("started", {"command_id": "c1", "started_at": 1.5}),
        ("closed", {"stream": 4, "code": "end"}),
    ],
)
def test_what_the_agent_says_arrives_as_it_was_said(kind, fields):
    heard = wire_messages.decode(wire_messages.encode(kind, **fields), "agent")
    assert heard["type"] == kind
    for name, value in fields.items():
        if isinstance(value, dict):
            assert {key: heard[name][key] for key in value} == value
        else:
            assert heard[name] == value


def test_a_command_arrives_even_of_a_kind_from_the_future():
    sent = {"command_id": "c1", "type": "teleport", "params": {"to": "mars"}}
    frame = wire_messages.encode("command", id="c1", command=sent)
    assert wire_messages.decode(frame, "server")["command"] == {**sent, "store": None}


def test_parameters_get_their_defaults():
    defaults = {"timeout": 60, "env": {}, "descriptors": None, "interpreter": None}
    assert check_params("shell", {"command": "id"}) == {"command": "id", **defaults}


def test_a_message_from_the_wrong_side_is_refused():
    frame = wire_messages.encode("command", id="c1", command={"command_id": "c1", "type": "capabilities", "params": {}})
    with pytest.raises(WireError) as caught:
        messages.decode(frame, "agent")
    assert caught.value.code == "wrong_sender"


@pytest.mark.parametrize(
    "frame",
    [
        "",
        "[]",
        "{}",
        "null",
        "{",
        '{"type": 7}',
        '{"type": "nonsense"}',
        '{"type": ["ping"]}',
        '{"type":"ping","id":"\\ud800"}',
        '{"type":"ping","id":NaN}',
        '{"type":"ping","id":1' + "0" * 5000 + "}",
        '{"type":"ping","id":' + "[" * 100_000,
        '{"type":"hello"}',
        '{"type":"report","id":"r","report":{"hostname":"h","os":"o","cpu_percent":true}}',
        '{"type":"report","id":"r","report":{"hostname":"h","os":"o","cpu_percent":"7"}}',
        '{"type":"report","id":"r","report":{"hostname":"h","os":"o","metrics":{"x":1e999}}}',
        '{"type":"report","id":"r","report":{"hostname":"h","os":"o","uptime_s":1.5}}',
        '{"type":"result","id":"c","result":{"command_id":"c","status":"queued"}}',
        '{"type":"ping","id":"../../etc"}',
        b"\xff\xfe",
        b'{"type":"ping","id":"\xc3"}',
    ],
)
def test_malformed_messages_are_refused(frame):
    with pytest.raises(WireError):
        messages.decode(frame, "agent")


def test_too_large_a_frame_is_refused_unread():
    with pytest.raises(WireError) as caught:
        messages.decode(" " * (MAX_TEXT_FRAME + 1), "agent")
    assert caught.value.code == "too_large"


def test_every_wrong_field_is_named_at_once():
    with pytest.raises(WireError) as caught:
        check_report({"hostname": "", "cpu_percent": "x", "services": []})
    assert set(caught.value.fields) == {"hostname", "os", "cpu_percent", "services"}


def test_unknown_report_fields_are_ignored_and_missing_numbers_stay_unknown():
    report = read_report({**REPORT, "from_the_future": {"a": [1]}, "disks": {"/": 7, "/gone": None}})
    assert (report.cpu_percent, report.mem_percent, report.held, report.disks) == (3.5, None, None, {"/": 7})


@given(st.text(max_size=200) | st.binary(max_size=200))
def test_no_frame_causes_anything_but_a_wire_error(frame):
    for sender in ("agent", "server"):
        try:
            messages.decode(frame, sender)
        except WireError:
            pass


@given(st.sampled_from(sorted(messages.MESSAGES)), st.dictionaries(st.text(max_size=8), JSON, max_size=4), st.data())
def test_no_message_causes_anything_but_a_wire_error(kind, noise, data):
    message = messages.MESSAGES[kind]
    body = {**noise, "type": kind}
    for name in message.fields:
        if data.draw(st.booleans()):
            body[name] = data.draw(JSON)
    frame = json.dumps(body)
    for sender in ("agent", "server"):
        try:
            heard = messages.decode(frame, sender)
        except WireError:
            continue
        assert message.sender in (sender, messages.BOTH)
        assert messages.decode(messages.encode(heard), message.sender.replace("both", sender)) == heard


@given(st.sampled_from(sorted(COMMANDS)), JSON)
def test_no_parameters_cause_anything_but_a_wire_error(kind, params):
    try:
        clean = check_params(kind, params)
    except WireError:
        return
    assert set(clean) == set(COMMANDS[kind])


@pytest.mark.parametrize(
    ("kind", "params", "wrong"),
    [
        ("shell", {}, "command"),
        ("shell", {"command": "id", "timeout": 0}, "timeout"),
        ("shell", {"command": "id", "timeout": 3601}, "timeout"),
        ("shell", {"command": "id", "timeout": True}, "timeout"),
        ("shell", {"command": "a\0b"}, "command"),
        ("shell", {"command": "id", "shell": "zsh"}, "shell"),
        ("shell", {"command": "id", "interpreter": "sh -c"}, "interpreter"),
        ("service", {"service": "-nginx", "action": "stop"}, "service"),
        ("service", {"service": "a b", "action": "stop"}, "service"),
        ("service", {"service": "nginx", "action": "destroy"}, "action"),
        ("logs", {"source": "file"}, "path"),
        ("logs", {"source": "file", "path": "etc/passwd"}, "path"),
        ("logs", {}, "unit"),
        ("heal", {"heal_id": "h", "token": 1, "phase": "execute"}, "action_type"),
        ("heal", {"heal_id": "h", "token": 1, "phase": "execute", "action_type": "restart_service"}, "service"),
        ("update", {"version": "1", "sha256": "x"}, "sha256"),
        ("nonsense", {}, "type"),
    ],
)
def test_wrong_parameters_are_named(kind, params, wrong):
    with pytest.raises(WireError) as caught:
        check_params(kind, params)
    assert wrong in caught.value.fields


@given(st.binary(max_size=3000), st.integers(0, 2000))
def test_cleaned_output_is_bounded_readable_and_honest(raw, limit):
    shown, truncated = clean_output(raw, limit)
    assert len(shown.encode()) <= limit
    assert truncated or len(raw) <= limit
    assert not any(ord(letter) < 32 and letter not in "\t\n\r" for letter in shown)
    assert len(json.dumps(shown, ensure_ascii=False)) <= 2 * limit + 2


def test_output_within_the_limit_is_not_called_truncated():
    assert clean_output("grün\n".encode()) == ("grün\n", False)
    assert clean_output(b"x" * (OUTPUT_LIMIT + 1)) == ("x" * OUTPUT_LIMIT, True)


def test_the_largest_result_fits_into_a_frame():
    output, _ = clean_output(b'"\n\\\x00' * OUTPUT_LIMIT)
    assert wire_messages.encode("result", id="c", result={**RESULT, "output": output})


@given(st.text(max_size=4000), st.integers(300, 3000))
def test_a_cut_result_fits_its_budget(output, budget):
    result = CommandResult("c1", "done", 0, output)
    cut = fit_result(result, budget)
    assert len(dumps(plain(cut))) <= budget
    assert cut.truncated == (cut is not result)
    assert output.startswith(cut.output)


@given(st.integers(0, 2**32 - 1), st.integers(0, 2**63 - 1), st.binary(min_size=1, max_size=200))
def test_chunks_survive_the_way(stream, offset, data):
    chunk = FileChunk(stream, offset, data)
    assert unpack_chunk(pack_chunk(chunk)) == chunk


@given(st.binary(max_size=64))
def test_no_binary_frame_causes_anything_but_a_wire_error(frame):
    try:
        assert pack_chunk(unpack_chunk(frame)) == frame
    except WireError:
        pass


def test_an_oversized_chunk_is_refused():
    with pytest.raises(WireError):
        unpack_chunk(pack_chunk(FileChunk(1, 0, b"x" * (5 * CHUNK))))


def test_an_agent_cannot_call_a_command_queued():
    assert "queued" not in RESULT_STATES


def test_poll_answers_are_checked_like_messages():
    answer = messages.read_poll_answer(
        {
            "status": "ok",
            "interval": 15,
            "commands": [{"command_id": "c1", "type": "shell", "params": {"command": "id"}}],
            "policy_version": 0,
        }
    )
    assert answer.commands[0].command_id == "c1"
    with pytest.raises(WireError):
        messages.read_poll_answer({"status": "ok", "interval": 15, "commands": [{"command_id": "", "type": "shell"}]})
