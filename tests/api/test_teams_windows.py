"""Maintenance windows for who is in a team: what they see of one, and over what they may have one."""

import pytest

from opsapp.tree.rights import Sight, TagsOfMany
from tests.support.loads import loads_of
from tests.support.twohalves import WINDOW, member

ALL = "/api/maintenance"


class Halves:
    """A monitor and a host of each tag, and lena, who may act on what has the tag shop, and see what has shared."""

    def __init__(self, service):
        self.service = service
        self.shop, self.bank, self.shared = (self.monitor(tag) for tag in ("shop", "bank", "shared"))
        self.host = service.ada.post_json("/api/agents", {"label": "till", "tags": ["shop"]}).json["agent_id"]
        rights = {"see": ["shared"], "act": ["shop"], "change": []}
        self.lena = member(service, **rights)

    def monitor(self, tag):
        body = {"name": tag, "type": "http", "url": f"http://{tag}.example/", "tags": [tag]}
        return self.service.ada.post_json("/api/monitoring/endpoints", body).json["id"]

    def window(self, *scope):
        return self.service.ada.post_json(ALL, WINDOW | {"scope": list(scope)}).json["id"]


@pytest.fixture
def halves(service):
    return Halves(service)


def test_a_window_is_seen_by_who_sees_something_that_it_covers_and_only_that_of_it(halves):
    seen = {
        halves.window(halves.shop, halves.bank): [halves.shop],
        halves.window(halves.bank, halves.shared): [halves.shared],
    }
    hidden, everything = halves.window(halves.bank), halves.window()
    rows = {row["id"]: row["scope"] for row in halves.lena.get(ALL).json}
    assert rows == seen | {everything: []}
    for window_id, scope in rows.items():
        assert halves.lena.get(f"{ALL}/{window_id}").json["scope"] == scope
    halves.lena.get(f"{ALL}/{hidden}", status=404)
    marks = {row["window_id"]: row["scope"] for row in halves.lena.get(f"{ALL}/calendar?since=2682374400").json}
    assert marks == rows
    assert halves.bank not in halves.lena.get(ALL).text


def test_a_window_is_planned_over_what_the_team_may_act_on_and_nothing_else(halves):
    for path in (ALL, f"{ALL}/preview"):
        for scope, why in (
            ([halves.bank], f"no such monitor or agent: {halves.bank}"),
            (["f" * 16], f"no such monitor or agent: {'f' * 16}"),
            ([halves.shop, halves.shared], f"your team may not act on these: {halves.shared}"),
            ([], "name what it covers: your team may not act on everything"),
        ):
            refused = halves.lena.post_json(path, WINDOW | {"scope": scope}, status=422)
            assert refused.json["fields"] == {"scope": why}
        left_out = halves.lena.post_json(path, WINDOW, status=422)
        assert set(left_out.json["fields"]) == {"scope"}
    made = halves.lena.post_json(ALL, WINDOW | {"scope": [halves.shop, halves.host]}).json
    assert (made["scope"], made["created_by"]) == ([halves.shop, halves.host], "lena")
    own = f"{ALL}/{made['id']}"
    assert "scope" in halves.lena.put_json(own, {"scope": []}, status=422).json["fields"]
    assert "scope" in halves.lena.put_json(own, {"scope": [halves.bank]}, status=422).json["fields"]
    assert halves.lena.put_json(own, {"name": "Later", "scope": [halves.shop]}).json["scope"] == [halves.shop]
    assert halves.lena.post(f"{own}/deactivate").json["active"] is False
    assert halves.lena.post(f"{own}/activate").json["active"] is True
    halves.lena.delete(own)
    halves.lena.get(own, status=404)


