"""What a client says and the server cannot do is an error: names of a query, and If-Match."""

from urllib.parse import parse_qsl

import pytest

from opsapp.ui.pickers import KINDS
from opsapp.ui.plan import PAGES
from opsapp.web import openapi

MONITORS = "/api/monitoring/endpoints"
SHOP = {"name": "Shop", "url": "https://shop.example.org/", "type": "http"}


@pytest.mark.parametrize("path", [MONITORS, "/api/agents", "/api/healing/ledger", "/api/automations/runs"])
@pytest.mark.shared
def test_a_misspelt_filter_does_not_give_the_whole_list(service, path):
    answer = service.ada.get(path + "?statsu=down&limit=1", status=422).json
    assert (answer["code"], answer["fields"]) == ("invalid", {"statsu": "is not known here"})


@pytest.mark.parametrize(
    ("query", "name"),
    [("limit=1&limit=5", "limit"), ("limit=none&q=shop&limit=5", "limit"), ("status=up&status=down", "status")],
)
@pytest.mark.shared
def test_a_second_value_is_not_dropped_silently(service, query, name):
    answer = service.vera.get(f"{MONITORS}?{query}", status=422).json
    assert answer["fields"] == {name: "is given more than once"}


@pytest.mark.shared
def test_what_takes_several_values_takes_them(service):
    agents = [service.ada.post_json("/api/agents", {"label": "web"}, status=201).json["agent_id"] for _ in range(3)]
    answer = service.vera.get(f"/api/agents?ids={agents[0]}&ids={agents[2]}").json
    assert {row["id"] for row in answer} == {agents[0], agents[2]}


@pytest.mark.shared
def test_all_that_is_wrong_with_a_query_is_told_at_once(service):
    answer = service.vera.get(MONITORS + "?colour=red&limit=none", status=422).json
    assert set(answer["fields"]) == {"colour", "limit"}


def test_the_token_is_known_to_every_query(service):
    service.vera  # noqa: B018 - signs in
    assert service.anonymous.get(f"{MONITORS}?limit=1&token={service.tokens['vera']}").json == []


def known_queries(service):
    return {
        endpoint.path: {child.name for child in endpoint.options["query"]().children}
        for endpoint in openapi.endpoints(service.app.registry)
        if endpoint.method == "GET" and endpoint.options.get("query")
    }


@pytest.mark.shared
def test_pages_ask_the_api_only_what_it_knows(service):
    known, unknown = known_queries(service), set()
    parts = [part for page in PAGES for part in page.parts]
    for part in parts:
        source, _, query = part.source.partition("?")
        names = {name for name, _ in parse_qsl(query, keep_blank_values=True)} | {field.name for field in part.filters}
        names |= {"limit", "offset"} if part.paged else set()
        unknown |= {(source, name) for name in names if source in known and name not in known[source]}
    assert unknown == set()


@pytest.mark.shared
def test_every_list_that_is_picked_from_takes_what_is_typed(service):
    known = known_queries(service)
    assert {kind for kind, pickable in KINDS.items() if not {"q", "limit", "offset"} <= known[pickable.source]} == set()


@pytest.mark.parametrize(
    ("method", "body"), [("PUT", '{"name": "Till"}'), ("PUT", "not json"), ("DELETE", ""), ("POST", "{}")]
)
@pytest.mark.shared
def test_a_change_under_a_condition_that_nobody_checks_is_refused(service, method, body):
    place = MONITORS + "/" + service.otto.post_json(MONITORS, SHOP, status=201).json["id"]
    before = service.vera.get(place)
    path = place + ("/check" if method == "POST" else "")
    headers = {"If-Match": before.headers["ETag"], "Content-Type": "application/json"}
    refused = service.ada.request(path, method=method, body=body.encode(), headers=headers, status=412).json
    assert refused["code"] == "if_match_not_supported"
    assert service.vera.get(place).json == before.json


@pytest.mark.shared
def test_whoever_may_not_change_it_is_told_that_first(service):
    place = MONITORS + "/" + service.otto.post_json(MONITORS, SHOP, status=201).json["id"]
    headers = {"If-Match": '"1"'}
    service.vera.put_json(place, {"name": "Till"}, headers=headers, status=403)
    service.anonymous.put_json(place, {"name": "Till"}, headers=headers, status=401)


@pytest.mark.shared
def test_if_match_of_anything_is_a_change_of_what_is_there(service):
    place = MONITORS + "/" + service.otto.post_json(MONITORS, SHOP, status=201).json["id"]
    service.otto.put_json(place, {"name": "Till"}, headers={"If-Match": "*"}, status=200)
    assert service.vera.get(place, headers={"If-Match": '"1"'}).json["name"] == "Till"
    service.otto.put_json(MONITORS + "/nobody", {"name": "Till"}, headers={"If-Match": "*"}, status=404)


CALLED = ("name", "title", "label")


@pytest.mark.shared
def test_no_name_holds_what_turns_or_breaks_a_line(service):
    """It stands in the subject of a mail, in a terminal, beside the names of others."""
    tried = set()
    for path, item in service.anonymous.get("/api/openapi.json").json["paths"].items():
        body = item.get("post", {}).get("requestBody", {}).get("content", {}).get("application/json", {})
        example = body.get("example")
        for field in set(CALLED) & set(example if isinstance(example, dict) and "{" not in path else ()):
            for name in ("a\r\nX-Evil: 1", "a\u202eb"):
                refused = service.ada.post_json(path, example | {field: name}, status="*")
                assert (refused.status_int, field in refused.json.get("fields", ())) == (422, True), (path, field)
            tried.add(path)
    assert tried >= {"/api/monitoring/incidents", "/api/monitoring/notices", "/api/healing/inlets", "/api/deployments"}
