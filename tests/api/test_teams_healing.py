"""Healing and teams: entries and cases of what a member sees, without a word of what they do not."""

import json
from collections import Counter
from dataclasses import replace

import pytest

from opsapp.auth.resources import sight_for
from opsapp.healing.engine import memberviews, reach
from opsapp.healing.engine.casestory import story
from opsapp.healing.foretold import ForecastRecord
from opsapp.healing.logic.gates import gates
from opsapp.healing.resources import healing_of
from opsapp.healing.resources.cases import case_of
from opsapp.healing.resources.ledgerfilters import LedgerFilter
from opsapp.runtime.events import Event
from tests.engine.healing import Ward
from tests.support.estate import FAILED
from tests.support.hosts import place

LEDGER = "/api/healing/ledger"


@pytest.fixture
def ward(tmp_path, monkeypatch):
    monkeypatch.setenv("OPSAPP_ADMIN_PASSWORD", "first admin password")
    made = Ward(tmp_path)
    yield made
    made.close()


@pytest.fixture
def hosts(ward):
    """By tag, the id of a host that has it; on each of them nginx has failed, and people are asked."""
    ward.service.otto.get("/api/me")
    ada, known = ward.service.ada, {}
    for tag in ("shop", "bank"):
        known[tag] = ada.post_json("/api/agents", {"label": tag, "tags": [tag]}).json["agent_id"]
    ward.hosts.here = [place(tag, agent_id) for tag, agent_id in known.items()]
    ward.at("approve")
    for agent_id in known.values():
        ward.report(f"agent:{agent_id}", **FAILED)
    ward.turn().turn(6)
    return known


def team_of(service, **rights):
    return service.ada.post_json("/api/teams", {"name": "Shop", "members": ["otto"], **rights}).json["id"]


def write(ward, subject, reason="", outcome="notified", rule_id="nginx", target="web"):
    """An entry of the ledger, final at once."""

    def end(root):
        event = {"source": "alert", "rule_id": rule_id, "condition": "x", "target": target, "at": ward.clock.now()}
        case = case_of(event | ({"subject": subject} if subject else {}))
        healing = healing_of(root)
        return healing.ledger.end(
            root, case, rule_id=rule_id, outcome=outcome, reason=reason, now=ward.clock.now(), events=1
        ).id

    return ward.node.transact(end)


def test_a_member_sees_the_entries_and_cases_of_what_the_team_sees(ward, hosts):
    service, everything = ward.service, ward.service.ada.get(LEDGER).json
    team_of(service, see=["shop"])
    got = service.otto.get(LEDGER)
    assert [(row["target"], row["subject"]) for row in got.json] == [("shop/nginx", f"agent:{hosts['shop']}")]
    assert got.headers["X-Total-Count"] == "1"
    assert len(everything) == 2
    for row in everything:
        case = f"/api/healing/cases/{row['case_id']}"
        told = service.otto.get(case, status="*")
        assert told.status_int == (200 if row["target"] == "shop/nginx" else 404)
        assert service.otto.post(f"{case}/act-now", status="*").status_int == (
            403 if row["target"] == "shop/nginx" else 404
        )


def test_one_outage_of_both_is_one_request_that_needs_both(ward, hosts):
    """Its waves reach all of its targets, and its plan names them."""
    service = ward.service
    team_id = team_of(service, see=["shop"], approve=["shop"])
    assert service.otto.get("/api/approvals").json == []
    assert service.otto.get(LEDGER).json[0]["approval_id"] is None
    service.ada.put_json(f"/api/teams/{team_id}", {"see": ["bank"]})
    (asked,) = service.otto.get("/api/approvals").json
    assert asked["subjects"] == sorted(f"agent:{agent_id}" for agent_id in hosts.values())
    assert service.otto.get(LEDGER).json[0]["approval_id"] == asked["request_id"]
    approve = f"/api/approvals/{asked['request_id']}/approve"
    assert service.otto.post_json(approve, {}, status=403).json["code"] == "team_right_missing"
    service.ada.put_json(f"/api/teams/{team_id}", {"approve": ["shop", "bank"]})
    assert service.otto.post_json(approve, {}).json["status"] == "approved"


