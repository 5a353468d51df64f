"""Audit entries for another system: in order, none lost, none kept twice, and nobody waits for a receiver."""

import json
import socket

import pytest

from opsapp.audit.config import ForwardSettings
from opsapp.audit.engine import forwarding
from opsapp.audit.resources import log as logs
from opsapp.lib.networks import OutboundSettings
from opsapp.lib.problems import Conflict
from opsapp.runtime.cluster import leases
from tests.engine.test_damage import House
from tests.support.certificates import Authority
from tests.support.process import free_port
from tests.support.receiver import Receiver
from tests.support.scraping import scraped
from tests.support.sysloghost import SyslogHost, json_lines
from tests.support.waiting import until


class Forwarding:
    """The step of a service's only node, which has the lease."""

    def __init__(self, service):
        self.service, self.node = service, service.node
        self.step = forwarding.Forwarder(self.node).step
        self.forwarder = self.node.registry[forwarding.KEY] = self.step.__self__
        self.node.leases.want(forwarding.LEASE)
        self.node.leases.step()

    def to(self, url, **more):
        self.service.configure(ForwardSettings, url=url, **more)
        self.step()  # from here on
        return self

    def happens(self, *names):
        for name in names:
            self.service.ada.post_json("/api/agents", {"label": name})
        return self

    def run(self):
        while self.step():
            pass
        return self

    @property
    def recorded(self):
        """Ids in the record, oldest first."""
        return [entry["id"] for entry in reversed(self.service.ada.get("/api/audit?limit=1000").json)]

    @property
    def waiting(self):
        return scraped(self.service.vera).value("opsapp_audit_waiting")


@pytest.fixture
def here(service):
    return Forwarding(service)


@pytest.fixture
def receiver():
    with Receiver(read=json_lines) as receiver:
        yield receiver


def web(receiver):
    return f"http://127.0.0.1:{receiver.port}/audit"


def test_a_service_without_a_receiver_comes_to_rest(here, receiver):
    here.happens("box-1")
    assert not here.node.transact(forwarding.anything, 0.0)
    here.to(web(receiver)).happens("box-2")
    assert here.node.transact(forwarding.anything, 0.0)
    here.run()
    assert not here.node.transact(forwarding.anything, 0.0)


def ids(receiver):
    return [entry["id"] for message in receiver.messages for entry in message]


def test_each_entry_is_posted_once_as_a_line_of_json_in_the_order_of_the_record(here, receiver):
    before = here.happens("before").recorded
    here.to(web(receiver)).happens("a", "b", "c").run()
    assert ids(receiver) == here.recorded[len(before) :]
    assert len(ids(receiver)) == 3
    assert receiver.messages[0][0] == here.service.ada.get("/api/audit?limit=3").json[-1]
    assert receiver.paths == ["/audit"]
    assert receiver.headers["Content-Type"] == "application/x-ndjson"
    assert "Authorization" not in receiver.headers
    here.run()
    assert len(ids(receiver)) == 3


def test_the_whole_record_goes_where_that_is_wanted(here, receiver):
    here.happens("a", "b").to(web(receiver), whole_record=True).happens("c").run()
    assert ids(receiver) == here.recorded
    assert len(ids(receiver)) >= 3


def test_the_token_is_a_secret_and_is_seen_nowhere(here, receiver, caplog):
    here.service.ada.post_json("/api/secrets", {"name": "siem", "value": "barley-and-hops"}, status=201)
    here.to(web(receiver), token="{{secret:siem}}").happens("a").run()
    assert receiver.headers["Authorization"] == "Bearer barley-and-hops"
    receiver.status = 401
    here.happens("b").run()
    assert "barley" not in caplog.text + json.dumps(receiver.messages) + here.service.ada.get("/api/settings").text
    assert "secret:siem" not in here.service.ada.get("/api/settings").text
    assert "HTTP 401" in here.forwarder.problem


def test_a_secret_that_is_not_there_is_said_and_nothing_is_sent(here, receiver):
    here.to(web(receiver), token="{{secret:nobody}}").happens("a").run()
    assert "nobody" in here.forwarder.problem
    assert receiver.asked == 0


