"""Teams: what each right lets its holder do, what changes at once, and what keeps a team from widening anything."""

import pytest

from opsapp.auth import resources as auth
from opsapp.auth.resources import teams
from opsapp.runtime.events import SESSION_ENDED, read_since

from .test_rooms import form, press

SEE, ACT, CHANGE = ({"see": ["shop"]}, {"act": ["shop"]}, {"change": ["shop"]})


@pytest.fixture
def monitors(service):
    """One with the tag shop, one with bank."""
    return [
        service.otto.post_json(
            "/api/monitoring/endpoints", {"name": tag, "type": "http", "url": f"http://{tag}.example/", "tags": [tag]}
        ).json["id"]
        for tag in ("shop", "bank")
    ]


def team_of(service, *members, **rights):
    return service.ada.post_json("/api/teams", {"name": "Shop", "members": list(members), **rights}).json["id"]


def names_seen(client):
    return [row["name"] for row in client.get("/api/monitoring/endpoints").json]


def test_who_is_in_no_team_has_the_rights_of_the_role(service, monitors):
    service.otto.get("/api/me")
    service.vera.get("/api/me")
    team_of(service, "vera", **SEE)
    assert names_seen(service.otto) == ["bank", "shop"]
    assert names_seen(service.vera) == ["shop"]


@pytest.mark.parametrize("path", ["/nonsense", "/agents/0000", "/users"])
def test_the_menu_of_an_error_leads_who_is_in_a_team_only_where_they_may_go(service, monitors, path):
    service.vera.get("/api/me")
    team_of(service, "vera", **SEE)
    browser = service.browser("vera")

    def menu_of(page):
        return [link["href"] for link in page.html.select(".side nav a")]

    refused = menu_of(browser.get(path, status="4*"))
    assert refused == menu_of(browser.get("/monitors"))
    assert "/healing" not in refused


def test_an_admin_is_not_limited_by_a_team(service, monitors):
    team_of(service, "ada", **SEE)
    assert names_seen(service.ada) == ["bank", "shop"]


@pytest.mark.parametrize(
    ("rights", "checks", "changes"), [(SEE, False, False), (ACT, True, False), (CHANGE, False, True)]
)
def test_a_right_of_the_team_is_needed_beside_the_role(service, monitors, rights, checks, changes):
    service.otto.get("/api/me")
    team_of(service, "otto", **rights)
    shop = f"/api/monitoring/endpoints/{monitors[0]}"
    assert names_seen(service.otto) == ["shop"]  # who may act or change sees it
    answers = [
        service.otto.put_json(shop, {"description": "x"}, status="*"),
        service.otto.post(f"{shop}/check", status="*"),
    ]
    assert [answer.status_int != 403 for answer in answers] == [changes, checks]
    assert {answer.json["code"] for answer in answers if answer.status_int == 403} <= {"team_right_missing"}


def test_the_role_is_needed_beside_the_right(service, monitors):
    service.vera.get("/api/me")
    team_of(service, "vera", **CHANGE)
    refused = service.vera.put_json(f"/api/monitoring/endpoints/{monitors[0]}", {"description": "x"}, status=403)
    assert refused.json["code"] == "role_too_low"


@pytest.mark.parametrize("tags", [["bank", "shop"], ["bank"], []])
def test_tags_that_the_team_may_not_change_are_neither_given_nor_taken(service, monitors, tags):
    service.otto.get("/api/me")
    team_of(service, "otto", **CHANGE)
    shop = f"/api/monitoring/endpoints/{monitors[0]}"
    assert "tags" in service.otto.put_json(shop, {"tags": tags}, status=422).json["fields"]
    body = {"name": "new", "type": "http", "url": "http://new.example/"}
    assert (
        "tags" in service.otto.post_json("/api/monitoring/endpoints", body | {"tags": tags}, status=422).json["fields"]
    )
    service.otto.post_json("/api/monitoring/endpoints", body | {"tags": ["shop"]}, status=201)


def test_a_host_keeps_the_tags_that_the_team_may_not_change(service):
    host = service.ada.post_json("/api/agents", {"label": "box", "tags": ["shop", "bank"]}).json["agent_id"]
    service.otto.get("/api/me")
    team_of(service, "otto", **CHANGE)
    assert "tags" in service.otto.put_json(f"/api/agents/{host}", {"tags": ["shop"]}, status=422).json["fields"]
    service.otto.put_json(f"/api/agents/{host}", {"label": "box 2", "tags": ["shop", "bank"]})
    service.otto.post_json(f"/api/agents/{host}/commands", {"type": "shell", "params": {"command": "true"}}, status=403)


def test_hosts_that_are_not_seen_are_left_out_of_a_monitor_and_kept_in_it(service):
    ours, theirs = (
        service.ada.post_json("/api/agents", {"label": tag, "tags": [tag]}).json["agent_id"] for tag in ("shop", "bank")
    )
    body = {"name": "site", "type": "http", "url": "http://s.example/", "tags": ["shop"], "probe_from": [theirs, ours]}
    path = "/api/monitoring/endpoints/" + service.ada.post_json("/api/monitoring/endpoints", body).json["id"]
    service.otto.get("/api/me")
    team_of(service, "otto", **CHANGE)
    assert service.otto.get(path).json["probe_from"] == [ours]
    assert service.otto.get("/api/monitoring/endpoints").json[0]["probe_from"] == [ours]
    service.otto.put_json(path, {"probe_from": [ours], "description": "x"})
    assert set(service.ada.get(path).json["probe_from"]) == {ours, theirs}


