"""What a webhook is sent is what the guide says, field by field; and how urgent a message is with each service."""

import json
import re
from pathlib import Path

import pytest

from opsapp.notify.logic.adapting import MAIL, MAIL_NAMES, PRIORITIES, Journey, Levels, adapted
from opsapp.ui.leading import LEADS
from opsapp.web.config import WebSettings

from .test_notify import Office

GUIDE = Path(__file__).resolve().parents[2] / "docs/guide/notifications.md"
INCIDENT = {"monitor": "3f0c", "incident": "4f2a"}


@pytest.fixture
def office(service, receiver):
    service.configure(WebSettings, base_url="https://ops.example.org")
    return Office(service, receiver)


def example():
    section = GUIDE.read_text().partition("## The document of a webhook")[2].partition("\n## ")[0]
    documented = json.loads(re.search(r"```json\n(.*?)```", section, re.DOTALL)[1])
    return documented, set(re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE))


def test_a_webhook_is_sent_what_the_guide_shows(office):
    office.channel()
    office.tell(ids=INCIDENT, tags=["web"])
    office.after(5)
    (sent,) = office.receiver.messages
    documented, fields = example()
    delivery = office.log()[0]["id"]
    assert sent == documented | {"delivery_id": delivery}
    assert fields == set(documented)


def test_the_fields_that_were_there_before_stay(office):
    office.channel()
    office.tell()
    office.after(5)
    (sent,) = office.receiver.messages
    assert {"version", "title", "message", "attachments", "type"} <= sent.keys()
    assert (sent["version"], sent["title"], sent["type"]) == (1, "[critical] Shop is down", "failure")


def test_a_digest_has_the_document_of_each_message(office):
    office.channel(digest_s=60)
    office.tell(key="incident:1", severity="info", ids=INCIDENT)
    office.tell(key="agent:2", kind="agent.offline", severity="warning", title="box", ids={"agent": "b"})
    office.after(5)
    office.after(90)
    (sent,) = office.receiver.messages
    assert (sent["kind"], sent["severity"], sent["ids"]) == ("digest", "warning", {})
    assert sent["links"] == {"page": "https://ops.example.org/"}
    assert {message["kind"]: message["ids"] for message in sent["messages"]} == {
        "incident.opened": INCIDENT, "agent.offline": {"agent": "b"}}  # fmt: skip
    assert {message["title"] for message in sent["messages"]} == {"Shop is down", "box"}
    documented, _ = example()
    of_each = documented.keys() - {"version", "delivery_id", "message", "attachments", "type", "messages"}
    assert all(message.keys() == of_each for message in sent["messages"])


def test_without_base_url_there_are_no_links(office):
    office.service.configure(WebSettings, base_url=None)
    office.channel()
    office.tell(ids=INCIDENT)
    office.after(5)
    assert office.receiver.messages[0]["links"] == {}


def test_what_the_channels_own_address_adds_stays(office):
    office.channel(url=office.receiver.url() + "?:kind=mine&:team=blue")
    office.tell(ids=INCIDENT)
    office.after(5)
    assert (office.receiver.messages[0]["kind"], office.receiver.messages[0]["team"]) == ("mine", "blue")


URGENCY = [("critical", "incident.opened"), ("warning", "agent.offline"), ("info", "heal.notified"),
           ("critical", "incident.resolved")]  # fmt: skip


def sent_to(office, url):
    """What a service was sent for each urgency: (body, headers)."""
    office.channel(url=url)
    arrived = []
    for number, (severity, kind) in enumerate(URGENCY):
        office.tell(key=f"incident:{number}", kind=kind, severity=severity, ids=INCIDENT)
        office.after(5)
        arrived.append((office.receiver.messages[-1], office.receiver.headers))
    return arrived


def test_ntfy_gets_a_priority_and_what_a_tap_opens(office):
    arrived = sent_to(office, office.receiver.url("ops").replace("json://", "ntfy://"))
    assert [headers.get("X-Priority", "default") for _, headers in arrived] == ["max", "high", "low", "default"]
    assert arrived[0][1]["X-Click"] == "https://ops.example.org/incidents/4f2a"


