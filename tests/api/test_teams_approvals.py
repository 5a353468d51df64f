"""Requests for approval and teams: who sees one, who decides, and by which way."""

from collections import Counter

import pytest

from opsapp.approvals import resources as approvals
from opsapp.approvals.reach import seen_by
from opsapp.approvals.records import NewRequest
from opsapp.approvals.resources import approvals_of
from opsapp.auth.resources import sight_for
from opsapp.auth.resources import teams as stored

REQUESTS = "/api/approvals"
BOTH, SHOP, BANK = ("shop", "bank"), ("shop",), ("bank",)


@pytest.fixture
def hosts(service):
    """By tag, the subject of a host that has it."""
    service.otto.get("/api/me")
    known = {}
    for tag in BOTH:
        agent = service.ada.post_json("/api/agents", {"label": tag, "tags": [tag]}).json
        report, headers = {"hostname": tag, "os": "Debian 12"}, {"X-Agent-Key": agent["key"]}
        service.anonymous.post_json(f"/api/agents/{agent['agent_id']}/report", report, headers=headers)
        known[tag] = f"agent:{agent['agent_id']}"
    return known


def team_of(service, **rights):
    return service.ada.post_json("/api/teams", {"name": "Shop", "members": ["otto"], **rights}).json["id"]


def asked(service, *subjects, now=None):
    def ask(root):
        plan = {"rule_id": "nginx", "condition": "x", "action": "restart_service", "host": None}
        return approvals.request(
            root,
            NewRequest(
                kind="heal",
                subject="web",
                plan=plan,
                reason="nginx: x (budget of bank-shop used up)",
                risk="low",
                requested_by="healing",
                expiry_s=3600,
                about={"case_id": "c1"},
                subjects=subjects,
            ),
            service.clock.now() if now is None else now,
        ).__name__

    return service.transact(ask)


def code(answer):
    return answer.status_int, answer.json.get("code", "")


def test_a_member_sees_a_request_all_of_whose_things_the_team_sees(service, hosts):
    own, other = (asked(service, hosts[tag]) for tag in BOTH)
    both, unknown = asked(service, *hosts.values()), asked(service)
    gone = asked(service, hosts["shop"], "agent:gone")
    team_of(service, see=["shop"])
    rows = service.otto.get(REQUESTS)
    assert [row["request_id"] for row in rows.json] == [own]
    assert rows.headers["X-Total-Count"] == "1"
    assert service.otto.get(f"{REQUESTS}/{own}").json["subjects"] == [hosts["shop"]]
    for hidden in (other, both, unknown, gone, "0" * 16):
        for answer in (
            service.otto.get(f"{REQUESTS}/{hidden}", status="*"),
            service.otto.post_json(f"{REQUESTS}/{hidden}/approve", {}, status="*"),
        ):
            assert code(answer) == (404, "not_found")
    assert len(service.ada.get(REQUESTS).json) == 5


def test_a_member_is_told_nothing_of_others_in_a_request(service, hosts):
    own = asked(service, hosts["shop"])
    team_of(service, approve=["shop"])
    told = service.otto.get(f"{REQUESTS}/{own}").json
    assert (told["reason"], told["record"]) == ("nginx: x", None)
    assert service.ada.get(f"{REQUESTS}/{own}").json["record"] == {"total": 0, "helped": 0}


@pytest.mark.parametrize("act", ["approve", "reject"])
def test_a_member_decides_where_each_thing_may_be_approved(service, hosts, act):
    both = asked(service, *hosts.values())
    team_id = team_of(service, see=["shop", "bank"], act=["shop", "bank"], change=["bank"], approve=["shop"])
    told = service.otto.get(f"{REQUESTS}/{both}").json
    assert told["refusal"] == "Your team may not approve here."
    assert code(service.otto.post_json(f"{REQUESTS}/{both}/{act}", {}, status="*")) == (403, "team_right_missing")
    service.ada.put_json(f"/api/teams/{team_id}", {"approve": ["shop", "bank"]})
    assert service.otto.get(f"{REQUESTS}/{both}").json["refusal"] is None
    answer = service.otto.post_json(f"{REQUESTS}/{both}/{act}", {}, status="*")
    # the case behind it is not there, which is looked at after the rights
    assert code(answer) in ((200, ""), (409, "withdrawn"))


def test_the_role_is_needed_beside_the_right(service, hosts):
    own = asked(service, hosts["shop"])
    service.vera.get("/api/me")
    service.ada.post_json("/api/teams", {"name": "Shop", "members": ["vera"], "approve": ["shop"]})
    assert code(service.vera.post_json(f"{REQUESTS}/{own}/approve", {}, status="*"))[0] == 403


def test_the_header_counts_what_a_member_may_decide(service, hosts):
    for subjects in ([hosts["shop"]], [hosts["shop"]], [hosts["bank"]], [*hosts.values()]):
        asked(service, *subjects)
    team_id = team_of(service, see=["shop", "bank"], approve=["shop"])
    page = service.browser("otto").get("/approvals")
    assert "2 decisions are yours." in page.text
    assert "2 requests wait for somebody else." in page.text
    service.ada.put_json(f"/api/teams/{team_id}", {"approve": []})
    assert "No decision waits for you." in service.browser("otto").get("/approvals").text


def test_a_run_on_hosts_is_about_these_and_one_elsewhere_is_about_nothing_known(service, hosts):
    on_host = {"type": "agent_command", "params": {"command": "true", "agent_id": hosts["shop"].partition(":")[2]}}
    here = {"type": "webhook", "params": {"url": "http://127.0.0.1:9/"}}
    wanted = {}
    for name, settings in (("on host", on_host), ("here", here)):
        body = {"name": name, "requires_approval": True, **settings}
        made = service.ada.post_json("/api/automations", body).json["id"]
        wanted[name] = service.ada.post(f"/api/automations/{made}/run").json["request_id"]
    team_of(service, see=["shop"])
    assert [row["request_id"] for row in service.otto.get(REQUESTS).json] == [wanted["on host"]]
    assert service.ada.get(f"{REQUESTS}/{wanted['here']}").json["subjects"] == []


def test_no_request_is_read_for_a_list_but_those_that_it_shows(service, hosts):
    for at in range(300):
        asked(service, hosts["shop" if at % 100 == 0 else "bank"], now=service.clock.now() - 3600 + at)
    team_of(service, see=["shop"])

    def read(root):
        seen = seen_by(root, sight_for(root, "otto"))
        root._p_jar.cacheMinimize()
        found = approvals_of(root).page("pending", "newest", 50, 0, seen)
        return found, Counter(type(subject).__name__ for _, subject in root._p_jar._cache.lru_items())

    (ids, count), loaded = service.read(read)
    assert (len(ids), count) == (3, 3)
    assert (loaded["Approvals"], loaded["Approval"]) == (1, 0)
    assert sum(loaded.values()) < 60, "leaves of the two trees, of fifteen keys or more, and what is above them"


def test_a_store_of_an_older_version_has_teams_without_the_right(service, hosts):
    team_id = team_of(service, see=["shop"])

    def older(root):
        team = stored.teams_of(root)[team_id]
        team.said = {name: value for name, value in team.said.items() if name != "approve"}
        stored.give_approve(root)
        return sight_for(root, "otto")

    sight = service.transact(older)
    assert (sight.approve, sight.see) == (frozenset(), {"shop"})
    assert service.ada.get("/api/teams").json[0]["approve"] == []
