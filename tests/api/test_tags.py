"""Tags are offered where they are typed: those that monitors and hosts have already."""

MONITORS, HOSTS = "/api/monitoring/endpoints", "/api/agents"


def test_tags_are_listed_with_how_many_have_them(service):
    for name, tags in (("a", ["shop", "public"]), ("b", ["shop"])):
        service.ada.post_json(MONITORS, {"name": name, "type": "push", "tags": tags})
    service.ada.post_json(HOSTS, {"label": "box", "tags": ["shop", "db"]})
    assert service.vera.get(f"{MONITORS}/tags").json == [{"name": "public", "used": 1}, {"name": "shop", "used": 2}]
    assert service.vera.get(f"{MONITORS}/tags?q=UB").json == [{"name": "public", "used": 1}]
    assert service.vera.get(f"{HOSTS}/tags").json == [{"name": "db", "used": 1}, {"name": "shop", "used": 1}]


def test_forms_offer_each_tag_once(service):
    service.ada.post_json(MONITORS, {"name": "a", "type": "push", "tags": ["shop", "public"]})
    service.ada.post_json(HOSTS, {"label": "box", "tags": ["shop"]})
    browser = service.browser("ada")
    for place in ("/notifications/new?type=webhook", "/oncall/policies/new", "/agents/add"):
        asked = browser.get(place).html.select_one("input[data-of=tag]")
        offered = [option["value"] for option in browser.get(place).html.select(f"#{asked['list']} option")]
        assert offered == ["public", "shop"], place
    assert browser.get("/monitors/new?type=push").html.select_one("input[data-of=tag]"), "offered as one types"
    incidents = browser.get("/incidents").html.select("select[name=tag] option")
    assert [option.text for option in incidents] == ["any", "public", "shop"]
