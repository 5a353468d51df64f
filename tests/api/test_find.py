"""Anything is found by its name, by who may see it."""

import pytest


@pytest.fixture
def places(service):
    body = {"name": "Shop <front>", "type": "http", "url": "http://shop.example/"}
    monitor = service.otto.post_json("/api/monitoring/endpoints", body).json["id"]
    host = service.ada.post_json("/api/agents", {"label": "shop-db"}).json["agent_id"]
    script = {"name": "restart the shop", "type": "script", "params": {"script": "echo hi"}}
    automation = service.otto.post_json("/api/automations", script).json["id"]
    return {f"/monitors/{monitor}", f"/agents/{host}", f"/automations/{automation}"}


def links(page):
    return {link["href"] for link in page.html.select("#results a, .plainlist a")}


def test_what_has_the_words_is_found(service, places):
    page = service.vera.get("/find?q=SHOP")
    assert places <= links(page)
    assert "&lt;front&gt;" in page.text
    assert links(service.vera.get("/find?q=shop+front")) == {each for each in places if each.startswith("/monitors/")}
    part = service.vera.get("/find?q=shop", headers={"X-Part": "results"})
    assert "<html" not in part.text
    assert places <= links(part)


def test_pages_and_rules_are_found_and_each_link_leads_somewhere(service, places):
    assert "/healing/forecasts" in links(service.vera.get("/find?q=forecast"))
    for words in ("shop", "memory", "disk", "e"):
        for place in links(service.ada.get(f"/find?q={words}")):
            service.ada.get(place)


def test_who_may_not_see_a_list_finds_nothing_of_it(service):
    assert "/users" in links(service.ada.get("/find?q=ada"))
    assert links(service.vera.get("/find?q=ada")) == set()


def test_nothing_is_said_to_be_nothing(service):
    assert "No results" in service.vera.get("/find?q=zzzz").text
    empty = service.vera.get("/find")
    assert "No results" not in empty.text
    assert empty.html.select_one("#keys kbd")
    service.anonymous.get("/find?q=shop", status=303)


def test_what_is_named_so_comes_before_what_only_has_it_in_its_address(service):
    """However many there are, and whatever their names sort to."""
    many = [{"name": f"Alpha {n:02}", "type": "http", "url": f"http://shop.example/{n}"} for n in range(20)]
    names = ("The shop", "Workshop", "Shop window", "Shop")
    for body in (*many, *({"name": name, "type": "push"} for name in names)):
        service.otto.post_json("/api/monitoring/endpoints", body)
    page = service.vera.get("/find?q=shop")
    shown = [link.find(string=True, recursive=False) for link in page.html.select("section[aria-label=Monitors] a")]
    assert shown[:5] == ["Shop", "Shop window", "The shop", "Workshop", "Alpha 00"]
