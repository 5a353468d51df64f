"""Who is in a team hears nothing of what the team does not see: by no list, count, page, search, stream or refusal.

The routes come from the API document and the table of pages: a new one is asked here without being named. What a team
sees is made first, and everything is asked; then the other half is made, and everything is asked again.
"""

import json
from functools import cache
from pathlib import Path

import pytest

import opsapp
from opsapp.auth.resources.teams import sight_for
from opsapp.runtime.events import read_since
from opsapp.tree.rights import RIGHTS
from opsapp.web.openapi import endpoints
from opsapp.web.sight import OPEN, passes, told
from tests.engine.healing import Ward
from tests.support.monitoring import Lookout
from tests.support.twohalves import (
    HELD,
    OTHER_TAG,
    SEARCHED,
    TEAM_TAG,
    UNKNOWN,
    Walk,
    json_of,
    known_ids,
    member,
    naming_words,
    other_half,
    own_half,
    public_gets,
    routes,
    streams,
)

LISTS = tuple(f"/api/{name}" for name in ("monitoring/endpoints", "monitoring/endpoints/tags", "monitoring/incidents",
                                          "agents", "agents/figures", "agents/tags"))  # fmt: skip


class World:
    """Both halves, and what lena, who is in the team of the first one, was told before and after the second."""

    def __init__(self, ward):
        self.ward, self.service = ward, ward.service
        lookout = Lookout(self.service)
        self.half = own_half(ward, lookout)
        self.lena = member(self.service)
        self.browser = self.service.browser("lena")
        half = self.half
        self.own_ids = (
            {"monitor_id": half.up, "agent_id": half.host, "incident_id": half.incident, "any": half.up},
            {"monitor_id": half.down, "any": half.down},
            {"any": half.host},
            {"any": half.incident},
            {"window_id": half.window, "id": half.window},
            {"request_id": half.request, "any": half.request},
            {"deployment_id": half.deployment},
            {"schedule_id": half.schedule, "any": half.schedule},
            {"policy_id": half.policy, "any": half.policy},
            {"case_id": half.case, "any": half.case},
            {"rule_id": "own-rule", "source": "own-rule", "any": "own-rule"},
            {"rule_id": "again", "source": "again", "any": "again"},
            {"automation_id": half.automation, "any": half.automation},
            {"run_id": half.run, "any": half.run},
        )
        self.before = self.walked().all(*self.own_ids)
        other_half(ward)
        self.foreign = self.known_to_all_but_lena()
        self.words = self.foreign_words()
        self.after = self.walked().all(*self.own_ids)

    def walked(self):
        return Walk(self.service, self.lena, self.browser)

    def known_to_all_but_lena(self):
        own, found, told = {*self.half, "lena"}, [], self.before.text
        for ids in known_ids(self.service.ada, routes(self.service)):
            (value,) = ids.values()
            if value not in own and value not in told and ids not in found:
                found.append(ids)
        return found

    def foreign_words(self):
        """Each id, name, tag and address that an admin is told, and lena was not while there was only her half."""
        told = Walk(self.service, self.service.ada, self.service.browser("ada")).all(*self.foreign)
        words = {word for answer in told.answers.values() for word in naming_words(json_of(answer))}
        own = self.before.text + self.static_text()
        return {word for word in words if word not in own}

    @staticmethod
    @cache
    def static_text():
        """The service's own words: what pages say whatever there is."""
        ui = Path(opsapp.__file__).parent / "ui"
        return "\n".join(path.read_text() for path in [*ui.glob("templates/*.jinja2"), *ui.glob("shapes/*.py")])


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPSAPP_ADMIN_PASSWORD", "first admin password")
        ward = Ward(tmp_path_factory.mktemp("halves"))
    try:
        yield World(ward)
    finally:
        ward.close()


def leaks(world, answers):
    return {path: found for path, text in answers.items() if (found := sorted(w for w in world.words if w in text))}