def test_what_a_receiver_does_not_take_waits_and_is_sent_again_in_order(here, receiver):
    here.to(web(receiver))
    receiver.status = 503
    here.happens("a", "b").run()
    assert (receiver.asked, receiver.messages, here.waiting) == (1, [], 2)
    here.happens("c").run()
    assert receiver.asked == 1, "it is not asked again at once"
    receiver.status = 200
    here.service.clock.advance(2)
    here.run()
    assert ids(receiver) == here.recorded[-3:]
    assert [len(message) for message in receiver.messages] == [1, 2], "a single one first"
    assert here.waiting == 0


def test_a_batch_has_a_limit(here, receiver):
    here.to(web(receiver), batch=2).happens(*"abcde").run()
    assert [len(message) for message in receiver.messages] == [2, 2, 1]
    assert ids(receiver) == here.recorded[-5:]


def test_entries_of_many_bytes_do_not_leave_together(here, receiver, monkeypatch):
    monkeypatch.setattr("opsapp.audit.resources.forwarding.MOST_BYTES", 300)
    here.to(web(receiver)).happens(*"abc").run()
    assert [len(message) for message in receiver.messages] == [1, 1, 1]


def test_folded_entries_are_sent_too(here, receiver, monkeypatch):
    monkeypatch.setattr(logs, "FOLD", 4)
    here.to(web(receiver), batch=3)
    receiver.status = 500
    here.happens(*"abcdefghij").run()
    receiver.status = 200
    here.service.clock.advance(2)
    here.run()
    assert ids(receiver) == here.recorded[-10:]


def test_one_that_dies_before_it_stored_that_they_arrived_sends_them_again_with_their_ids(here, receiver, monkeypatch):
    """The receiver has them and the store does not know it; tests/system kills a process there."""
    here.to(web(receiver)).happens("a", "b")

    def broken(root, taken):
        raise Conflict("gone", code="lease_lost")

    with monkeypatch.context() as patch:
        patch.setattr(forwarding, "_arrived", broken)
        with pytest.raises(Conflict):
            here.step()
    Forwarding(here.service).happens("c").run()
    a, b, c = here.recorded[-3:]
    assert ids(receiver) == [a, b, a, b, c]


def test_a_node_without_the_lease_sends_nothing(here, receiver):
    here.to(web(receiver)).happens("a")
    here.node.transact(leases.release, here.node.owner)
    with pytest.raises(Conflict):
        here.step()
    assert receiver.asked == 0


@pytest.mark.parametrize("place", ["log", "entry"])
def test_what_cannot_be_read_costs_nothing_but_itself(tmp_path, receiver, place):
    """A log that is set aside has a successor, which counts from 1 again."""
    house = House(tmp_path)
    here = Forwarding(house.service).to(web(receiver)).happens(*"abc").run()
    here.happens("d", "e")
    d, e = here.recorded[-2:]

    def damaged(root):
        log = max(root.system["audit"].values(), key=lambda log: log.number)
        return log if place == "log" else log.tail[log.number - 1]

    house.damage(damaged)
    here = Forwarding(house.service).to(web(receiver)).happens("f").run()
    f = here.recorded[-1]
    assert [sent for sent in ids(receiver)[3:] if sent in (d, e, f)] == ([f] if place == "log" else [e, f])
    house.service.close()


@pytest.mark.parametrize("way", ["tcp", "udp", "unix", "tls"])
def test_syslog_takes_each_entry_once_in_order(here, tmp_path, way):
    authority = Authority(tmp_path)
    more = {"path": tmp_path / "log"} if way == "unix" else {}
    more |= {"certificate": authority.issue("logs")} if way == "tls" else {}
    with SyslogHost(way, **more) as host:
        here.to(host.url, ca_file=authority.ca_file, batch=2).happens(*"abc").run()
        assert here.forwarder.problem == ""
        until(lambda: len(host.entries) == 3, what="all three")
        assert host.ids == here.recorded[-3:]
        assert host.entries[-1] == here.service.ada.get("/api/audit?limit=1").json[0]
        assert host.hosts == {"box"}
    assert here.waiting == 0


