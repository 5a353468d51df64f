"""Messages that are answered by links: what a link does, for whom, and when it does nothing."""

import itertools
import logging
import re

import pytest

from opsapp.auth import resources as auth
from opsapp.auth.config import LoginSettings
from opsapp.monitoring.resources import incidents_of
from opsapp.runtime.secrets import sealedstore
from opsapp.runtime.secrets.seals import REGISTRY_KEY, Seal
from opsapp.web.config import WebSettings
from tests.support.app import Service
from tests.support.monitoring import DOWN, Lookout

from .test_healing_pipeline import ACTIVE, FAILED
from .test_notify import CHANNELS, Office

BASE = "https://ops.example.org"
CALL = {"name": "Call", "type": "webhook", "params": {"url": "http://127.0.0.1:9/?key=hush"}, "requires_approval": True}


class Desk(Office):
    """An office whose channel belongs to otto, and somebody who has only the links."""

    def __init__(self, service, receiver):
        super().__init__(service, receiver)
        service.configure(WebSettings, base_url=BASE)
        for who in ("vera", "otto"):
            service.client(who)  # a user from now on
        self.channel_id = self.channel(answers_as="otto")

    def asked(self, client=None, **changes):
        """(id of the request, its links) of a run that ada asks for."""
        client = client or self.service.ada
        made = client.post_json("/api/automations", CALL | changes, status=201).json["id"]
        self.automation_id = made
        request_id = client.post(f"/api/automations/{made}/run").json["request_id"]
        self.after(5)
        return request_id, self.links()

    def links(self):
        return {name: url.removeprefix(BASE) for name, url in self.receiver.messages[-1]["links"].items()}

    def open(self, link, status=200):
        return self.service.anonymous.get(link, status=status)

    def press(self, link, status=200):
        act = link.removeprefix("/answer/").partition(".")[0]
        return self.service.anonymous.post(link, {"act": act}, status=status)

    def request(self, request_id):
        return self.service.vera.get(f"/api/approvals/{request_id}").json

    def audit(self, action):
        entries = self.service.ada.get("/api/audit").json
        return [entry for entry in entries if entry["action"] == action]


@pytest.fixture
def desk(service, receiver):
    return Desk(service, receiver)


def heading(answer):
    return re.sub(r"\s+", " ", answer.html.h1.get_text()).strip()


def test_a_link_approves_as_the_person_of_its_channel(desk):
    request_id, links = desk.asked()
    assert links.keys() == {"page", "approve", "reject"}
    page = desk.open(links["approve"])
    assert "Call" in page.html.h1.get_text()
    assert [button.get_text(strip=True) for button in page.html.select("main button")] == ["Approve"]
    assert "hush" not in page.text
    assert heading(desk.press(links["approve"])) == "Approved"
    request = desk.request(request_id)
    assert (request["status"], request["decided_by"]) == ("approved", "otto")
    (entry,) = desk.audit("approval.approve")
    assert (entry["username"], entry["target"], entry["result"]) == ("otto", request_id, "ok")
    assert entry["after"]["by_link"] == "on-call"


def test_a_link_rejects(desk):
    request_id, links = desk.asked()
    assert heading(desk.press(links["reject"])) == "Rejected"
    assert (desk.request(request_id)["status"], desk.request(request_id)["decided_by"]) == ("rejected", "otto")


def test_what_a_scanner_does_decides_nothing(desk):
    request_id, links = desk.asked()
    for link in (links["approve"], links["reject"]):
        for _ in range(20):
            answer = desk.open(link)
        desk.service.anonymous.head(link)
        desk.service.anonymous.post(link)
        desk.service.anonymous.post(link, {"act": "another"})
        desk.service.anonymous.put(link, status=405)
        assert "Set-Cookie" not in answer.headers
        assert (answer.headers["Referrer-Policy"], answer.headers["Cache-Control"]) == ("no-referrer", "no-store")
    assert (desk.request(request_id)["status"], desk.request(request_id)["votes"]) == ("pending", [])
    assert desk.audit("approval.approve") == desk.audit("approval.reject") == []


def test_a_link_is_spent_with_its_request_and_says_who_decided(desk):
    _, links = desk.asked()
    desk.press(links["approve"])
    for link in links["approve"], links["reject"]:
        assert "already approved by otto" in desk.press(link, status=410).text
        assert "already approved by otto" in desk.open(link, status=410).text
    assert len(desk.audit("approval.approve")) == 1


