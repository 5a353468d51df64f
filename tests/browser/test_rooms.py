"""Every page in a real browser: at four widths, light and dark, filled and empty, as viewer, operator and admin."""

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from tests.support.browser import arrived, press, text
from tests.support.pages import add_users, look, places, sign_in, size, without_place
from tests.support.process import Serve
from tests.support.refused import refuses
from tests.support.sound import BY_SCHEME, BY_SIZE, complaints, findings, looked_at
from tests.support.waiting import until

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]
SIZES = {"phone": (390, 844), "tablet": (768, 1024), "desk": (1440, 900), "wide": (1920, 1080)}
WHO = [*(pytest.param(who, marks=pytest.mark.nightly("the core list has an admin")) for who in ("vera", "otto")), "ada"]


# As it is shown to thumbs at night, and to a mouse by day.
SHOWN = {"phone": "dark", "desk": "light"}
PARTS = 3


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("who", WHO)
def test_every_page_is_whole_for(page, house, who, part):
    """Each third of the pages. What a role may not see, it is told in a page that is whole too. The window stays as it
    was for the page before: a page is loaded as one, and made the other."""
    sign_in(page, house, who)
    page.get_log("browser")
    wrong, order = [], list(SHOWN)
    for place in places(house, house.ids)[part::PARTS]:
        show(page, order[0])
        page.get(house.url + place)
        h1, refused = text(page, "h1"), refuses(who, place)
        if (h1 == "Not allowed") != refused:
            wrong.append((place, h1))
        if place.startswith("/api"):
            continue
        wrong += [(place, order[0], lack) for lack in looked_at(page) + too_long(page, order[0])]
        show(page, order[1])
        wrong += [(place, order[1], lack) for lack in looked_at(page) + too_long(page, order[1])]
        wrong += [(place, line) for line in complaints(page, 403 if refused else 200)]
        order.reverse()
    assert not wrong, "\n".join(map(str, wrong))


# As long a state as that of a message that was sent with others at its tenth attempt; on a phone also a name of 60
# letters, for what bears a name of somebody's choice.
STATES, NAMES = (".st", " together with others after 10 attempts"), (".chip, .own, .key, a.btn", " " + "m" * 60)
MAY_BE_LONG = {"phone": [STATES, NAMES], "desk": [STATES]}
LONG_WORDS = """
const wide = [];
for (const [which, words] of arguments[0])
  for (const each of document.querySelectorAll(`main :is(${which})`)) {
    if (!each.checkVisibility()) continue;
    const text = document.createTextNode(words);
    each.append(text);
    if (document.documentElement.scrollWidth > innerWidth) wide.push("too long a text: " + each.innerText);
    text.remove();
  }
return wide;
"""


def too_long(page, window):
    return page.execute_script(LONG_WORDS, MAY_BE_LONG[window])


def show(page, window):
    size(page, *SIZES[window])
    look(page, SHOWN[window])


@pytest.fixture(scope="module")
def empty(tmp_path_factory):
    with Serve(tmp_path_factory.mktemp("empty"), {"web": {"login": {"attempts_per_ip": 100}}}) as serve:
        add_users(serve)
        serve.ids = {}
        yield serve


@pytest.mark.nightly("each page at three sizes in two schemes, filled and empty")
@pytest.mark.parametrize("half", [0, 1])
@pytest.mark.parametrize("store", ["house", "empty"])
def test_every_page_is_whole_at_every_size_and_in_both_schemes(page, request, store, half):
    """Loaded once: the window is resized. What does not hang on colours is looked at once for each size."""
    serve = request.getfixturevalue(store)
    sign_in(page, serve, "ada")
    page.get_log("browser")
    wrong = []
    for place in [each for each in places(serve, serve.ids) if not each.startswith("/api")][half::2]:
        page.get(serve.url + place)
        if text(page, "h1") in ("", "Not allowed", "Not found"):
            wrong.append((place, text(page, "h1")))
        for width, window in SIZES.items():
            size(page, *window)
            wrong += [(place, width, lack) for lack in looked_at(page, BY_SIZE)]
            for scheme in ("light", "dark"):
                look(page, scheme)
                wrong += [(place, width, scheme, lack) for lack in findings(page, BY_SCHEME)]
        wrong += [(place, line) for line in complaints(page)]
    assert not wrong, "\n".join(map(str, wrong))