@pytest.mark.parametrize("of", ["both", "seen", "everything"])
def test_a_window_that_covers_more_is_not_in_the_teams_hands(halves, of):
    scope = {"both": (halves.shop, halves.bank), "seen": (halves.shop, halves.shared), "everything": ()}[of]
    path = f"{ALL}/{halves.window(*scope)}"
    for ask in (
        lambda: halves.lena.put_json(path, {"enabled": False}, status=403),
        lambda: halves.lena.put_json(path, {"scope": [halves.shop]}, status=403),
        lambda: halves.lena.post(f"{path}/activate", status=403),
        lambda: halves.lena.post(f"{path}/deactivate", status=403),
        lambda: halves.lena.delete(path, status=403),
    ):
        assert ask().json["code"] == "team_right_missing"
    assert halves.service.ada.get(path).json["enabled"]


def test_a_team_that_may_act_on_all_there_is_has_no_window_over_what_will_be(halves):
    path = f"{ALL}/{halves.window()}"
    anna = member(halves.service, "anna", act=["shop", "bank", "shared"])
    assert anna.get(path).json["scope"] == []
    assert anna.delete(path, status=403).json["code"] == "team_right_missing"
    assert "scope" in anna.post_json(ALL, WINDOW, status=422).json["fields"]


def test_what_a_window_covered_and_is_gone_keeps_it_in_the_teams_hands(halves):
    gone = halves.monitor("shop")
    path = f"{ALL}/{halves.window(halves.shop, gone)}"
    halves.service.ada.delete(f"/api/monitoring/endpoints/{gone}")
    assert halves.lena.get(path).json["scope"] == [halves.shop]
    assert halves.lena.put_json(path, {"name": "Later"}).json["scope"] == [halves.shop]
    only = f"{ALL}/{halves.window(halves.host)}"
    halves.service.ada.delete(f"/api/agents/{halves.host}")
    halves.lena.get(only, status=404)


def test_what_a_window_would_cover_is_counted_of_what_is_seen(halves):
    assert halves.lena.get(f"{ALL}/coverage").json["monitors"] == 2
    assert halves.lena.get(f"{ALL}/coverage?scope={halves.bank}").json["monitors"] == 0
    assert halves.lena.get(f"{ALL}/coverage?scope=bank&scope=shop&scope=till").json == {
        "monitors": 1, "monitors_down": 0, "hosts": 1, "hosts_down": 0, "down": [],
    }  # fmt: skip
    assert halves.service.ada.get(f"{ALL}/coverage").json["monitors"] == 3


def test_pages_plan_a_window_and_tell_of_no_other(halves):
    halves.window(halves.bank)
    browser = halves.service.browser("lena")
    page = browser.get("/maintenance")
    assert "Northern works" not in page.text
    assert "Pause healing for a target" not in page.text
    assert "/maintenance" in {link["href"] for link in page.html.select("nav a")}
    assert browser.get("/maintenance/new").html.find("button", string="Plan the window")
    own = halves.lena.post_json(ALL, WINDOW | {"scope": [halves.shop]}).json["id"]
    assert "No alert of shop is sent" in browser.get(f"/maintenance/{own}").text


def test_a_list_for_a_team_reads_no_more_than_for_others(halves, monkeypatch):
    for _ in range(30):
        halves.window(halves.shop, halves.bank)
    read = {}
    for who, client in (("lena", halves.lena), ("ada", halves.service.ada)):
        rows, read[who] = loads_of(halves.service, monkeypatch, client, ALL)
        assert len(rows) == 30
    assert read["lena"]["Window"] == read["ada"]["Window"] == 30
    assert read["lena"]["Monitor"] == read["lena"]["Agent"] == 0
    assert read["lena"].total() <= read["ada"].total() + 5  # the team


def test_what_is_about_several_things_is_reached_where_each_is():
    sight = Sight(frozenset("ab"), frozenset("a"), frozenset())
    for each, see, see_all, act in (
        ((), False, False, False),
        (("a", "b"), True, True, False),
        (("a", "c"), True, False, False),
        (("a", "a"), True, True, True),
        (("a", ""), True, False, False),
    ):
        assert sight.may("see", TagsOfMany(each)) is see
        assert sight.may("see", TagsOfMany(each, whole=True)) is see_all
        assert sight.may("act", TagsOfMany(each)) is act
