"""A status page of its own: an admin makes and changes it by its forms, and a visitor sees its monitors alone."""

import pytest

from tests.support.browser import press, shown_at_last, text, texts
from tests.support.pages import fill_in, sign_in

pytestmark = pytest.mark.browser
GROUP = {"groups:0:name": "Yours", "groups:0:monitors": "Acme till"}


def test_an_admin_makes_a_page_that_shows_its_monitors_alone(page, house):
    for name in ("Acme till", "Other till"):
        house.admin.post("/api/monitoring/endpoints", {"name": name, "type": "push", "tags": ["public"]})
    sign_in(page, house, "ada")
    page.get(f"{house.url}/statuspage")
    press(page, ".head a[href='/statuspage/own']")
    fill_in(page, "main", slug="acme", name="Acme")
    press(page, "main form[data-makes] .savebar button")
    assert text(page, "h1") == "Acme"
    press(page, "#groups button[value='groups:add']")
    fill_in(page, "#groups", **GROUP)
    press(page, "#groups .savebar button.first")
    fill_in(page, "#look", footer="Call 110")
    press(page, "#look .savebar button.first")
    press(page, ".head a[href='/status/acme']")
    shown_at_last(page, lambda: "Call 110" in text(page, "footer"), "what was saved last")
    assert page.title.endswith("Acme")
    assert [name for name in texts(page, ".comp h3") if "till" in name] == ["Acme till"]
    assert "Other till" not in page.page_source


def test_a_visitor_of_a_page_with_a_password_says_it_once(page, house):
    till = house.admin.post("/api/monitoring/endpoints", {"name": "Closed till", "type": "push"})["id"]
    groups = [{"name": "Yours", "monitors": [till]}]
    house.admin.post("/api/status/pages", {"slug": "closed", "name": "Closed Corp", "groups": groups})
    house.admin.put("/api/status/pages/closed/password", {"password": "a word for them"})
    page.get(f"{house.url}/status/closed/history")
    assert "Closed Corp" not in page.page_source
    fill_in(page, "main form", password="a wrong word")
    press(page, "main form button")
    assert "wrong" in text(page, "#wrong")
    fill_in(page, "main form", password="a word for them")
    press(page, "main form button")
    assert page.current_url == f"{house.url}/status/closed/history"
    page.get(f"{house.url}/status/closed")
    assert "Closed till" in text(page, "main")
    page.get_log("browser")  # the answers 401
