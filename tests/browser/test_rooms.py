"""Every page in a real browser: at two widths, light and dark, as viewer, operator and admin."""

import pytest
from selenium.webdriver.common.by import By

from opsapp.ui.plan import PAGES
from tests.support.browser import chromium, press
from tests.support.process import Serve
from tests.support.waiting import until

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]
PASSWORD = "a sound password"
WIDTHS = {"phone": (390, 844), "desk": (1280, 900)}
ROLES = {"vera": "viewer", "otto": "operator", "ada": "admin"}
ADMINS = {"/users", "/audit", "/notifications"}
REFUSED = {"vera": ADMINS | {"/healing/replay"}, "otto": ADMINS, "ada": set()}

# Each text's contrast with what is behind it, as WCAG 2 reckons it; gives those that are too faint.
FAINT = """
const parse = (text) => { const n = text.match(/[\\d.]+/g).map(Number); return n.length < 4 ? [...n, 1] : n; };
const linear = (v) => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
const light = ([r, g, b]) => 0.2126 * linear(r / 255) + 0.7152 * linear(g / 255) + 0.0722 * linear(b / 255);
const ground = (element) => {
  for (; element; element = element.parentElement) {
    const color = parse(getComputedStyle(element).backgroundColor);
    if (color[3] === 1) return color;
  }
  return [255, 0, 255, 1];
};
const faint = [];
for (const element of document.querySelectorAll("body *")) {
  const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
  if (!own || !element.getClientRects().length) continue;
  const [a, b] = [light(parse(getComputedStyle(element).color)), light(ground(element))].sort((x, y) => y - x);
  if ((a + 0.05) / (b + 0.05) < 4.5)
    faint.push("faint: " + element.tagName + " " + element.className + ": " + element.textContent.slice(0, 40));
}
return faint;
"""
# What a page must have besides: one h1, landmarks, a label for every input, nothing wider than the window.
LACKS = """
const lacks = [];
for (const selector of ["h1", "main", "header", "footer", "nav[aria-label]"])
  if (document.querySelectorAll(selector).length !== 1) lacks.push(selector);
for (const input of document.querySelectorAll("input:not([type=hidden]), select"))
  if (!input.labels.length) lacks.push("label of " + input.name);
for (const table of document.querySelectorAll("table"))
  if (!table.caption || !table.tHead) lacks.push("caption or head");
const page = document.documentElement;
if (page.scrollWidth > window.innerWidth) lacks.push("width: " + page.scrollWidth);
if (!page.lang || !document.title) lacks.push("lang or title");
return lacks;
"""


@pytest.fixture(scope="module")
def serve(tmp_path_factory):
    config = {"web": {"login": {"attempts_per_ip": 100}}}
    with Serve(tmp_path_factory.mktemp("serve"), config) as serve:
        for name, role in ROLES.items():
            serve.admin.post("/api/users", {"username": name, "password": PASSWORD, "role": role})
        down = {"type": "tcp", "url": "tcp://127.0.0.1:1", "interval": 5, "timeout": 1, "retries": 0, "tags": ["web"]}
        named = {"name": "<i>Gone</i>" + "x" * 180}
        serve.monitor = serve.admin.post("/api/monitoring/endpoints", down | named)["id"]
        serve.agent = serve.admin.post("/api/agents", {"label": "box-1", "tags": ["web"]})["agent_id"]
        serve.automation = serve.admin.post("/api/automations/templates/memory/apply")["id"]
        serve.run = serve.admin.post(f"/api/automations/{serve.automation}/run")["run_id"]
        incidents = until(lambda: serve.admin.get("/api/monitoring/incidents"), 20, what="an incident")
        serve.incident = incidents[0]["id"]
        yield serve


@pytest.fixture
def browser(tmp_path):
    driver = chromium(tmp_path / "profile")
    yield driver
    driver.quit()


