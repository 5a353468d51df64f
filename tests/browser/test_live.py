"""What happens is seen as it happens, by two at once: hosts arrive, a monitor falls and rises, output is written.

No page is loaded anew: each test marks the document and finds the mark again.
"""

import re

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from tests.support.agent_process import EnrolledAgent
from tests.support.automations import script
from tests.support.box import Box
from tests.support.browser import arrived, click, press, text, texts, type_into
from tests.support.pages import fill_in, sign_in
from tests.support.sound import Journey, sound
from tests.support.targets import website
from tests.support.waiting import until

pytestmark = pytest.mark.browser


def says(page, selector, words, seconds=20):
    until(lambda: words in text(page, selector), seconds, what=f"{words!r} in {selector}")


def numbers(words):
    return re.findall(r"[0-9]+", words)


def mark(page):
    """From here on the page may not be loaded anew."""
    until(lambda: text(page, "#live"), 20, what="the stream being open")
    page.execute_script("window.marked = true")


def is_the_same(page):
    return page.execute_script("return window.marked === true")


@pytest.fixture
def other(others):
    """Somebody else at another desk."""
    return others(1)[0]


def test_a_host_arrives_at_the_page_that_waits_for_it_and_in_the_list_of_another(page, other, house):
    sign_in(other, house, "vera")
    other.get(f"{house.url}/agents")
    mark(other)
    sign_in(page, house, "ada")
    page.get(f"{house.url}/agents/add")
    fill_in(page, "main", label="arrives")
    press(page, "#by-hand button.first")
    key = text(page, "code.key")
    assert "Waiting" in text(page, "#arrival")
    mark(page)
    until(lambda: row_of(other, "arrives"), 20, what="the new row")
    agent_id = next(each["id"] for each in house.admin.get("/api/agents?q=arrives"))
    box = Box(house.url, agent_id, key, hostname="arrives-1").start()
    try:
        says(page, "#arrival", "arrives reports")
        until(lambda: "Reporting" in row_of(other, "arrives"), 20, what="the host being online in the list")
    finally:
        box.stop()
    assert is_the_same(page)
    assert is_the_same(other)


def test_what_happened_names_a_monitor_that_somebody_else_makes(page, house):
    sign_in(page, house, "ada")
    page.get(house.url)
    mark(page)
    body = {"type": "http", "url": "http://127.0.0.1:1/", "enabled": False}
    house.admin.post("/api/monitoring/endpoints", {**body, "name": "Made first"}, expect=201)
    count = len(house.admin.get("/api/monitoring/endpoints?limit=1000"))  # of many the list names only the worst
    until(lambda: f"{count}" in numbers(text(page, "#monitors header .meta")), 20, what=f"{count} monitors")
    house.admin.post("/api/monitoring/endpoints", {**body, "name": "Made next"}, expect=201)
    says(page, "#feed", "created the monitor Made next")  # what came with the page is over by then
    house.admin.post("/api/agents", {"label": "made-last"})
    says(page, "#feed", "made-last")
    assert is_the_same(page)


def middle_of(page, selector):
    script = "return document.querySelector(arguments[0]).getBoundingClientRect().toJSON()"
    box = page.execute_script(script, selector)
    return {"x": box["x"] + box["width"] / 2, "y": box["y"] + box["height"] / 2}


def mouse(page, kind, where):
    """Only half of a click: `mousePressed` or `mouseReleased`."""
    page.execute_cdp_cmd("Input.dispatchMouseEvent", {"type": kind, "button": "left", "clickCount": 1, **where})


def asked_for(page):
    """How often the page has asked for something since it was loaded."""
    return page.execute_script("return performance.getEntriesByType('resource').length")


def click_while_it_changes(page, house, selector, label):
    """A host arrives above what the mouse is pressed on, and the page has got the new list before the release."""
    mark(page)
    where = middle_of(page, selector)
    mouse(page, "mousePressed", where)
    before = asked_for(page)
    house.admin.post("/api/agents", {"label": label, "tags": ["pressed"]})
    until(lambda: asked_for(page) > before, 20, what="the new list")
    mouse(page, "mouseReleased", where)


def test_a_click_arrives_though_the_list_changes_while_the_mouse_is_pressed(page, house):
    made = house.admin.post("/api/agents", {"label": "pressed-z", "tags": ["pressed"]})["agent_id"]
    sign_in(page, house, "otto")
    page.get(f"{house.url}/agents?tag=pressed&sort=label")
    click_while_it_changes(page, house, "main h1", "pressed-b")
    until(lambda: row_of(page, "pressed-b"), 20, what="the new row after the release")

    before = page.find_element(By.TAG_NAME, "html")
    click_while_it_changes(page, house, f"main tbody a[href='/agents/{made}']", "pressed-a")
    arrived(page, before)
    assert page.current_url == f"{house.url}/agents/{made}"