def test_a_case_is_told_by_its_gates_and_without_free_text(ward, hosts):
    service = ward.service
    team_of(service, see=["shop"])
    (row,) = service.otto.get(LEDGER).json
    told = service.otto.get(f"/api/healing/cases/{row['case_id']}").json
    assert {"level", "pre_flight", "approval"} <= {gate["gate"] for gate in told["gates"]}
    assert (told["why"], told["records"], told["wave"], told["state"]) == ([], [], None, "awaiting_approval")
    page = service.browser("otto").get(f"/healing/cases/{row['case_id']}")
    assert "What is done about" in page.text
    assert "Waits for a decision" in page.text


def test_words_that_name_others_are_left_out():
    free = "suppressed: the root cause zulu-db has failed"
    assert memberviews.reason_without_names(free) == ""
    assert memberviews.reason_without_names("worse: down holds on zulu-db") == "worse"
    assert memberviews.reason_without_names("protected: by window of zulu-db") == "protected"
    assert memberviews.reason_without_names("the condition still holds") == "the condition still holds"


def test_gates_keep_their_words_and_lose_what_may_name_others(ward, hosts):
    lines = (
        "event of rule nginx: held until 30 s from now",
        "correlated: plan, root cause is zulu-db",
        "level execute, effective approve",
        "approve instead of execute: error budget of zulu-db used up",
        "window of zulu-db: at most notify",
        "pre-flight blast_radius: failed zulu-db acts",
        "would nothing: protected: zulu-db",
        "not begun: host_offline: zulu-db",
        "failed, worse: x holds on zulu-db; rolling back",
        "step 0: failed, worse: x holds on zulu-db",
        "zulu-db is away: waiting for it",
        "cause port_taken: by zulu-db",
    )

    def told(root):
        healing = healing_of(root)
        case_id = next(iter(healing.book.cases))
        shown = story(healing, case_id, ward.node, operates=True, administers=False)
        return memberviews.case(replace(shown, gates=tuple(gates(lines)), why=lines), set(), lambda _id: False)

    narrowed = ward.service.read(told)
    assert "zulu" not in repr(narrowed)
    said = {gate.gate: (gate.subject, gate.detail) for gate in narrowed.gates}
    assert said["level"] == ("execute", "approve")
    assert said["not_begun"] == ("", "host_offline")
    assert said["outcome"] == ("failed", "worse")
    assert narrowed.agent_id is None


def test_a_name_that_others_bear_later_opens_nothing(ward, hosts):
    service = ward.service
    write(ward, "agent:gone", target="shop")
    write(ward, None, target="shop")
    team_of(service, see=["shop"])
    got = service.otto.get(LEDGER, {"target": "shop"})
    assert [row["target"] for row in got.json] == ["shop/nginx"]
    assert got.headers["X-Total-Count"] == "1"
    assert service.ada.get(LEDGER, {"target": "shop"}).headers["X-Total-Count"] == "3"


def test_filters_and_pages_count_what_is_seen(ward, hosts):
    service, own = ward.service, f"agent:{hosts['shop']}"
    for at in range(130):
        write(ward, own if at % 2 else f"agent:{hosts['bank']}", rule_id="nginx" if at % 3 else "other")
    team_of(service, see=["shop"])
    seen = [row for row in service.ada.get(LEDGER, {"limit": 1000}).json if row["subject"] == own]
    for asked in ({}, {"outcome": "notified"}, {"rule_id": "other"}, {"target": "web"}, {"within": "1h"},
                  {"rule_id": "nginx", "target": "web", "outcome": "notified"}):  # fmt: skip
        wanted = [row["id"] for row in seen if all(row[name] == value for name, value in asked.items()
                                                   if name != "within")]  # fmt: skip
        first = service.otto.get(LEDGER, {"limit": 20, **asked})
        rest = service.otto.get(LEDGER, {"limit": 1000, "offset": 20, **asked})
        assert [row["id"] for row in first.json + rest.json] == wanted, asked
        assert first.headers["X-Total-Count"] == str(len(wanted)), asked


