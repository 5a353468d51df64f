"""From asking to be told to the mail that says so: real queue, real mail server, the clock is the test's."""

import hmac
import json

import pytest

from opsapp.lib.problems import Unavailable
from opsapp.statuspages import resources
from opsapp.statuspages.engine import announcements, dispatch, workers
from opsapp.statuspages.logic.settings import StatusPageSettings
from opsapp.statuspages.resources import store_of
from tests.support.monitoring import DOWN, UP
from tests.support.subscribers import ADA, SETTINGS, SUBSCRIPTIONS, Press


@pytest.fixture
def press(service, mailbox):
    return Press(service, mailbox)


def test_who_confirms_is_told_of_beginning_updates_and_end_once(press):
    press.subscribed()
    press.see(DOWN)
    press.after(20)
    press.update("A disk is full.")
    press.update("It is the disk of db-7.internal.", public=False)
    press.after(20)
    press.see(UP)
    press.after(20)
    press.after(600)
    assert press.subjects == [
        "[Lindenhof] Confirm your subscription",
        "[Lindenhof] Shop is down",
        "[Lindenhof] Shop: Identified",
        "[Lindenhof] Shop is up again",
    ]
    begin = press.mailbox.mails[1]
    incident = press.lookout.incidents()[0]["id"]
    assert f"https://status.example/status/incidents/{incident}" in begin.get_content()
    assert "HTTP 500" not in begin.get_content()
    assert begin["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    assert begin["List-Unsubscribe"] == f"<https://status.example{press.link('unsubscribe', begin)}>"
    assert begin["To"] == ADA
    assert begin["From"] == "Lindenhof <status@lindenhof.example>"
    assert len({mail["Message-ID"] for mail in press.mailbox.mails}) == 4


def test_what_was_gathered_before_the_clock_was_set_back_is_told_within_its_time(press):
    press.subscribed()
    press.see(DOWN)
    press.clock.set_by(-3600)
    press.node.clock_steps.step()
    press.after(20)
    assert press.subjects[1:] == ["[Lindenhof] Shop is down"]


def test_who_does_not_confirm_hears_no_more_and_is_forgotten_with_the_address(press):
    press.ask()
    press.work()
    press.see(DOWN)
    press.after(20)
    assert press.subjects == ["[Lindenhof] Confirm your subscription"]
    token = press.link("confirm").rpartition("/")[2]
    assert press.service.transact(lambda root: workers.subscriptions.waits(root, token))
    press.clock.advance(86_400)
    assert not press.service.transact(lambda root: workers.subscriptions.waits(root, token))
    workers.purge(press.node)
    assert press.store(lambda store: (len(store.subscribers), len(store.marks), len(store.pending))) == (0, 0, 0)


def test_without_the_key_of_the_store_no_link_is_made_or_believed(press, monkeypatch):
    press.subscribed()
    monkeypatch.setattr(resources, "chain_key", lambda root: b"")
    (subscriber_id,) = press.store(lambda store: list(store.subscribers))
    guess = (
        subscriber_id
        + hmac.digest(b"status page\0", json.dumps(["unsubscribe", subscriber_id]).encode(), "sha256").hex()
    )
    with pytest.raises(Unavailable, match="the key of the store"):
        press.service.transact(lambda root: resources.bearer_of(root, "unsubscribe", guess))
    press.service.anonymous.get(f"/status/unsubscribe/{guess}", status=503)


def test_the_answer_does_not_tell_whether_an_address_is_known(press):
    first = press.ask()
    pending = press.ask()
    press.subscribed("known@example.org")
    known = press.ask("known@example.org")
    assert first.json == pending.json == known.json
    assert first.status == known.status
    press.work()
    assert press.subjects[-1] == "[Lindenhof] You are subscribed already"


def test_asking_writes_as_often_for_a_known_address_as_for_another(press, monkeypatch):
    storage = press.node.store.db.storage
    finish, commits = storage.tpc_finish, []
    monkeypatch.setattr(storage, "tpc_finish", lambda *given: commits.append(1) or finish(*given))
    press.subscribed("known@example.org")
    press.ask("pending@example.org")
    written = []
    for address in ("known@example.org", "pending@example.org", "new@example.org"):
        commits.clear()
        press.ask(address)
        written.append(len(commits))
    assert written == [2, 2, 2]


def test_an_address_that_is_asked_for_too_often_gets_no_more_mail_and_the_answer_stays(press):
    answers = [press.ask().json for _ in range(6)]
    press.work()
    assert answers == [answers[0]] * 6
    assert len(press.mailbox.mails) <= 3


def test_who_asks_too_often_waits(press):
    for n in range(10):
        press.ask(f"visitor{n}@example.org")
    answer = press.ask("one.more@example.org", status=429)
    assert int(answer.headers["Retry-After"]) > 0
    press.clock.advance(7300)
    press.ask("one.more@example.org")


def test_what_fails_together_is_one_message(press):
    press.subscribed()
    more = [press.lookout.add(name=f"Part {n}", tags=["public"], retries=0) for n in range(5)]
    press.lookout.sees |= dict.fromkeys([press.shop, *more], DOWN)
    press.lookout.run(61, step=5)
    press.after(20)
    assert len(press.mailbox.mails) == 2
    assert press.subjects[1].endswith("is down and 5 more")


def test_groups_are_chosen(press):
    mill = press.lookout.add(name="Mill", tags=["public"], retries=0)
    press.lookout.sees[mill] = UP
    groups = [{"name": "Trade", "monitors": [press.shop]}, {"name": "Works", "monitors": [mill]}]
    press.set(groups=groups)
    works = press.service.ada.get(SETTINGS).json["groups"][1]["id"]
    press.subscribed("works@example.org", groups=[works])
    press.subscribed("all@example.org")
    del press.mailbox.mails[:]
    press.see(DOWN)
    press.after(20)
    assert [mail["To"] for mail in press.mailbox.mails] == ["all@example.org"]
    press.set(groups=[{**groups[1], "id": works, "name": "Renamed"}])  # who chose it is still told
    press.see(DOWN, mill)
    press.after(20)
    assert sorted(mail["To"] for mail in press.mailbox.mails[1:]) == ["all@example.org", "works@example.org"]


def test_a_refused_recipient_is_tried_again_and_one_who_is_gone_is_not(press):
    press.subscribed()
    press.subscribed("gone@example.org")
    press.mailbox.refusal, press.mailbox.refused = "550 no such user", "gone@"
    press.see(DOWN)
    press.after(20)
    assert [mail["To"] for mail in press.mailbox.mails[2:]] == [ADA]
    gone = press.service.ada.get(SUBSCRIPTIONS).json
    assert sorted((row["address"], row["failures"]) for row in gone) == [("a…@example.org", 0), ("g…@example.org", 1)]
    press.mailbox.refusal, press.mailbox.refused = "450 later", "ada."
    press.see(UP)
    press.after(20)
    before = len(press.mailbox.mails)
    press.mailbox.refusal = None
    press.after(60)
    assert [mail["To"] for mail in press.mailbox.mails[before:]] == [ADA]


def test_a_process_that_dies_between_claim_and_outcome_loses_nothing(press):
    press.subscribed()
    press.see(DOWN)
    press.clock.advance(20)
    while announcements.step(press.node):
        pass
    batch = press.service.transact(dispatch.begin, "mail", press.clock.now(), 50, ())
    assert [letter.to for letter in batch.letters] == [ADA]  # and here it dies
    press.work()
    assert press.subjects[1:] == ["[Lindenhof] Shop is down"]
    assert press.store(lambda store: store.queues["mail"].waiting()) == 0


def test_maintenance_is_told_when_planned_moved_and_cancelled(press):
    press.subscribed()
    window = {"name": "New disks", "start": "2058-01-01T10:00:00", "end": "2058-01-01T11:00:00", "scope": [press.shop]}
    press.clock.advance(2_777_068_800 - press.clock.now() - 86_400)  # a day before
    press.service.tokens.clear()
    made = press.service.otto.post_json("/api/maintenance", window).json["id"]
    for change in ({}, {"start": "2058-01-01T10:30:00"}, {"enabled": False}):
        if change:
            press.service.otto.put_json(f"/api/maintenance/{made}", change)
        announcements.look_at_windows(press.node)
        press.after(20)
        announcements.look_at_windows(press.node)
    assert [subject.partition("] ")[2] for subject in press.subjects[1:]] == [
        "Maintenance: New disks is planned",
        "Maintenance: New disks was moved",
        "Maintenance: New disks was cancelled",
    ]
    (row,) = press.store(lambda store: list(store.entries().values()))
    assert (row.uid, row.sequence, row.state) == (made, 2, "cancelled")


def test_addresses_stand_nowhere_in_clear(press, tmp_path):
    press.subscribed()
    press.see(DOWN)
    press.after(20)
    row = press.service.ada.get(SUBSCRIPTIONS).json[0]["id"]
    press.service.ada.delete(f"{SUBSCRIPTIONS}/{row}")
    audit = press.service.ada.get("/api/audit").json
    assert {"subscription.confirm", "subscription.delete"} <= {entry["action"] for entry in audit}
    assert "ada.visitor" not in repr(audit)
    for path in tmp_path.rglob("*.fs*"):
        assert b"ada.visitor" not in path.read_bytes()
    press.see(UP)
    press.after(20)
    assert len(press.mailbox.mails) == 2


@pytest.mark.parametrize(
    "address",
    [
        "a@example.org\r\nBcc: eve@example.org",
        "a@example.org,eve@example.org",
        "<a@example.org> SIZE=1",
        "a@b@example.org",
        "a@example.org\0",
        "a b@example.org",
        '"a\\"@example.org',
        "ä@example.org",
        "@example.org",
        "a@localhost",
        "x" * 65 + "@example.org",
        "a@" + "x" * 300 + ".org",
    ],
)
@pytest.mark.shared
def test_what_could_be_a_header_or_a_second_recipient_is_no_address(press, address):
    wrong = press.ask(address, status=422).json
    assert set(wrong["fields"]) == {"address"}


def test_names_and_updates_cannot_write_headers(press):
    press.subscribed()
    press.set(name="Linden, hof <x@y.example>")
    press.see(DOWN)
    press.after(20)
    press.update("one\r\nBcc: eve@example.org\r\n.\r\nMAIL FROM:<eve@example.org>")
    press.after(20)
    assert press.mailbox.mails[-1]["Bcc"] is None
    assert "Bcc: eve@example.org" in press.mailbox.mails[-1].get_content()
    assert [address.addr_spec for address in press.mailbox.mails[-1]["From"].addresses] == ["status@lindenhof.example"]


def test_guessed_tokens_open_nothing(press):
    press.subscribed()
    press.see(DOWN)
    press.after(20)
    leave = press.link("unsubscribe").rpartition("/")[2]
    wrong = [leave[:-1] + ("0" if leave[-1] != "0" else "1"), leave[:16], "0" * 64, "é" * 64, ""]
    for token in wrong:
        assert not press.service.transact(lambda root, token=token: workers.subscriptions.belongs(root, token))
        press.service.transact(lambda root, token=token: workers.subscriptions.leave(root, token, "192.0.2.1"))
    assert press.store(lambda store: len(store.confirmed)) == 1
    assert not press.service.transact(lambda root: workers.subscriptions.waits(root, leave))
    press.service.transact(lambda root: workers.subscriptions.leave(root, leave, "192.0.2.1"))
    assert press.store(lambda store: (len(store.confirmed), len(store.subscribers))) == (0, 0)


def test_nothing_is_offered_before_it_can_be_done(press):
    press.set(mail_server=None)
    assert press.service.ada.get(SETTINGS).json["offered"] == []
    assert press.ask(status=409).json["code"] == "not_offered"


def test_a_large_list_is_written_a_page_at_a_time_and_waits_for_nobody(press):
    press.service.configure(StatusPageSettings, batch=100)
    press.subscribed()
    press.service.transact(many, 1000)  # with the first of them three pages, the last of a single letter
    press.see(DOWN)
    press.clock.advance(20)
    assert announcements.step(press.node)
    assert press.store(lambda store: len(store.queues["mail"].rows)) == 500
    press.ask("late@example.org")
    press.node.leases.step()
    assert press.send("mail")
    assert "late@example.org" in [mail["To"] for mail in press.mailbox.mails]  # before 1,000 others
    press.work()
    assert sum(mail["Subject"] == "[Lindenhof] Shop is down" for mail in press.mailbox.mails) == 1001


def test_a_mail_server_that_is_away_is_asked_from_time_to_time_and_costs_nobody_an_attempt(press):
    press.service.configure(StatusPageSettings, batch=20)
    press.subscribed()
    press.service.transact(many, 200)
    press.set(mail_server="smtp://127.0.0.1:1")
    press.see(DOWN)
    before = press.node.store.db.lastTransaction()
    press.after(20)
    commits = [0]
    for _ in range(60):
        commits[0] += dispatch.step(press.node, "mail", press.carriers["mail"])
        press.clock.advance(10)
    assert commits[0] <= 10, "600 s of a server that is away, with a pause that doubles"
    assert before < press.node.store.db.lastTransaction()
    assert press.store(lambda store: len(store.queues["mail"].attempts)) == 0
    press.set(mail_server=f"smtp://127.0.0.1:{press.mailbox.port}")
    press.after(700)
    assert press.subjects.count("[Lindenhof] Shop is down") == 201


def test_what_is_too_old_to_be_news_is_not_sent(press):
    press.subscribed()
    press.set(mail_server="smtp://127.0.0.1:1")
    press.see(DOWN)
    press.after(20)
    press.clock.advance(5 * 3600)
    press.set(mail_server=f"smtp://127.0.0.1:{press.mailbox.port}")
    press.after(1)
    assert press.subjects == ["[Lindenhof] Confirm your subscription"]
    assert press.store(lambda store: store.queues["mail"].waiting()) == 0


@pytest.mark.parametrize("seconds", [25 * 3600, -25 * 3600])
def test_news_that_wait_are_as_old_after_a_step_of_the_clock_as_before(press, seconds):
    press.subscribed()
    workers.start(press.node)
    press.set(mail_server="smtp://127.0.0.1:1")
    press.see(DOWN)
    press.after(20)
    press.clock.set_by(seconds)
    press.node.clock_steps.step()
    press.set(mail_server=f"smtp://127.0.0.1:{press.mailbox.port}")
    press.after(20)
    assert press.subjects == ["[Lindenhof] Confirm your subscription", "[Lindenhof] Shop is down"]


@pytest.mark.parametrize("seconds", [25 * 3600, -25 * 3600])
def test_a_letter_that_was_refused_is_tried_for_as_long_as_it_would_have_been(press, seconds):
    press.subscribed()
    workers.start(press.node)
    press.mailbox.refusal, press.mailbox.refused = "450 later", "ada."
    press.see(DOWN)
    press.after(20)
    press.clock.set_by(seconds)
    press.node.clock_steps.step()
    press.after(20)
    press.mailbox.refusal = None
    press.after(120)
    assert press.subjects == ["[Lindenhof] Confirm your subscription", "[Lindenhof] Shop is down"]


def test_one_letter_that_breaks_the_connection_holds_up_no_other(press):
    press.subscribed()
    press.service.transact(many, 30)
    press.subscribed("breaks@example.org")
    press.mailbox.breaks = "breaks@"
    press.see(DOWN)
    press.after(20)
    press.after(6)
    press.after(6)
    assert press.subjects.count("[Lindenhof] Shop is down") == 31
    assert press.store(lambda store: len(store.queues["mail"].attempts)) == 1


def many(root, count):
    """More subscribers of the same address."""
    store = store_of(root)
    first = next(iter(store.subscribers.values()))
    for n in range(count):
        other = type(first)("mail", first.sealed, f"mark{n}", (), first.asked_at)
        store.confirm(store.add(other), first.asked_at)
