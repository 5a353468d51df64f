"""Monitors of the type `plugin`: what they need, who may write their command, and who sees its arguments."""

from dataclasses import replace

import pytest

from opsapp.agents.engine import lifecycle
from opsapp.healing.engine.inventory import fleet_access
from opsapp.lib.problems import StoreAway
from opsapp.monitoring.engine import metrics
from opsapp.monitoring.resources import monitors_of
from opsapp.runtime import deletions, serieswork
from opsapp.series.erasure import KEY as GONE
from opsapp.wire.probes import Outcome
from tests.support.monitoring import Lookout

PATH = "/api/monitoring/endpoints"
COMMAND = ["/usr/lib/nagios/plugins/check_pgsql", "-H", "db.example", "-p", "hunter2"]
SHOWN = [COMMAND[0], *["***"] * 4]
OK = Outcome(True, 12.0, "OK - fine", metrics={"load1": 0.4, "free": 3e6}, units={"load1": "", "free": "B"})


@pytest.fixture
def hosts(service):
    return [service.transact(lambda root, name=name: lifecycle.create(root, name, ()))[0] for name in ("a", "b")]


def plugin(hosts, **more):
    return {"name": "Postgres", "type": "plugin", "command": COMMAND, "agent_id": hosts[0]} | more


def made(service, hosts, **more):
    return service.ada.post_json(PATH, plugin(hosts, **more), status=201).json["id"]


@pytest.mark.shared
def test_an_admin_makes_one(service, hosts):
    monitor_id = made(service, hosts)
    record = service.ada.get(f"{PATH}/{monitor_id}").json
    assert (record["command"], record["url"], record["agent_id"]) == (COMMAND, "", hosts[0])
    assert (record["output"], record["metrics"]) == (None, {})
    made(service, hosts, agent_id=None, probe_from=hosts, quorum=2)


@pytest.mark.parametrize(
    ("wrong", "fields"),
    [
        ({"agent_id": None}, {"agent_id"}),
        ({"agent_id": "nobody"}, {"agent_id"}),
        ({"probe_from": ["nobody"]}, {"probe_from"}),
        ({"command": None}, {"command"}),
        ({"command": []}, {"command"}),
        ({"command": "check_load -w 5"}, {"command"}),
        ({"command": ["check_load"]}, {"command"}),
        ({"command": ["../plugins/check_load"]}, {"command"}),
        ({"command": ["/bin/true", 7]}, {"command"}),
        ({"command": ["/bin/true", "a\0b"]}, {"command"}),
        ({"command": ["/bin/true", *["x" * 999] * 9]}, {"command"}),
        ({"command": ["/bin/true", *["x"] * 100]}, {"command"}),
        ({"url": "http://a/"}, {"url"}),
    ],
)
@pytest.mark.shared
def test_what_it_needs_is_told_by_field(service, hosts, wrong, fields):
    answer = service.ada.post_json(PATH, plugin(hosts) | wrong, status=422).json
    assert set(answer["fields"]) == fields


@pytest.mark.shared
def test_without_a_host_nobody_could_run_it(service, hosts):
    body = plugin(hosts)
    del body["agent_id"]
    assert "the host that runs the command" in service.ada.post_json(PATH, body, status=422).json["fields"]["agent_id"]
    monitor_id = made(service, hosts)
    service.ada.put_json(f"{PATH}/{monitor_id}", {"agent_id": None}, status=422)
    service.ada.put_json(f"{PATH}/{monitor_id}", {"agent_id": None, "probe_from": hosts}, status=200)


def refused(answer):
    assert answer.json["code"] == "plugin_needs_admin"
    assert "only an admin" in answer.json["error"]


@pytest.mark.parametrize("path", [PATH, f"{PATH}/check"])
def test_operators_neither_make_nor_try_one(service, hosts, path):
    refused(service.otto.post_json(path, plugin(hosts), status=403))
    with_command = {"name": "a", "type": "http", "url": "http://a.example/", "command": COMMAND}
    refused(service.otto.post_json(path, with_command, status=403))
    service.vera.post_json(path, plugin(hosts), status=403)
    assert service.ada.get(PATH).json == []


@pytest.mark.parametrize(
    "change",
    [
        {"command": [COMMAND[0]]},
        {"command": [*SHOWN[:4], "another"]},
        {"agent_id": "B"},
        {"probe_from": "B"},
        {"name": "x", "agent_id": "B"},
    ],
)
@pytest.mark.shared
def test_operators_change_neither_the_command_nor_its_hosts(service, hosts, change):
    monitor_id = made(service, hosts)
    change = {name: {"agent_id": hosts[1], "probe_from": [hosts[1]]}.get(name, value) for name, value in change.items()}
    refused(service.otto.put_json(f"{PATH}/{monitor_id}", change, status=403))
    service.ada.put_json(f"{PATH}/{monitor_id}", change, status=200)


