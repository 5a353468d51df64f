"""Forms that are sent a second time: by a reload, or from a page that was gone back to."""

import pytest

MONITORS = "/api/monitoring/endpoints"


@pytest.fixture
def otto(service):
    assert service.otto.get("/api/me").json["role"] == "operator"
    return service.browser("otto")


def filled(page, **values):
    form = page.forms["monitor-form"]
    for name, text in values.items():
        form[name] = text
    return {**dict(form.submit_fields()), "act": "create"}


def names(service):
    return sorted(row["name"] for row in service.otto.get(MONITORS).json)


def test_the_same_form_again_leads_to_what_it_made(service, otto):
    page = otto.get("/monitors/new?type=http")
    fields = filled(page, name="shop", url="http://shop.example/")
    made = otto.post("/monitors/new", fields, status=303).headers["Location"]
    fresh = otto.get("/monitors/new?type=http")
    masked_anew = filled(fresh)["csrf_token"]
    assert masked_anew != fields["csrf_token"]
    again = otto.post("/monitors/new", fields | {"csrf_token": masked_anew}, status=303)
    assert again.headers["Location"] == f"{made}?said=already-sent"
    assert "Nothing was done a second time" in again.follow().html.select_one("[role=status]").text
    assert names(service) == ["shop"]


def test_something_else_or_a_form_that_is_opened_anew_makes_another(service, otto):
    page = otto.get("/monitors/new?type=http")
    fields = filled(page, name="shop", url="http://shop.example/")
    otto.post("/monitors/new", fields, status=303)
    otto.post("/monitors/new", fields | {"name": "shop two"}, status=303)
    opened = filled(otto.get("/monitors/new?type=http"), name="shop", url="http://shop.example/")
    otto.post("/monitors/new", opened, status=303)
    assert names(service) == ["shop", "shop", "shop two"]


def test_what_was_made_and_deleted_is_made_again(service, otto):
    fields = filled(otto.get("/monitors/new?type=http"), name="shop", url="http://shop.example/")
    otto.post("/monitors/new", fields, status=303)
    service.ada.delete(f"{MONITORS}/{service.otto.get(MONITORS).json[0]['id']}")
    made = otto.post("/monitors/new", fields, status=303).headers["Location"]
    assert "said=" not in made
    assert names(service) == ["shop"]


def test_a_form_that_is_drawn_again_keeps_its_name(service, otto):
    page = otto.get("/monitors/new?type=http")
    fields = filled(page, name="shop", url="no address")
    wrong = otto.post("/monitors/new", fields, status=422)
    assert filled(wrong)["once"] == fields["once"]
    otto.post("/monitors/new", fields, status=422)
    right = filled(wrong, url="http://shop.example/")
    assert (
        otto.post("/monitors/new", right).headers["Location"] in otto.post("/monitors/new", right).headers["Location"]
    )
    assert names(service) == ["shop"]


def test_only_forms_that_make_something_keep_their_name_in_the_history(service, otto):
    assert otto.get("/monitors/new?type=http").html.select("#monitor-form[data-makes]")
    shop = service.otto.post_json(MONITORS, {"name": "shop", "type": "http", "url": "http://shop.example/"}).json["id"]
    assert otto.get(f"/monitors/{shop}/edit").html.select("form[data-makes]") == []
