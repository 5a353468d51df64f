"""Messages from `tell` to a real receiver: grouping, holding back, retries, crashes. The clock is the test's."""

import pytest
import yaml

from opsapp.notify.engine import courier, dispatch, routes, tell
from opsapp.notify.engine.courier import SendOutcome
from opsapp.notify.engine.workers import purge, sender_of
from opsapp.notify.interfaces import ICauses, ISilence, RootCause
from opsapp.notify.logic import STATUSES
from opsapp.notify.resources import channels_of, deliveries_of, inbox
from opsapp.notify.resources.groups import groups_of
from tests.support.app import Service
from tests.support.receiver import Receiver
from tests.support.waiting import until

CHANNELS = "/api/notifications/channels"


class Office:
    """A service whose notification steps the test makes."""

    def __init__(self, service, receiver):
        self.service, self.receiver, self.node, self.clock = service, receiver, service.node, service.clock
        self.node.leases.want("notify")
        self.node.leases.step()

    def channel(self, **more):
        body = {"name": "on-call", "url": self.receiver.url()} | more
        return self.service.ada.post_json(CHANNELS, body, status=201).json["id"]

    def tell(self, key="incident:1", kind="incident.opened", severity="critical", title="Shop is down", **more):
        def told(root):
            tell(root, self.clock.now(), key=key, kind=kind, severity=severity, title=title, text="HTTP 500", **more)

        self.service.transact(told)

    def work(self):
        """Every step as long as there is work, as the supervisor does."""
        while routes.step(self.node) or sender_of(self.node).step():
            pass

    def after(self, seconds):
        self.clock.advance(seconds)
        self.node.leases.step()
        self.work()

    def log(self, query=""):
        self.service.tokens.clear()  # a day may have passed
        return self.service.ada.get(f"/api/notifications/deliveries?{query}").json

    def read(self, fn):
        return self.service.read(fn)


@pytest.fixture
def office(service, receiver):
    return Office(service, receiver)


def test_what_is_told_arrives_after_a_moment(office):
    office.channel()
    office.tell(tags=("web",))
    office.work()
    assert office.receiver.titles == []
    office.after(5)
    assert office.receiver.titles == ["[critical] Shop is down"]
    assert office.receiver.messages[0]["type"] == "failure"
    (entry,) = office.log()
    assert (entry["status"], entry["attempts"], entry["error"]) == ("sent", 1, None)
    assert (entry["messages"][0]["key"], entry["messages"][0]["tags"]) == ("incident:1", ["web"])


def test_a_storm_with_one_root_cause_is_one_message_a_channel(office):
    office.channel()
    office.channel(name="second")

    def storm(root):
        for _ in range(2500):
            tell(root, office.clock.now(), key="incident:1", kind="incident.opened", severity="critical",
                 title="Shop is down", text="HTTP 500")  # fmt: skip

    for _ in range(4):
        office.service.transact(storm)
        office.after(2)
    office.after(60)
    assert office.receiver.titles == ["[critical] Shop is down"] * 2
    first, second = office.log()
    assert first["messages"][0]["events"] == second["messages"][0]["events"] == 10_000


def test_other_keys_are_other_messages_and_the_next_minute_another(office):
    office.channel()
    office.tell("incident:1", title="A")
    office.tell("incident:2", title="B")
    office.after(5)
    assert sorted(office.receiver.titles) == ["[critical] A", "[critical] B"]
    office.after(61)
    office.tell("incident:1", title="A")
    office.after(5)
    assert len(office.receiver.titles) == 3
    office.after(120)
    assert office.read(lambda root: (len(groups_of(root).groups), len(groups_of(root).agenda))) == (0, 0)


def test_channels_take_their_severities_and_tags(office):
    office.channel(name="critical", severities=["critical"], url=office.receiver.url("critical"))
    office.channel(name="database", tags=["db"], url=office.receiver.url("database"))
    office.channel(name="off", enabled=False, url=office.receiver.url("off"))
    office.tell("a:1", severity="warning", tags=("db",))
    office.tell("a:2", severity="critical", tags=("web",))
    office.after(5)
    assert sorted(office.receiver.paths) == ["/critical", "/database"]