@pytest.mark.shared
def test_operators_change_the_rest_of_it_and_send_back_what_they_have_read(service, hosts):
    monitor_id = made(service, hosts)
    one = f"{PATH}/{monitor_id}"
    change = {"name": "DB", "interval": 90, "tags": ["db"], "enabled": False, "retries": 1, "command": COMMAND}
    service.otto.put_json(one, change, status=200)
    record = service.otto.get(one).json
    service.otto.put_json(one, record | {"enabled": True, "command": SHOWN}, status=200)
    assert service.ada.get(one).json["command"] == COMMAND


@pytest.mark.shared
def test_another_type_does_not_open_the_way_to_a_command(service, hosts):
    monitor_id = made(service, hosts)
    one = f"{PATH}/{monitor_id}"
    web = {"type": "http", "url": "http://a.example/"}
    service.otto.put_json(one, web, status=200)
    refused(service.otto.put_json(one, {"command": ["/bin/sh"]}, status=403))
    service.otto.put_json(one, {"agent_id": hosts[1]}, status=200)
    refused(service.otto.put_json(one, {"type": "plugin", "url": ""}, status=403))


def test_operators_check_pause_and_admins_delete(service, hosts):
    monitor_id = made(service, hosts)
    service.otto.delete(f"{PATH}/{monitor_id}", status=403)
    service.ada.delete(f"{PATH}/{monitor_id}", status=200)


def test_a_file_is_applied_by_admins_alone(service, hosts):
    body = {"document": {"monitors": [plugin(hosts)]}}
    service.otto.post_json("/api/apply", body, status=403)
    answer = service.ada.post_json("/api/apply", body, status=200)
    assert answer.json["changes"][0]["after"]["command"] == SHOWN
    exported = service.ada.get("/api/export").json["monitors"]
    assert exported[0]["command"] == SHOWN
    assert service.ada.post_json("/api/apply", {"document": {"monitors": exported}}).json["unchanged"] == 1
    assert service.ada.get(PATH).json[0]["command"] == COMMAND
    other = {"document": {"monitors": [exported[0] | {"name": "another"}]}}
    assert "was not shown" in str(service.ada.post_json("/api/apply", other, status=422).json["fields"])
    hostless = {"document": {"monitors": [plugin(hosts, agent_id=None)]}}
    assert set(service.ada.post_json("/api/apply", hostless, status=422).json["fields"]) == {"monitors.0.agent_id"}


def test_nobody_sees_the_arguments_who_may_not_write(service, hosts, tmp_path):
    monitor_id = made(service, hosts, tags=["public"])
    for path in (PATH, f"{PATH}/{monitor_id}", f"/monitors/{monitor_id}", "/api/status/page"):
        assert "hunter2" not in service.vera.get(path).text
    assert service.vera.get(f"{PATH}/{monitor_id}").json["command"] == SHOWN
    assert service.vera.get(f"{PATH}?q=hunter2").json == []
    service.ada.put_json(f"{PATH}/{monitor_id}", {"command": [*COMMAND[:4], "hunter3"]})
    audit = service.ada.get("/api/audit").text
    assert "check_pgsql" in audit
    assert "hunter" not in audit
    stored = b"".join(path.read_bytes() for path in tmp_path.rglob("*.fs"))
    assert b"check_pgsql" in stored
    assert b"hunter" not in stored


def test_healing_acts_on_the_host_that_runs_it(service, hosts):
    own, only = made(service, hosts), made(service, hosts, agent_id=None, probe_from=[hosts[1]])
    both, told = made(service, hosts, agent_id=None, probe_from=hosts), made(service, hosts, probe_from=[hosts[1]])
    service.vera.get(PATH)  # whoever lists them has all of them in memory
    members = service.transact(lambda root: fleet_access(root).inventory(root)).by_subject
    acting = {monitor_id: members[f"monitor:{monitor_id}"].agent_id for monitor_id in (own, only, both, told)}
    assert acting == {own: hosts[0], only: hosts[1], both: None, told: hosts[0]}


@pytest.fixture
def lookout(service):
    return Lookout(service)


def checked(lookout, monitor_id, *outcomes):
    for outcome in outcomes:
        lookout.sees[monitor_id] = outcome
        lookout.run(60, step=10)
    serieswork.flush(lookout.service.node)


