"""The guide inside the application: one text, links that lead somewhere, nothing in it that a page may not have."""

import re
from pathlib import Path

import pytest

from opsapp.ui import guidebook
from opsapp.ui.help import ABOUT, MOST_STEPS, help_for, upwards
from opsapp.ui.plan import PAGES

ROOT = Path(__file__).resolve().parents[2]
GUIDE = sorted(path.name for path in (ROOT / "docs/guide").glob("*.md"))


def anchors(name):
    return set(re.findall(r'<h\d id="([^"]+)"', guidebook.html(name)))


def test_the_package_has_every_page_of_the_guide_and_no_text_of_its_own():
    inside = {path.name: path for path in guidebook.HERE.iterdir()}
    assert sorted(inside) == GUIDE, "ln -s ../../../docs/guide/NAME.md opsapp/ui/guide/"
    assert all(path.resolve() == ROOT / "docs/guide" / name for name, path in inside.items())


@pytest.mark.parametrize("name", [name.removesuffix(".md") for name in GUIDE])
def test_a_page_is_html_without_styles_and_its_links_lead_somewhere(name):
    page, shown = guidebook.pages()[name], guidebook.html(name)
    assert page.title
    assert page.lead or page.sections
    assert "style=" not in shown
    assert "<h1" not in shown, "the frame has the title"
    assert [section.anchor for section in page.sections if section.anchor not in anchors(name)] == []
    for href in re.findall(r'href="([^"]+)"', shown):
        if not href.startswith("https://"):
            place, _, anchor = href.partition("#")
            assert not place or place.removeprefix("/help/") in guidebook.pages()
            assert not anchor or anchor in anchors(place.removeprefix("/help/") or name), href


def test_text_is_never_obeyed():
    shown = guidebook.rendered(
        "# T\n\n<script>alert(1)</script> <b onclick=x>b</b>\n\n[a](javascript:alert(1)) [c](../adr/1.md) "
        "[d](agents.md#x)\n[e](https://example.org) ![i](https://example.org/i.png)\n\n```html\n<i>\n```\n\n"
        "| n |\n|--:|\n| 1 |\n"
    )
    assert "<script" not in shown
    assert "<b " not in shown
    assert "<img" not in shown
    assert re.findall(r'<a href="([^"]+)"', shown) == [
        "/help/agents#x", "https://example.org", "https://example.org/i.png",
    ]  # fmt: skip
    assert 'rel="noreferrer noopener"' in shown
    assert "javascript:alert(1)" in re.sub("<[^>]+>", "", shown), "what is no link is shown as it is written"
    assert "c <a" in shown, "a link that leads nowhere here is a word"
    assert "&lt;i&gt;" in shown
    assert '<td class="num">1</td>' in shown


def test_headings_of_one_name_have_addresses_of_their_own():
    assert anchors_of("# T\n\n## A b\n\n## A b\n\n```\n# none\n```\n") == ["a-b", "a-b-1"]


def anchors_of(text):
    return re.findall(r'<h\d id="([^"]+)"', guidebook.rendered(text))


def test_sections_are_found_by_their_words_titles_first():
    hits = guidebook.search(["single", "sign-on"], 5)
    assert hits[0] == guidebook.GuideHit("Single sign-on", "/help/users#single-sign-on", hits[0].page)
    assert guidebook.search(["no-such-word-anywhere"], 5) == []
    assert guidebook.search([], 5) == []
    assert len(guidebook.search(["the"], 3)) == 3
    assert guidebook.search(["conditions"], 1)[0].place == "/help/conditions"


def test_every_page_of_the_guide_stands_in_its_contents():
    assert [page.name for _, group in guidebook.groups() for page in group] == list(guidebook.pages())
    assert len(guidebook.pages()) == len(GUIDE)


def test_every_page_of_the_application_has_its_section():
    for path in {page.path for page in PAGES} | set(ABOUT):
        place, _, anchor = help_for(path).removeprefix("/help").partition("#")
        name = place.strip("/")
        assert name in guidebook.pages(), path
        assert not anchor or anchor in anchors(name), path
    assert help_for("/agents/0123/commands/4567") == "/help/pages#hosts"
    assert help_for("/agents" + "/a" * 4000) == "/help/pages#hosts"
    assert help_for("/agents/add") == "/help/agents#installation-on-a-host"
    assert help_for("/not-there") == "/help"


def test_the_addresses_above_are_as_many_as_may_be_a_page():
    assert upwards("/a/b/c/") == ["/a/b/c", "/a/b", "/a"]
    assert upwards("/") == []
    assert upwards("/a" * 4000)[0] == "/a" * (MOST_STEPS - 1)
    assert max(len(page.path.split("/")) for page in PAGES) < MOST_STEPS
