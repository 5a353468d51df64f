"""Deployments for who is in a team: which they see, under which names, and about what they may post one."""

import pytest

from opsapp.healing.deployments import Deployment, DeploymentSettings, deployments_of
from opsapp.healing.engine import deployments
from tests.support.loads import loads_of
from tests.support.twohalves import member

from .test_agents import Polling

ALL = "/api/deployments"
MANY = 3000
NO_HOST = ", or more than one; a host counts from its first report"


class Halves:
    """A monitor and a host of each tag, and lena, who may act on what has the tag shop, and sees what has shared."""

    def __init__(self, service):
        self.service = service
        service.clock.advance(60)
        for tag in ("shop", "bank", "shared"):
            body = {"name": f"{tag} site", "type": "http", "url": f"http://{tag}.example/", "tags": [tag, "web"]}
            service.ada.post_json("/api/monitoring/endpoints", body)
            Polling(service, f"{tag}-1", tags=[tag]).report(hostname=f"{tag}-1")
        self.lena = member(service, see=["shared"], act=["shop"])

    def post(self, title, **named):
        """A second after the one before, so that lists have an order."""
        self.service.clock.advance(1)
        return self.service.ada.post_json(ALL, {"title": title, **named}).json["id"]


@pytest.fixture
def halves(service):
    return Halves(service)


def test_those_about_something_that_is_seen_are_told_with_the_names_that_are_seen(halves):
    bank = halves.post("bank 1", hosts=["bank-1"], monitors=["bank site"])
    halves.post("of a tag", hosts=["tag:bank"])
    both = halves.post("both", hosts=["shop-1", "bank-1", "tag:bank"], monitors=["bank site", "shared site", "tag:web"])
    halves.service.clock.advance(10)
    halves.post("all")
    rows = halves.lena.get(ALL)
    told = {row["title"]: (row["hosts"], row["monitors"]) for row in rows.json}
    assert told == {"all": ([], []), "both": (["shop-1"], ["shared site", "tag:web"])}
    assert rows.headers["X-Total-Count"] == "2"
    assert [row["title"] for row in halves.lena.get(f"{ALL}?limit=1&offset=1").json] == ["both"]
    assert halves.lena.get(f"{ALL}/{both}").json == rows.json[1]
    halves.lena.get(f"{ALL}/{bank}", status=404)


def test_one_is_posted_about_what_the_team_may_act_on_and_nothing_else(halves):
    for named, why in (
        ({"hosts": ["bank-1"]}, "there is no host called bank-1" + NO_HOST),
        ({"hosts": ["tag:bank"]}, "there is no host called tag:bank" + NO_HOST),
        ({"hosts": ["tag:none"]}, "there is no host called tag:none" + NO_HOST),
        ({"monitors": ["shop site", "shared site"]}, "your team may not act on these: shared site"),
        ({"monitors": ["tag:web"]}, "your team may not act on these: tag:web"),
        ({}, "name hosts or monitors: your team may not act on everything"),
    ):
        fields = halves.lena.post_json(ALL, {"title": "x", **named}, status=422).json["fields"]
        assert list(fields.values()) == [why]
    own = halves.lena.post_json(ALL, {"title": "mine", "hosts": ["tag:shop"], "monitors": ["shop site"]}).json["id"]
    assert halves.service.ada.get(f"{ALL}/{own}").json["created_by"] == "lena"
    halves.lena.delete(f"{ALL}/{own}")
    halves.lena.get(f"{ALL}/{own}", status=404)


@pytest.mark.parametrize("named", [{}, {"monitors": ["tag:web"]}, {"hosts": ["shop-1", "shared-1"]}])
def test_one_about_more_is_not_in_the_teams_hands(halves, named):
    path = f"{ALL}/{halves.post('more', **named)}"
    assert halves.lena.delete(path, status=403).json["code"] == "team_right_missing"


def test_what_it_was_about_and_is_gone_shows_it_to_nobody(halves):
    path = f"{ALL}/{halves.post('gone', monitors=['shop site'])}"
    halves.lena.get(path)
    (row,) = halves.service.ada.get("/api/monitoring/endpoints?q=shop").json
    halves.service.ada.delete(f"/api/monitoring/endpoints/{row['id']}")
    halves.lena.get(path, status=404)
    assert halves.lena.get(ALL).json == []


def test_it_is_a_mark_on_the_axis_of_what_is_seen(halves):
    halves.post("both", hosts=["shop-1", "bank-1"])
    window = {"name": "Works", "start": "2055-01-15T00:00:00", "end": "2055-01-16T00:00:00"}
    halves.service.ada.post_json("/api/maintenance", window)
    held = {"target": "all", "duration": "2h", "reason": "held for the bank", "action": "queue"}
    halves.service.ada.post_json("/api/healing/maintenance", held)
    (host,) = halves.lena.get("/api/agents?q=shop").json
    for name, target in (("restart", {"agent_id": host["id"]}), ("of all", {"tag": "bank"})):
        automation = {"name": name, "type": "agent_command", "params": {"command": "true", **target}}
        made = halves.service.ada.post_json("/api/automations", automation).json["id"]
        halves.service.ada.post(f"/api/automations/{made}/run")
    halves.service.clock.advance(10)
    marks = halves.lena.get(f"/api/moment?kind=hosts&id={host['id']}").json["marks"]
    assert sorted(mark["words"] for mark in marks) == [
        "Deployed: both, told by ada",
        "Maintenance: Works",
        "restart, running, asked for by ada",
    ]


def test_the_page_posts_one(halves):
    halves.post("bank 1", hosts=["bank-1"])
    page = halves.service.browser("lena").get("/deployments")
    assert "bank 1" not in page.text
    assert page.html.find("button", string="Post a deployment")
    assert "/deployments" in {link["href"] for link in page.html.select("a")}


def test_a_list_for_a_team_looks_into_a_bounded_number(halves, monkeypatch):
    monkeypatch.setattr(deployments, "LOOKED_AT", 500)

    def fill(root):
        deployments, now = deployments_of(root), halves.service.clock.now()
        for number in range(MANY):
            about = frozenset(("host-tag:shop" if number % 2 else "host-tag:bank",))
            deployments.add(Deployment(DeploymentSettings(f"d{number}", at=int(now - number)), about, "ada", now))

    halves.service.transact(fill)
    rows, loaded = loads_of(halves.service, monkeypatch, halves.lena, f"{ALL}?limit=20")
    assert len(rows) == 20
    assert loaded["Deployment"] == 500
    assert loaded.total() < 500 + 200
    assert loaded["Monitor"] == loaded["Agent"] == 0
