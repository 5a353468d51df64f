"""Spans on their way: what is sent, and what is lost where the collector does not take it. Nothing waits for it."""

import pytest

from opsapp.automations.engine import request_run
from opsapp.lib.problems import Conflict
from opsapp.runtime.cluster import leases
from opsapp.tracing import resources as stored
from opsapp.tracing.config import TracingSettings
from opsapp.tracing.engine import collector, outboxspans, request_spans_of, requests
from opsapp.tracing.logic.ids import SpanPlace, span_of, trace_of
from opsapp.tracing.logic.spans import TraceSpan
from tests.support.hosts import place
from tests.support.process import free_port
from tests.support.scraping import scraped
from tests.support.traces import TraceCollector

OURS = SpanPlace(trace_of("request", "r"), span_of("request", "r"))
CALLER = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


class Tracing:
    """Both steps of a service's only node, which has the lease."""

    def __init__(self, node):
        self.node = node
        self.collector = collector.collector_of(node)
        self.from_outbox = outboxspans.OutboxSpans(node, self.collector)
        self.requests = request_spans_of(node)
        node.leases.want(outboxspans.LEASE)
        node.leases.step()

    def to(self, url, **more):
        settings = TracingSettings(endpoint=url, **more)
        self.node.config = self.node.config.having(settings)
        self.from_outbox.step()  # from here on
        return self

    def run(self):
        while self.from_outbox.step() or self.requests.step():
            pass
        return self

    def again(self):
        """After the longest pause."""
        self.node.clock.advance(collector.LONGEST_PAUSE_S + 1)
        return self.run()

    @property
    def counts(self):
        return {"sent": self.collector.sent, "dropped": self.collector.dropped}


@pytest.fixture
def here(service):
    return Tracing(service.node)


@pytest.fixture
def receiver():
    with TraceCollector() as receiver:
        yield receiver


def url(receiver):
    return receiver.config["endpoint"]


def asked(service, name="deploy"):
    """A run that a person has asked for; its id. It waits: nobody carries it out here."""
    body = {"name": name, "type": "script", "params": {"script": "true"}}
    made = service.ada.post_json("/api/automations", body).json["id"]
    return service.ada.post_json(f"/api/automations/{made}/run").json["run_id"]


def cancelled(service, *run_ids):
    for run_id in run_ids:
        service.ada.post_json(f"/api/automations/runs/{run_id}/cancel")


def names(receiver):
    return [span.name for span in receiver.spans]


def test_without_a_collector_nothing_is_made_kept_or_looked_for(here, service):
    cancelled(service, asked(service))
    here.run()
    assert not here.requests._waiting
    assert not here.node.transact(here.from_outbox.anything, 0.0)
    assert here.node.transact(stored.read_so_far) is None
    assert here.counts == {"sent": 0, "dropped": 0}


def test_a_collector_that_is_taken_out_leaves_nothing(here, service, receiver):
    here.to(url(receiver))
    assert here.node.transact(stored.read_so_far) is not None
    service.ada.get("/api/me")
    here.to(None).run()
    assert not here.requests._waiting
    assert here.node.transact(stored.read_so_far) is None
    assert receiver.asked == 0


def test_what_was_before_the_collector_is_not_sent(here, service, receiver):
    cancelled(service, asked(service, "before"))
    here.to(url(receiver))
    cancelled(service, asked(service, "after"))
    here.run()
    assert [name for name in names(receiver) if name.startswith("run")] == ["run after"]
    assert receiver.paths[0] == "/v1/traces"
    assert receiver.headers["Content-Type"] == "application/x-protobuf"


def test_only_the_request_that_asked_begins_the_trace_of_the_run(here, service, receiver):
    here.to(url(receiver))
    run_id = asked(service)
    cancelled(service, run_id)
    here.run()
    spans = receiver.of(trace_of("run", run_id).hex())
    assert {span.name for span in spans} == {"POST /api/automations/{automation_id}/run", "run deploy"}
    [other] = receiver.named("POST /api/automations/runs/{run_id}/cancel")
    assert other.trace == trace_of("request", other.facts["opsapp.request.id"]).hex()


def test_a_run_that_nobody_asked_for_is_the_first_of_its_trace(here, service, receiver):
    here.to(url(receiver))
    automation_id = service.ada.post_json(
        "/api/automations", {"name": "nightly", "type": "script", "params": {"script": "true"}}
    ).json["id"]

    def begin(root):
        now = here.node.clock.now()
        return request_run(root, now, automation_id, inputs={}, by="schedule", origin="schedule")["run_id"]

    cancelled(service, here.node.transact(begin))
    here.run()
    [span] = receiver.named("run nightly")
    assert (span.parent, span.failed) == ("", "cancelled")