def test_a_vote_that_does_not_settle_it_spends_the_link_too(desk):
    request_id, links = desk.asked(quorum=2)
    assert "More votes are needed" in heading(desk.press(links["approve"]))
    assert "voted already" in desk.press(links["approve"], status=410).text
    assert [vote["username"] for vote in desk.request(request_id)["votes"]] == ["otto"]


def test_a_link_ends_with_the_time_of_its_request(desk):
    request_id, links = desk.asked()
    desk.clock.advance(3600)
    assert "expired" in desk.open(links["approve"], status=410).text
    assert "expired" in desk.press(links["approve"], status=410).text
    assert desk.request(request_id)["votes"] == []


def test_what_was_edited_since_is_not_approved_and_the_request_is_withdrawn(desk):
    request_id, links = desk.asked()
    desk.service.ada.put_json(f"/api/automations/{desk.automation_id}", {"params": {"url": "http://127.0.0.1:9/other"}})
    assert "edited after the request" in desk.press(links["approve"], status=409).text
    assert desk.request(request_id)["status"] == "withdrawn"
    assert "withdrawn" in desk.open(links["approve"], status=410).text


def changed_user(desk, **values):
    desk.service.transact(lambda root: auth.change(root, auth.users_of(root)["otto"], auth.AccountChange(**values)))


@pytest.mark.parametrize(
    "change",
    [
        lambda desk: changed_user(desk, role="viewer"),
        lambda desk: changed_user(desk, disabled=True),
        lambda desk: changed_user(desk, password_hash="another"),
        lambda desk: desk.service.ada.put_json(f"{CHANNELS}/{desk.channel_id}", {"answers_as": ""}),
        lambda desk: desk.service.ada.put_json(f"{CHANNELS}/{desk.channel_id}", {"answers_as": "ada"}),
        lambda desk: desk.service.ada.put_json(f"{CHANNELS}/{desk.channel_id}", {"url": "json://127.0.0.1:9/lost"}),
        lambda desk: desk.service.ada.put_json(f"{CHANNELS}/{desk.channel_id}", {"enabled": False}),
        lambda desk: desk.service.ada.delete(f"{CHANNELS}/{desk.channel_id}"),
    ],
    ids=["role", "disabled", "password", "nobody", "another", "address", "off", "gone"],
)
def test_a_link_ends_with_what_it_was_made_for(desk, change):
    request_id, links = desk.asked()
    change(desk)
    for link in links["approve"], links["reject"]:
        assert "not valid any more" in desk.open(link, status=410).text
        assert "not valid any more" in desk.press(link, status=410).text
    assert desk.request(request_id)["status"] == "pending"


def test_who_asked_gets_no_link_to_approve(desk):
    _, links = desk.asked(desk.service.otto)
    assert links.keys() == {"page", "reject"}


def test_who_is_no_approver_gets_no_link(desk):
    _, links = desk.asked(approvers=["ada"])
    assert links.keys() == {"page"}


def test_a_channel_of_nobody_or_of_a_viewer_has_no_links(desk):
    desk.service.ada.put_json(f"{CHANNELS}/{desk.channel_id}", {"answers_as": "vera"})
    assert desk.asked()[1].keys() == {"page"}
    desk.service.ada.put_json(f"{CHANNELS}/{desk.channel_id}", {"answers_as": ""})
    assert desk.asked(name="Again")[1].keys() == {"page"}


def test_an_unknown_user_is_refused_and_one_who_is_gone_can_stay(desk):
    place = f"{CHANNELS}/{desk.channel_id}"
    assert desk.service.ada.put_json(place, {"answers_as": "nobody"}, status=422).json["fields"].keys() == {
        "answers_as"
    }
    changed_user(desk, disabled=True)
    desk.service.ada.put_json(place, {"answers_as": "otto", "tags": ["web"]})


def tampered(link):
    """The same link for another act, another request, another channel, a later time, another signature; and none."""
    act, thing, channel, until, bound, signature = link.removeprefix("/answer/").split(".")
    later = f"{int(until, 16) + 9999:x}"
    for parts in (
        ("reject", thing, channel, until, bound, signature),
        (act, "0" * 16, channel, until, bound, signature),
        (act, thing, "0" * 16, until, bound, signature),
        (act, thing, channel, later, bound, signature),
        (act, thing, channel, until, "0" * 32, signature),
        (act, thing, channel, until, bound, "0" * 64),
        (act, thing, channel, until, bound),
        ("x",),
        ("%C3%A4" * 20,),
    ):
        yield "/answer/" + ".".join(parts)