MOVING = [{"name": "prefers-reduced-motion", "value": "no-preference"}]


@pytest.mark.parametrize(("wish", "moves"), [("no-preference", True), ("reduce", False)])
def test_what_is_new_moves_only_for_those_who_like_that(page, house, wish, moves):
    features = [{"name": "prefers-reduced-motion", "value": wish}]
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    sign_in(page, house, "otto")
    page.get(f"{house.url}/agents?tag=moves")
    mark(page)
    page.execute_script("""window.moved = 0;
        const count = () => { window.moved += document.getAnimations().length; requestAnimationFrame(count); };
        count();""")
    house.admin.post("/api/agents", {"label": f"moves-{wish}", "tags": ["moves"]})
    until(lambda: row_of(page, f"moves-{wish}"), 20, what="the new row")
    frames = "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() => done(window.moved)))"
    assert (page.execute_async_script(frames) > 0) is moves


def test_a_page_that_is_open_comes_to_rest(page, house):
    """A few pulses, and then not a frame is drawn for them: where drawing is in software, each costs."""
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": MOVING})
    sign_in(page, house, "otto")
    page.get(f"{house.url}/agents?tag=rests")
    until(lambda: page.find_element(By.ID, "live").is_displayed(), 20, what="the connection")
    runs = "return getComputedStyle(document.querySelector('#live .pulse')).animationName"
    assert page.execute_script(runs) == "pulse"
    until(lambda: page.execute_script("return document.getAnimations().length") == 0, 20, what="the end of the motion")
    assert page.find_element(By.ID, "live").is_displayed()


def row_of(page, words):
    return next((row for row in texts(page, "main tbody tr") if words in row), "")


@pytest.mark.nightly("tests/browser/test_triage.py has who is on call")
def test_a_monitor_falls_and_rises_before_the_eyes_of_each_role(page, others, house):
    watchers = {"otto": page, **dict(zip(("vera", "ada"), others(2), strict=True))}
    with website() as site:
        body = {"name": "Falls", "type": "http", "url": f"{site.url}/welcome", "interval": 5, "timeout": 2}
        monitor_id = house.admin.post("/api/monitoring/endpoints", body | {"tags": ["falls"], "retries": 0})["id"]
        address = f"/api/monitoring/endpoints/{monitor_id}"
        until(lambda: house.admin.get(address)["status"] == "up", 20, what="the first check")
        for who, browser in watchers.items():
            Journey(browser, house, who).go(f"/monitors/{monitor_id}")
            mark(browser)
        port = site.port
    for browser in watchers.values():
        says(browser, "#now", "Down", 30)
        says(browser, "#past", "Open", 30)
    with website(port=port):
        for browser in watchers.values():
            says(browser, "#now", "Up", 30)
            says(browser, "#past", "Resolved", 30)
    for browser in watchers.values():
        assert is_the_same(browser)
        sound(browser)
        browser.get("about:blank")
    house.admin.delete(address)


@pytest.mark.parametrize("who", ["otto", "ada"])
def test_a_run_is_followed_to_its_end(page, other, house, who, tmp_path):
    """By who started it and by a viewer: to the end of both, for it goes on when both have seen how it begins."""
    seen = tmp_path / "seen"
    words = f"echo first; until [ -e {seen} ]; do sleep 0.1; done; echo last"
    automation = script(house, words, name=f"talks to {who}")
    vera = Journey(other, house, "vera")
    Journey(page, house, who).go(f"/automations/{automation}").press(".head .btn.first")
    assert "/automations/runs/" in page.current_url
    vera.go(page.current_url.removeprefix(house.url).partition("?")[0])
    for browser in (page, other):
        mark(browser)
        says(browser, "#output pre", "first")
    seen.touch()
    for browser in (page, other):
        says(browser, "#output pre", "last")
        says(browser, "#state", "Done")
        assert is_the_same(browser)
        sound(browser)


def test_a_commands_output_is_followed_on_its_page(page, house, tmp_path):
    with EnrolledAgent(tmp_path / "agent", house, label="talker") as agent:
        agent.online()
        sign_in(page, house, "otto")
        page.get(f"{house.url}/agents/{agent.id}?do=shell#commands")
        fill_in(page, "#commands", params__command="for n in 1 2 3; do echo word $n; sleep 0.5; done")
        press(page, "#commands form button.first")
        if "/commands/" not in page.current_url:
            press(page, "#commands ul a[href*='/commands/']")
        mark(page)
        says(page, "#output pre", "word 3")
        says(page, "#command", "exit code 0")
        assert text(page, "#output pre").split() == ["word", "1", "word", "2", "word", "3"]
        assert is_the_same(page)