def test_a_change_of_a_team_holds_at_once_and_ends_what_is_open(service, monitors):
    service.otto.get("/api/me")
    team_id = team_of(service, "otto", **SEE)
    session = service.read(lambda root: next(iter(auth.users_of(root)["otto"].sessions)))
    before, _ = service.read(lambda root: read_since(root, {}))
    service.ada.put_json(f"/api/teams/{team_id}", {"see": ["bank"]})
    assert names_seen(service.otto) == ["bank"]
    _, told = service.read(lambda root: read_since(root, before))
    assert {"session_id": session, "stays": True} in [event.data for event in told if event.kind == SESSION_ENDED]


def test_several_teams_add_up(service, monitors):
    service.otto.get("/api/me")
    team_of(service, "otto", **SEE)
    service.ada.post_json("/api/teams", {"name": "Bank", "members": ["otto"], "act": ["bank"]})
    assert names_seen(service.otto) == ["bank", "shop"]


def test_a_team_with_members_is_not_deleted(service, monitors):
    service.otto.get("/api/me")
    team_id = team_of(service, "otto", **SEE)
    assert service.ada.delete(f"/api/teams/{team_id}", status=409).json["code"] == "team_has_members"
    service.ada.put_json(f"/api/teams/{team_id}", {"members": []})
    assert names_seen(service.otto) == ["bank", "shop"]
    service.ada.delete(f"/api/teams/{team_id}")
    assert service.ada.get("/api/teams").json == []


def test_who_gets_the_name_of_a_deleted_user_is_in_no_team(service):
    service.otto.get("/api/me")
    team_id = team_of(service, "otto", **SEE)
    service.ada.delete("/api/users/otto")
    assert service.ada.get(f"/api/teams/{team_id}").json["members"] == []
    assert service.read(lambda root: teams.sight_for(root, "otto")) is None


def test_a_team_that_cannot_be_read_gives_nothing(service, monitors):
    """Its members stay limited: to what their other teams see, or to nothing."""
    service.otto.get("/api/me")
    team_id = team_of(service, "otto", **SEE)

    def damage(root):
        teams.teams_of(root)[team_id].said = None

    service.transact(damage)
    assert service.read(lambda root: teams.is_limited(root, "otto"))
    assert service.otto.get("/api/monitoring/endpoints", status="*").status_int in (200, 500)
    assert "bank" not in service.otto.get("/api/monitoring/endpoints", status="*").text


def test_members_exist_and_names_are_single(service):
    assert (
        "members"
        in service.ada.post_json("/api/teams", {"name": "A", "members": ["nobody"]}, status=422).json["fields"]
    )
    service.ada.post_json("/api/teams", {"name": "A"})
    assert service.ada.post_json("/api/teams", {"name": "a"}, status=409).json["code"] == "team_exists"


def test_teams_are_a_kind_of_document(service):
    service.otto.get("/api/me")
    document = {"teams": [{"name": "Shop", "members": ["otto"], "see": ["shop"], "act": ["shop"]}]}
    service.ada.post_json("/api/apply", {"document": document})
    assert service.ada.get("/api/export").json["teams"] == [
        {
            "name": "Shop",
            "members": ["otto"],
            "groups": [],
            "see": ["shop"],
            "act": ["shop"],
            "change": [],
            "approve": [],
        }
    ]
    assert service.ada.post_json("/api/apply", {"document": document, "dry_run": True}).json["changes"] == []
    assert service.read(lambda root: teams.sight_for(root, "otto")).act == {"shop"}


def test_teams_are_for_admins_and_written_down(service):
    service.otto.get("/api/teams", status=403)
    service.otto.get("/api/me")
    team_id = team_of(service, "otto", **SEE)
    entry = service.ada.get("/api/audit", {"action": "team.create"}).json[0]
    assert (entry["target"], entry["after"]["members"]) == (team_id, ["otto"])


def test_the_page_sets_every_right_and_a_change_of_one_keeps_the_others(service):
    service.client("otto")
    ada = service.browser("ada")
    press(ada.get("/teams"), "create", name="Shop", members="otto", see="bank", **{"act-value": "shop, web"})
    made = service.ada.get("/api/teams").json[0]
    assert (made["members"], made["see"], made["act"]) == (["otto"], ["bank"], ["shop", "web"])
    page = ada.get("/teams")
    assert form(page, "teams.change")["name"].value == "Shop", "a browser asks for it"
    press(page, "teams.change", change="shop")
    changed = service.ada.get("/api/teams").json[0]
    assert changed == made | {"change": ["shop"]}
    press(ada.get("/teams"), "teams.change", **{"act-value": ""})
    assert service.ada.get("/api/teams").json[0]["act"] == []


def test_the_form_of_a_change_keeps_the_groups(service):
    """A DN has commas."""
    groups = ["cn=shop,ou=groups,dc=example,dc=org", "shop people"]
    team_id = team_of(service, groups=groups, **SEE)
    page = service.browser("ada").get("/teams")
    change = form(page, "teams.change")
    change["name"] = "Shops"
    change.submit(status=303)
    changed = service.ada.get(f"/api/teams/{team_id}").json
    assert (changed["name"], changed["groups"]) == ("Shops", groups)