def sign_in(browser, serve, who):
    browser.get(f"{serve.url}/")
    browser.find_element(By.NAME, "username").send_keys(who)
    browser.find_element(By.NAME, "password").send_keys(PASSWORD)
    press(browser, "main button")


def places(serve):
    """The address of every page that there is here."""
    ids = {
        "/monitors/{id}": serve.monitor,
        "/incidents/{id}": serve.incident,
        "/agents/{id}": serve.agent,
        "/automations/{id}": serve.automation,
        "/automations/runs/{run_id}": serve.run,
    }
    found = ["/", "/status", "/api/docs"]
    known = set(serve.admin.get("/api/openapi.json")["paths"])
    for page in PAGES:
        sources = {part.source.partition("?")[0] for part in page.parts}
        if sources <= known | {each for each in sources if "{" in each}:
            found.append(page.path.partition("{")[0] + ids.get(page.path, ""))
    return found


def look(browser, scheme):
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})


def size(browser, width, height):
    metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)


@pytest.mark.parametrize("who", ROLES)
def test_every_page_is_whole(browser, serve, tmp_path, who):
    sign_in(browser, serve, who)
    browser.get_log("browser")
    wrong = []
    for place in places(serve):
        for width, scheme in (("phone", "dark"), ("desk", "light")):
            size(browser, *WIDTHS[width])
            look(browser, scheme)
            browser.get(serve.url + place)
            h1 = browser.find_element(By.TAG_NAME, "h1").text
            refused = place in REFUSED[who]
            if (h1 == "Not allowed") != refused:
                wrong.append((place, h1))
            said = [line["message"] for line in browser.get_log("browser") if line["level"] in ("SEVERE", "WARNING")]
            wrong += [(place, line) for line in said if not (refused and "403" in line)]
            if not place.startswith(("/status", "/api")):
                lacks = browser.execute_script(LACKS) + browser.execute_script(FAINT)
                wrong += [(place, width, scheme, lack) for lack in lacks]
            name = f"{who}-{place.strip('/').replace('/', '-') or 'overview'}-{width}.png"
            assert browser.save_screenshot(str(tmp_path / name))
    assert not wrong, "\n".join(map(str, wrong))


def test_an_incident_is_acknowledged_in_the_war_room(browser, serve):
    sign_in(browser, serve, "otto")
    browser.get(f"{serve.url}/incidents/{serve.incident}")
    assert "<i>Gone</i>" in browser.find_element(By.TAG_NAME, "h1").text
    browser.find_element(By.NAME, "note").send_keys("I am on it")
    press(browser, "form.act button")
    assert "Done: Acknowledge." in browser.find_element(By.CSS_SELECTOR, "[role=status]").text
    assert serve.admin.get(f"/api/monitoring/incidents/{serve.incident}")["acknowledged_by"] == "otto"
    assert browser.get_log("browser") == []


@pytest.mark.parametrize("width", [390, 1440])
def test_a_request_is_decided_without_scrolling_sideways(browser, serve, width):
    """The buttons lie in the window, whatever the plan says and however long it is."""
    body = {"name": f"needs-{width}", "type": "script", "params": {"script": "echo " + "word " * 60},
            "requires_approval": True}  # fmt: skip
    made = serve.admin.post("/api/automations", body)["id"]
    serve.admin.post(f"/api/automations/{made}/run")
    sign_in(browser, serve, "otto")
    size(browser, width, 900)
    browser.get(f"{serve.url}/approvals")
    buttons = browser.find_elements(By.CSS_SELECTOR, "td.acts button")
    assert {button.text for button in buttons} == {"Approve", "Reject"}
    for box in (button.rect for button in buttons):
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
    browser.save_screenshot(f"{serve.directory}/approvals-{width}.png")
    row = browser.find_element(By.CSS_SELECTOR, "td.acts")
    row.find_element(By.NAME, "comment").send_keys("fine")
    press(browser, "td.acts button:not(.grave)")
    assert "Done: Approve." in browser.find_element(By.CSS_SELECTOR, "[role=status]").text