def test_the_other_half_is_there(world):
    """Else nothing below says anything."""
    assert {"zulu-shop", "zulu-host", OTHER_TAG, "box-1", "Shop"} <= world.words
    assert len(world.words) > 40
    assert len({name for ids in world.foreign for name in ids}) >= 12
    assert world.lena.get("/api/monitoring/endpoints").json[0]["name"] == "polaris"


def test_no_answer_and_no_page_names_anything_of_it(world):
    assert leaks(world, {path: answer.text for path, answer in world.after.answers.items()}) == {}


def test_no_choice_of_a_query_tells_of_it(world):
    """Every state, kind, order and moment that a list may be asked for."""
    asked = sorted(world.after.asked_otherwise)
    assert len(asked) > 60
    texts = {path: world.lena.get(path, expect_errors=True).text for path in asked}
    assert leaks(world, texts) == {}


def test_what_everybody_may_ask_tells_no_more_than_it_tells_everybody(world):
    """With the past, which a person who is signed in sees whole."""
    rows = world.service.ada.get("/api/monitoring/endpoints?q=shop").json
    shop = next(row["id"] for row in rows if row["name"] == "Shop")
    before = int(world.service.clock.now())
    world.service.clock.advance(5)
    world.service.ada.put_json(f"/api/monitoring/endpoints/{shop}", {"tags": ["web"]})
    world.service.clock.advance(5)
    texts = {}
    for route in public_gets(world.service):
        for query in ("", f"as_of={before}"):
            theirs, everybodys = (
                client.get(f"{route.path}?{query}", expect_errors=True)
                for client in (world.lena, world.service.anonymous)
            )
            texts[f"{route.path}?{query}"] = theirs.body.decode("utf-8", "replace")
            assert theirs.status_int == everybodys.status_int, route
            assert theirs.status_int != 200 or theirs.body == everybodys.body, route
    assert "Shop" not in texts[f"/api/monitoring/status-page?as_of={before}"]


def test_what_was_deleted_is_not_named(world):
    kept = [row["id"] for row in world.service.ada.get("/api/deleted").json]
    assert kept
    for deletion_id in kept:
        page = world.browser.get("/monitors", {"undo": deletion_id})
        assert "zulu" not in page.text
        assert world.lena.post(f"/api/deleted/{deletion_id}/undo", expect_errors=True).status_int == 404


def test_no_count_and_no_status_changes_with_it(world):
    def shape(walk):
        return {path: (answer.status, answer.total) for path, answer in walk.answers.items()}

    assert shape(world.after) == shape(world.before)
    assert not [path for path, answer in world.after.answers.items() if answer.status >= 500]


def test_what_is_hers_is_shown(world):
    shown = {path for path, answer in world.after.answers.items() if answer.status == 200}
    half = world.half
    monitor, host = f"/api/monitoring/endpoints/{half.up}", f"/api/agents/{half.host}"
    lists = (
        "/api/monitoring/endpoints",
        "/api/agents",
        "/api/monitoring/incidents",
        "/api/monitoring/report",
        "/api/me",
    )
    things = (
        f"/api/approvals/{half.request}",
        monitor,
        host,
        f"/api/monitoring/incidents/{half.incident}/war-room",
        f"{monitor}/uptime",
    )
    pages = ("/monitors", f"/monitors/{half.up}", f"/monitors/{half.up}/edit", "/agents", f"/agents/{half.host}")
    windows = ("/api/maintenance", "/api/maintenance/calendar", "/maintenance", f"/maintenance/{half.window}")
    deployments = ("/api/deployments", f"/api/deployments/{half.deployment}", "/deployments")
    schedule, policy = f"oncall/schedules/{half.schedule}", f"oncall/policies/{half.policy}"
    on_call = (
        *("/api/oncall/now", "/api/oncall/schedules", "/api/oncall/policies", "/oncall", f"/{schedule}", f"/{policy}"),
        *(f"/api/{schedule}", f"/api/{schedule}/shifts", f"/api/{policy}"),
    )
    automation, run = f"automations/{half.automation}", f"automations/runs/{half.run}"
    acting = (
        *("/api/automations", "/api/automations/runs", "/automations", f"/{automation}", f"/{run}"),
        *(f"/api/{automation}", f"/api/{automation}/runs", f"/api/{run}"),
    )
    more = (
        *acting,
        *windows,
        *on_call,
        *deployments,
        "/approvals",
        f"/approvals/{half.request}",
        "/incidents",
        "/api/monitoring/incidents/file",
        f"/incidents/{half.incident}",
        "/settings",
        "/find?q=frost",
        "/find?q=zulu",
    )
    healed = (
        "/api/healing/ledger",
        "/api/healing/ledger/file",
        "/healing/ledger",
        f"/api/healing/cases/{half.case}",
        f"/healing/cases/{half.case}",
        "/api/healing/forecasts",
        "/healing/forecasts",
        "/healing/rules",
        "/healing/rules/own-rule",
        "/api/healing/rules/again",
    )
    for path in (*lists, *things, *pages, *more, *healed):
        assert path in shown, path


