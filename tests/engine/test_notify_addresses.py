"""Messages lead somewhere: each ends with the address of its page, where `web.base_url` says where pages are."""

import ast
from pathlib import Path

import pytest

import opsapp
from opsapp.notify.interfaces import IPageAddresses
from opsapp.ui.leading import LEADS
from opsapp.ui.plan import PAGES
from opsapp.web.config import WebSettings
from tests.support.monitoring import DOWN, Lookout

from .test_notify import CHANNELS, Office

OURS = Path(opsapp.__file__).parent
BASE = "https://ops.example.org/house"


@pytest.fixture
def office(service, receiver):
    service.configure(WebSettings, base_url=BASE + "/")
    return Office(service, receiver)


def last_line(message):
    return message["message"].splitlines()[-1]


def test_a_message_ends_with_the_address_of_its_page(office):
    office.channel()
    office.tell(ids={"incident": "4f2a", "monitor": "7"})
    office.after(5)
    assert last_line(office.receiver.messages[0]) == f"{BASE}/incidents/4f2a"


def test_without_base_url_no_hostname_is_guessed(office):
    office.service.configure(WebSettings, base_url=None)
    office.channel()
    office.tell(ids={"incident": "4f2a"})
    office.after(5)
    assert "://" not in office.receiver.messages[0]["message"]


def test_what_opens_leads_to_its_incident_and_what_joins_it_leaves_that_so(office):
    office.channel()
    lookout = Lookout(office.service)
    monitor = lookout.add(name="Shop", tags=["web"])
    lookout.sees[monitor] = DOWN
    lookout.run(90)
    office.work()
    (incident,) = office.service.vera.get("/api/monitoring/incidents").json
    assert last_line(office.receiver.messages[0]) == f"{BASE}/incidents/{incident['id']}"
    (delivery,) = office.log()
    assert delivery["messages"][0]["ids"] == {"monitor": monitor, "incident": incident["id"]}
    page = office.service.browser("ada").get(f"/incidents/{incident['id']}")
    assert "Shop" in page.text


def test_each_line_of_a_digest_leads_to_its_own_page(office):
    office.channel(digest_s=60)
    office.tell(key="incident:1", severity="warning", ids={"incident": "a"})
    office.tell(key="agent:2", kind="agent.offline", severity="warning", title="box", ids={"agent": "b"})
    office.after(5)
    office.after(90)
    told = office.receiver.messages[0]["message"].split("\n\n")
    assert {message.splitlines()[-1].strip() for message in told} == {f"{BASE}/incidents/a", f"{BASE}/agents/b"}


def test_a_test_message_leads_to_its_channel(office):
    channel = office.channel()
    office.service.ada.post_json(f"{CHANNELS}/{channel}/test", {})
    assert last_line(office.receiver.messages[0]) == f"{BASE}/notifications/channels/{channel}"


@pytest.mark.parametrize(
    ("kind", "ids", "path"),
    [
        ("heal.unresolved", {"case": "c1", "rule": "disk_full"}, "/healing/cases/c1"),
        ("heal.unresolved", {"rule": "disk_full"}, "/healing/rules/disk_full"),
        ("heal.approval", {"case": "c1", "approval": "a1"}, "/approvals/a1"),
        ("heal.problem", {"problem": "p1", "rule": "r"}, "/healing/problems/p1"),
        ("heal.breaker", {"rule": "a/b c"}, "/healing/rules/a%2Fb%20c"),
        ("heal.brake", {}, "/healing"),
        ("heal.dependency", {}, "/healing/dependencies"),
        ("inlet.refused", {"inlet": "i"}, "/healing/inlets/i"),
        ("agent.deleted", {"agent": "gone"}, "/agents"),
        ("approval.asked", {"approval": "a1"}, "/approvals/a1"),
        ("run.failed", {"run": "r1", "automation": "x"}, "/automations/runs/r1"),
        ("automation.full", {"automation": "x"}, "/automations/x"),
        ("clock.set", {}, "/settings/service"),
        ("damage.found", {}, "/settings/service"),
        ("something.new", {}, "/"),
    ],
)
def test_which_page_belongs_to_which_kind_of_message(office, kind, ids, path):
    assert office.node.registry.getUtility(IPageAddresses)(kind, ids) == BASE + path


def test_messages_lead_to_pages_that_there_are():
    declared = {page.path for page in PAGES}
    assert {page for lead in LEADS for page, _ in lead.pages} <= declared


ABOUT_THE_SERVICE = {"clock.set", "damage.found", "heal.dependency"}  # their pages show all there is of the kind


def told_everywhere():
    """(file, keywords by name) of each place that tells people something."""
    for path in sorted(OURS.rglob("*.py")):
        text = path.read_text()
        for node in ast.walk(ast.parse(text)) if "tell(" in text else ():
            if isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", "")) == "tell":
                given = {keyword.arg: keyword.value for keyword in node.keywords}
                if "kind" in given:
                    yield path.relative_to(OURS), given


def test_whoever_tells_something_says_what_it_is_about():
    calls = list(told_everywhere())
    assert len(calls) > 10
    silent = [(str(path), ast.unparse(given["kind"]).strip("'")) for path, given in calls if "ids" not in given]
    assert [(path, kind) for path, kind in silent if kind not in ABOUT_THE_SERVICE] == []
