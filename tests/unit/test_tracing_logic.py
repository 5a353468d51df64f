"""Ids, facts and the encoding of spans, read by OpenTelemetry's own classes."""

import pytest
from hypothesis import given
from hypothesis import strategies as some

from opsapp.tracing.config import TracingSettings, endpoint_problem
from opsapp.tracing.logic import ids, otlp
from opsapp.tracing.logic.ids import CallerTrace, SpanPlace
from opsapp.tracing.logic.spans import LONGEST, SERVER, SpanMoment, SpanSource, TraceSpan
from tests.support.traces import decoded

PLACE, ABOVE = SpanPlace(b"t" * 16, b"s" * 8), SpanPlace(b"u" * 16, b"p" * 8)
TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


def test_ids_follow_from_names_and_never_change():
    """Nodes of two versions make one trace, so what these are is for ever."""
    assert ids.trace_of("run", "1").hex() == "60bb9d4707a9110e948897ca65afc234"
    assert ids.span_of("run", "1").hex() == "b3c90dd6d3516ece"
    assert len({ids.trace_of(kind, "1") for kind in ("request", "run", "command", "case")}) == 4
    asked = ids.asked_for("run", "1")
    assert asked.trace == ids.trace_of("run", "1")
    assert asked.span not in (ids.span_of("run", "1"), ids.asked_for("command", "1").span)


def test_a_share_of_traces_is_about_that_share():
    traces = [ids.trace_of("request", str(number)) for number in range(1000)]
    assert 150 < sum(ids.is_sampled(trace, 0.2) for trace in traces) < 250
    assert all(ids.is_sampled(trace, 1.0) for trace in traces)
    assert not any(ids.is_sampled(trace, 0.0) for trace in traces)


@pytest.mark.parametrize(
    ("text", "sampled"),
    [(f"00-{TRACE}-{PARENT}-01", True), (f" 00-{TRACE}-{PARENT}-00 ", False), (f"01-{TRACE}-{PARENT}-03-more", True)],
)
def test_a_caller_says_within_which_trace_it_asks(text, sampled):
    assert ids.caller_trace(text) == CallerTrace(SpanPlace(bytes.fromhex(TRACE), bytes.fromhex(PARENT)), sampled)


@pytest.mark.parametrize(
    "text",
    [
        "",
        f"00-{TRACE}-{PARENT}",
        f"00-{TRACE}-{PARENT}-01-more",
        f"ff-{TRACE}-{PARENT}-01",
        f"00-{TRACE.upper()}-{PARENT}-01",
        f"00-{'0' * 32}-{PARENT}-01",
        f"00-{TRACE}-{'0' * 16}-01",
        "00-" + "é" * 32 + f"-{PARENT}-01",
    ],
)
def test_what_is_no_traceparent_is_none(text):
    assert ids.caller_trace(text) is None


def test_a_message_is_what_opentelemetry_reads():
    facts = {"text": "x", "yes": True, "no": False, "whole": -3, "part": 0.5, "unknown": None, "empty": ""}
    first = TraceSpan(
        PLACE, "a run", 1.5, 2.25, facts, ABOVE.span, SERVER, "HTTP 500", (SpanMoment("began", 1.75),), (ABOVE,)
    )
    second = TraceSpan(ABOVE, "", 3.0, 2.0, {})
    agent = SpanSource("opsapp-agent", "web-1")
    body = otlp.message([(SpanSource("opsapp"), otlp.encoded(first)), (agent, otlp.encoded(second))])
    run, at_agent = decoded(body)
    assert (run.service, run.host, run.name, run.kind, run.failed) == ("opsapp", "", "a run", SERVER, "HTTP 500")
    assert (bytes.fromhex(run.trace), bytes.fromhex(run.id), bytes.fromhex(run.parent)) == (*PLACE, ABOVE.span)
    assert (run.began, run.ended) == (1_500_000_000, 2_250_000_000)
    assert run.facts == {"text": "x", "yes": True, "no": False, "whole": -3, "part": 0.5, "empty": ""}
    assert run.moments == (("began", 1_750_000_000),)
    assert run.links == ((ABOVE.trace.hex(), ABOVE.span.hex()),)
    assert (at_agent.service, at_agent.host, at_agent.failed, at_agent.parent) == ("opsapp-agent", "web-1", None, "")
    assert at_agent.began == at_agent.ended == 3_000_000_000, "it never ends before it began"
    assert otlp.message([]) == b""


@given(
    some.text(max_size=300),
    some.dictionaries(some.text(min_size=1, max_size=10), some.text(max_size=300) | some.booleans()
                      | some.integers(-(2**63), 2**63 - 1) | some.floats(allow_nan=False), max_size=5),
    some.floats(0, 4e9),
)  # fmt: skip
def test_any_facts_are_read_as_they_were_written(name, facts, began):
    [span] = decoded(otlp.message([(SpanSource("opsapp"), otlp.encoded(TraceSpan(PLACE, name, began, began, facts)))]))
    assert set(span.facts) == set(facts)
    assert {key: value for key, value in span.facts.items() if not isinstance(value, str)} == {
        key: value for key, value in facts.items() if not isinstance(value, str)
    }
    assert abs(span.began - began * 1e9) <= 1000 + began


def test_texts_are_cut_and_addresses_lose_what_may_be_secret():
    facts = {"target": "https://ada:pass@example.org/x?token=t0ken", "long": "x" * 1000}
    [span] = decoded(otlp.message([(SpanSource("opsapp"), otlp.encoded(TraceSpan(PLACE, "y" * 1000, 1, 2, facts)))]))
    assert "pass" not in span.facts["target"]
    assert "t0ken" not in span.facts["target"]
    assert (len(span.facts["long"]), len(span.name)) == (LONGEST, LONGEST)


@pytest.mark.parametrize(
    ("endpoint", "url"),
    [
        ("http://tempo:4318", "http://tempo:4318/v1/traces"),
        ("https://otlp.example.org/otlp/", "https://otlp.example.org/otlp/v1/traces"),
        ("https://collector.example.org/v1/traces", "https://collector.example.org/v1/traces"),
    ],
)
def test_the_endpoint_is_the_base_of_the_address(endpoint, url):
    assert endpoint_problem(endpoint) is None
    assert TracingSettings(endpoint=endpoint).url == url


@pytest.mark.parametrize("endpoint", ["tempo:4317", "grpc://tempo", "https://ada:pass@tempo", "https://tempo/?key=x"])
def test_an_endpoint_that_cannot_be_one(endpoint):
    assert endpoint_problem(endpoint)