def test_what_it_measures_is_known_to_rules_while_it_is_fresh(service, hosts, lookout):
    monitor_id = made(service, hosts, retries=0)
    checked(lookout, monitor_id, OK, OK)
    record = service.vera.get(f"{PATH}/{monitor_id}").json
    assert (record["status"], record["output"]) == ("up", "OK - fine")
    values = {name: (metric["value"], metric["unit"]) for name, metric in record["metrics"].items()}
    assert values == {"free": (3e6, "B"), "load1": (0.4, "")}
    names = {row["name"] for row in service.vera.get("/api/healing/readings").json}
    assert {"plugin.load1", "plugin.free"} <= names

    def verdict():
        body = {"condition": "plugin.load1 < 1", "targets": {"monitors": ["Postgres"], "agents": []}}
        return service.otto.post_json("/api/healing/evaluate", body).json["targets"][0]["verdict"]

    assert verdict() is True
    checked(lookout, monitor_id, *[Outcome(None, None, "cannot be asked")] * 4)
    assert verdict() is None
    record = service.vera.get(f"{PATH}/{monitor_id}").json
    assert (record["status"], record["metrics"]) == ("unknown", {})


def test_a_warning_is_degraded_with_what_it_says(service, hosts, lookout):
    monitor_id = made(service, hosts, retries=0)
    warning = Outcome(True, 9.0, "WARNING - postgres://u:p@db.example/x is slow", degraded=True)
    checked(lookout, monitor_id, warning)
    record = service.ada.get(f"{PATH}/{monitor_id}").json
    assert (record["status"], record["cause"]) == ("degraded", warning.detail)
    assert service.vera.get(f"{PATH}/{monitor_id}").json["output"] == "WARNING - postgres://***@db.example/x is slow"
    assert lookout.incidents("status=open") == []


def numbers(service, monitor_id):
    return service.read(
        lambda root: {name: each.series for name, each in monitors_of(root)[monitor_id].metrics.items()}
    )


def test_their_history_is_kept_and_goes_with_the_command_or_the_monitor(service, hosts, lookout):
    monitor_id = made(service, hosts, retries=0)
    one = f"{PATH}/{monitor_id}"
    checked(lookout, monitor_id, OK, replace(OK, metrics={"load1": 0.6}))
    points = service.vera.get(f"{one}/metrics?range_h=1&resolution=3600").json
    assert points[-1]["metrics"]["free"] == 3e6
    assert 0.4 <= points[-1]["metrics"]["load1"] <= 0.6
    assert service.vera.get(f"{one}/metrics?until=1000").json == []
    first = numbers(service, monitor_id)
    assert set(first) == {"free", "load1"}
    lookout.sees[monitor_id] = Outcome(None, None, "cannot be asked")
    service.ada.put_json(one, {"command": ["/usr/lib/nagios/plugins/check_load"]})
    lookout.tick()
    assert service.vera.get(one).json["metrics"] == {}
    assert numbers(service, monitor_id) == {}
    checked(lookout, monitor_id, replace(OK, metrics={"load1": 1.0}, units={"load1": "x"}))
    again = numbers(service, monitor_id)
    assert again["load1"] not in first.values()
    assert service.vera.get(one).json["metrics"]["load1"]["unit"] == "x"
    service.ada.delete(one)
    service.clock.advance(deletions.KEPT_S)  # until then it can be put back, with its history
    deletions.step(service.node)
    gone = service.read(lambda root: set(root.system[GONE]))
    assert gone == {*first.values(), *again.values()}


def test_labels_that_always_differ_fill_nothing(service, hosts, lookout):
    monitor_id = made(service, hosts, retries=0)
    for n in range(6):
        checked(lookout, monitor_id, replace(OK, metrics={f"m{n}-{each}": 1.0 for each in range(60)}, units=None))
    assert len(numbers(service, monitor_id)) == 60
    assert service.node.series.live.names(f"monitor:{monitor_id}") < 260
    many = {f"{n}": 1.0 for n in range(99)} | {"..": 1.0, "a b": 2.0}
    checked(lookout, monitor_id, replace(OK, metrics=many, units=None))
    assert len(numbers(service, monitor_id)) == 64


def test_a_store_that_is_away_costs_the_history_of_a_check_and_no_check(service, hosts, lookout, monkeypatch, caplog):
    monitor_id = made(service, hosts, retries=0)
    checked(lookout, monitor_id, OK)
    transact = service.node.transact

    def away(fn, *values):
        if fn.__name__ == "note":
            raise StoreAway
        return transact(fn, *values)

    monkeypatch.setattr(service.node, "transact", away)
    checked(lookout, monitor_id, replace(OK, metrics={"new": 1.0}, units=None))
    assert "metrics have no series yet" in caplog.text
    assert service.vera.get(f"{PATH}/{monitor_id}").json["metrics"]["new"]["value"] == 1.0
    monkeypatch.undo()
    checked(lookout, monitor_id, replace(OK, metrics={"new": 2.0}, units=None))
    assert "new" in numbers(service, monitor_id)