def test_pages_say_that_something_may_be_left_out(world):
    """An empty list of heals or rules would say that there are none."""
    for path in (f"/agents/{world.half.host}", f"/monitors/{world.half.up}", f"/incidents/{world.half.incident}"):
        assert "what it does not see is left out here" in world.after.answers[path].text, path
    assert "what it does not see" not in world.service.browser("ada").get("/monitors").text


def test_things_of_it_answer_as_what_does_not_exist(world):
    """By every method, also where a role would be too low, and before any body is looked at."""
    wrong = {}
    for route in routes(world.service):
        of_nothing = ask(world.lena, route.method, route.filled({})) if HELD.search(route.path) else None
        for ids in world.foreign:
            if not ids.keys() & set(HELD.findall(route.path)):
                continue
            (value,) = ids.values()
            answers = ask(world.lena, route.method, route.filled(ids)), of_nothing
            theirs, unknown = ((answer.status_int, answer.text.replace(value, UNKNOWN)) for answer in answers)
            if theirs != unknown or theirs[0] != 404:
                wrong[f"{route.method} {route.filled(ids)}"] = theirs, unknown
    assert wrong == {}


def test_no_method_of_it_is_told(world):
    for ids in world.foreign:
        ((name, value),) = ids.items()
        below = {route.path for route in routes(world.service) if route.path.endswith("{" + name + "}")}
        for path in below:
            for extra in ("", "/nothing", "/nothing/at/all"):
                assert ask(world.lena, "PATCH", HELD.sub(value, path) + extra).status_int == 404, path


def ask(client, method, path):
    body = b'{"no view knows this key": 1}' if method in ("POST", "PUT", "PATCH") else b""
    return client.request(
        path, method=method, headers={"Content-Type": "application/json"}, body=body, expect_errors=True
    )


def test_no_write_that_names_it_is_taken(world):
    """What has no id in its path is refused, or says of a thing of the other half what it says of none."""
    texts = {}
    for route in routes(world.service):
        if route.method != "GET" and "{" not in route.path:
            answer = ask(world.lena, route.method, route.path)
            texts[f"{route.method} {route.path}"] = answer.text
            assert answer.status_int in (403, 422, 404, 400), route
    assert leaks(world, texts) == {}


def test_a_monitor_may_not_look_from_a_host_of_it(world):
    hosts = [ids["agent_id"] for ids in world.foreign if "agent_id" in ids]
    for path in ("/api/monitoring/endpoints", "/api/monitoring/endpoints/check"):
        for settings in (
            lambda host: {"type": "agent", "url": f"agent://{host}"},
            lambda host: {"type": "http", "url": "http://x.example/", "probe_from": [host]},
        ):
            told = []
            for host in (hosts[0], UNKNOWN):
                body = {"name": "spy", "tags": [TEAM_TAG]} | settings(host)
                answer = world.lena.post_json(path, body, expect_errors=True)
                told.append((answer.status_int, answer.text.replace(host, UNKNOWN)))
            assert told[0] == told[1]
            assert told[0][0] == 422


