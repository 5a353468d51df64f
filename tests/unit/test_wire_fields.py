"""What each check refuses, and in which words: these are told to whoever sent it."""

import math

import pytest

from opsapp.wire import fields
from opsapp.wire.actions import ACTIONS
from opsapp.wire.commands import OUTPUT_LIMIT, check_params, check_result, clean_output, fit_result
from opsapp.wire.fields import Problem, WireError
from opsapp.wire.frames import MAX_BINARY_FRAME, Chunk, pack_chunk, unpack_chunk
from opsapp.wire.messages import check_stream_params, encode

DEEP = []
for _ in range(fields.MAX_DEPTH + 1):
    DEEP = [DEEP]


@pytest.mark.parametrize(
    ("check", "value", "said"),
    [
        (fields.text(), 7, "must be text"),
        (fields.text(3), "abcd", "at most 3"),
        (fields.text(low=2), "a", "at least 2"),
        (fields.text(), "a\0", "NUL"),
        (fields.text(), "\ud800", "not valid Unicode"),
        (fields.text(pattern="[a-z]+"), "A", "not allowed here"),
        (fields.integer(), True, "must be an integer"),
        (fields.integer(), "7", "must be an integer"),
        (fields.integer(1, 3), 4, "between 1 and 3"),
        (fields.number(), False, "must be a number"),
        (fields.number(), math.inf, "finite"),
        (fields.number(0, 1), 1.5, "between 0 and 1"),
        (fields.boolean(), 1, "must be true or false"),
        (fields.choice("a", "b"), "c", "must be one of a, b"),
        (fields.listing(fields.integer(), 2), {}, "must be a list"),
        (fields.listing(fields.integer(), 2), [1, 2, 3], "at most 2 entries"),
        (fields.listing(fields.integer(), 2), [1, "x"], "[1] must be an integer"),
        (fields.mapping(fields.integer(), 1), [], "must be an object"),
        (fields.mapping(fields.integer(), 1), {"a": 1, "b": 2}, "at most 1 entries"),
        (fields.mapping(fields.integer(), 1), {"a": "x"}, "[a] must be an integer"),
        (fields.json_object(), [], "must be an object"),
        (fields.json_value(5), "too long", "larger than 5 bytes"),
        (fields.json_value(), DEEP, "nested deeper"),
        (fields.json_value(), [math.nan], "NaN"),
        (fields.json_value(), {1: 2}, "text keys"),
        (fields.json_value(), {"a": {1, 2}}, "plain JSON"),
        (fields.nested({"n": fields.need(fields.integer())}), {}, "n is required"),
        (fields.nested({}), 7, "must be an object"),
    ],
)
def test_what_is_refused_and_how_it_is_told(check, value, said):
    with pytest.raises(Problem) as caught:
        check(value)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("check", "value"),
    [
        (fields.integer(1, 3), 3),
        (fields.number(0, 1), 1),
        (fields.boolean(), False),
        (fields.listing(fields.integer(), 2), [1, 2]),
        (fields.mapping(fields.boolean(), 2), {"a": True}),
        (fields.json_value(), {"a": [1, 2.5, None, True, "x"]}),
        (fields.json_object(), {"a": 1}),
    ],
)
def test_what_fits_is_kept_as_it_is(check, value):
    assert check(value) == value


def test_text_that_is_no_json_and_numbers_without_end():
    for given in ("{", '{"a": NaN}', "1" * 5000):
        with pytest.raises(WireError) as caught:
            fields.loads(given)
        assert caught.value.code == "not_json"


RULE = {"direction": "in", "action": "drop"}


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ({"port": 80}, "needs the protocol"),
        ({"source": "192.0.2.1/99"}, "source is no address"),
        ({"source": "192.0.2.1", "destination": "2001:db8::1"}, "different families"),
    ],
)
def test_a_firewall_rule_that_no_firewall_takes(rule, said):
    with pytest.raises(WireError, match=said):
        ACTIONS["firewall_rule_add"].check({"rule": RULE | rule})
    assert ACTIONS["firewall_rule_add"].check({"rule": RULE | {"source": "192.0.2.0/24"}})["rule"]["port"] is None


def test_an_action_tells_about_itself():
    told = ACTIONS["restart_service"].describe()
    assert (told["name"], told["risk"], told["params"]["service"]["required"]) == ("restart_service", "low", True)
    assert all(handler["steps"] for handler in told["handlers"])


def test_results():
    ended = {"command_id": "c1", "status": "done"}
    with pytest.raises(WireError, match="larger than 1 MiB"):
        check_result(ended | {"output": "é" * (OUTPUT_LIMIT // 2 + 1)})
    assert clean_output(b"a\x07b\xff", 100) == ("a�b�", False)
    assert clean_output(b"abcdef", 3) == ("abc", True)
    small = check_result(ended | {"output": "x" * 1000})
    assert fit_result(small, 10_000) is small
    cut = fit_result(small, 500)
    assert len(fields.dumps(cut)) <= 500
    assert cut["truncated"] is True


HEAL = {"heal_id": "h1", "token": 1, "action_type": "restart_service", "params": {"service": "nginx"}}


def test_heals():
    assert check_params("heal", HEAL | {"phase": "execute"})["params"] == {"service": "nginx"}
    assert check_params("heal", HEAL | {"phase": "confirm"})["phase"] == "confirm"
    with pytest.raises(WireError, match="action_type is required"):
        check_params("heal", {**HEAL, "phase": "execute", "action_type": None})
    assert check_params("heal", {**HEAL, "phase": "measure", "action_type": None})["phase"] == "measure"


def test_streams_and_frames():
    with pytest.raises(WireError, match="path is required"):
        check_stream_params("logs", {"source": "file"})
    assert check_stream_params("logs", {"source": "file", "path": "/var/log/x"})["lines"] == 100
    for frame, code in ((b"", "bad_frame"), (b"\0" * 40, "bad_frame"), (b"\0" * (MAX_BINARY_FRAME + 1), "too_large")):
        with pytest.raises(WireError) as caught:
            unpack_chunk(frame)
        assert caught.value.code == code
    with pytest.raises(WireError, match="offset"):
        unpack_chunk(pack_chunk(Chunk(1, 2**63, b"x")))
    assert unpack_chunk(pack_chunk(Chunk(1, 2, b"x"))) == Chunk(1, 2, b"x")
    with pytest.raises(WireError) as caught:  # every control character takes six bytes
        encode("result", id="c1", result={"command_id": "c1", "status": "done", "output": "\x01" * OUTPUT_LIMIT})
    assert caught.value.code == "too_large"