def test_the_file_of_a_month_has_what_the_list_has(ward, hosts):
    service = ward.service
    write(ward, f"agent:{hosts['bank']}")
    write(ward, f"agent:{hosts['shop']}", reason="suppressed: zulu")
    team_of(service, see=["shop"])
    month = {"month": "2027-01"}
    rows = service.otto.get(f"{LEDGER}/file", {**month, "format": "json"}).json
    assert {row["subject"] for row in rows} <= {f"agent:{hosts['shop']}"}
    told = service.otto.get(f"{LEDGER}/file", month).text
    assert "bank" not in told
    assert "zulu" not in told


def test_an_event_of_a_heal_is_told_without_names_of_others(ward, hosts):
    write(ward, f"agent:{hosts['shop']}", reason="suppressed: zulu", outcome="suppressed")
    event = Event("1", "heal", ward.events("heal")[-1], 0.0)
    assert "zulu" in json.dumps(event.data)
    told = memberviews.event(event).data
    assert "zulu" not in json.dumps(told)
    assert told.keys() == event.data.keys()


def test_forecasts_are_of_hosts_that_are_seen(ward, hosts):
    row = {
        "metric": "disk.percent",
        "mount": "/",
        "now": 80,
        "threshold": 90,
        "hits_at": None,
        "low": None,
        "high": None,
    }

    def keep(root):
        for agent_id in hosts.values():
            healing_of(root).foresight.keep(agent_id, [ForecastRecord(agent_id=agent_id, **row)])

    ward.node.transact(keep)
    team_of(ward.service, see=["shop"])
    asked = ward.service.otto.get("/api/healing/forecasts")
    assert [told["agent_id"] for told in asked.json] == [hosts["shop"]]
    assert asked.headers["X-Total-Count"] == "1"
    assert ward.service.otto.get("/api/healing/forecasts", {"agent_id": hosts["bank"]}).json == []
    assert len(ward.service.ada.get("/api/healing/forecasts").json) == 2
    page = ward.service.browser("otto").get("/healing/forecasts")
    assert hosts["shop"] in page.text
    assert hosts["bank"] not in page.text


def test_the_menu_leads_to_the_first_page_of_healing_that_is_open(ward, hosts):
    team_of(ward.service, see=["shop"])
    menu = ward.service.browser("otto").get("/monitors").html.select("nav a[href^='/healing']")
    assert {link["href"] for link in menu} >= {"/healing/rules"}
    page = ward.service.browser("otto").get("/healing/ledger")
    assert {"/healing/rules", "/healing/ledger", "/healing/forecasts"} <= {
        link["href"] for link in page.html.select("a[href^='/healing']")
    }


def test_rules_that_name_others_are_not_there_and_those_that_hold_everywhere_are(ward, hosts):
    service, ada = ward.service, ward.service.ada
    team_of(service, see=["shop"], act=["shop"], change=["shop"])
    for name in ("frost", "shop-2"):
        agent = ada.post_json("/api/agents", {"label": name, "tags": ["shop" if name == "shop-2" else "bank"]}).json
        report, headers = {"hostname": name, "os": "Debian 12"}, {"X-Agent-Key": agent["key"]}
        service.anonymous.post_json(f"/api/agents/{agent['agent_id']}/report", report, headers=headers)
    monitor = ada.post_json(
        "/api/monitoring/endpoints", {"name": "web", "type": "http", "url": "http://w.example/", "tags": ["shop"]}
    ).json["id"]
    action = {"type": "temp_cleanup"}
    given = {
        "own-tag": ({"agents": ["tag:shop"]}, action),
        "own-host": ({"agents": ["shop-2"], "monitors": [monitor]}, action),
        "other-tag": ({"agents": ["tag:bank"]}, action),
        "other-host": ({"agents": ["frost"]}, action),
        "both": ({"agents": ["shop-2", "frost"]}, action),
        "acts-elsewhere": ({"agents": ["shop-2"]}, {**action, "target": "frost"}),
        "of-nobody": ({"agents": ["gone"]}, action),
        "nowhere": ({"agents": []}, action),
        "everywhere": (None, action),
    }
    for rule_id, (targets, does) in given.items():
        body = {"id": rule_id, "condition": "cpu_percent > 90", "targets": targets, "action": does}
        ada.post_json("/api/healing/rules", {**body, "description": "as zulu-db has it"})
    got = service.otto.get("/api/healing/rules")
    assert [row["id"] for row in got.json] == ["everywhere", "nginx", "own-host", "own-tag"]
    assert got.headers["X-Total-Count"] == "4"
    assert "zulu" not in got.text
    assert service.otto.get("/api/healing/rules", {"q": "zulu"}).json == []
    for rule_id in given:
        told = service.otto.get(f"/api/healing/rules/{rule_id}", status="*")
        assert told.status_int == (200 if rule_id in ("everywhere", "own-host", "own-tag") else 404), rule_id
        assert "zulu" not in told.text
        answer = service.otto.put_json(f"/api/healing/rules/{rule_id}", {"enabled": False}, status="*")
        assert answer.status_int == (403 if told.status_int == 200 else 404), "rules are for admins"
    past = int(ward.clock.now())
    for path in ("/api/healing/rules", "/api/healing/rules/everywhere"):
        assert service.otto.get(path, {"as_of": past}, status=403).json["code"] == "not_for_teams"