@pytest.mark.parametrize(
    ("given", "trace", "parent"),
    [(CALLER, CALLER[3:35], CALLER[36:52]), ("00-" + "0" * 32 + CALLER[35:], None, ""), ("nonsense", None, "")],
)
def test_a_request_is_part_of_its_callers_trace(here, service, receiver, given, trace, parent):
    here.to(url(receiver))
    service.ada.get("/api/me", headers={"traceparent": given})
    here.run()
    [span] = receiver.named("GET /api/me")
    own = trace_of("request", span.facts["opsapp.request.id"]).hex()
    assert (span.trace, span.parent) == (trace or own, parent)


def test_a_strangers_trace_is_not_taken_up(here, service, receiver):
    here.to(url(receiver))
    service.anonymous.get("/api/me", headers={"traceparent": CALLER}, status=401)
    here.run()
    [span] = receiver.spans
    assert (span.trace != CALLER[3:35], span.parent) == (True, "")


def test_who_has_a_trace_and_asks_for_a_run_has_both_linked(here, service, receiver):
    here.to(url(receiver))
    made = service.ada.post_json("/api/automations", {"name": "x", "type": "script", "params": {"script": "true"}})
    run = service.ada.post_json(f"/api/automations/{made.json['id']}/run", headers={"traceparent": CALLER})
    run_id = run.json["run_id"]
    here.run()
    within, first = receiver.named("POST /api/automations/{automation_id}/run")
    assert (within.trace, first.trace) == (CALLER[3:35], trace_of("run", run_id).hex())
    assert (within.links, first.links) == (((first.trace, first.id),), ((within.trace, within.id),))


def test_a_share_of_requests_and_every_run(here, service, receiver):
    here.to(url(receiver), sample=0.0)
    service.ada.get("/api/me")
    service.ada.get("/api/me", headers={"traceparent": CALLER})
    service.ada.get("/api/me", headers={"traceparent": CALLER[:-1] + "0"})
    cancelled(service, asked(service))
    here.run()
    assert sorted(names(receiver)) == ["GET /api/me", "POST /api/automations/{automation_id}/run", "run deploy"]


def test_the_headers_are_secrets_and_are_seen_nowhere(here, service, receiver, caplog):
    service.ada.post_json("/api/secrets", {"name": "tempo", "value": "barley-and-hops"}, status=201)
    here.to(url(receiver), headers={"Authorization": "Basic {{secret:tempo}}", "X-Scope-OrgID": "team-rye"})
    service.ada.get("/api/me?token=in-a-query", headers={"X-Test": "in-a-header"})
    here.run()
    assert receiver.headers["Authorization"] == "Basic barley-and-hops"
    assert receiver.headers["X-Scope-OrgID"] == "team-rye"
    receiver.status = 401
    service.ada.get("/api/me")
    here.run()
    said = caplog.text + str(receiver.messages) + service.ada.get("/api/settings").text
    for secret in ("barley", "in-a-query", "in-a-header", "team-rye", service.tokens["ada"]):
        assert secret not in said


@pytest.mark.parametrize("status", [500, 503, 429])
def test_what_it_does_not_take_now_it_gets_later_and_once(here, service, receiver, status):
    here.to(url(receiver))
    receiver.status = status
    run_id = asked(service)
    cancelled(service, run_id)
    here.run()
    assert here.counts == {"sent": 0, "dropped": 0}
    receiver.status = 200
    here.again()
    assert sorted(names(receiver)).count("run deploy") == 1
    assert len({span.id for span in receiver.spans}) == len(receiver.spans)
    assert here.counts == {"sent": len(receiver.spans), "dropped": 0}
    assert scraped(service.vera).value("opsapp_trace_spans_total", result="sent") == len(receiver.spans)
    assert scraped(service.vera).value("opsapp_trace_export_failures_total") >= 1


@pytest.mark.parametrize("status", [400, 401, 413, 302])
def test_what_it_refuses_is_lost_and_counted(here, service, receiver, status):
    here.to(url(receiver))
    receiver.status = status
    service.ada.get("/api/me")
    cancelled(service, asked(service))
    here.run()
    asked_times = receiver.asked
    here.again()
    assert receiver.asked == asked_times, "not again, and not elsewhere"
    assert (here.counts["sent"], receiver.spans) == (0, [])
    assert here.counts["dropped"] >= 4