def test_more_at_once_than_a_burst_is_one_digest(office):
    office.channel()
    for n in range(30):
        office.tell(f"incident:{n}", title=f"M{n}")
    office.after(5)
    assert len(office.receiver.messages) == 1
    assert office.receiver.messages[0]["title"] == "30 messages, the worst critical"
    statuses = [entry["status"] for entry in office.log()]
    assert (statuses.count("sent"), statuses.count("merged")) == (1, 29)


def test_quiet_hours_hold_back_what_can_wait_and_then_send_it_as_one(office):
    # The test's clock stands at 2055-01-15 08:00 UTC.
    office.channel(quiet_hours={"start": "07:00", "end": "09:00", "timezone": "UTC"})
    office.tell("a:1", severity="warning", title="One")
    office.tell("a:2", severity="info", title="Two")
    office.tell("a:3", severity="critical", title="Three")
    office.after(5)
    assert office.receiver.titles == ["[critical] Three"]
    held = office.log("status=queued")
    assert {entry["held"] for entry in held} == {"quiet_hours"}
    assert {entry["due_at"] for entry in held} == {2_683_616_400}
    office.after(3594)
    assert len(office.receiver.messages) == 1
    office.after(1)
    assert office.receiver.titles[1:] == ["2 messages, the worst warning"]


def test_a_digest_gathers_and_what_is_critical_does_not_wait(office):
    office.channel(digest_s=600)
    office.tell("a:1", severity="warning", title="One")
    office.after(5)
    office.after(300)
    office.tell("a:2", severity="warning", title="Two")
    office.tell("a:3", severity="critical", title="Three")
    office.after(5)
    assert office.receiver.titles == ["[critical] Three"]
    office.after(295)
    assert office.receiver.titles[1:] == ["2 messages, the worst warning"]


def test_what_fails_is_tried_again_with_growing_pauses_until_it_arrives(office):
    channel = office.channel()
    office.receiver.status = 500
    office.tell()
    office.after(5)
    pauses = []
    while len(pauses) < 4:
        (entry,) = office.log()
        assert entry["status"] == "queued"
        pauses.append(entry["due_at"] - int(office.clock.now()))
        office.after(pauses[-1])
    assert pauses == [5, 10, 20, 40]
    assert office.receiver.asked == 5
    shown = office.service.ada.get(f"{CHANNELS}/{channel}").json
    assert shown["last_error"]
    assert "s3cr3t" not in office.service.ada.get("/api/notifications/deliveries").text + str(shown)
    office.receiver.status = 200
    office.after(80)
    assert office.receiver.titles == ["[critical] Shop is down"]
    assert (office.log()[0]["status"], office.log()[0]["attempts"]) == ("sent", 6)
    assert office.service.ada.get(f"{CHANNELS}/{channel}").json["last_error"] is None


def test_a_channel_that_fails_rests_for_all_of_its_messages(office):
    office.channel()
    office.receiver.status = 500
    office.tell("a:1")
    office.after(5)
    office.after(5)
    office.tell("a:2")
    office.after(9.9)
    asked = office.receiver.asked
    assert asked == 2
    office.after(0.2)
    assert office.receiver.asked >= 3


def test_the_end_of_a_story_does_not_come_before_its_beginning(office):
    """The bad news has failed and is tried later; the good news about the same thing is due at once."""
    office.channel()
    office.receiver.status = 500
    office.tell()
    office.after(5)
    office.tell(kind="incident.resolved", title="Shop is up again")
    while len(office.log()) < 2:
        office.after(5)
    office.receiver.status = 200
    for _ in range(3):
        office.after(60)
    (message,) = office.receiver.messages
    text = message["message"]
    assert text.index("[critical] Shop is down") < text.index("Shop is up again")
    assert {(entry["kind"], entry["status"]) for entry in office.log()} == {("digest", "sent"), ("message", "merged")}


def test_what_nobody_ever_takes_holds_up_nothing_else(office, monkeypatch):
    office.channel()
    office.receiver.status = 500
    office.tell("a:1", title="Too much for it")
    for _ in range(9):
        office.after(300)
    assert office.log()[0]["status"] == "queued"
    takes = courier.hand_over

    def refuses(letter, timeout):
        return SendOutcome("too much") if "Too much" in letter.title else takes(letter, timeout)

    monkeypatch.setattr(courier, "hand_over", refuses)
    office.receiver.status = 200
    for n in range(3):
        office.tell(f"b:{n}", title=f"News {n}")
        office.after(6)
        office.after(600)  # as long as the channel rests at most
        assert office.receiver.titles[-1] == f"[critical] News {n}"
    assert len(office.receiver.titles) == 3


