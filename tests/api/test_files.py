"""The ledger, the audit record and the incidents of a month, as files."""

import csv
import io
import json

import pytest

from opsapp.healing.resources import healing_of
from opsapp.healing.stages.case import About, RuleEvent, opened
from opsapp.lib.months import month_back, month_span
from opsapp.web import files
from tests.support.monitoring import DOWN, UP, Lookout

PLACES = {
    "audit": "/api/audit/file",
    "incidents": "/api/monitoring/incidents/file",
    "ledger": "/api/healing/ledger/file",
}


def rows_of(answer):
    return list(csv.DictReader(io.StringIO(answer.text)))


def month(service, back=0):
    return month_back(service.clock.now(), service.node.config.timezone, back)


def names_made(answer):
    """Of the monitors that the record says somebody has made."""
    return [json.loads(row["after"])["name"] for row in rows_of(answer) if row["action"] == "monitor.create"]


@pytest.mark.parametrize("name", sorted(PLACES))
def test_a_file_has_what_the_list_has(service, name):
    lookout = Lookout(service)
    lookout.watch_through((UP, 60), (DOWN, 120), (UP, 60), name="=1+1")
    listed = service.ada.get(f"{PLACES[name].removesuffix('/file')}?limit=1000").json
    asked = f"{PLACES[name]}?month={month(service)}"
    answer = service.ada.get(f"{asked}&format=json")
    assert json.loads(answer.text) == listed
    assert answer.headers["Content-Disposition"] == f'attachment; filename="{name}-{month(service)}.json"'
    rows = rows_of(service.ada.get(asked))
    assert [row["id"] for row in rows] == [str(row["id"]) for row in listed]
    assert rows_of(service.ada.get(PLACES[name])) == [], "nothing was in the last month"
    service.ada.get(f"{PLACES[name]}?month=2026", status=422)
    told = service.anonymous.get("/api/openapi.json").json["paths"][PLACES[name]]["get"]["responses"]["200"]
    assert told["content"].keys() == {"text/csv", "application/json"}
    service.anonymous.get(PLACES[name], status=401)


def test_cells_are_no_formulas_and_roles_are_those_of_the_lists(service):
    lookout = Lookout(service)
    lookout.watch_through((UP, 60), (DOWN, 120), name="=1+1")
    [row] = rows_of(service.vera.get(f"{PLACES['incidents']}?month={month(service)}"))
    assert row["monitor_name"] == "'=1+1"
    service.otto.get(PLACES["audit"], status=403)
    assert names_made(service.ada.get(f"{PLACES['audit']}?month={month(service)}")) == ["=1+1"]


def test_a_viewer_gets_masked_addresses(service):
    secret = {"name": "shop", "target": "https://user:pass@shop.example.org/?key=1", "severity": "warning"}
    service.otto.post_json("/api/monitoring/incidents", secret)
    asked = f"{PLACES['incidents']}?month={month(service)}&format=json"
    assert "pass" in service.otto.get(asked).text
    assert "pass" not in service.vera.get(asked).text


def test_a_file_is_read_in_pages_and_a_month_ends(service, monkeypatch):
    monkeypatch.setattr(files, "AT_ONCE", 3)
    for number in range(8):
        service.ada.post_json("/api/monitoring/endpoints", {"name": f"m{number}", "type": "push"})
    _, first = month_span(month(service), service.node.config.timezone)
    service.clock.advance(first - service.clock.now())
    service.tokens.clear()
    service.ada.post_json("/api/monitoring/endpoints", {"name": "of the next month", "type": "push"})
    assert names_made(service.ada.get(PLACES["audit"])) == [f"m{number}" for number in range(7, -1, -1)]
    until = service.ada.get(f"/api/audit?until={int(first)}&limit=1000")
    assert json.loads(service.ada.get(f"{PLACES['audit']}?format=json").text) == until.json
    assert until.headers["X-Total-Count"] == str(len(until.json))


def add_to_all(service, number):
    """An incident, an entry of the audit record, and one of the ledger."""
    service.clock.advance(1)
    trouble = {"name": f"trouble {number}", "target": "elsewhere", "severity": "warning"}
    service.otto.post_json("/api/monitoring/incidents", trouble)

    def observe(root):
        now = service.clock.now()
        about = About("alert", f"cpu_percent > {number}", "box-1", "warning", {}, "a1")
        record = opened(RuleEvent("busy", about, now))
        healing_of(root)["ledger"].end(root, record, rule_id="busy", outcome="observed", reason="", now=now, events=1)

    service.transact(observe)


@pytest.mark.parametrize("name", sorted(PLACES))
def test_what_comes_while_a_file_is_read_repeats_no_row_and_drops_none(service, monkeypatch, name):
    monkeypatch.setattr(files, "AT_ONCE", 3)
    for number in range(8):
        add_to_all(service, number)
    listed = service.ada.get(f"{PLACES[name].removesuffix('/file')}?limit=1000").json
    transact, added = service.node.transact, iter(range(100, 104))

    def and_one_more(fn, *values):
        answer = transact(fn, *values)
        if values and isinstance(values[0], files.FilePage) and (number := next(added, None)):
            add_to_all(service, number)
        return answer

    monkeypatch.setattr(service.node, "transact", and_one_more)
    rows = rows_of(service.ada.get(f"{PLACES[name]}?month={month(service)}"))
    assert [row["id"] for row in rows] == [str(row["id"]) for row in listed]
    assert next(added, None) is None


def test_pages_have_the_buttons(service):
    for page in ("/audit", "/incidents", "/healing/ledger"):
        form = service.browser("ada").get(page).forms["file"]
        answer = form.submit("format", value="json")
        assert json.loads(answer.text) == []
