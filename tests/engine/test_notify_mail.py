"""Messages by mail: what arrives reads as it was written, and what does not arrive says why."""

import pytest

from opsapp.notify.resources import deliveries_of

from .test_notify import Office


@pytest.fixture
def office(service, mailbox):
    office = Office(service, mailbox)
    office.channel()
    return office


def test_lines_and_angle_brackets_arrive_as_they_were_written(office, mailbox):
    office.tell(title="<b>Shop</b> & co\r\nBcc: eve@example.org", tags=["shop"])
    office.tell(title='second <img src="http://example.org/x">')
    office.after(5)
    (mail,) = mailbox.mails
    assert mail["Bcc"] is None
    assert mail["Subject"] == '[critical] second <img src="http://example.org/x">'
    assert mail.get_content_type() == "text/plain"  # nothing that a reader would take for markup
    lines = mail.get_content().splitlines()
    assert lines[:4] == ["HTTP 500", "With it:", "- <b>Shop</b> & co", "Bcc: eve@example.org"]


def test_who_wants_html_gets_the_text_as_text(office, mailbox):
    office.channel(name="html", url=mailbox.url() + "&format=html")
    office.tell(title='<img src="http://example.org/x">')
    office.tell(title="Shop is down")
    office.after(5)
    html = next(mail for mail in mailbox.mails if mail.is_multipart()).get_body(["html"]).get_content()
    assert "<img" not in html
    assert "&lt;img" in html
    assert html.count("<br") >= 3


def test_a_mail_server_that_wants_it_later_gets_it_later_and_the_log_says_so(office, mailbox):
    mailbox.refusal = "450 4.2.0 greylisted, come back"
    office.tell()
    office.after(5)
    (entry,) = office.log()
    assert (entry["status"], entry["attempts"]) == ("queued", 1)
    assert "450" in entry["error"]
    assert "greylisted, come back" in entry["error"]
    assert "example.org" not in entry["error"]
    mailbox.refusal = None
    office.after(5)
    assert [mail["Subject"] for mail in mailbox.mails] == ["[critical] Shop is down"]
    assert office.log()[0]["status"] == "sent"


def test_who_has_taken_a_mail_does_not_get_it_again_because_another_has_not(office, mailbox):
    service = office.service
    channel = service.ada.get("/api/notifications/channels").json[0]["id"]
    both = {"url": mailbox.url(to="ada@example.org,otto@example.org")}
    service.ada.put_json(f"/api/notifications/channels/{channel}", both)
    mailbox.refusal, mailbox.refused = "452 the mailbox of otto is full", "otto@"
    office.tell()
    office.after(5)
    for _ in range(3):
        office.after(60)
    assert [mail["To"] for mail in mailbox.mails] == ["ada@example.org"]
    assert office.log()[0]["attempts"] > 2
    assert b"ada@" not in (office.read(lambda root: repr(vars(deliveries_of(root)[office.log()[0]["id"]])))).encode()
    mailbox.refusal = None
    office.after(600)
    assert [mail["To"] for mail in mailbox.mails] == ["ada@example.org", "otto@example.org"]
    assert office.log()[0]["status"] == "sent"


def test_a_server_that_is_not_there_is_told_with_the_reason(office, mailbox):
    mailbox.close()
    office.tell()
    office.after(5)
    assert "refused" in office.log()[0]["error"].lower()
