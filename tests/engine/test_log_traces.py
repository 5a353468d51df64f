"""Log lines say what they belong to: a request, a run, a case; and where there are traces, the id of the trace."""

import logging

import pytest

from opsapp.auth import records
from opsapp.automations.engine import notices
from opsapp.automations.engine.carrier import Carrier
from opsapp.runtime.atwork import Work
from opsapp.tracing.config import TracingSettings
from opsapp.tracing.engine import request_spans_of
from opsapp.tracing.logic.ids import asked_for, trace_of
from opsapp.tracing.logic.otlp import message
from opsapp.tracing.logic.spans import SpanSource
from tests.support.loglines import written
from tests.support.traces import decoded

CALLER = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
log = logging.getLogger("opsapp.test")


@pytest.fixture
def lines():
    with written() as lines:
        yield lines


@pytest.fixture
def node(service):
    return service.node


def traced(node, **more):
    node.config = node.config.having(TracingSettings(endpoint="http://127.0.0.1:9", **more))


def spans(node):
    """Those of requests that wait for the collector."""
    source = SpanSource("opsapp")
    return decoded(message((source, span) for span in request_spans_of(node)._waiting))


@pytest.fixture
def broken(monkeypatch):
    """`GET /api/me` writes a line, and fails as nobody foresaw."""

    def known(*_values):
        log.warning("about to fail")
        raise RuntimeError("nobody foresaw this")

    monkeypatch.setattr(records, "Me", known)


def test_a_line_of_a_request_has_its_id_with_tracing_or_without(service, lines, broken):
    answer = service.ada.get("/api/me", status=500)
    ours = {"request_id": answer.headers["X-Request-Id"]}
    for said in ("about to fail", "unforeseen error"):
        line = lines.of(said)
        assert ours.items() <= line.items()
        assert "trace_id" not in line
        assert f"{said} request_id={ours['request_id']}" in line["text"]


def test_a_line_of_a_request_leads_to_its_span(service, node, lines, broken):
    traced(node)
    answer = service.ada.get("/api/me", status=500)
    (span,) = spans(node)
    assert span.facts["opsapp.request.id"] == answer.headers["X-Request-Id"]
    assert {line["trace_id"] for line in lines.kept if "request_id" in line} == {span.trace}


def test_a_line_of_a_callers_request_is_in_the_callers_trace(service, node, lines, broken):
    traced(node)
    service.ada.get("/api/me", headers={"traceparent": CALLER}, status=500)
    assert lines.of("unforeseen error")["trace_id"] == CALLER.split("-")[1] == spans(node)[0].trace


def test_a_request_that_is_no_sample_has_no_trace_to_name(service, node, lines, broken):
    traced(node, sample=0.0)
    service.ada.get("/api/me", status=500)
    assert "trace_id" not in lines.of("unforeseen error")
    assert not spans(node)


def test_a_line_that_is_written_before_the_run_is_known_leads_to_it(service, node, lines, monkeypatch):
    traced(node)
    body = {"name": "deploy", "type": "script", "params": {"script": "true"}}
    made = service.ada.post_json("/api/automations", body).json["id"]
    started = notices.started

    def telling(*values, **more):
        log.warning("to be queued")
        return started(*values, **more)

    monkeypatch.setattr(notices, "started", telling)
    run_id = service.ada.post_json(f"/api/automations/{made}/run").json["run_id"]
    named = lines.of("to be queued")["trace_id"]
    (found,) = [span for span in spans(node) if span.trace == named]
    place = asked_for("run", run_id)
    assert found.links == ((place.trace.hex(), place.span.hex()),)


def test_a_line_of_a_run_is_in_the_trace_of_the_run(service, node, lines, monkeypatch):
    traced(node)
    body = {"name": "deploy", "type": "script", "params": {"script": "true"}}
    made = service.ada.post_json("/api/automations", body).json["id"]
    run_id = service.ada.post_json(f"/api/automations/{made}/run").json["run_id"]
    carrier = Carrier(node)
    monkeypatch.setattr(carrier, "_carry", None)
    carrier.step()
    carrier.tasks[run_id].greenlet.join()
    line = lines.of(f"run failed run={run_id}")
    assert (line["run"], line["trace_id"]) == (run_id, trace_of("run", run_id).hex())
    assert line["text"].count(run_id) == 1


def test_work_that_is_part_of_a_heal_is_in_the_trace_of_the_case(node, lines):
    traced(node)
    with Work(node, "run", "r1", ("case", "c1")):
        log.warning("of both")
    line = lines.of("of both")
    assert (line["run"], line["trace_id"]) == ("r1", trace_of("case", "c1").hex())