def test_what_counts_everything_stays_refused(ward, hosts):
    team_of(ward.service, see=["shop"])
    for path in ("/api/healing/health", "/api/healing/effectiveness?action_type=run&condition=x"):
        assert ward.service.otto.get(path, status=403).json["code"] == "not_for_teams"


def test_the_figures_of_a_rule_are_there_where_they_count_only_what_the_team_sees(ward, hosts):
    service, ada = ward.service, ward.service.ada
    team_of(service, see=["shop"])
    given = {
        "own": ({"agents": ["tag:shop"]}, None),
        "others": ({"agents": ["tag:bank"]}, None),
        "both": ({"agents": ["tag:shop", "tag:bank"]}, None),
        "everywhere": (None, None),
        "acts-here": (None, hosts["shop"]),
    }
    for rule_id, (targets, target) in given.items():
        action = {"type": "temp_cleanup", **({"target": target} if target else {})}
        ada.post_json(
            "/api/healing/rules", {"id": rule_id, "condition": "cpu_percent > 90", "targets": targets, "action": action}
        )
    got = service.otto.get("/api/healing/trust")
    assert [row["rule_id"] for row in got.json] == ["own"]
    assert got.headers["X-Total-Count"] == "1"
    past = {"as_of": int(ward.clock.now())}
    assert service.otto.get("/api/healing/trust", past, status=403).json["code"] == "not_for_teams"
    for rule_id in (*given, "no-such"):
        for path in ("lift", "wait"):
            told = service.otto.get(f"/api/healing/{path}", {"rule_id": rule_id}, status="*")
            assert told.status_int == (200 if rule_id == "own" else 404), (path, rule_id)


def test_a_member_is_lent_no_failures_of_others(ward, hosts):
    service, ada = ward.service, ward.service.ada
    body = {"condition": "cpu_percent > 90", "action": {"type": "temp_cleanup"}}
    for rule_id, tag in (("own", "shop"), ("other", "bank")):
        ada.post_json("/api/healing/rules", {"id": rule_id, "targets": {"agents": [f"tag:{tag}"]}, **body})

    def fail_elsewhere(root):
        healing = healing_of(root)
        durations = healing.trials.durations_of("other", healing.trust["other"].trust.definition)
        for _ in range(5):
            durations.lasted(60.0, True)

    ward.node.transact(fail_elsewhere)
    team_of(service, see=["shop"])
    asked = {"rule_id": "own"}
    assert ada.get("/api/healing/wait", asked).json["borrowed"] == 5
    told = service.otto.get("/api/healing/wait", asked).json
    assert (told["borrowed"], told["borrowed_from"], told["curve"]) == (0, None, [])