def test_settings_that_have_changed_meanwhile_keep_no_metrics_of_before(service, hosts, lookout):
    monitor_id = made(service, hosts)
    assert service.transact(metrics.note, monitor_id, 99, {"a": ""}, 0.0) == {}
    assert service.transact(metrics.note, "gone", 1, {"a": ""}, 0.0) == {}
    assert numbers(service, monitor_id) == {}


def form_of(browser, place):
    return browser.get(place).forms["monitor-form"]


def test_an_admin_writes_the_command_in_the_form_one_argument_a_line(service, hosts):
    ada = service.browser("ada")
    form = form_of(ada, "/monitors/new?type=plugin")
    form["name"], form["agent_id"], form["command"] = (
        "Load",
        hosts[0],
        "/usr/lib/nagios/plugins/check_load\r\n-w\r\n5, 4\r\n",
    )
    place = form.submit("act", value="create", status=303).location
    record = service.ada.get(PATH).json[0]
    assert record["command"] == ["/usr/lib/nagios/plugins/check_load", "-w", "5, 4"]
    page = ada.get(place)
    assert "/usr/lib/nagios/plugins/check_load -w '5, 4'" in page.html.select_one("#facts").text
    form = form_of(ada, f"/monitors/{record['id']}/edit")
    assert form["command"].value.splitlines() == record["command"]
    form["command"] = "check_load"
    answer = form.submit("act", value="save", status=422)
    assert "must begin with the whole path" in answer.html.select_one("#m-command-wrong").text


def test_an_operator_edits_all_but_the_command_and_is_offered_no_new_one(service, hosts):
    monitor_id = made(service, hosts, agent_id=None, probe_from=[hosts[0]])
    otto = service.browser("otto")
    page = otto.get("/monitors/new?type=http")
    assert "plugin" not in [link.text for link in page.html.select(".kinds a")]
    assert "plugin" in [link.text for link in service.browser("ada").get("/monitors/new").html.select(".kinds a")]
    form = form_of(otto, f"/monitors/{monitor_id}/edit")
    assert "command" not in form.fields
    assert [button["value"] for button in otto.get(f"/monitors/{monitor_id}/edit").html.select("#form [name=act]")] == [
        "save"
    ]
    assert "Clone" not in otto.get(f"/monitors/{monitor_id}").text
    assert "Clone" in service.browser("ada").get(f"/monitors/{monitor_id}").text
    form["name"] = "Renamed"
    form.submit("act", value="save", status=303)
    record = service.ada.get(f"{PATH}/{monitor_id}").json
    assert (record["name"], record["command"], record["probe_from"]) == ("Renamed", COMMAND, [hosts[0]])
    form = form_of(otto, f"/monitors/{monitor_id}/edit")
    form[f"probe_from:{hosts[1]}"] = True
    assert "only an admin may make one" in form.submit("act", value="save", status=403).text


def test_the_page_shows_what_it_says_and_measures_and_viewers_no_argument(service, hosts, lookout):
    monitor_id = made(service, hosts, retries=0)
    empty = service.browser("vera").get(f"/monitors/{monitor_id}").html.select_one("#plugin").text
    assert "It has not said anything yet" in empty
    values = {"a": 2.5, "b": 12.0, "c": 99.0, "d": 3e9, "e": 7.0, "f": 1.5}
    units = {"a": "s", "b": "s", "c": "%", "d": "B", "e": "c", "f": "W"}
    checked(
        lookout, monitor_id, replace(OK, metrics=values, units=units), replace(OK, metrics={"a": 1.0}, units={"a": "s"})
    )
    page = service.browser("vera").get(f"/monitors/{monitor_id}").html
    shown = page.select_one("#plugin")
    assert "OK - fine" in shown.text
    heads = [head.text for head in shown.select("h3")]
    assert heads == ["a1,000 ms", "b12 s", "c99 %", "d2.79 GiB", "e7", "f1.5 W"]
    assert len(shown.select(".chart")) == 6
    assert f"{COMMAND[0]} *** *** *** ***" in page.select_one("#facts").text
    web = service.otto.post_json(PATH, {"name": "w", "type": "http", "url": "http://a.example/"}).json["id"]
    assert service.browser("vera").get(f"/monitors/{web}").html.select_one("#plugin") is None


def test_a_check_that_is_tried_in_the_form_shows_what_was_measured(service, hosts, lookout):
    lookout.checker.measuring.measure = lambda entry: replace(OK, degraded=True)
    form = form_of(service.browser("ada"), "/monitors/new?type=plugin")
    form["name"], form["agent_id"], form["command"] = "Load", hosts[0], "/usr/lib/nagios/plugins/check_load"
    tried = form.submit("act", value="try", status=200).html.select_one("#tried").text
    assert "It is degraded" in tried
    assert "OK - fine" in tried
    assert "2.86 MiB" in tried
