"""The checks of which every message between server and agent is made: what each refuses, and in which words."""

import pytest

from opsapp.wire import fields
from opsapp.wire.actions import ACTIONS
from opsapp.wire.commands import OUTPUT_LIMIT, check_params, check_result, fit_result, read_stream_params
from opsapp.wire.fields import FieldProblem, WireError, dumps
from opsapp.wire.frames import MAX_BINARY_FRAME, FileChunk, pack_chunk, unpack_chunk
from opsapp.wire.messages import MAX_TEXT_FRAME, CancelAsked, decode, read_poll_answer
from opsapp.wire.records import plain
from opsapp.wire.reports import CommandResult
from tests.support.wire_messages import encode

DEEP = [[[]]]
for _ in range(200):
    DEEP = [DEEP]


@pytest.mark.parametrize(
    ("check", "value", "said"),
    [
        (fields.text(), 7, "must be text"),
        (fields.text(3), "four", "at most 3"),
        (fields.text(low=2), "1", "at least 2"),
        (fields.text(), "a\0b", "NUL"),
        (fields.text(), "\ud800", "not valid Unicode"),
        (fields.text(pattern="[a-z]+"), "A", "not allowed here"),
        (fields.text(also=lambda value: f"{value} is wrong"), "it", "it is wrong"),
        (fields.boolean(), 1, "true or false"),
        (fields.choice("a", "b"), "c", "one of a, b"),
        (fields.listing(fields.boolean(), 2), {}, "must be a list"),
        (fields.listing(fields.boolean(), 2), [True] * 3, "at most 2 entries"),
        (fields.mapping(fields.boolean(), 1), [], "must be an object"),
        (fields.mapping(fields.boolean(), 1), {"a": True, "b": True}, "at most 1 entries"),
        (fields.json_object(), 7, "must be an object"),
        (fields.json_value(10), "x" * 11, "larger than 10 bytes"),
        (fields.json_value(), DEEP, "nested deeper"),
        (fields.json_value(), [float("nan")], "NaN"),
        (fields.json_value(), {1: 2}, "text keys"),
        (fields.json_value(), {"\ud800": 2}, "not valid Unicode"),
        (fields.json_value(), [object()], "plain JSON"),
    ],
)
def test_what_a_check_refuses(check, value, said):
    with pytest.raises(FieldProblem, match=said):
        check(value)


RULE = {"direction": "in", "action": "drop"}


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ({"port": 22}, "needs the protocol"),
        ({"port": 22, "protocol": "icmp"}, "needs the protocol|must be one of"),
        ({"source": "300.1.1.1"}, "source is no address"),
        ({"source": "10.0.0.0/8", "destination": "fd00::/8"}, "different families"),
    ],
)
def test_a_firewall_rule_that_could_not_be_set(rule, said):
    with pytest.raises((WireError, ValueError), match=said):
        ACTIONS["firewall_rule_add"].check({"rule": RULE | rule})


def test_a_firewall_rule_that_can():
    both = {"port": 22, "protocol": "tcp", "source": "10.0.0.0/8", "destination": "10.1.2.3"}
    assert ACTIONS["firewall_rule_add"].check({"rule": RULE | both})["rule"]["port"] == 22


def test_a_result_is_cut_to_what_fits_and_no_more():
    result = CommandResult("c1", "done", output="ä" * 1000)
    assert fit_result(result, 10_000) is result
    cut = fit_result(result, 500)
    assert len(dumps(plain(cut))) <= 500
    assert cut.truncated is True
    with pytest.raises(WireError) as caught:
        check_result({"command_id": "c1", "status": "done", "output": "ä" * (OUTPUT_LIMIT // 2 + 1)})
    assert caught.value.code == "too_large"


def test_frames_that_are_none():
    frame = pack_chunk(FileChunk(7, 2**40, b"data"))
    assert unpack_chunk(frame) == FileChunk(7, 2**40, b"data")
    for wrong in (
        b"x" * (MAX_BINARY_FRAME + 1),
        frame[:-4],
        b"\xff" + frame[1:],
        pack_chunk(FileChunk(7, 2**63, b"x")),
    ):
        with pytest.raises(WireError):
            unpack_chunk(wrong)


@pytest.mark.parametrize(
    ("frame", "code"),
    [
        ("x" * (MAX_TEXT_FRAME + 1), "too_large"),
        ("[]", "not_an_object"),
        ('{"type": "nonsense"}', "unknown_type"),
        ('{"type": 7}', "unknown_type"),
        ('{"type": "hello"}', "wrong_sender"),
        ('{"type": "cancel", "id": NaN}', "not_json"),
    ],
)
def test_messages_that_are_none(frame, code):
    with pytest.raises(WireError) as caught:
        decode(frame, "server")
    assert caught.value.code == code


def test_what_the_server_says_arrives_as_it_was_said():
    assert decode(encode("cancel", id="c1"), "server") == CancelAsked("c1")
    with pytest.raises(WireError):
        encode("cancel", id="c1", more=1)
    with pytest.raises(WireError):
        encode("open", stream=1, kind="logs", params={"path": "x" * MAX_TEXT_FRAME})


def test_a_file_to_follow_has_a_path():
    assert read_stream_params("logs", {"unit": "nginx.service"}).source == "journald"
    with pytest.raises(WireError, match="path is required"):
        read_stream_params("logs", {"source": "file"})


def test_an_answer_to_a_poll():
    assert read_poll_answer({"status": "ok", "interval": 15}).commands == ()
    with pytest.raises(WireError):
        read_poll_answer({"status": "ok", "interval": 0})


HEAL = {"heal_id": "h1", "token": 1, "action_type": "restart_service", "params": {"service": "nginx"}}


def test_only_what_acts_needs_its_parameters():
    assert check_params("heal", HEAL | {"phase": "execute"})["params"] == {"service": "nginx"}
    assert check_params("heal", HEAL | {"phase": "confirm", "params": {}})["phase"] == "confirm"
    assert check_params("heal", {**HEAL, "phase": "measure", "action_type": None})["phase"] == "measure"


def test_what_is_too_large_for_a_frame_is_not_sent():
    with pytest.raises(WireError) as caught:  # every control character takes six bytes
        encode("result", id="c1", result={"command_id": "c1", "status": "done", "output": "\x01" * OUTPUT_LIMIT})
    assert caught.value.code == "too_large"


def test_plain_values_pass_as_they_are():
    assert fields.json_value()({"a": [1, 2.5, None, True, "x"]}) == {"a": [1, 2.5, None, True, "x"]}


def test_a_null_entry_of_a_sparse_mapping_is_one_that_is_not_there():
    assert fields.mapping(fields.number(), 2, sparse=True)({"a": None, "b": 1}) == {"b": 1}
    with pytest.raises(fields.FieldProblem, match="must be a number"):
        fields.mapping(fields.number(), 2)({"a": None})
