"""Subscribers of a page of its own: asked, confirmed, told and let go by the mechanism of the page of all. They hear of
that page's monitors and notices alone, by its own address."""

import re

import pytest

from opsapp.runtime import deletions
from opsapp.statuspages.engine import announcements, workers
from opsapp.statuspages.resources import store_of
from tests.support.monitoring import DOWN, UP
from tests.support.subscribers import ADA, Press

BOB = "bob@acme.example"
HOME = "https://status.acme.example/status/acme"
PATH = "/api/status/pages/acme"


@pytest.fixture
def press(service, mailbox):
    press = Press(service, mailbox)
    press.till = press.lookout.add(name="Acme till", retries=0)
    press.lookout.sees[press.till] = UP
    press.lookout.run(60, step=5)
    body = {"slug": "acme", "name": "Acme", "public_url": "https://status.acme.example", "subscribe_by": ["mail"],
            "groups": [{"name": "Yours", "monitors": [press.till]}]}  # fmt: skip
    made = ada(press).post_json("/api/status/pages", body, status=201).json
    assert (made["offered"], made["lacking"]) == (["mail"], [])
    return press


def ada(press):
    press.service.tokens.clear()
    return press.service.ada


def link(mail, purpose):
    return re.search(rf"https://status\.acme\.example(/status/acme/{purpose}/\w+)", mail.get_content())[1]


def subscribed(press, address=BOB):
    """By the page's own form, and the link's button."""
    visitor = press.service.anonymous
    assert "inbox" in visitor.post("/status/acme/subscribe", {"kind": "mail", "address": address}).text
    press.work()
    mail = press.mailbox.mails[-1]
    place = link(mail, "confirm")
    assert "Confirm your subscription" in visitor.get(place).text
    assert "You are subscribed" in visitor.post(place, {}).text
    return mail


def told(press, address=BOB):
    return [mail["Subject"] for mail in press.mailbox.mails if mail["To"] == address][1:]


def test_who_subscribes_to_it_hears_of_its_monitors_by_its_own_address(press):
    asked = subscribed(press)
    press.subscribed()
    assert asked["From"] == "Acme <status@lindenhof.example>"
    press.see(DOWN, press.till)
    press.after(20)
    press.see(DOWN)
    press.after(20)
    assert told(press) == ["[Acme] Acme till is down"]
    assert told(press, ADA) == ["[Lindenhof] Shop is down"]
    mail = next(mail for mail in press.mailbox.mails if "Acme till" in mail["Subject"])
    text = mail.get_content()
    incident = re.search(rf"{HOME}/incidents/(\w+)", text)[1]
    assert incident in [row["id"] for row in press.lookout.incidents()]
    assert not [word for word in ("Shop", "Lindenhof", "https://status.example") if word in text]
    assert mail["List-Unsubscribe"] == f"<https://status.acme.example{link(mail, 'unsubscribe')}>"
    press.service.anonymous.post(link(mail, "unsubscribe"), {"List-Unsubscribe": "One-Click"})
    press.see(UP, press.till)
    press.after(20)
    assert len(told(press)) == 1


def test_notices_incidents_by_hand_and_maintenance_of_its_own_are_told(press):
    subscribed(press)
    press.subscribed()
    for title, pages in (("For Acme", ["acme"]), ("For all", ["*"]), ("For the other", ["public"])):
        ada(press).post_json("/api/monitoring/notices", {"title": title, "pages": pages}, status=201)
        announcements.look_at_notices(press.node)
        press.after(20)
    ada(press).post_json("/api/monitoring/incidents", {"name": "No phones", "pages": ["acme"]}, status=201)
    press.after(20)
    for name, scope in (("Till work", press.till), ("Shop work", press.shop)):
        window = {"name": name, "start": "2055-01-16T00:00:00", "end": "2055-01-16T01:00:00", "scope": [scope]}
        ada(press).post_json("/api/maintenance", window, status=201)
    announcements.look(press.node)
    press.after(20)
    assert told(press) == ["[Acme] Notice: For Acme", "[Acme] Notice: For all", "[Acme] No phones",
                           "[Acme] Maintenance: Till work is planned"]  # fmt: skip
    assert told(press, ADA) == ["[Lindenhof] Notice: For all", "[Lindenhof] Notice: For the other",
                                "[Lindenhof] Maintenance: Shop work is planned"]  # fmt: skip


def test_a_monitor_that_leaves_the_page_sends_nothing_more_not_even_what_waits(press):
    subscribed(press)
    press.see(DOWN, press.till)
    ada(press).put_json(PATH, {"groups": []})
    press.after(20)
    assert told(press) == []
    press.see(UP, press.till)
    press.after(20)
    assert told(press) == []


