"""On call for who is in a team: who is on call for what the team sees, and until when."""

import pytest

from tests.support.twohalves import member

ALL = "/api/oncall"


class Halves:
    def __init__(self, service):
        self.service = service
        for tag in ("shop", "bank"):
            body = {"name": f"{tag} site", "type": "http", "url": f"http://{tag}.example/", "tags": [tag]}
            service.ada.post_json("/api/monitoring/endpoints", body)
        service.otto.get("/api/me")
        service.vera.get("/api/me")
        self.lena = member(service, see=["shop"])

    def schedule(self, name, *users):
        layer = {"users": list(users), "start": "2055-01-11", "name": f"layer of {name}"}
        body = {"name": name, "zone": "UTC", "layers": [layer]}
        return self.service.ada.post_json(f"{ALL}/schedules", body).json["id"]

    def policy(self, name, *schedules, tags=()):
        body = {"name": name, "steps": [{"schedules": list(schedules)}], "tags": list(tags)}
        return self.service.ada.post_json(f"{ALL}/policies", body).json["id"]


@pytest.fixture
def halves(service):
    return Halves(service)


def names(client, path):
    return [row.get("name") or row["schedule"] for row in client.get(f"{ALL}/{path}").json]


def test_a_schedule_is_seen_by_who_sees_what_it_calls_for(halves):
    own, all_of_it, theirs, unused = (halves.schedule(name, "otto") for name in ("own", "all", "theirs", "unused"))
    ours = halves.policy("of shop", own, tags=["shop", "bank"])
    of_all, of_bank = halves.policy("of all", all_of_it), halves.policy("of bank", theirs, tags=["bank"])
    assert names(halves.lena, "schedules") == names(halves.lena, "now") == ["all", "own"]
    assert names(halves.lena, "policies") == ["of all", "of shop"]
    assert halves.lena.get(f"{ALL}/policies/{ours}").json["tags"] == ["shop"]
    assert halves.lena.get(f"{ALL}/policies").json[1]["tags"] == ["shop"]
    halves.lena.get(f"{ALL}/policies/{of_all}")
    halves.lena.get(f"{ALL}/policies/{of_bank}", status=404)
    for schedule_id, status in ((own, 200), (all_of_it, 200), (theirs, 404), (unused, 404)):
        halves.lena.get(f"{ALL}/schedules/{schedule_id}", status=status)
        halves.lena.get(f"{ALL}/schedules/{schedule_id}/shifts", status=status)


def test_a_policy_for_all_is_not_told_to_who_sees_no_monitor(halves):
    halves.policy("of all", halves.schedule("all", "otto"))
    assert names(member(halves.service, "nils", see=["nothing"]), "now") == []


def test_who_is_on_call_is_told_without_the_contacts_of_others(halves):
    halves.policy("of shop", halves.schedule("own", "otto"), halves.schedule("mine", "lena"), tags=["shop"])
    for name in ("otto", "lena"):
        channel = {"name": f"phone of {name}", "url": "json://127.0.0.1:9/x", "answers_as": name}
        halves.service.ada.post_json("/api/notifications/channels", channel)
    told = {row["now"]["user"]: row["channels"] for row in halves.lena.get(f"{ALL}/now").json}
    assert told == {"otto": [], "lena": ["phone of lena"]}
    page = halves.service.browser("lena").get("/oncall")
    assert "phone of otto" not in page.text
    assert "No channel answers" not in page.text
    assert "phone of lena" in page.text
    assert "Nobody was called yet" not in page.text, "calls are left out, and nobody knows whether there are some"


def test_the_header_names_who_is_on_call_for_what_is_seen(halves):
    halves.policy("of bank", halves.schedule("theirs", "vera"), tags=["bank"])
    browser = halves.service.browser("lena")
    assert "On call:" not in browser.get("/monitors").text
    halves.policy("of shop", halves.schedule("own", "otto"), tags=["shop"])
    assert "On call: otto</a>" in browser.get("/monitors").text
    assert "On call: otto, vera" in halves.service.browser("ada").get("/monitors").text


def test_nothing_of_it_is_changed_by_who_is_in_a_team(halves):
    schedule = halves.schedule("own", "otto")
    halves.policy("of shop", schedule, tags=["shop"])
    turn = {"user": "lena", "start": "2055-01-16T08:00:00", "end": "2055-01-16T12:00:00"}
    path = f"{ALL}/schedules/{schedule}"
    for ask in (
        lambda: halves.lena.post_json(f"{path}/overrides", turn, status=403),
        lambda: halves.lena.post(f"{path}/calendar", status=403),
        lambda: halves.lena.get(f"{ALL}/escalations", status=403),
    ):
        assert ask().json["code"] == "not_for_teams"
    page = halves.service.browser("lena").get(f"/oncall/schedules/{schedule}")
    assert "Add the override" not in page.text
    assert "New calendar address" not in page.text