def test_the_overview_of_a_member_is_of_what_the_team_sees(ward, hosts):
    service, ada = ward.service, ward.service.ada
    for tag in ("shop", "bank"):
        agent = ada.post_json("/api/agents", {"label": f"{tag}-silent", "tags": [tag]}).json
        report, headers = {"hostname": f"{tag}-silent", "os": "Debian 12"}, {"X-Agent-Key": agent["key"]}
        service.anonymous.post_json(f"/api/agents/{agent['agent_id']}/report", report, headers=headers)
        url = f"http://{tag}.example/"
        ada.post_json("/api/monitoring/endpoints", {"name": f"{tag}-web", "type": "http", "url": url, "tags": [tag]})
    ada.post_json("/api/monitoring/incidents", {"name": "bank by hand"})
    ada.post_json("/api/healing/pause", {"reason": "bank works"})
    team_of(service, see=["shop"])
    service.clock.advance(120)
    everything, told = ada.get("/api/overview").json, service.otto.get("/api/overview").json
    assert (everything["monitors"]["total"], told["monitors"]["total"]) == (2, 1)
    assert (everything["agents"]["total"], told["agents"]["total"]) == (4, 2)
    assert (everything["cases_total"], told["cases_total"]) == (2, 1)
    assert [case["target"] for case in told["cases"]] == ["shop/nginx"]
    assert everything["cases"][0]["approval_id"] is not None
    assert told["cases"][0]["approval_id"] is None, "it is asked for both hosts at once"
    assert (told["holds"], told["wrong"]["events"], told["wrong"]["alerts"]) == ([], 0, 0)
    assert {trouble["name"] for trouble in everything["troubles"]} >= {"shop-silent", "bank-silent", "bank by hand"}
    assert [trouble["name"] for trouble in told["troubles"]] == ["shop-silent"]
    assert "bank" in json.dumps(everything)
    assert "bank" not in json.dumps(told)


def test_a_member_hears_whether_the_ledger_is_whole(ward, hosts):
    service, shop, bank = ward.service, f"agent:{hosts['shop']}", f"agent:{hosts['bank']}"
    team_of(service, see=["shop"])
    assert service.otto.get(f"{LEDGER}/last-check").json == {"checked_at": None, "verdict": None}
    for subject in (shop, bank, bank):
        write(ward, subject)
    own = int(service.otto.get(LEDGER).headers["X-Total-Count"])
    expected = {"valid": True, "entries": own, "first_bad": None}
    assert service.otto.get(f"{LEDGER}/verify").json.items() >= expected.items()
    assert service.ada.get(f"{LEDGER}/verify").json["entries"] > own

    def edit(root):
        entries = healing_of(root).ledger.entries
        entry = next(row for row in entries.values() if row.fields["outcome"] == "notified")
        entry.fields = {**entry.fields, "reason": "zulu"}

    ward.node.transact(edit)
    assert service.ada.get(f"{LEDGER}/verify").json["first_bad"] is not None
    for told in (service.otto.get(f"{LEDGER}/verify").json, service.otto.get(f"{LEDGER}/last-check").json["verdict"]):
        assert (told["valid"], told["entries"], told["first_bad"]) == (False, own, None)
        assert {"reason", "folded"}.isdisjoint(name for name, value in told.items() if value)


def test_of_the_entries_only_a_page_is_read(ward, hosts):
    own, other = f"agent:{hosts['shop']}", f"agent:{hosts['bank']}"

    def fill(root):
        ledger = healing_of(root).ledger
        for at in range(2000):
            event = {"source": "alert", "rule_id": "nginx", "condition": "x", "target": "web", "at": 1.0,
                     "subject": own if at % 10 == 0 else other}  # fmt: skip
            ledger.end(root, case_of(event), rule_id="nginx", outcome="observed", reason="", now=1.0, events=1)

    ward.node.transact(fill)
    team_of(ward.service, see=["shop"])

    def read(root, only):
        subjects = reach.seen_subjects(root, sight_for(root, "otto"))
        root._p_jar.cacheMinimize()
        total, rows = healing_of(root).ledger.page(None, None, 50, 0, only, subjects)
        return total, len(rows), Counter(type(thing).__name__ for _, thing in root._p_jar._cache.lru_items())

    for only in (LedgerFilter(), LedgerFilter(outcome="observed")):
        total, rows, loaded = ward.service.read(lambda root, only=only: read(root, only))
        assert (rows, loaded["LedgerEntry"]) == (50, 52), "the page, and the two that are under way"
        assert total == 200 + (only.outcome is None)


def test_what_is_purged_leaves_the_index(ward, hosts):
    entry_id, subject = write(ward, f"agent:{hosts['shop']}"), f"agent:{hosts['shop']}"

    def drop(root):
        ledger = healing_of(root).ledger
        ledger.unindex(ledger.record(entry_id))
        return ledger.page(None, None, 10, 0, subjects={subject})[0]

    assert ward.node.transact(drop) == 1