def test_one_address_may_be_told_of_two_pages_and_leaves_one(press):
    subscribed(press, ADA)
    press.subscribed()
    ada(press).put_json(f"/api/monitoring/endpoints/{press.till}", {"tags": ["public"]})
    press.see(DOWN, press.till)
    press.after(20)
    assert sorted(told(press, ADA))[-2:] == ["[Lindenhof] Acme till is down", "[Lindenhof] Confirm your subscription"]
    assert "[Acme] Acme till is down" in told(press, ADA)
    mail = next(mail for mail in press.mailbox.mails if mail["Subject"] == "[Acme] Acme till is down")
    token = link(mail, "unsubscribe")
    other = token.replace("/status/acme/", "/status/")
    press.service.anonymous.post(other, {})
    assert press.store(lambda store: len(store.confirmed)) == 2, "it is no link of the page of all"
    press.service.anonymous.post(token, {})
    assert press.store(lambda store: [row[0] for row in store.confirmed.values()]) == ["mail"]


def test_a_page_that_is_deleted_ends_its_subscriptions_and_one_that_is_put_back_has_them(press):
    subscribed(press)
    press.see(DOWN, press.till)
    undo = ada(press).delete(PATH).headers["X-Undo"]
    press.after(20)
    assert told(press) == []
    ada(press).post_json(f"/api/deleted/{undo}/undo", {})
    workers.purge(press.node)
    press.see(UP, press.till)
    press.after(20)
    assert told(press) == ["[Acme] Acme till is up again"]
    ada(press).delete(PATH)
    press.clock.advance(61)
    press.node.leases.want("housekeeping")
    press.node.leases.step()
    deletions.step(press.node)
    ada(press).post_json("/api/status/pages", {"slug": "acme", "name": "Acme again"}, status=201)
    while workers.purge(press.node):
        pass
    assert press.store(lambda store: (len(store.confirmed), len(store.subscribers), len(store.ended))) == (0, 0, 0)


def test_a_way_that_is_not_offered_any_more_waits_and_is_sent_later(press):
    subscribed(press)
    ada(press).put_json(PATH, {"public_url": None})
    press.see(DOWN, press.till)
    press.after(20)
    assert told(press) == []
    ada(press).put_json(PATH, {"public_url": "https://status.acme.example"})
    press.after(61)
    assert told(press) == ["[Acme] Acme till is down"]


def test_the_answer_to_a_program_tells_of_no_page(press):
    body = {"kind": "mail", "address": BOB, "page": "acme"}
    visitor = press.service.anonymous
    assert visitor.post_json("/api/status/subscriptions", body, status=201).json["status"] == "asked"
    ada(press).put_json(f"{PATH}/password", {"password": "a word for acme"})
    closed = visitor.post_json("/api/status/subscriptions", body, status=409).json
    assert closed == visitor.post_json("/api/status/subscriptions", body | {"page": "nobody"}, status=409).json
    visitor.post("/status/acme/subscribe", {"kind": "mail", "address": BOB}, status=401)


def test_links_of_a_page_with_a_password_open_without_it_and_name_no_monitor(press):
    subscribed(press)
    ada(press).put_json(f"{PATH}/password", {"password": "a word for acme"})
    press.see(DOWN, press.till)
    press.after(20)
    place = link(press.mailbox.mails[-1], "unsubscribe")
    shown = press.service.anonymous.get(place)
    assert "Leave the list?" in shown.text
    assert "Acme till" not in shown.text
    assert shown.headers["Cache-Control"] == "no-store"
    press.service.anonymous.post(place, {})
    assert press.store(lambda store: len(store.confirmed)) == 0


def test_three_messages_an_hour_to_one_address_whatever_the_page(press):
    for _ in range(3):
        press.service.anonymous.post("/status/acme/subscribe", {"kind": "mail", "address": ADA})
        press.ask()
    press.work()
    assert len(press.mailbox.mails) <= 3


def test_admins_see_of_which_page_a_subscriber_is(press):
    subscribed(press)
    press.subscribed()
    pages = {row["page"] for row in ada(press).get("/api/status/subscriptions").json}
    assert pages == {"acme", "public"}
    assert ada(press).get("/api/status/subscriptions/counts").json["confirmed"]["mail"] == 2
    ada(press).put_json(PATH, {"slug": "acme-corp"})
    assert "acme-corp" in {row["page"] for row in ada(press).get("/api/status/subscriptions").json}


def test_subscribers_of_an_older_version_are_of_the_page_of_all(press):
    press.subscribed()
    press.service.transact(lambda root: store_of(root).confirmed.update(
        {name: row[:2] for name, row in store_of(root).confirmed.items()}))  # fmt: skip
    press.see(DOWN)
    press.after(20)
    assert told(press, ADA) == ["[Lindenhof] Shop is down"]
