"""The guide as pages: for who is signed in, linked from every page, found by words."""

import pytest

from opsapp.auth.cookies import SESSION


def page(service, path, who="vera", **options):
    client = service.client(who)
    return service.anonymous.get(path, headers={"Cookie": f"{SESSION}={client.authorization[1]}"}, **options)


def test_the_contents_lead_to_every_page(service):
    shown = page(service, "/help")
    places = [link["href"] for link in shown.html.select(".contents h3 a") if link["href"].startswith("/help/")]
    assert len(places) > 10
    healing = page(service, "/help/healing")
    assert healing.html.h1.text == "Healing"
    assert healing.html.select_one(".toc a[href='#the-six-stages']")
    assert healing.html.select_one(".prose h2#the-six-stages")
    assert page(service, "/help/../../etc/passwd", status=404)
    assert page(service, "/help/nothing", status=404)
    assert service.anonymous.get("/help", status=303).location.endswith("/login?next=/help")


@pytest.mark.shared
def test_every_page_leads_to_its_section(service):
    for path, section in (("/", "pages#the-overview"), ("/monitors/new", "monitoring#types"), ("/help", "pages")):
        link = page(service, path, "otto").html.select_one("header .helps")
        assert link["href"].startswith(f"/help/{section}")


@pytest.mark.shared
def test_the_guide_is_found_by_its_words(service):
    shown = page(service, "/find?q=single+sign-on")
    assert shown.html.select_one("#results a[href='/help/users#single-sign-on']")