def test_what_is_no_link_of_ours_is_not_found_and_counted_and_links_go_on(desk):
    desk.service.configure(LoginSettings, attempts_per_ip=9)
    _, links = desk.asked()
    for wrong in tampered(links["approve"]):
        desk.open(wrong, status=404)
    answer = desk.press("/answer/x.y", status=429)
    assert int(answer.headers["Retry-After"]) > 0
    assert heading(desk.press(links["approve"])) == "Approved"


def test_a_message_has_one_link_for_an_act_though_seconds_pass_while_it_is_written(desk, monkeypatch):
    """So what is kept out of errors and logs is what was sent."""
    lookout, clock, ticks = Lookout(desk.service), desk.service.node.clock, itertools.count()
    lookout.sees |= dict.fromkeys([lookout.add(name="Shop", retries=0)], DOWN)
    lookout.run(61, step=5)
    now = clock.now
    monkeypatch.setattr(clock, "now", lambda: now() + next(ticks))
    desk.after(30)
    told = desk.receiver.messages[-1]
    assert re.findall(r"Acknowledge: (\S+)", told["message"]) == [told["links"]["acknowledge"]]


def test_an_incident_is_taken_over_once(desk):
    lookout = Lookout(desk.service)
    lookout.sees |= dict.fromkeys([lookout.add(name="Shop", retries=0)], DOWN)
    lookout.run(61, step=5)
    desk.after(30)
    links = desk.links()
    assert links.keys() == {"page", "acknowledge"}
    assert "Shop is down" in heading(desk.open(links["acknowledge"]))
    desk.press(links["acknowledge"])
    (incident,) = desk.read(lambda root: [incident.summary(0) for incident in incidents_of(root).values()])
    assert incident.acknowledged_by == "otto"
    assert "otto has acknowledged it already" in desk.press(links["acknowledge"], status=410).text
    assert [entry["username"] for entry in desk.audit("incident.acknowledge")] == ["otto"]


@pytest.fixture
def written():
    """What a handler of the root logger is given: that is where the service's log is written."""
    lines = []
    handler = logging.Handler()
    handler.emit = lambda record: lines.append(record.getMessage())
    logging.getLogger().addHandler(handler)
    yield lines
    logging.getLogger().removeHandler(handler)


def test_a_heal_is_approved_by_a_link_and_its_condition_is_checked_again(ward, receiver):
    here = ward().at("approve")
    desk = Desk(here.service, receiver)
    here.report(**FAILED).turn().turn(5)
    desk.after(6)
    links = desk.links()
    assert {"approve", "reject"} <= links.keys()
    page = desk.open(links["approve"]).text
    assert "restart_service" in page
    assert "box-1" in page
    here.report(**ACTIVE)
    assert "withdrawn" in desk.press(links["approve"], status=409).text
    assert here.hosts.sent == []


def test_the_token_stands_only_in_the_message(desk, written, tmp_path):
    _, links = desk.asked()
    desk.press(links["approve"])
    desk.press(links["approve"], status=410)
    token = links["approve"].rpartition("/")[2]
    shown = [
        desk.service.ada.get(path).text
        for path in (
            "/api/notifications/deliveries",
            "/api/audit",
            "/api/export",
            CHANNELS,
            "/metrics",
            "/api/approvals",
        )
    ]
    signature = token.rpartition(".")[2]
    assert signature not in "".join([*shown, *written])
    assert signature.encode() not in (tmp_path / "main.fs").read_bytes()


def test_what_a_service_says_of_a_failed_message_does_not_tell_the_token(desk, monkeypatch):
    def refuses(self, body, *_, **__):
        raise OSError(f"cannot send {body}")

    monkeypatch.setattr("apprise.plugins.custom_json.NotifyJSON.send", refuses)
    made = desk.service.ada.post_json("/api/automations", CALL, status=201).json["id"]
    desk.service.ada.post(f"/api/automations/{made}/run")
    desk.after(5)
    assert "/answer/[secret]" in desk.log()[0]["error"]


def test_without_an_address_of_the_service_there_are_no_links(desk):
    desk.service.configure(WebSettings, base_url=None)
    assert desk.asked()[1] == {}


def test_text_has_the_links_on_lines_of_their_own(desk):
    desk.asked()
    *_, approve, reject, page = desk.receiver.messages[-1]["message"].split("\n")
    assert approve.startswith(f"Approve: {BASE}/answer/approve.")
    assert reject.startswith(f"Reject: {BASE}/answer/reject.")
    assert page.startswith(f"{BASE}/approvals/")


