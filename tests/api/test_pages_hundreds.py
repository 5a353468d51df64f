"""Lists of hundreds: pages of at most 50 with true counts, each row on one of them, and no page over its elements."""

import re
from collections import Counter

import pytest

from opsapp.auth.resources import users
from opsapp.ui.plan import PAGES
from tests.bench import pages

MANY = 120
LISTS = (  # of each: its page, how its rows' names begin, its panel, and what its pager is called
    ("/automations", "automation", "#list", "Automations"),
    ("/deployments", "deployment", "#part-deployments", "Deployments"),
    ("/healing", "held", "#windows", "windows"),
    ("/healing/inlets", "inlet", "#inlets", "inlets"),
    ("/healing/rules", "rule", "#rules", "All rules"),
    ("/healing/trust", "rule", "#trust", "Rules"),
    ("/maintenance", "active", "#now", "windows"),
    ("/maintenance", "held", "#now", "healing"),
    ("/maintenance", "planned", "#planned", "planned"),
    ("/maintenance", "off", "#off", "off"),
    ("/maintenance", "past", "#past", "past"),
    ("/notifications", "channel", "#channels", "channels"),
    ("/oncall", "policy", "#part-policies", "Who is called"),
    ("/oncall", "schedule", "#oncall", "on_call"),
    ("/secrets", "secret", "#secrets", "secrets"),
    ("/settings", "key", "#keys", "keys"),
    ("/statuspage/own", "page", "#part-pages", "Pages"),
    ("/teams", "team", "#part-teams", "Teams"),
    ("/users", "crew", "#users", "All users"),
    ("/users", "invited", "#invited", "invited"),
)
HOURS = {"planned": ("2097", True), "active": ("2055", True), "off": ("2097", False), "past": ("2054", True)}


def fill(service):
    ada, otto = service.ada, service.otto
    layer = {"users": ["otto", "ada"], "start": "2055-01-11"}
    for number in range(MANY):
        n = f"{number:03}"
        automation = {"name": f"automation-{n}", "type": "notification", "params": {"title": "x"}}
        made = otto.post_json("/api/automations", automation).json["id"]
        ada.post_json("/api/secrets", {"name": f"secret-{n}", "value": "hidden", "allowed_for": [made]})
        ada.post_json("/api/notifications/channels", {"name": f"channel-{n}", "url": "json://127.0.0.1:9/x"})
        ada.post_json("/api/healing/inlets", {"name": f"inlet-{n}"})
        schedule = {"name": f"schedule-{n}", "zone": "Europe/Berlin", "layers": [layer]}
        steps = [{"schedules": [ada.post_json("/api/oncall/schedules", schedule).json["id"]]}]
        ada.post_json("/api/oncall/policies", {"name": f"policy-{n}", "steps": steps})
        for state, (year, enabled) in HOURS.items():
            hours = {"start": f"{year}-01-14T22:00:00", "end": f"{year}-01-16T02:00:00"}
            otto.post_json("/api/maintenance", {"name": f"{state}-{n}", "enabled": enabled} | hours)
        held = {"target": f"held-{n}", "duration": "2h", "reason": "", "action": "queue"}
        otto.post_json("/api/healing/maintenance", held)
        ada.post_json("/api/status/pages", {"slug": f"page-{n}", "name": f"page-{n}", "groups": []})
        ada.post_json("/api/teams", {"name": f"team-{n}", "see": [f"t{n}"], "act": [f"t{n}"]})
        (ada if number % 2 else otto).post_json("/api/keys", {"name": f"key-{n}", "role": "viewer"})
        ada.post_json("/api/invitations", {"username": f"invited-{n}", "role": "viewer"})
        ada.post_json("/api/deployments", {"title": f"deployment-{n}"})
        rule = {"id": f"rule-{n}", "condition": "cpu_percent > 90", "action": {"type": "clear_cache"}}
        ada.post_json("/api/healing/rules", rule)
        ada.post_json("/api/agents", {"label": f"host-{n}"})
    service.transact(lambda root: [users.create(root, f"crew-{n:03}", "viewer", "", n) for n in range(MANY)])


@pytest.mark.shared
def test_each_of_many_rows_is_on_one_page_and_their_number_is_true(service):
    fill(service)
    browser = service.browser("ada")
    for address, begins, panel, pager in LISTS:
        seen, counts, longest = Counter(), set(), 0
        for page in pages_of(browser, address, pager):
            names = set(re.findall(rf"\b{begins}-\d{{3}}\b", page.select_one(panel).get_text(" ")))
            seen.update(names)
            counts |= {count.text for count in page.select(f"{panel} > header > .n")}
            longest = max(longest, len(names))
        assert (len(seen), set(seen.values())) == (MANY, {1}), f"{begins} on {address}"
        assert longest <= 50
        assert not counts or all(int(count) >= MANY for count in counts), f"{begins} on {address}: {counts}"
    over = {page.path: elements for page in PAGES if "{" not in page.path and not page.file
            and (elements := len(browser.get(page.path).html.find_all())) > pages.TARGETS.elements}  # fmt: skip
    assert over == {}


def pages_of(browser, address, pager):
    """From the first on, by the links of this pager."""
    while address:
        page = browser.get(address).html
        yield page
        after = page.select_one(f'nav.pager[aria-label="Pages of {pager}"] a[rel=next]')
        address = after and after["href"]


def test_two_lists_of_one_page_have_places_of_their_own(service):
    lists = [(page.path, [part.begins for part in page.parts if part.paged]) for page in PAGES]
    assert [path for path, begins in lists if len(begins) > len(set(begins))] == []
