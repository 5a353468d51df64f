"""The audit record in another system: a real rsyslogd, and a process that is killed while a batch is on its way."""

import json

import pytest

from tests.support.certificates import Authority
from tests.support.leases import lease_book
from tests.support.postgres import Postgres
from tests.support.process import Serve, Zeo
from tests.support.receiver import Receiver
from tests.support.rsyslog import Rsyslog
from tests.support.sysloghost import json_lines
from tests.support.waiting import until
from tests.system.test_cluster import holder_and_other, two_nodes

pytestmark = pytest.mark.system


def recorded(admin):
    """Ids in the record, oldest first, without what happened before anybody was to be told."""
    return [entry["id"] for entry in reversed(admin.get("/api/audit?limit=1000"))]


def waiting(admin):
    lines = admin.request("GET", "/metrics").body.decode().splitlines()
    (value,) = [line.split()[1] for line in lines if line.startswith("opsapp_audit_waiting ")]
    return float(value)


def change(admin, *names):
    for name in names:
        admin.post("/api/agents", {"label": name}, expect=201)


def ids_at(receiver):
    return [entry["id"] for message in list(receiver.messages) for entry in message]


def whole_at(receiver, admin):
    return set(recorded(admin)) <= set(ids_at(receiver)) and waiting(admin) == 0


@pytest.mark.crash
def test_killed_between_sending_and_storing_that_it_arrived(tmp_path):
    """The receiver has the batch, and the store does not know that: it comes again with the same ids."""
    with Receiver(read=json_lines) as receiver:
        forward = {"url": f"http://127.0.0.1:{receiver.port}/", "whole_record": True, "longest_pause_s": 1}
        with Serve(tmp_path, {"audit": {"forward": forward}}) as serve:
            until(lambda: whole_at(receiver, serve.admin), what="what was written at the start")
            receiver.open.clear()
            asked = receiver.asked
            change(serve.admin, "a", "b")
            until(lambda: receiver.asked > asked, what="a batch on its way")
            change(serve.admin, "c")
            serve.kill()
            receiver.open.set()
            serve.start()
            until(lambda: whole_at(receiver, serve.admin), what="all that waited")
            sent, record = ids_at(receiver), recorded(serve.admin)
    assert set(sent) == set(record)
    assert list(dict.fromkeys(sent)) == record, "in order, but for what came twice"
    assert len(sent) > len(record), "the batch came again"


NIGHTLY = pytest.mark.nightly("the lease has a test in tests/engine")


@NIGHTLY
@pytest.mark.crash
@pytest.mark.own_store
@pytest.mark.parametrize("engine", ["zeo", "postgresql"])
def test_the_other_node_goes_on_where_one_that_was_killed_has_been(tmp_path, engine):
    def forwarding_serve(*about, **flags):
        return Serve(*about, {"audit": {"forward": forward}}, **flags)

    with Receiver(read=json_lines) as receiver, Zeo(tmp_path / "zeo") if engine == "zeo" else Postgres() as store:
        forward = {"url": f"http://127.0.0.1:{receiver.port}/", "whole_record": True, "longest_pause_s": 1}
        with two_nodes(tmp_path, store, forwarding_serve) as pair, lease_book(pair[0].flags["store"]) as book:
            first, other = holder_and_other(book, pair)
            until(lambda: whole_at(receiver, other.admin), what="what was written at the start")
            assert len(ids_at(receiver)) == len(set(ids_at(receiver))), "only one of them sends"
            receiver.open.clear()
            asked = receiver.asked
            change(other.admin, "a", "b")
            until(lambda: receiver.asked > asked, what="a batch on its way")
            first.kill()
            receiver.open.set()
            until(lambda: whole_at(receiver, other.admin), 60, what="all that waited")
            assert set(ids_at(receiver)) == set(recorded(other.admin))


@pytest.mark.parametrize("way", ["tcp", "tls"])
def test_rsyslog_as_the_guide_sets_it_up_has_each_entry_once_also_after_it_was_away(tmp_path, way):
    authority, tls = Authority(tmp_path), way == "tls"
    with Rsyslog(
        tmp_path / "rsyslog", certificate=authority.issue("logs") if tls else None, authority=authority.ca_file
    ) as rsyslog:

        def ids():
            text = rsyslog.received.read_text() if rsyslog.received.exists() else ""
            return [json.loads(line)["id"] for line in text.splitlines()]

        forward = {"url": f"syslog+{way}://localhost:{rsyslog.port}", "whole_record": True, "longest_pause_s": 1}
        with Serve(tmp_path, {"audit": {"forward": forward | {"ca_file": authority.ca_file}}}) as serve:
            change(serve.admin, "a", "b")
            until(lambda: waiting(serve.admin) == 0 and len(ids()) == len(recorded(serve.admin)), what="all of them")
            assert ids() == recorded(serve.admin)
            assert rsyslog.stop() == 0
            change(serve.admin, "c", "d")
            until(lambda: waiting(serve.admin) == 2, what="those that wait")
            rsyslog.start()
            until(lambda: waiting(serve.admin) == 0 and len(ids()) >= len(recorded(serve.admin)), what="these, too")
            assert ids() == recorded(serve.admin)