@pytest.mark.parametrize("way", ["tcp", "udp", "unix"])
def test_what_no_syslog_takes_waits_until_it_is_back(here, tmp_path, way):
    port, path = free_port(), tmp_path / "log"
    here.to(f"unix://{path}" if way == "unix" else f"syslog+{way}://localhost:{port}").happens("a", "b").run()
    assert here.waiting == 2
    assert here.forwarder.problem
    with SyslogHost(way, **({"path": path} if way == "unix" else {"port": port})) as host:
        here.service.clock.advance(2)
        here.run()
        until(lambda: len(host.entries) == 2, what="both")
        assert host.ids == here.recorded[-2:]


def test_a_stream_that_is_read_and_never_ended_is_no_receipt(here):
    with SyslogHost() as host:
        host.hangs_up.clear()
        here.to(host.url, timeout_s=0.2).happens("a").run()
        assert "did not end the connection" in here.forwarder.problem
        assert here.waiting == 1
        host.hangs_up.set()
        here.service.clock.advance(2)
        here.run()
        assert here.waiting == 0
        assert set(host.ids) == set(here.recorded[-1:])


@pytest.mark.attack
def test_a_receiver_that_nobody_vouches_for_gets_nothing(here, tmp_path):
    authority = Authority(tmp_path)
    with SyslogHost("tls", certificate=authority.issue("other", self_signed=True)) as host:
        here.to(host.url, ca_file=authority.ca_file).happens("a").run()
        assert "certificate" in here.forwarder.problem.lower()
        assert (host.entries, here.waiting) == ([], 1)


@pytest.mark.attack
def test_a_denied_network_is_not_reached(here):
    with SyslogHost() as host:
        here.service.configure(OutboundSettings, deny_networks=("127.0.0.0/8", "::1/128"))
        here.to(host.url).happens("a").run()
        assert "deny_networks" in here.forwarder.problem
        assert host.entries == []


def test_pauses_grow_up_to_a_limit_and_begin_anew_with_another_receiver(here, receiver):
    here.to(web(receiver), longest_pause_s=3)
    receiver.status = 500
    here.happens("a").run()
    asked = []
    for _ in range(10):
        here.service.clock.advance(1)
        here.run()
        asked.append(receiver.asked)
    assert asked == [2, 2, 3, 3, 3, 4, 4, 4, 5, 5]
    receiver.status = 200
    here.service.configure(ForwardSettings, url=web(receiver) + "/new")
    here.run()
    assert receiver.paths == ["/audit/new"]


def test_entries_that_wait_are_seen_in_health_doctor_and_figures(here):
    here.to(f"http://127.0.0.1:{free_port()}/")
    wrongs = here.service.vera.get("/api/healing/health").json["reasons"]
    here.happens("a").run()
    here.service.clock.advance(100)
    [said] = [row for row in here.service.vera.get("/api/healing/health").json["reasons"] if row not in wrongs]
    assert said.startswith("1 audit entries wait for their receiver, the oldest for 100 s: ")
    [found] = [row for row in here.service.ada.get("/api/doctor").json["findings"] if row["what"] == "audit forwarding"]
    assert (found["level"], "the oldest for 100 s" in found["said"]) == ("warn", True)
    scrape = scraped(here.service.vera)
    assert scrape.value("opsapp_audit_waiting") == 1
    assert scrape.value("opsapp_audit_waiting_seconds") == 100
    assert scrape.value("opsapp_audit_forward_failures_total") == 1
    assert scrape.value("opsapp_audit_forwarded_total") == 0


def test_without_a_receiver_nothing_waits(here):
    here.happens("a")
    assert here.step() is False
    assert here.waiting == 0
    [found] = [row for row in here.service.ada.get("/api/doctor").json["findings"] if row["what"] == "audit forwarding"]
    assert (found["level"], found["said"]) == ("ok", "audit.forward names no receiver")


def test_nobody_waits_for_a_receiver_that_hangs(here):
    """A socket that takes a connection and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        here.to(f"syslog+tcp://localhost:{silent.getsockname()[1]}", timeout_s=0.2).happens("a").run()
        assert "TimeoutError" in here.forwarder.problem
        here.happens("b")
        assert here.waiting == 2
