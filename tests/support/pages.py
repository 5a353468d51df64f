"""All pages of a running service: data to show, the address of each, and a browser signed in, of any size."""

import re

from selenium.webdriver.common.by import By

from opsapp.ui.plan import PAGES

from .browser import press
from .waiting import until

PASSWORD = "a sound password"
ROLES = {"vera": "viewer", "otto": "operator", "ada": "admin"}
LATER = (
    "/agents/{id}/commands/{command_id}",
    "/notifications/deliveries/{id}",
    "/healing/cases/{case_id}",
    "/healing/problems/{id}",
    "/moment/{kind}/{id}",
)


def add_users(serve):
    for name, role in ROLES.items():
        serve.admin.post("/api/users", {"username": name, "password": PASSWORD, "role": role})


def fill(serve, name="Checkout"):
    """One of each kind of thing; the ids by the pages that show one."""
    admin = serve.admin
    up = {"name": "Shop", "type": "tcp", "url": f"tcp://127.0.0.1:{serve.port}", "interval": 5, "tags": ["web"]}
    admin.post("/api/monitoring/endpoints", up)
    down = {"name": name, "type": "tcp", "url": "tcp://127.0.0.1:1", "interval": 5, "timeout": 1, "retries": 0}
    monitor = admin.post("/api/monitoring/endpoints", down | {"tags": ["web"]})["id"]
    agent = admin.post("/api/agents", {"label": "box-1", "tags": ["web"]})["agent_id"]
    automation = admin.post("/api/automations/templates/memory/apply")["id"]
    run = admin.post(f"/api/automations/{automation}/run")["run_id"]
    window = {"name": "Patch day", "start": "2097-01-15T22:00:00", "end": "2097-01-16T02:00:00"}
    maintenance = admin.post("/api/maintenance", window)["id"]
    channel = {"name": "on call", "url": "json://127.0.0.1:9/x"}
    channels = admin.post("/api/notifications/channels", channel)["id"]
    inlet = admin.post("/api/healing/inlets", {"name": "Alertmanager"})["id"]
    layer = {"users": ["admin"], "start": "2026-01-05"}
    schedule = {"name": "Operations", "zone": "Europe/Berlin", "layers": [layer]}
    schedules = admin.post("/api/oncall/schedules", schedule)["id"]
    policy = {"name": "Standard", "steps": [{"schedules": [schedules]}]}
    policies = admin.post("/api/oncall/policies", policy)["id"]
    admin.post(
        "/api/status/pages", {"slug": "team", "name": "Team", "groups": [{"name": "All", "monitors": [monitor]}]}
    )
    asks = {"name": "needs a word", "type": "script", "params": {"script": "true"}, "requires_approval": True}
    approval = admin.post(f"/api/automations/{admin.post('/api/automations', asks)['id']}/run")["request_id"]
    observes = {"id": "only-observes", "condition": "response_time_ms >= 60000", "action": {"type": "clear_cache"}}
    admin.post("/api/healing/rules", observes)
    incidents = until(lambda: admin.get("/api/monitoring/incidents"), 20, what="an incident")
    return {
        "/monitors/{id}": monitor,
        "/agents/{id}": agent,
        "/automations/{id}": automation,
        "/automations/runs/{run_id}": run,
        "/approvals/{request_id}": approval,
        "/incidents/{id}": incidents[0]["id"],
        "/maintenance/{id}": maintenance,
        "/notifications/channels/{id}": channels,
        "/healing/inlets/{inlet_id}": inlet,
        "/oncall/schedules/{id}": schedules,
        "/oncall/policies/{id}": policies,
        "/statuspage/own/{slug}": "team",
        "/healing/rules/{id}": admin.get("/api/healing/rules?limit=1")[0]["id"],
    }


def places(serve, ids):
    """The address of every page that there is here; of those about one thing, where `ids` names it."""
    addresses = ["/find?q=shop", "/help", "/help/healing", "/status", "/api/docs"]
    known = set(serve.admin.get("/api/openapi.json")["paths"])
    for page in PAGES:
        above, named, below = page.path.partition("{")
        id_of = next((ids[path] for path in ids if path.startswith(above + "{")), None)
        sources = {part.source.partition("?")[0] for part in page.parts}
        if (page.path in LATER and page.path not in ids) or (named and id_of is None) or below.count("{") or page.file:
            continue
        if sources <= known | {source for source in sources if "{" in source}:
            addresses.append(above + (id_of + below.partition("}")[2] if named else ""))
    return addresses


def without_place(addresses):
    """The pages of the table that none of these addresses shows; files, and what takes a host or a case, aside."""
    shown = [re.compile(re.sub(r"\\{[^}]*\\}", "[^/]+", re.escape(page.path)) + "$") for page in PAGES]
    paths = [place.partition("?")[0] for place in addresses]
    return [page.path for page, pattern in zip(PAGES, shown, strict=True)
            if not page.file and page.path not in LATER and not any(pattern.match(path) for path in paths)]  # fmt: skip


def sign_in(browser, serve, who):
    browser.get(f"{serve.url}/")
    browser.find_element(By.NAME, "username").send_keys(who)
    browser.find_element(By.NAME, "password").send_keys(PASSWORD)
    press(browser, "main button")


def fill_in(browser, within, **values):
    """Type into the fields of these names; `__` stands for a dot."""
    for name, value in values.items():
        field = browser.find_element(By.CSS_SELECTOR, f'{within} [name="{name.replace("__", ".")}"]')
        browser.execute_script("const folded = arguments[0].closest('details'); if (folded) folded.open = true", field)
        field.clear()
        field.send_keys(value)


def look(browser, scheme):
    """Light or dark, or as it is printed."""
    features = [{"name": "prefers-color-scheme", "value": "light" if scheme == "print" else scheme}]
    media = "print" if scheme == "print" else ""
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media, "features": features})


def size(browser, width, height):
    metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)


def phone(browser):
    """390 px, with fingers instead of a mouse."""
    metrics = {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": True}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    browser.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": True})


# The first such element with these words (with any, where none are asked for), scrolled to, as a person does it.
PLACE = """
const element = [...document.querySelectorAll(arguments[0])]
  .find((each) => each.checkVisibility() && (!arguments[1] || each.innerText.trim() === arguments[1]));
if (!element) return null;
element.scrollIntoView({block: "center", behavior: "instant"});
return element.getBoundingClientRect().toJSON();
"""


def tap(browser, selector, words=""):
    """A finger, where the element is; the box that it met."""
    box = browser.execute_script(PLACE, selector, words)
    point = {"x": box["x"] + box["width"] / 2, "y": box["y"] + box["height"] / 2}
    browser.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [point]})
    browser.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    return box


def fresh(browser):
    """As if it had just been started: nothing stored or emulated, nothing in the console, and a desk's window."""
    if browser.current_url.startswith("http"):
        browser.execute_script("sessionStorage.clear(); localStorage.clear()")
    browser.get("about:blank")
    browser.execute_cdp_cmd("Network.clearBrowserCookies", {})
    browser.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": False})
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
    browser.execute_cdp_cmd("Emulation.setTimezoneOverride", {"timezoneId": ""})  # that of the machine
    look(browser, "light")
    size(browser, 1440, 900)
    browser.get_log("browser")