def test_one_that_hangs_or_never_ends_its_answer_costs_spans_and_no_work(here, service, receiver):
    here.to(url(receiver), timeout_s=0.2)
    receiver.open.clear()
    service.ada.get("/api/me")
    here.run()
    assert "no complete answer" in here.collector.problem
    receiver.open.set()
    receiver.answer = lambda message: b"x" * 3_000_000
    here.again()
    assert here.counts["sent"] >= 1


def test_one_that_is_not_there_or_must_not_be_asked(here, service):
    here.to(f"http://127.0.0.1:{free_port()}")
    service.ada.get("/api/me")
    here.run()
    assert (here.collector.failures, here.counts["sent"]) == (1, 0)
    here.to("http://169.254.169.254")
    here.again()
    assert "may not be reached" in here.collector.problem


def test_memory_is_bounded_while_nobody_takes_spans(here, receiver):
    here.to(url(receiver))
    receiver.status = 503
    for _ in range(requests.MOST + 10):
        here.requests.add(TraceSpan(OURS, "GET /", 1.0, 2.0, {"http.route": "x" * 10_000}))
    here.run()
    assert len(here.requests._waiting) == requests.MOST
    assert here.counts["dropped"] == 10
    assert sum(map(len, here.requests._waiting)) < requests.MOST * 400
    here.requests.add(TraceSpan(OURS, "GET /", 1.0, 2.0, {}))
    receiver.status = 200
    here.again()
    assert here.counts == {"sent": requests.MOST, "dropped": 11}


def test_what_waited_for_too_long_is_dropped(here, service, receiver):
    here.to(url(receiver))
    receiver.status = 503
    cancelled(service, asked(service, "old"))
    here.run()
    here.node.clock.advance(outboxspans.KEEP_S + 1)
    cancelled(service, asked(service, "new"))
    receiver.status = 200
    here.again()
    assert [name for name in names(receiver) if name.startswith("run")] == ["run new"]
    assert here.counts["dropped"] == 1


def test_a_node_without_the_lease_sends_nothing(here, service, receiver):
    here.to(url(receiver))
    cancelled(service, asked(service))
    here.node.transact(leases.release, here.node.owner, {outboxspans.LEASE})
    with pytest.raises(Conflict):
        here.from_outbox.step()
    assert receiver.asked == 0


DOWN = {"id": "down", "condition": "down == 1", "action": {"type": "clear_cache"}}
WIDE = {"max_heals_per_hour": {"fleet": 10_000, "site": 10_000, "rule": 10_000}, "max_unhealthy_percent": 100}


@pytest.mark.parametrize("count", [300, pytest.param(5000, marks=pytest.mark.nightly("minutes of cases"))])
def test_many_cases_at_once_are_each_a_trace_in_messages_that_a_collector_takes(ward, receiver, count):
    ward = ward(DOWN, places=[place(f"h{n}", f"a{n}") for n in range(count)], brake=WIDE)
    here, sizes = Tracing(ward.node), []
    here.to(url(receiver))
    receiver.answer = lambda message: sizes.append(len(message)) or b""
    for n in range(count):
        ward.report(f"agent:a{n}", down=1)
    while ward.engine.look() or ward.engine.work():
        pass
    ward.clock.advance(5)
    while ward.engine.look() or ward.engine.work():
        pass
    here.run()
    cases = receiver.named("heal down")
    assert len({span.trace for span in cases}) == len(cases) == count
    assert {span.facts["opsapp.heal.outcome"] for span in cases} == {"notified"}
    assert max(sizes) <= outboxspans.AT_ONCE


def test_pages_of_runs_and_cases_say_under_which_id_their_trace_is_found(ward, receiver):
    ward = ward(DOWN, places=[place("h1", "a1")], brake=WIDE)
    run_id = asked(ward.service)
    ward.report("agent:a1", down=1).turn()
    ward.turn(5)
    [case] = ward.cases
    pages = [
        (f"/automations/runs/{run_id}", trace_of("run", run_id).hex()),
        (f"/healing/cases/{case['id']}", trace_of("case", case["id"]).hex()),
    ]
    browser = ward.service.browser("ada")
    for path, trace in pages:
        assert trace not in browser.get(path).text
    Tracing(ward.node).to(url(receiver))
    for path, trace in pages:
        assert trace in browser.get(path).text