def test_two_decide_at_once_and_the_second_is_told(page, other, house):
    made = script(house, "true", name="asked twice", requires_approval=True)
    request_id = house.admin.post(f"/api/automations/{made}/run", {})["request_id"]
    sign_in(page, house, "otto")
    sign_in(other, house, "ada")
    for each in (page, other):
        each.get(f"{house.url}/approvals/{request_id}")
    press(page, "#decide button.first")
    says(page, "#decision", "Approved by otto")
    says(other, "#decision", "Approved by otto")
    assert "button" not in other.find_element(By.ID, "decision").get_attribute("innerHTML")


def test_a_file_goes_to_a_host_and_comes_back(page, house, tmp_path):
    sent, stored = tmp_path / "sent.conf", tmp_path / "stored.conf"
    sent.write_bytes(b"listen 80;\n" * 20_000)
    with EnrolledAgent(tmp_path / "agent", house, label="files") as agent:
        agent.online()
        sign_in(page, house, "otto")
        page.get(f"{house.url}/agents/{agent.id}")
        page.find_element(By.ID, "file-sent").send_keys(str(sent))
        page.find_element(By.ID, "file-dest").send_keys(str(stored))
        click(page, "form[data-file=upload] button")
        says(page, "form[data-file=upload] [role=status]", f"Stored as {stored}, {sent.stat().st_size} bytes.")
        assert stored.read_bytes() == sent.read_bytes()

        for path, words in ((tmp_path / "none", "No such file"), (stored, "The download has begun.")):
            field = page.find_element(By.ID, "file-path")
            field.clear()
            field.send_keys(str(path))
            click(page, "form[data-file=download] button")
            says(page, "form[data-file=download] [role=status]", words)
    unexpected = [
        line for line in page.get_log("browser") if line["level"] == "SEVERE" and "404" not in line["message"]
    ]
    assert unexpected == []


def test_a_viewer_is_offered_no_upload(page, house, tmp_path):
    with EnrolledAgent(tmp_path / "agent", house, label="seen-files") as agent:
        agent.online()
        sign_in(page, house, "vera")
        page.get(f"{house.url}/agents/{agent.id}")
        assert page.find_elements(By.CSS_SELECTOR, "form[data-file=download]")
        assert page.find_elements(By.CSS_SELECTOR, "form[data-file=upload]") == []


WELL, BADLY = "", "/fail"


@pytest.fixture
def axis(page, house):
    """The page of a job that went well, its stream open; and what says how the job went, which is seen at once."""
    body = {"name": "Goes on", "type": "push", "retries": 0, "interval": 3600}
    made = house.admin.post("/api/monitoring/endpoints", body)["id"]
    push = house.admin.get(f"/api/monitoring/endpoints/{made}")["push_url"]

    def goes(how):
        house.client().post(push + how)

    goes(WELL)
    Journey(page, house, "vera").go(f"/monitors/{made}")
    mark(page)
    away = {"type": "mouseMoved", "x": 0, "y": 0}  # signing in has left the mouse on the axis, as of one who reads it
    page.execute_cdp_cmd("Input.dispatchMouseEvent", away)
    yield goes
    page.get("about:blank")
    house.admin.delete(f"/api/monitoring/endpoints/{made}")


def test_the_axis_of_a_monitor_goes_on_until_somebody_reads_it(page, axis):
    axis(BADLY)
    until(lambda: "Goes on was down" in text(page, "#moment-live .feed.ev"), 30, what="the outage on the axis")
    assert is_the_same(page)
    type_into(page, "#moment .scrub", Keys.ARROW_LEFT)
    until(lambda: "at=" in page.current_url, 10, what="the crosshair in the address")
    page.execute_script("window.same_axis = document.querySelector('#moment')")
    axis(WELL)
    says(page, "#now", "Up")
    assert page.execute_script("return window.same_axis.isConnected"), "what somebody reads stays"


# Each new picture of the axis is on its way until the test lets it arrive, and has nothing more to show for a day.
HELD = """
const ask = window.fetch;
window.pictures = [];
window.fetch = async (place, how) => {
  const answer = await ask(place, how);
  if (how?.headers?.["X-Part"] !== "moment-live") return answer;
  const text = (await answer.text()).replace(/data-again="\\d+"/, 'data-again="86400"');
  await new Promise((arrive) => window.pictures.push(arrive));
  return new Response(text);
};
"""


def test_what_changes_while_the_axis_is_on_its_way_comes_onto_it_too(page, axis):
    page.execute_script(HELD)
    axis(BADLY)
    says(page, "#now", "Down")
    until(lambda: page.execute_script("return window.pictures.length") == 1, 30, what="a picture")
    axis(WELL)
    says(page, "#now", "Up")
    page.execute_script("window.pictures[0]()")
    until(lambda: page.execute_script("return window.pictures.length") == 2, 30, what="the picture with the rise")
    page.execute_script("window.pictures[1]()")
    until(lambda: "Goes on was down" in text(page, "#moment-live .feed.ev"), 30, what="the outage on the axis")