def test_a_search_finds_nothing_of_it(world):
    assert f"/agents/{world.half.host}" in world.after.answers["/find?q=frost"].text
    for word in SEARCHED[:-1]:
        assert world.after.answers[f"/find?q={word}"].text.count("/monitors/") == 0
        for path in LISTS:
            got = world.lena.get(path, {"q": word})
            assert (got.json, got.headers["X-Total-Count"]) == ([], "0"), path


def test_lists_that_are_asked_for_it_are_empty(world):
    for ids in world.foreign:
        ((name, value),) = ids.items()
        if name in ("monitor_id", "agent_id"):
            path = "/api/monitoring/endpoints" if name == "monitor_id" else "/api/agents"
            got = world.lena.get(path, {"ids": value})
            assert (got.json, got.headers["X-Total-Count"]) == ([], "0")
        if name == "monitor_id":
            got = world.lena.get("/api/monitoring/incidents", {"monitor_id": value})
            assert (got.json, got.headers["X-Total-Count"]) == ([], "0")


def test_the_past_is_not_shown(world):
    at = int(world.service.clock.now())
    assert world.lena.get("/api/monitoring/endpoints", {"as_of": at}, status=403).json["code"] == "not_for_teams"
    own = f"/api/monitoring/endpoints/{world.half.up}"
    assert world.lena.get(own, {"as_of": at}, status=403).json["code"] == "not_for_teams"


def test_streams_of_it_are_not_there(world):
    for route in streams(world.service):
        for ids in world.foreign:
            if ids.keys() & set(HELD.findall(route.path)):
                assert world.lena.get(route.filled(ids), expect_errors=True).status_int == 404, route


def test_no_event_tells_of_it(world):
    """Of all that was told since the service began, lena hears what is about her half."""
    service, sight = world.service, sight_of(world)
    events = service.read(lambda root: read_since(root, {})[1])
    public = [event for event in events if not event.kind.startswith("_")]
    heard = [event for event in public if passes(service.app.registry, service.node, sight, event)]
    assert 0 < len(heard) < len(public)
    sent = [event._replace(text=json.dumps(event.data)) for event in heard]  # as the hub makes it
    texts = {str(number): told(service.app.registry, service.node, sight, event) for number, event in enumerate(sent)}
    assert None not in texts.values()
    assert leaks(world, texts) == {}
    # a run is told of once it was sent to hosts: here none was
    assert {event.kind for event in heard} == {"monitor", "incident", "agent", "approval", "heal", "maintenance"}


def sight_of(world):
    return world.service.read(lambda root: sight_for(root, "lena"))


def test_a_key_is_limited_as_its_user(world):
    token = world.lena.post_json("/api/keys", {"name": "script", "role": "operator"}).json["key"]
    asked = world.service.anonymous.get("/api/monitoring/endpoints", headers={"Authorization": f"Bearer {token}"})
    assert {row["name"] for row in asked.json} == {"polaris", "vega"}


def test_every_view_says_a_word_that_is_known(world):
    said = {view.options.get("teams") for view in endpoints(world.service.app.registry)} - {None}
    assert {*RIGHTS, "filtered", "own"} <= said <= set(OPEN)


def test_the_door_for_assistants_is_shut(world):
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    token = world.lena.post_json("/api/keys", {"name": "helper", "role": "viewer", "assistant": True}).json["key"]
    headers = {"Authorization": f"Bearer {token}", "Accept": "application/json, text/event-stream"}
    for client, more in ((world.lena, {"Accept": headers["Accept"]}), (world.service.anonymous, headers)):
        assert client.post_json("/api/mcp", call, headers=more, expect_errors=True).status_int == 403