def test_gotify_gets_a_priority_and_what_a_tap_opens(office):
    arrived = sent_to(office, office.receiver.url("sub/AbCdEfGhIjKlMnO").replace("json://", "gotify://"))
    assert [body["priority"] for body, _ in arrived] == [10, 8, 3, 5]
    body, headers = arrived[0]
    assert body["extras"] == {"client::notification": {"click": {"url": "https://ops.example.org/incidents/4f2a"}}}
    assert body.keys() == {"title", "message", "priority", "extras"}
    assert (headers["X-Gotify-Key"], office.receiver.paths[0]) == ("AbCdEfGhIjKlMnO", "/sub/message")


def test_gotify_without_base_url_gets_the_priority_alone(office):
    office.service.configure(WebSettings, base_url=None)
    arrived = sent_to(office, office.receiver.url("AbCdEfGhIjKlMnO").replace("json://", "gotify://"))
    assert [body["priority"] for body, _ in arrived] == [10, 8, 3, 5]
    assert "extras" not in arrived[0][0]


def test_a_priority_in_the_channels_own_address_stays(office):
    url = office.receiver.url("AbCdEfGhIjKlMnO").replace("json://", "gotify://") + "?priority=low"
    assert {body["priority"] for body, _ in sent_to(office, url)} == {0}


def test_a_mail_says_how_urgent_it_is(service, mailbox):
    office = Office(service, mailbox)
    office.channel()
    for number, (severity, kind) in enumerate(URGENCY):
        office.tell(key=f"incident:{number}", kind=kind, severity=severity)
        office.after(5)
    said = [tuple(mail[name] for name in MAIL_NAMES) for mail in mailbox.mails]
    assert said == [MAIL["failure"], MAIL["warning"], MAIL["info"], MAIL["success"]]


def test_a_header_in_the_channels_own_address_stays_however_it_is_written(service, mailbox):
    office = Office(service, mailbox)
    office.channel(url=mailbox.url() + "&+x-priority=4")
    office.tell()
    office.after(5)
    (mail,) = mailbox.mails
    assert (mail.get_all("X-Priority"), mail["Importance"]) == (["4"], "high")


@pytest.mark.parametrize("mood", Levels._fields)
def test_pushover_is_never_asked_to_call_until_somebody_answers(mood):
    """Its priority 2 needs `retry` and `expire`, and is for a channel's own address to ask for."""
    import apprise

    parsed = apprise.plugins.url_to_dict(f"pover://{'u' * 30}@{'a' * 30}")
    page = "https://ops.example.org/incidents/4f2a"
    plugin = apprise.Apprise.instantiate(adapted(parsed, Journey(mood, page, {})))
    assert plugin.priority == {"failure": 1, "warning": 0, "info": -1, "success": 0}[mood]
    assert plugin.supplemental_url == page


def test_the_guide_has_the_table_of_priorities():
    section = GUIDE.read_text().partition("## Urgency")[2].partition("\n## ")[0]
    lines = [line.strip("| ").split("|") for line in section.splitlines() if line.startswith("| ")]
    rows = {service.strip(): [cell.strip() for cell in cells] for service, *cells in lines}
    order = ("failure", "warning", "info", "success")
    for service, levels in PRIORITIES.items():
        told = [getattr(levels, mood) for mood in order]
        assert [cell.partition(" ")[2].strip("()") for cell in rows[service]] == told
    for place, name in enumerate(MAIL_NAMES):
        assert rows[f"mail: `{name}`"] == [MAIL[mood][place] for mood in order]


def test_the_guide_names_the_page_of_each_kind():
    section = GUIDE.read_text().partition("## Where messages lead")[2].partition("\n## ")[0]
    assert {lead.kind.rstrip(".") for lead in LEADS if lead.kind} <= set(re.findall(r"`([a-z.]+?)(?:\.\*)?`", section))