def test_each_message_of_a_digest_has_its_own(desk):
    desk.service.ada.put_json(f"{CHANNELS}/{desk.channel_id}", {"digest_s": 60})
    for name in ("A", "B"):
        made = desk.service.ada.post_json("/api/automations", CALL | {"name": name}, status=201).json["id"]
        desk.service.ada.post(f"/api/automations/{made}/run")
    desk.after(5)
    desk.after(90)
    (sent,) = desk.receiver.messages
    assert sent["links"].keys() == {"page"}
    assert [message["links"].keys() for message in sent["messages"]] == [{"page", "approve", "reject"}] * 2


def test_a_new_master_key_ends_every_link(desk):
    request_id, links = desk.asked()
    sealedstore.rekey(desk.node)
    desk.press(links["approve"], status=404)
    assert desk.request(request_id)["status"] == "pending"


def test_without_the_master_key_no_link_is_taken(desk):
    request_id, links = desk.asked()
    desk.node.registry[REGISTRY_KEY] = Seal([])
    desk.press(links["approve"], status=404)
    assert desk.request(request_id)["status"] == "pending"


def test_what_one_node_made_another_one_honours(desk, tmp_path):
    request_id, links = desk.asked()
    desk.service.close()
    with_same_store = Service(tmp_path, desk.clock)
    try:
        with_same_store.configure(WebSettings, base_url=BASE)
        assert with_same_store.anonymous.get(links["approve"]).html.h1
        with_same_store.anonymous.post(links["approve"], {"act": "approve"})
        assert with_same_store.vera.get(f"/api/approvals/{request_id}").json["decided_by"] == "otto"
    finally:
        with_same_store.close()


def team_of_otto(desk, **rights):
    """The id of a new team; what it may do is changed by `desk.service.ada`."""
    return desk.service.ada.post_json("/api/teams", {"name": "Shop", "members": ["otto"], **rights}).json["id"]


def host_of(desk, tag):
    agent = desk.service.ada.post_json("/api/agents", {"label": tag, "tags": [tag]}).json
    report, headers = {"hostname": tag, "os": "Debian 12"}, {"X-Agent-Key": agent["key"]}
    desk.service.anonymous.post_json(f"/api/agents/{agent['agent_id']}/report", report, headers=headers)
    return {"type": "agent_command", "params": {"command": "true", "agent_id": agent["agent_id"]}}


@pytest.mark.parametrize("act", ["approve", "reject"])
def test_who_comes_by_a_link_needs_the_right_of_the_team_at_that_moment(desk, act):
    request_id, links = desk.asked(**host_of(desk, "shop"))
    team_id = team_of_otto(desk, see=["shop"], act=["shop"], change=["shop"])
    for told in (desk.open(links[act], status=410), desk.press(links[act], status=410)):
        assert "Your team may not approve here" in told.text
        assert "Call" not in told.text
    assert (desk.request(request_id)["status"], desk.request(request_id)["votes"]) == ("pending", [])
    desk.service.ada.put_json(f"/api/teams/{team_id}", {"approve": ["shop"]})
    desk.press(links[act])
    assert desk.request(request_id)["decided_by"] == "otto"


def test_a_message_to_who_may_not_decide_has_no_link_to_do_so(desk):
    team_of_otto(desk, see=["shop"], approve=["bank"])
    assert desk.asked(**host_of(desk, "shop"))[1].keys() == {"page"}


def test_an_incident_is_taken_over_by_link_as_far_as_the_team_may_act(desk):
    lookout = Lookout(desk.service)
    monitor = lookout.add(name="Shop", retries=0, tags=["shop"])
    lookout.sees |= {monitor: DOWN}
    lookout.run(60, step=10)
    desk.after(5)
    link = desk.links()["acknowledge"]
    team_id = team_of_otto(desk, see=["shop"])
    assert "Your team may not act here" in desk.press(link, status=410).text
    desk.service.ada.put_json(f"/api/teams/{team_id}", {"see": [], "act": ["bank"]})
    told = desk.open(link, status=410).text
    assert "Your team may not act here" in told
    assert "HTTP 500" not in told
    desk.service.ada.put_json(f"/api/teams/{team_id}", {"act": ["shop"]})
    desk.press(link)
    assert [entry["username"] for entry in desk.audit("incident.acknowledge")] == ["otto"]