def test_no_page_of_the_table_is_left_out(house):
    assert without_place(places(house, house.ids)) == []


def focused(page, wanted):
    """What has the focus and has these words, or nothing; in one step of the browser."""
    script = "const at = document.activeElement; return at?.textContent.trim().startsWith(arguments[0]) ? at : null"
    return page.execute_script(script, wanted)


# Where the first result's name ends and its sign begins, of one and the same list.
BESIDE = """
const first = document.querySelector(".palette li");
const [name, sign] = ["a", ".st svg"].map((part) => first.querySelector(part).getBoundingClientRect());
return [name.right, sign.left];
"""


def test_a_monitor_is_found_and_reached_with_the_keyboard_alone(page, house):
    made = house.admin.post("/api/monitoring/endpoints", {"name": "Keyhole", "type": "push"})["id"]
    house.admin.post("/api/monitoring/endpoints", {"name": "A door", "type": "push", "tags": ["keyhole"]})
    sign_in(page, house, "otto")
    page.find_element(By.TAG_NAME, "body").send_keys(Keys.CONTROL, "k")
    field = page.switch_to.active_element
    assert field.get_attribute("id") == "find"
    field.send_keys("keyhole")
    until(lambda: page.find_elements(By.CSS_SELECTOR, ".palette a"), 10, what="what was found")
    field.send_keys(Keys.ARROW_DOWN)
    chosen = until(lambda: focused(page, "Keyhole"), 10, what="the best result having the focus")
    name, sign = page.execute_script(BESIDE)
    assert sign >= name, "the sign stands beside the name, not upon it"
    before = page.find_element(By.TAG_NAME, "html")
    chosen.send_keys(Keys.ENTER)
    arrived(page, before)
    assert page.current_url == f"{house.url}/monitors/{made}"
    page.find_element(By.TAG_NAME, "body").send_keys(Keys.TAB)
    assert focused(page, "Skip to the content")


def test_an_incident_is_acknowledged_in_the_war_room(page, house):
    incident = house.ids["/incidents/{id}"]
    sign_in(page, house, "otto")
    page.get(f"{house.url}/incidents/{incident}")
    assert "<i>Gone</i>" in text(page, "h1")
    form = "form:has(input[name=act][value$='.take'])"
    page.execute_script(f"document.querySelector(\"{form}\").closest('details')?.setAttribute('open', '')")
    press(page, f"{form} button")
    assert house.admin.get(f"/api/monitoring/incidents/{incident}")["acknowledged_by"] == "otto"
    assert [line for line in page.get_log("browser") if line["level"] == "SEVERE"] == []


# Where each button that begins with a word begins and ends.
ENDS = """
return [...document.querySelectorAll("main .btn")].filter((each) => each.innerText.startsWith(arguments[0]))
  .map((each) => each.getBoundingClientRect()).map((box) => [box.left, box.right]);
"""


@pytest.mark.parametrize("width", [390, 1440])
def test_a_request_is_decided_without_scrolling_sideways(page, house, width):
    """The buttons lie in the window, whatever the plan says and however long it is."""
    body = {"name": f"needs-{width}", "type": "script", "params": {"script": "echo " + "word " * 60},
            "requires_approval": True}  # fmt: skip
    made = house.admin.post("/api/automations", body)["id"]
    house.admin.post(f"/api/automations/{made}/run")
    sign_in(page, house, "otto")
    size(page, width, 900)
    page.get(f"{house.url}/approvals")
    for word in ("Approve", "Reject"):
        ends = page.execute_script(ENDS, word)
        assert ends, word
        for left, right in ends:
            assert 0 <= left < right <= width
