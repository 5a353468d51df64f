"""What is known to be down: a host that is away has failed, and a host that reports proves nothing of what is on it."""

import pytest

from tests.support.dependencies import depend
from tests.support.hosts import place

NGINX = {
    "id": "nginx",
    "condition": 'service.nginx.state == "failed"',
    "action": {"type": "restart_service"},
    "cooldown_s": 30,
}
BUSY = {"id": "busy", "condition": "cpu_percent > 90", "action": {"type": "clear_cache"}}
WEB, DB, NAS = place("web", "w"), place("db", "d"), place("nas", "n")


@pytest.fixture
def hosts(ward):
    """Three hosts that report every 15 s, with a graph of their own."""

    def make(graph, *places, level="execute"):
        here = ward(NGINX, BUSY, places=places or [WEB, DB, NAS])
        here.at(level).at("execute", "busy")
        here.node.transact(lambda root: depend(root, graph))
        return here

    return make


def nginx_fails(here, *, well=(), seconds=30):
    """nginx on `web` fails; these hosts report that their processor is idle, as often as they are asked."""
    here.report("agent:w", service__nginx__state="failed").turn()
    for _ in range(seconds):
        here.clock.advance(1)
        for agent in well:
            here.report(f"agent:{agent}", cpu_percent=5)
        here.report("agent:w", service__nginx__state="failed", cpu_percent=5).turn()
    return here


def ends(here):
    return {(entry["target"], entry["outcome"], entry["reason"]) for entry in here.ledger if entry["outcome"]}


def away(here, *names):
    here.hosts.here = [host._replace(online=host.name not in names) for host in here.hosts.here]
    return here


@pytest.mark.parametrize(
    ("graph", "path"),
    [
        ([{"target": "web/nginx", "depends_on": ["db"]}, {"target": "db"}], "db"),
        ([{"target": "web/nginx", "depends_on": ["db/postgres"]}], "db/postgres → db"),
        ([{"target": "web", "depends_on": ["db"]}, {"target": "db"}], "web → db"),
    ],
    ids=["directly", "through its service", "through its own host"],
)
def test_a_host_that_is_away_has_failed_for_what_depends_on_it(hosts, graph, path):
    here = nginx_fails(away(hosts(graph), "db"), well=("n",))
    assert ends(here) == {("web/nginx", "suppressed", f"root cause db: depends on {path}")}
    assert here.hosts.sent == []
    here.hosts.here = [WEB, DB, NAS]
    nginx_fails(here, well=("d", "n"), seconds=90)
    assert here.hosts.phases() == ["snapshot"]


def test_a_host_that_is_away_has_failed_for_its_own_services_without_a_graph(hosts):
    here = nginx_fails(away(hosts([]), "web"))
    assert ends(here) == {("web/nginx", "suppressed", "root cause web: depends on web")}
    here.hosts.here = [WEB, DB, NAS]
    nginx_fails(here, seconds=90)
    assert here.hosts.phases() == ["snapshot"]


def test_what_a_service_that_has_just_started_has_not_heard_yet_is_not_known_to_be_away(hosts):
    here = hosts([])
    here.hosts.here = [WEB._replace(online=False, unheard=True), DB, NAS]
    nginx_fails(here, seconds=20)
    assert (here.ledger, here.hosts.sent) == ([], []), "it waits for its host"
    here.hosts.here = [WEB, DB, NAS]
    nginx_fails(here, seconds=5)
    assert here.hosts.phases() == ["snapshot"]


def test_an_external_host_that_is_away_takes_its_site_with_it(hosts):
    graph = [{"target": "nas", "type": "external", "site": "berlin"}, {"target": "web", "site": "berlin"}]
    here = nginx_fails(away(hosts(graph), "nas"))
    assert ends(here) == {("web/nginx", "suppressed", "root cause nas: everything at site berlin depends on it")}


def test_a_name_is_not_away_while_another_host_of_that_name_reports(hosts):
    """An agent was set up anew; its old record is silent for ever."""
    graph = [{"target": "web/nginx", "depends_on": ["db"]}, {"target": "db"}]
    here = hosts(graph, WEB, place("db", "old", online=False), DB)
    nginx_fails(here, well=("d",))
    assert here.hosts.phases() == ["snapshot"]


def test_the_page_of_dependencies_calls_it_failed(hosts):
    here = away(hosts([{"target": "web", "depends_on": ["db"]}, {"target": "db"}]), "db")
    shown = here.service.vera.get("/api/healing/dependencies").json
    assert {node["target"]: node["status"] for node in shown["nodes"]}["db"] == "failed"
    assert shown["root_causes"] == ["db"]


@pytest.mark.parametrize("parents", [{}, {"web/nginx": ["web"]}], ids=["undeclared", "declared"])
def test_what_a_host_depends_on_protects_its_services_though_the_host_reports(hosts, parents):
    """That the processor of `web` is idle says nothing of what lies between nginx and the storage."""
    graph = [{"target": "web", "depends_on": ["nas"]}, {"target": "nas"}]
    graph += [{"target": target, "depends_on": above} for target, above in parents.items()]
    here = hosts(graph)
    here.report("agent:n", cpu_percent=99).report("agent:w", cpu_percent=5).turn()
    here.report("agent:w", service__nginx__state="failed", cpu_percent=5).turn()
    here.turn(1)
    assert ("web/nginx", "suppressed", "root cause nas: depends on web → nas") in ends(here)
    assert {command["agent_id"] for command in here.hosts.sent} <= {"n"}


def test_where_what_its_host_depends_on_is_well_a_service_is_healed(hosts):
    here = hosts([{"target": "web", "depends_on": ["nas"]}, {"target": "nas"}])
    nginx_fails(here, well=("n",))
    assert here.hosts.phases() == ["snapshot"]
