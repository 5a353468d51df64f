"""What a window covers is asked, counted, and seen: nothing is covered that nobody chose, and what is down shows."""

import pytest

from opsapp.runtime import serieswork
from tests.support.monitoring import DOWN, UP, Lookout

ON = {"name": "patch night", "start": "2055-01-15T07:00:00", "end": "2055-01-15T09:00:00"}
FILLED = {"name": "x", "start": "2055-01-15T22:00", "end": "2055-01-15T23:00"}


@pytest.fixture
def lookout(service):
    return Lookout(service)


@pytest.fixture
def shops(lookout):
    """Three monitors, one of them down."""
    ids = [lookout.add(name=f"shop-{number}", retries=0, tags=["public"]) for number in range(3)]
    lookout.sees |= dict.fromkeys(ids, UP) | {ids[1]: DOWN}
    lookout.run(5)
    return ids


def test_how_much_a_scope_covers_is_counted_with_what_is_down_now(lookout, shops):
    vera = lookout.service.vera
    told = {"monitors": 3, "monitors_down": 1, "hosts": 0, "hosts_down": 0, "down": ["shop-1"]}
    assert vera.get("/api/maintenance/coverage").json == told
    one = vera.get(f"/api/maintenance/coverage?scope={shops[0]}&scope=shop-2").json
    assert (one["monitors"], one["monitors_down"], one["down"]) == (2, 0, [])
    preview = lookout.service.otto.post_json("/api/maintenance/preview", ON | {"scope": [shops[1]]}).json["covers"]
    assert (preview["monitors"], preview["monitors_down"]) == (1, 1)
    assert lookout.service.otto.post_json("/api/maintenance/preview", ON).json["covers"] == told, "of none as ever: all"


def test_the_form_covers_nothing_unless_somebody_says_so(lookout, shops):
    browser = lookout.service.browser("otto")
    page = browser.get("/maintenance/new")
    assert not page.html.select("#editor input[type=checkbox][checked]"), "nothing is chosen beforehand"
    assert "Nothing is chosen yet." in page.html.select_one("#covered").text
    assert "3 monitors, 1 of them down now. Down: shop-1." in " ".join(page.html.select_one("#editor").text.split())
    form = page.forms[next(at for at, form in page.forms.items() if "recurring" in form.fields)]
    for name, value in FILLED.items():
        form[name] = value
    refused = form.submit("act", value="create", status=422)
    assert "tick “Everything”" in refused.html.select_one("#editor .err").text
    assert lookout.service.vera.get("/api/maintenance").json == []
    form["scope-whole"] = True
    form[f"scope:{shops[0]}"] = True
    assert "not both" in form.submit("act", value="create", status=422).html.select_one("#editor .err").text
    form[f"scope:{shops[0]}"] = False
    tried = form.submit("act", value="preview")
    assert "It covers 3 monitors, 1 of them down now" in " ".join(tried.html.select_one("#covered").text.split())
    form.submit("act", value="create", status=303)
    (window,) = lookout.service.vera.get("/api/maintenance").json
    assert window["scope"] == []
    again = browser.get(f"/maintenance/{window['id']}").html
    assert again.select_one("#editor input[name=scope-whole]").has_attr("checked")


def test_the_script_asks_the_page_what_is_covered(lookout, shops):
    browser = lookout.service.browser("otto")
    for chosen, words in (
        (f"covers={shops[1]},{shops[2]}", "It covers 2 monitors, 1 of them down now. Down: shop-1."),
        ("covers=", "Nothing is chosen yet."),
        ("everything=1", "It covers 3 monitors, 1 of them down now. Down: shop-1."),
    ):
        told = browser.get(f"/maintenance/new?{chosen}", headers={"X-Part": "covered"})
        assert " ".join(told.html.text.split()) == words
    planned = browser.get(f"/maintenance/new?scope={shops[0]}").html.select_one("#covered").text
    assert " ".join(planned.split()) == "It covers 1 monitor."


def test_what_is_down_stays_visible_within_a_window(lookout, shops):
    service = lookout.service
    service.otto.post_json("/api/maintenance", ON | {"scope": shops}, status=201)
    lookout.run(120, step=5)
    serieswork.flush(service.node)
    shown = [(lookout.monitor(shop)["status"], lookout.monitor(shop)["down_in_window"]) for shop in shops]
    assert shown == [("maintenance", False), ("maintenance", True), ("maintenance", False)]
    worst = service.vera.get("/api/monitoring/endpoints?sort=worst").json
    assert worst[0]["name"] == "shop-1"
    browser = service.browser("vera")
    overview = browser.get("/").html
    assert overview.title.text.startswith("(1 down in maintenance) ")
    assert "1 down in maintenance" in overview.h1.text
    assert " ".join(overview.select_one("#counts .masked").text.split()) == "1 down in maintenance"
    row = browser.get("/monitors").html.select_one(f'tr[data-id="{shops[1]}"]')
    assert row.select_one(".st.masked").text == "Down, in maintenance"
    assert browser.get(f"/monitors/{shops[1]}").html.select_one(".head .st.masked").text == "Down, in maintenance"
    status = service.anonymous.get("/status").text
    assert "shop-1 is down meanwhile" in status
    assert status.count("Maintenance, down now") >= 1
    lookout.sees[shops[1]] = UP
    lookout.run(61, step=5)
    assert lookout.monitor(shops[1])["down_in_window"] is False


def test_what_goes_down_within_a_window_is_known_and_told_to_pages_that_follow(lookout, shops):
    service = lookout.service
    service.otto.post_json("/api/maintenance", ON | {"scope": shops}, status=201)
    lookout.run(60, step=5)
    lookout.sees[shops[0]] = DOWN
    lookout.run(61, step=5)
    assert lookout.monitor(shops[0])["down_in_window"]
    assert lookout.incidents(f"monitor_id={shops[0]}") == [], "a window opens none"
    lookout.service.clock.advance(4000)
    assert not lookout.monitor(shops[0])["down_in_window"], "nobody has looked since"
