"""300 monitors, most of them down: the overview is short, one figure says how many are down, and many are one line."""

import re

import pytest

from tests.support.browser import click, press, text
from tests.support.pages import phone, sign_in, size
from tests.support.process import Serve
from tests.support.sound import sound
from tests.support.waiting import until

from .conftest import CONFIG

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]

MONITORS, DOWN, ASKED = 300, 200, 7
TALL = "return document.documentElement.scrollHeight"


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    with Serve(tmp_path_factory.mktemp("many"), CONFIG) as serve:
        admin = serve.admin
        admin.post("/api/users", {"username": "ada", "password": "a sound password", "role": "admin"})
        for number in range(MONITORS):
            port = 1 if number < DOWN else serve.port
            body = {"name": f"m{number:03}", "type": "tcp", "url": f"tcp://127.0.0.1:{port}", "interval": 3600}
            admin.post("/api/monitoring/endpoints", body | {"timeout": 60, "retries": 0})
        for number in range(2):
            body = {"name": f"needs a person {number}", "type": "script", "params": {"script": "true"}}
            made = admin.post("/api/automations", body | {"requires_approval": True})["id"]
            for _ in range(ASKED):
                admin.post(f"/api/automations/{made}/run")
        until(lambda: counted(serve) == (DOWN, MONITORS - DOWN), 120, what="a check of each")
        yield serve


def counted(serve):
    counts = serve.admin.get("/api/overview")["monitors"]
    return counts["down"], counts["up"]


def test_the_overview_of_many_is_short_and_says_one_figure(page, many):
    sign_in(page, many, "ada")
    for show, screen, screens in ((lambda: size(page, 1440, 900), 900, 2), (lambda: phone(page), 844, 4)):
        show()
        page.get(many.url + "/")
        assert page.execute_script(TALL) <= screen * screens
        assert text(page, "h1").startswith(f"{DOWN} down")
        assert text(page, "#counts .bad").split()[0] == str(DOWN)
        assert page.title.startswith(f"({DOWN}) ")
        assert f"{DOWN} monitors" in text(page, "#wrong")
        sound(page)


def test_many_incidents_are_one_line_and_it_opens_by_hand(page, many):
    sign_in(page, many, "ada")
    for show in (lambda: size(page, 1440, 900), lambda: phone(page)):
        show()
        page.get(many.url + "/incidents")
        assert f"{DOWN} monitors: Connection refused." in text(page, "tr.alike summary")
        click(page, "tr.alike summary")
        members = text(page, "tr.alike .members")
        assert len(set(re.findall(r"\bm\d{3}\b", members))) == 100
        assert members.endswith(f"{DOWN - 100} more")
        sound(page)


def test_equal_requests_are_decided_together_and_each_says_what_became_of_it(page, many):
    sign_in(page, many, "ada")
    page.get(many.url + "/approvals")
    assert len(page.find_elements("css selector", ".asks .ask")) == 2
    sound(page)
    press(page, ".asks .ask button[value='approvals.reject']")
    assert text(page, "main [role=status], main .notice").startswith(f"All {ASKED} done.")
    assert len(page.find_elements("css selector", "#outcomes tbody tr")) == ASKED


# What stands in the header when everything happens at once, of 9,999 monitors each.
ALL_STATES = """
const counts = document.getElementById("counts");
counts.removeAttribute("data-live");
counts.innerHTML = ["down", "down in maintenance", "degraded", "unknown", "healing"].map((words) =>
  `<a href="/#wrong"><span class="st bad"><svg class="g bad" aria-hidden="true"><use href="#g-bad"></use></svg>9999<span
    class="w"> ${words}</span></span></a>`).join("");
const header = document.querySelector("header.top").getBoundingClientRect();
return [...counts.children].map((link) => link.getBoundingClientRect()).every(
  (box) => box.left >= 0 && box.right <= innerWidth && box.top >= 0 && box.bottom <= header.bottom) && header.height;
"""


def test_all_states_at_once_are_seen_in_the_header_of_each_screen(page, many):
    sign_in(page, many, "ada")
    for width in (320, 390, 719, 720, 768, 1100, 1440):
        size(page, width, 844)
        page.get(many.url + "/approvals")
        assert 0 < page.execute_script(ALL_STATES) <= (53 if width > 320 else 79), width
        sound(page)