def test_a_service_that_leads_elsewhere_has_not_taken_the_message(office):
    """Followed, a redirect asks for a page there, and the message is gone."""
    office.channel()
    office.receiver.status = 302
    office.tell()
    office.after(5)
    assert (office.log()[0]["status"], office.receiver.asked) == ("queued", 1)
    assert "302" in office.log()[0]["error"]


def test_it_is_given_up_in_the_end(office):
    office.channel()
    office.receiver.status = 500
    office.tell()
    for _ in range(60):
        office.after(600)
    (entry,) = office.log()
    assert entry["status"] == "failed"
    assert entry["attempts"] > 20
    assert office.read(lambda root: deliveries_of(root).waiting()) == 0


def test_a_channel_that_hangs_holds_up_itself_alone(tmp_path, receiver, monkeypatch):
    monkeypatch.setenv("OPSAPP_ADMIN_PASSWORD", "first admin password")
    path = tmp_path / "opsapp.yaml"
    path.write_text(yaml.safe_dump({"notifications": {"timeout_s": 2}}))
    service = Service(tmp_path, **{"opsapp.config": str(path)})
    hanging = Receiver()
    hanging.open.clear()
    try:
        office = Office(service, receiver)
        office.channel(name="hangs", url=hanging.url())
        office.channel(name="works")
        office.tell()
        office.after(5)
        assert office.receiver.titles == ["[critical] Shop is down"]
        sender = sender_of(office.node)
        (stuck,) = office.log("status=queued")
        assert stuck["error"] == "no answer within 2 s"
        assert len(sender.late) == 1
        office.tell("a:2", title="More")
        office.after(65)
        until(lambda: hanging.asked, what="the hanging service being asked")
        assert hanging.asked == 1, "a second message must not hang beside the first"
        assert office.receiver.titles[1:] == ["[critical] More"]
        hanging.open.set()
        until(lambda: not sender.flying, what="the thread that hung coming to its end")
        office.after(600)
        assert hanging.asked > 1
    finally:
        hanging.close()
        service.close()


def test_after_a_crash_between_intent_and_outcome_it_is_sent_again(office):
    office.channel()
    office.tell()
    office.clock.advance(5)
    routes.step(office.node)
    letters, _ = office.service.transact(dispatch.begin, office.clock.now(), frozenset(), 8)
    assert len(letters) == 1
    assert office.log()[0]["status"] == "sending"
    assert office.service.transact(dispatch.begin, office.clock.now(), frozenset(), 8)[0] == []
    office.node.boot = "another"
    office.service.transact(lambda root: setattr(root.system["leases"]["notify"], "owner", "box:another"))
    office.after(1)
    assert office.receiver.titles == ["[critical] Shop is down"]
    assert (office.log()[0]["status"], office.log()[0]["attempts"]) == ("sent", 2)


def test_an_outcome_that_comes_too_late_changes_nothing(office):
    office.channel()
    office.tell()
    office.after(5)
    (entry,) = office.log()
    office.service.transact(dispatch.finish, entry["id"], SendOutcome("late"), office.clock.now())
    assert office.log()[0]["status"] == "sent"
    office.service.transact(dispatch.finish, "nobody", SendOutcome(None), office.clock.now())


def test_a_silent_target_is_not_told_of(office):
    office.channel()
    office.node.registry.registerUtility(lambda root, target, now: target == "shop", ISilence)
    office.tell("a:1", target="shop")
    office.tell("a:2", target="blog", title="Blog is down")
    office.tell("a:3", title="No target")
    office.after(5)
    assert sorted(office.receiver.titles) == ["[critical] Blog is down", "[critical] No target"]


