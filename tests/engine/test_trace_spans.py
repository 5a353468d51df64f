"""Spans of what has no work of the service's behind it: a monitor that goes down, and what an agent healed alone."""

import pytest

from opsapp.monitoring.engine import changes
from opsapp.monitoring.logic.state import Standing
from opsapp.monitoring.resources import monitors_of
from opsapp.runtime.events import read_since
from opsapp.tracing.engine.eventspans import place_of_case, spans_of
from tests.engine.test_healing_edges import local

CAUSE = "connection refused"


def spans(node):
    """Of everything that was told so far."""

    def made(root):
        _, events = read_since(root, {})
        return [span for event in events for span in spans_of(root, event, {})]

    return node.transact(made)


def named(node, name):
    return [span for span in spans(node) if span.name == name]


def monitor(service, kind="http", **more):
    body = {"name": "Shop", "type": kind, "url": "http://shop.example/", **more}
    return service.ada.post_json("/api/monitoring/endpoints", body).json["id"]


def seen(service, monitor_id, status, cause=""):
    def verdict(root):
        now = service.clock.now()
        standing = Standing(status, int(now), cause, 0, status == "down")
        changes.settle(root, monitor_id, monitors_of(root)[monitor_id].revision, standing, now)

    service.clock.advance(60)
    service.transact(verdict)


def test_the_check_with_which_a_monitor_goes_down_is_a_span(service):
    shop = monitor(service)
    seen(service, shop, "up")
    assert not named(service.node, "check Shop")
    seen(service, shop, "down", CAUSE)
    seen(service, shop, "down", "HTTP 503")  # it goes on: history says the rest
    (span,) = named(service.node, "check Shop")
    assert (span.failed, span.facts["opsapp.monitor.id"], span.facts["opsapp.monitor.type"]) == (CAUSE, shop, "http")
    assert span.began == span.ended
    assert named(service.node, "check Shop") == [span]
    seen(service, shop, "up")
    seen(service, shop, "down", "HTTP 503")
    again = named(service.node, "check Shop")
    assert [each.failed for each in again] == [CAUSE, "HTTP 503"]
    assert len({each.place for each in again}) == 2


@pytest.mark.parametrize(
    ("kind", "more"), [("keyword", {"keyword": "barley"}), ("push", {"url": ""})], ids=["expected", "said"]
)
def test_what_is_expected_or_said_by_a_caller_is_in_no_span(service, kind, more):
    seen(service, monitor(service, kind, **more), "down", "barley is not on the page")
    (span,) = named(service.node, "check Shop")
    assert span.failed == "down"


def test_no_secret_is_in_a_reason(service):
    service.ada.post_json("/api/secrets", {"name": "pass", "value": "barley-and-hops"}, status=201)
    seen(service, monitor(service), "down", "redirected to http://shop.example/barley-and-hops")
    assert "barley" not in str(spans(service.node))


def test_a_monitor_that_is_gone_leaves_its_span_without_a_reason(service):
    shop = monitor(service)
    seen(service, shop, "down", CAUSE)
    service.ada.delete(f"/api/monitoring/endpoints/{shop}")
    (span,) = named(service.node, "check Shop")
    assert (span.failed, span.facts["opsapp.monitor.type"]) == ("down", None)


def test_a_heal_that_an_agent_did_alone_has_its_spans_when_and_where_it_was(ward):
    here = ward().turn()
    began = here.clock.now() - 60
    local(here, case_id="k1")
    (heal,) = named(here.node, "heal nginx")
    (step,) = [span for span in spans(here.node) if span.name.startswith("agent step 0")]
    assert (heal.began, heal.ended) == (step.began, step.ended) == (int(began), int(began) + 3.0)
    assert (step.host, step.parent, heal.place) == ("box-1", heal.place.span, place_of_case("k1"))
    assert heal.facts["opsapp.heal.alone"] is step.facts["opsapp.heal.alone"] is True
    assert heal.failed is None


def test_the_steps_of_a_lonely_heal_are_one_trace(ward):
    here = ward().turn()
    local(here, case_id="k1", outcome="failed", verified=0, escalated=True)
    here.clock.advance(30)
    local(here, case_id="k1", outcome_id="o2", escalation_step=1)
    (heal,) = named(here.node, "heal nginx")
    steps = [span for span in spans(here.node) if span.name.startswith("agent step")]
    assert [step.failed for step in steps] == ["failed", None]
    assert {step.parent for step in steps} == {heal.place.span}
    assert (heal.began, heal.ended) == (steps[0].began, steps[1].ended)
