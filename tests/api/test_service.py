"""What belongs to no feature: the API document, metrics, idempotency, the store's size, the event stream."""

import gzip
import json
from pathlib import Path

import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator
from pyramid.config import Configurator
from pyramid.exceptions import PredicateMismatch
from pyramid.interfaces import INewResponse

from opsapp.runtime import events
from opsapp.web import openapi
from opsapp.web.config import WebSettings


def test_the_api_document_is_valid_and_names_every_view(service):
    document = service.anonymous.get("/api/openapi.json").json
    OpenAPIV31SpecValidator(document).validate()
    for endpoint in openapi.endpoints(service.app.registry):
        if endpoint.path.startswith("/api"):
            assert endpoint.method.lower() in document["paths"][endpoint.path]
            assert endpoint.role in ("viewer", "operator", "admin", "agent", "public"), endpoint.path
            said = document["paths"][endpoint.path][endpoint.method.lower()]["summary"]
            assert (" " in said, said[-1]) == (True, "."), f"{endpoint.method} {endpoint.path} is not explained: {said}"


def test_a_view_whose_context_has_no_place_is_told_of(service):
    class Nowhere:
        pass

    with pytest.raises(LookupError, match="Nowhere"):
        openapi.place_of(Nowhere)


def test_every_list_takes_a_limit_and_an_offset(service):
    found = openapi.document(service.app.registry)["paths"]
    lists = {path: each["get"] for path, each in found.items() if "get" in each}
    for path, operation in lists.items():
        content = operation["responses"]["200"].get("content", {})
        is_file = "text/csv" in content
        if content.get("application/json", {}).get("schema", {}).get("type") == "array" and not is_file:
            assert {"limit", "offset"} <= {
                parameter["name"] for parameter in operation["parameters"] if "name" in parameter
            }, path


def test_docs_are_a_page_with_security_headers(service):
    page = service.anonymous.get("/api/docs")
    assert page.content_type == "text/html"
    assert "frame-ancestors 'none'" in page.headers["Content-Security-Policy"]
    assert "unsafe-inline" not in page.headers["Content-Security-Policy"]
    assert "/api/login" in page.text


def test_the_document_for_people_has_an_overview_and_a_page_for_each_part(service):
    """However many operations there are, none of its pages is heavy. What people have linked to leads on."""
    overview = service.anonymous.get("/api/docs").html
    document = openapi.document(service.app.registry)
    places = [link["href"] for link in overview.select("nav a")]
    pages = {place: service.anonymous.get(place) for place in places}
    for place, page in {"/api/docs": service.anonymous.get("/api/docs"), **pages}.items():
        assert len(page.html.find_all()) <= 2500, place
        assert len(gzip.compress(page.body)) <= 40_000, place
    ids = {place: {tag["id"] for tag in page.html.select("[id]")} for place, page in pages.items()}
    for link in overview.select("main ul a, main a[id]"):
        place, _, name = link["href"].partition("#")
        assert name in ids[place], link["href"]
    assert {link["id"] for link in overview.select("main a[id]")} == set(document["components"]["schemas"])
    operations = {each["operationId"] for methods in document["paths"].values() for each in methods.values()}
    assert operations <= set().union(*ids.values())
    assert "not_found" in pages["/api/docs?part=errors"].text
    service.anonymous.get("/api/docs?part=nothing", status=404)


def test_metrics_need_a_viewer_or_the_scrape_token(service):
    assert "opsapp_info" in service.vera.get("/metrics").text
    service.anonymous.get("/metrics", status=401)
    service.configure(WebSettings, scrape_token="a scrape token of its own")
    headers = {"Authorization": "Bearer a scrape token of its own"}
    assert "opsapp_uptime" in service.anonymous.get("/metrics", headers=headers).text
    service.anonymous.get("/api/me", headers=headers, status=401)


def test_the_store_says_how_large_it_is_and_packs(service):
    assert service.ada.get("/api/store").json["sizes"]["main"] > 0
    assert service.ada.post_json("/api/store/pack", {"days": 0}).json["status"] == "packed"
    assert service.ada.post("/api/store/pack").json["status"] == "packed"
    service.otto.post("/api/store/pack", status=403)
    assert set(service.ada.post_json("/api/store/pack", {"days": -1}, status=422).json["fields"]) == {"days"}


def test_events_are_told_once_committed(service):
    service.vera  # noqa: B018 - signs in before the first look
    service.node.events.step()
    service.transact(lambda root: events.emit(root, "monitor", {"id": "m1", "status": "down"}))
    with pytest.raises(RuntimeError):
        service.transact(_emit_and_fail)
    service.transact(lambda root: events.emit(root, "monitor", {"id": "m1", "status": "up"}))
    heard = []
    stop = service.node.events.listen(heard.append)
    service.node.events.step()
    stop()
    assert [event.data["status"] for event in heard] == ["down", "up"]
    assert heard[0].id < heard[1].id
    assert service.node.events.since(heard[0].id) == [heard[1]]
    assert service.node.events.step() is False