class TestRootCauses:
    @pytest.fixture(autouse=True)
    def graph(self, office):
        """Everything depends on the router."""
        office.channel()
        office.node.registry.registerUtility(
            lambda root, failures, now: {each: RootCause("router") for each in failures if each.target != "router"},
            ICauses,
        )

    def test_what_fails_for_anothers_sake_is_told_with_it(self, office):
        office.tell("incident:1", title="Router is down", target="router")
        for n in range(2, 6):
            office.tell(f"incident:{n}", title=f"M{n} is down", target=f"m{n}")
        office.after(5)
        office.after(60)
        assert office.receiver.titles == ["[critical] Router is down"]
        (entry,) = office.log()
        assert entry["messages"][0]["events"] == 5

    def test_also_when_the_root_cause_is_told_last(self, office):
        for n in range(2, 6):
            office.tell(f"incident:{n}", title=f"M{n} is down", target=f"m{n}")
        office.after(5)
        office.tell("incident:1", title="Router is down", target="router")
        office.after(5)
        office.after(54)
        assert len(office.receiver.titles) == 1
        assert "Root cause: router" in office.receiver.messages[0]["message"]

    def test_other_families_keep_their_own_messages(self, office):
        office.tell("incident:1", title="Router is down", target="router")
        office.tell("approval:7", kind="approval.asked", title="May I?", target="m2")
        office.after(5)
        assert sorted(office.receiver.titles) == ["[critical] May I?", "[critical] Router is down"]


def test_a_channel_that_is_deleted_or_off_drops_what_waits(office):
    gone, off = office.channel(), office.channel(name="second")
    office.receiver.status = 500
    office.tell()
    office.after(5)
    office.service.ada.delete(f"{CHANNELS}/{gone}")
    office.service.ada.put_json(f"{CHANNELS}/{off}", {"enabled": False})
    office.after(60)
    assert {entry["status"] for entry in office.log()} == {"dropped"}
    assert {entry["error"] for entry in office.log()} == {"the channel is gone", "the channel is off"}
    assert office.read(lambda root: deliveries_of(root).waiting()) == 0


def test_the_log_is_purged_but_not_of_what_waits(office):
    office.channel(digest_s=86400)
    office.tell("a:1", severity="critical")
    office.tell("a:2", severity="info")
    office.after(5)
    office.clock.advance(31 * 86400)
    purge(office.node)
    assert [entry["status"] for entry in office.log()] == ["queued"]
    assert len(office.log()[0]["messages"]) == 1
    office.after(1)
    assert len(office.receiver.messages) == 2


def test_without_channels_nothing_piles_up(office):
    for n in range(50):
        office.tell(f"a:{n}")
    office.after(5)
    office.after(61)
    assert office.read(inbox.waiting) is False
    assert office.read(lambda root: len(groups_of(root).groups)) == 0
    assert office.log() == []


def test_a_new_master_key_opens_every_channel(office):
    from opsapp.runtime.secrets import sealedstore

    channel = office.channel()
    before = office.read(lambda root: channels_of(root)[channel].sealed)
    sealedstore.rekey(office.node)
    assert office.read(lambda root: channels_of(root)[channel].sealed) != before
    office.tell()
    office.after(5)
    assert office.receiver.paths == ["/hooks/s3cr3t-token"]


def test_the_log_is_filtered_by_an_index_that_follows_it(office):
    """Every filter finds what a walk through the log finds, and purging empties it."""
    first, second = office.channel(), office.channel(name="other", url=office.receiver.url("other"))
    office.tell(key="incident:1")
    office.after(5)
    office.receiver.status = 500
    office.tell(key="incident:2")
    office.after(5)
    office.after(86_400)
    office.tell(key="incident:3")
    office.after(5)

    def agree():
        rows = office.log("limit=1000")
        assert {row["status"] for row in rows} == {"sent", "failed", "queued"}
        for status in (None, *STATUSES):
            for channel in (None, first, second, "nobody"):
                wanted = {name: value for name, value in (("status", status), ("channel_id", channel)) if value}
                query = "&".join(f"{name}={value}" for name, value in wanted.items())
                expected = [row for row in rows if wanted.items() <= row.items()]
                assert office.log(query) == expected, query

    agree()
    office.receiver.status = 200
    office.after(600)
    office.clock.advance(40 * 86_400)
    purge(office.node)
    assert (office.log(), office.read(lambda root: len(deliveries_of(root).index))) == ([], 0)
