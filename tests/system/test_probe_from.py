"""Monitors that agents look at for the server: real agents, each type, the quorum, and agents that are gone."""

import contextlib

import pytest

from tests.support.agent_process import EnrolledAgent
from tests.support.certificates import Authority
from tests.support.monitors import MONITORS, checked
from tests.support.process import Serve
from tests.support.targets import NameServer, refused_port, website

pytestmark = pytest.mark.system


@pytest.fixture
def place(built):
    """(server, an agent that trusts the tests' authority, one that does not, the authority); both are connected."""
    with pytest.MonkeyPatch.context() as patch:
        for agent, authority in ((built[1], built[3].ca_file), (built[2], "/nowhere")):
            if agent.process is None or agent.process.poll() is not None:
                patch.setenv("SSL_CERT_FILE", authority)
                agent.start()
            agent.online()
    return built


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    directory = tmp_path_factory.mktemp("probing")
    authority = Authority(directory)
    with contextlib.ExitStack() as stack:
        serve = stack.enter_context(Serve(directory, config={"agents": {"report_interval_s": 1}}))
        agents = [EnrolledAgent(directory / label, serve, label) for label in ("trusting", "wary")]
        for agent in agents:
            stack.callback(agent.stop)
        yield serve, *agents, authority


def add(serve, agents, kind, url, **more):
    body = {"name": f"{kind} {url}", "type": kind, "url": url, "interval": 5, "timeout": 4, "retries": 0}
    made = serve.admin.post(MONITORS, body | {"probe_from": [agent.id for agent in agents]} | more)
    return f"{MONITORS}/{made['id']}"


@pytest.mark.nightly("every type has its tests in test_probes.py")
def test_every_type_can_be_looked_at_from_an_agent(place):
    serve, trusting, _, authority = place
    zone = {("a.example", "A"): ["192.0.2.1"]}
    with website() as site, website(authority.issue("here")) as secure, NameServer(zone) as names:
        up = [
            add(serve, [trusting], "http", site.url),
            add(serve, [trusting], "keyword", site.url, keyword="Welcome"),
            add(serve, [trusting], "json", f"{site.url}/json", json_path="$.items[0].n", expected_value=7),
            add(serve, [trusting], "tcp", f"tcp://127.0.0.1:{site.port}"),
            add(serve, [trusting], "dns", f"dns://127.0.0.1:{names.port}/a.example"),
            add(serve, [trusting], "tls", f"tls://localhost:{secure.port}"),
        ]
        ping = add(serve, [trusting], "ping", "ping://127.0.0.1")
        down = add(serve, [trusting], "http", f"{site.url}/status/503")
        nobody = add(serve, [trusting], "tcp", f"tcp://127.0.0.1:{refused_port()}")
        records = [checked(serve, path, "up") for path in up]
        assert all(record["response_time_ms"] is not None for record in records)
        assert records[0]["phases"]["total"] > 0
        assert records[-1]["cert_days"] == pytest.approx(90, abs=0.1)
        assert checked(serve, ping, "up", "unknown")["status"] in ("up", "unknown")
        assert checked(serve, down, "down")["cause"] == "HTTP 503"
        assert checked(serve, nobody, "down")["cause"] == "Connection refused"
        assert {headers["User-Agent"].split("/")[0] for _, _, headers in site.seen} == {"opsapp-agent"}


def test_the_quorum_decides_and_agents_that_are_gone_know_nothing(place):
    serve, trusting, wary, authority = place
    with website(authority.issue("both")) as secure:
        url = f"https://localhost:{secure.port}/"
        one, two = (add(serve, [trusting, wary], "http", url, quorum=quorum) for quorum in (1, 2))
        assert "certificate" in checked(serve, one, "down")["cause"]
        checked(serve, two, "up")
        wary.stop()
        checked(serve, one, "up")
        trusting.stop()
        for path in (one, two):
            record = checked(serve, path, "unknown")
            for label in ("trusting", "wary"):
                assert (
                    f"the agent of {label} cannot be asked: it is not connected or does not answer" in record["cause"]
                )
        assert serve.admin.get("/api/monitoring/incidents?status=open&monitor_id=" + two.rpartition("/")[2]) == []


def test_the_networks_of_the_configuration_hold_for_agents_too(place):
    serve, trusting, _, _ = place
    path = add(serve, [trusting], "http", "http://169.254.169.254/")
    assert checked(serve, path, "down")["cause"] == "the address 169.254.169.254 may not be reached"