def _emit_and_fail(root):
    events.emit(root, "monitor", {"id": "m1", "status": "never"})
    raise RuntimeError("after the event was written")


def test_old_events_are_swept_but_numbers_go_on(service):
    service.transact(lambda root: events.emit(root, "agent", {"n": 1}))
    service.clock.advance(10)
    service.transact(lambda root: events.emit(root, "agent", {"n": 2}))
    service.transact(events.sweep, service.clock.now() + 1)
    positions, left = service.transact(events.read_since, {})
    assert [event.data["n"] for event in left if event.kind == "agent"] == [2]
    service.transact(lambda root: events.emit(root, "agent", {"n": 3}))
    _, fresh = service.transact(events.read_since, positions)
    assert [event.data["n"] for event in fresh] == [3]


def _counted(context, request):
    counter = request.root.system.setdefault("test-counter", [0])
    request.root.system["test-counter"] = [counter[0] + 1]
    request.response.status_int = 201
    return {"count": counter[0] + 1, "got": request.valid_body}


@pytest.fixture
def counting(service):
    """The service with one more view, which counts how often it ran."""
    from opsapp.tree.acl import Permission
    from opsapp.tree.root import Api
    from opsapp.web.fields import Body, map_of, whole

    class Anyhow(Body):
        values = map_of(whole(), default={})

    config = Configurator(registry=service.app.registry)
    config.add_view(
        _counted,
        context=Api,
        name="count",
        request_method="POST",
        permission=Permission.operate,
        body=Anyhow,
        idempotent=True,
        renderer="json",
    )
    config.commit()
    return service


def test_the_same_key_and_body_give_the_first_answer_again(counting):
    headers = {"Idempotency-Key": "k-1"}
    first = counting.otto.post_json("/api/count", {"values": {"a": 1}}, headers=headers)
    again = counting.otto.post_json("/api/count", {"values": {"a": 1}}, headers=headers)
    assert (first.status_int, first.json) == (again.status_int, again.json) == (201, first.json)
    assert counting.otto.post_json("/api/count", {"values": {"a": 2}}, headers=headers, status=409).json["code"]
    assert counting.otto.post_json("/api/count", {}, headers={"Idempotency-Key": "k-2"}).json["count"] == 2
    assert counting.ada.post_json("/api/count", {"values": {"a": 1}}, headers=headers).json["count"] == 3
    counting.clock.advance(24 * 3600 - 5)
    counting.transact(_sweep, counting.clock.now())
    assert len(counting.read(_remembered)) == 3
    counting.clock.advance(10)
    assert counting.transact(_sweep, counting.clock.now()) is False
    assert counting.read(_remembered) == []
    counting.otto.post_json("/api/count", {}, headers={"Idempotency-Key": ""}, status=(400, 401))


def _remembered(root):
    return list(root.system["idempotency"])


def _sweep(root, now):
    from opsapp.web import idempotency

    return idempotency.sweep(root, now)


def test_json_never_has_nan():
    from opsapp.web.jsontext import dumps

    with pytest.raises(ValueError):
        dumps({"x": float("nan")})
    assert json.loads(dumps({"ü": 1})) == {"ü": 1}


def test_no_class_is_made_for_a_request(service):
    """Pyramid makes one per request for properties that were added to requests; ours are settled into one class."""
    seen = set()
    service.app.registry.registerHandler(lambda event: seen.add(type(event.request)), (INewResponse,))
    for _ in range(3):
        service.vera.get("/api/me")
    assert len(seen) == 1


def test_no_view_of_another_method_is_called_first(service, monkeypatch):
    """Each would make a whole answer of 404, that nobody sees."""
    url = "/api/monitoring/endpoints"
    shop = {"name": "Shop", "url": "https://shop.example.org/", "type": "http"}
    monitor_id = service.otto.post_json(url, shop, status=201).json["id"]
    made = []
    refuse = PredicateMismatch.__init__
    monkeypatch.setattr(PredicateMismatch, "__init__", lambda *said, **more: made.append(said) or refuse(*said, **more))
    service.vera.get(f"{url}/{monitor_id}")
    service.otto.put_json(f"{url}/{monitor_id}", {"name": "Till"})
    service.ada.delete(f"{url}/{monitor_id}")
    assert made == []
    service.ada.put_json(url, {}, status=405)
    assert made


def test_the_document_in_docs_is_this_one(service):
    kept = Path(__file__).resolve().parents[2] / "docs" / "openapi.json"
    assert json.loads(kept.read_text()) == json.loads(json.dumps(openapi.document(service.app.registry))), (
        "the API has changed: run `python -m opsapp.cli openapi > docs/openapi.json`"
    )
