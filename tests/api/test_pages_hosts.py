"""The pages of hosts: the list, one host in each of its states, its commands, and what each role may do there."""

import pytest

from opsapp.runtime import serieswork

from .test_agents import Polling
from .test_rooms import form, press


@pytest.fixture
def box(service):
    service.clock.advance(60)
    return Polling(service, "web-2", tags=["web"])


def report(service, box, **more):
    said = {"disks": {"/": 41, "/var": 91}, "services": {"nginx": "active", "imgproxy": "failed"}, "version": "0.0.1"}
    box.report(**(said | more))
    serieswork.flush(service.node)


def test_the_list_says_what_each_host_measures(service, box):
    report(service, box, failed_units=["imgproxy.service"])
    Polling(service, "new")
    page = service.browser("vera").get("/agents")
    rows = {row.select_one("a").text: row.text for row in page.html.select("tbody tr")}
    assert list(rows) == ["web-2", "new"]
    assert "Waiting for its first report" in rows["new"]
    for words in ("imgproxy failed", "12 %", "40 %", "outdated"):
        assert words in rows["web-2"]
    assert page.html.select("tbody svg.spark")
    assert "Add a host" not in page.text
    assert service.browser("ada").get("/agents").html.select_one(".head a.first")["href"] == "/agents/add"


@pytest.mark.parametrize(
    ("reported", "look", "word"),
    [
        ({"services": {"nginx": "active"}, "disks": {"/": 41}, "disk_percent": 41}, "ok", "Reporting"),
        ({"services": {"nginx": "failed"}}, "bad", "nginx failed"),
        ({"services": {"nginx": "failed"}, "failed_units": ["nginx.service"]}, "bad", "nginx failed"),
        ({"services": {}, "containers": {"shop": "unhealthy"}}, "bad", "shop failed"),
        ({"services": {"a": "failed"}, "failed_units": ["b.timer"]}, "bad", "a, b.timer failed"),
        ({"services": {}, "disks": {}, "disk_percent": 93}, "warn", "a disk 93 % full"),
    ],
)
def test_a_host_on_which_something_is_wrong_is_not_green(service, box, reported, look, word):
    report(service, box, **reported)
    state = service.browser("vera").get("/agents").html.select_one("tbody td:nth-of-type(2) .st")
    assert (state["class"], state.text.strip()) == (["st", look], word)


def test_a_silent_host_is_called_silent_whatever_had_failed(service, box):
    report(service, box, services={"nginx": "failed"})
    service.clock.advance(3600)
    cell = service.browser("vera").get("/agents").html.select_one("tbody td:nth-of-type(2)")
    assert cell.select_one(".st").text == "Silent for long"
    assert cell.select_one(".problem").text.startswith("not connected since ")
    assert cell.select_one(".problem time")["datetime"] in str(cell)
    assert "failed" not in cell.text


def test_the_names_of_all_that_failed_stand_below_the_host(service, box):
    report(service, box, services={"a": "failed", "b": "failed"})
    assert "a, b failed" in service.browser("vera").get("/agents").html.select_one("tbody tr").text


def test_the_page_of_a_host_with_a_failed_service_does_not_begin_with_a_green_sign(service, box):
    for services, look in (({"nginx": "failed"}, "bad"), ({"nginx": "active"}, "ok")):
        report(service, box, services=services, disks={"/": 41})
        page = service.browser("vera").get(f"/agents/{box.id}")
        assert look in page.html.select_one("h1 svg")["class"]


def test_of_the_hosts_that_report_those_with_failed_services_come_first(service):
    for name, state in (("a-well", "active"), ("b-broken", "failed"), ("c-well", "active")):
        Polling(service, name).report(services={"nginx": state}, failed_units=[])
    page = service.browser("vera").get("/agents")
    assert [row.select_one("a").text for row in page.html.select("tbody tr")] == ["b-broken", "a-well", "c-well"]


def test_every_problem_is_said_and_the_worst_come_first(service):
    service.clock.advance(60)
    bodies = {
        "a-well": {},
        "b-busy": {"cpu_percent": 97, "mem_percent": 95},
        "c-full": {"cpu_percent": 99, "disks": {"/": 93, "/var": 99}},
        "d-gone": {},
        "e-late": {"time": service.clock.now() + 40},
    }
    boxes = {name: Polling(service, name) for name in bodies}
    boxes["d-gone"].report()
    service.clock.advance(3600)
    for name in bodies.keys() - {"d-gone"}:
        body = {"services": {}, "disks": {}, "disk_percent": 40} | bodies[name]
        boxes[name].report(**body | ({"time": service.clock.now() + 40} if name == "e-late" else {}))
    Polling(service, "f-new")
    rows = service.vera.get("/api/agents/figures").json
    told = {row["label"]: [problem["words"] for problem in row["problems"]] for row in rows}
    assert list(told.items()) == [
        ("d-gone", ["not connected since"]),
        ("c-full", ["/var 99 % full", "CPU 99 %", "/ 93 % full"]),
        ("b-busy", ["CPU 97 %", "memory 95 %"]),
        ("e-late", ["clock 40 s off"]),
        ("f-new", []),
        ("a-well", []),
    ]
    page = service.browser("vera").get("/agents").html
    words = [row.select_one("td:nth-of-type(2)").get_text(" ", strip=True) for row in page.select("tbody tr")]
    assert words[1:] == [
        "/var 99 % full CPU 99 % / 93 % full",
        "CPU 97 % memory 95 %",
        "clock 40 s off",
        "Waiting for its first report",
        "Reporting",
    ]
    first = service.vera.get("/api/agents/figures?limit=2&offset=1").json
    assert [row["label"] for row in first] == ["c-full", "b-busy"], "the order is that of the whole list"
    backward = service.vera.get("/api/agents/figures?sort=-status").json
    assert [row["label"] for row in backward][-1] == "d-gone"


def test_silent_hosts_come_first_and_filters_are_kept(service, box):
    report(service, box)
    service.clock.advance(3600)
    Polling(service, "awake").report()
    page = service.browser("vera").get("/agents?q=w")
    assert [row.select_one("a").text for row in page.html.select("tbody tr")] == ["web-2", "awake"]
    assert "q=w&status=dead" in page.text.replace("&amp;", "&")
    none = service.browser("vera").get("/agents?tag=nowhere")
    assert "No host fits" in none.text


def test_an_empty_list_says_what_to_do(service):
    assert "No host reports yet" in service.browser("vera").get("/agents").text
    assert service.browser("ada").get("/agents").html.select_one(".empty a")["href"] == "/agents/add"


def test_a_new_host_waits_and_turns_into_itself(service):
    shown = press(service.browser("ada").get("/agents/add"), "create", 200, label="web-9")
    place = shown.html.select_one("#arrival")["data-live-from"]
    vera = service.browser("vera")
    assert "Waiting for its first report" in vera.get(place).text
    part = vera.get(place, headers={"X-Part": "arrival"})
    assert "Waiting for its first report" in part.text
    key = shown.html.select_one("code.key").text
    body = {"hostname": "web-9", "os": "Debian 12", "cpu_percent": 1}
    service.anonymous.post_json(f"/api{place}/report", body, headers={"X-Agent-Key": key})
    assert "web-9 reports." in vera.get(place, headers={"X-Part": "arrival"}).text
    page = vera.get(place)
    assert "Waiting for its first report" not in page.text
    assert page.html.select_one("h1").text.strip() == "web-9"


def test_a_host_says_first_what_is_wrong_with_it(service, box):
    report(service, box)
    page = service.browser("vera").get(f"/agents/{box.id}")
    assert page.html.select_one(".lead-line").text == "imgproxy failed. /var 91 % full."
    assert [row.select_one("td").text for row in page.html.select("#services tbody tr")] == ["imgproxy", "nginx"]
    assert [lane.text for lane in page.html.select("#moment .lane h3")][-4:] == ["CPU", "Memory", "Disk /var", "Disk /"]
    assert page.html.select("#disks figure.chart")
    assert page.html.select("#disks .parts b")[0].text == "/var"
    assert not page.html.select("#manage")
    service.clock.advance(3600)
    silent = service.browser("vera").get(f"/agents/{box.id}").html.select_one(".lead-line").text
    assert silent.startswith("It has not reported for 60 min")


def test_maintenance_is_planned_from_a_host_by_who_may(service, box):
    report(service, box)
    planned = service.browser("otto").get(f"/agents/{box.id}").click("Plan maintenance")
    assert planned.html.select_one(f"[name='scope:{box.id}']").has_attr("checked")
    assert "Plan maintenance" not in service.browser("vera").get(f"/agents/{box.id}").text


def test_a_mount_of_any_name_is_led_to(service, box):
    named = "/mnt/a & b#1+2"
    report(service, box, disks={named: 41, "/": 40, "/var": 91})
    page = service.browser("vera").get(f"/agents/{box.id}")
    link = next(each for each in page.html.select("#disks a") if each.text == named)
    chosen = service.browser("vera").get(link["href"].partition("#")[0]).html.select("#disks [aria-current]")
    assert [each.text for each in chosen] == [named]


def test_of_many_disks_the_fullest_stand_open_and_the_chosen_one_is_never_folded(service, box):
    report(service, box, disks={f"/srv/{number}": 10.0 + number for number in range(12)})
    vera = service.browser("vera")
    disks = vera.get(f"/agents/{box.id}").html.select_one("#disks")
    assert [each.text for each in disks.select("div > .parts b")[:5]] == [
        f"/srv/{number}" for number in range(11, 6, -1)
    ]
    assert len(disks.select(".more-fields .parts b")) == 7
    assert not disks.select_one(".more-fields").has_attr("open")
    assert vera.get(f"/agents/{box.id}?disk=/srv/0").html.select_one("#disks .more-fields").has_attr("open")


def test_what_is_wrong_leads_to_where_it_is_on_the_page(service, box):
    report(service, box)
    page = service.browser("vera").get(f"/agents/{box.id}")
    place = page.html.select_one(".lead-line a")["href"]
    assert page.html.select_one(place)


def test_a_command_is_asked_for_by_its_fields_and_leads_to_its_page(service, box):
    report(service, box)
    otto = service.browser("otto")
    page = otto.get(f"/agents/{box.id}?do=service&service=nginx")
    asked = form(page, "agent.service")
    assert asked["params.service"].value == "nginx"
    asked["params.action"] = "restart"
    shown = asked.submit(status=303).follow()
    assert shown.html.select_one("h1").text.strip() == "restart nginx"
    stream = shown.html.select_one("pre[data-follow]")["data-follow"]
    assert stream.endswith("/stream")
    vera = service.browser("vera").get(shown.request.path)
    assert not vera.html.select("pre[data-follow]")
    command_id = shown.request.path.rpartition("/")[2]
    box.report(results=[{"command_id": command_id, "status": "failed", "exit_code": 3, "output": "no such unit <b>"}])
    over = otto.get(shown.request.path)
    assert "Failed, exit code 3" in over.text
    assert over.html.select_one("pre.out").text == "no such unit <b>"
    assert "restart nginx" in otto.get(f"/agents/{box.id}").html.select_one("#commands").text
    press(otto.get(f"/agents/{box.id}"), "agent.shell", 422)


def test_a_queued_command_is_stopped(service, box):
    report(service, box)
    otto = service.browser("otto")
    shown = press(otto.get(f"/agents/{box.id}"), "agent.shell", **{"params.command": "sleep 60\necho x"}).follow()
    assert shown.html.select_one("h1").text.strip() == "sleep 60 …"
    press(shown, "command.stop")
    assert "cancelled before it was sent" in otto.get(shown.request.path).text


def test_a_host_is_renamed_gets_another_key_and_is_deleted(service, box):
    report(service, box)
    ada, place = service.browser("ada"), f"/agents/{box.id}"
    asked = form(ada.get(place), "agent.change")
    assert (asked["label"].value, asked["tags"].value) == ("web-2", "web")
    asked["tags"] = "web, shop"
    asked.submit(status=303)
    assert box.seen()["tags"] == ["web", "shop"]
    assert len(press(ada.get(place), "agent.key", 200).html.select_one("code.key").text) == 64
    page = ada.get(place)
    assert "Incidents and the ledger stay" in page.text
    assert "/agents?undo=" in press(page, "agent.delete").location
    ada.get(place, status=404)


GRAPH = [
    {"target": "shop", "depends_on": ["web-1", "web-2"]},
    {"target": "web-1", "depends_on": ["db-1"]},
    {"target": "web-2", "depends_on": ["db-1"]},
    {"target": "db-1", "type": "host"},
    {"target": "<lonely>"},
]


def test_dependencies_are_drawn_and_told_in_a_table(service):
    service.ada.put_json("/api/healing/dependencies", {"dependencies": GRAPH})
    page = service.browser("vera").get("/healing/dependencies")
    assert [text.text for text in page.html.select("svg.graph g > text")] == ["db-1", "web-1", "web-2", "shop"]
    assert len(page.html.select("svg.graph path.edge")) == 4
    rows = {row.select_one("td").text: row for row in page.html.select("#table tbody tr")}
    assert "<lonely>" in rows
    assert " ".join(rows["shop"].select_one("td.wide").text.split()) == "web-1, web-2"
    assert {"Unknown"} == {row.select_one("span.st").text.strip() for row in rows.values()}  # nobody measures them
    assert not page.html.select("#add")
    near = service.browser("vera").get("/healing/dependencies?q=nothing-like-it")
    assert "Nothing of that name is connected" in near.text


def test_an_edge_is_added_and_taken_out_and_a_circle_is_refused_in_words(service):
    service.ada.put_json("/api/healing/dependencies", {"dependencies": GRAPH})
    ada, place = service.browser("ada"), "/healing/dependencies"
    page = press(ada.get(place), "add", target="db-1", depends_on="<lonely>").follow()
    assert "The dependency is added." in page.text
    assert {"from": "db-1", "to": "<lonely>"} in service.vera.get("/api/healing/dependencies").json["edges"]
    refused = press(page, "add", 409, target="<lonely>", depends_on="shop")
    assert "That would close a circle" in refused.text
    unknown = press(page, "add", 422, target="db-1", depends_on="elsewhere")
    assert "there is no elsewhere" in unknown.text
    forms = [each for each in ada.get(place).forms.values() if "row-target" in each.fields]
    next(each for each in forms if each["row-target"].value == "shop").submit(status=303)
    assert len(service.vera.get("/api/healing/dependencies").json["edges"]) == 4


def test_a_stopped_agent_is_called_stopped_at_once_and_after_its_time_to_come_back(service, box):
    report(service, box)
    box.report(stopped=True)
    for seconds in (0, 60):
        service.clock.advance(seconds)
        browser = service.browser("vera")
        [row] = browser.get("/agents").html.select("tbody tr")
        assert "Stopped" in row.text
        assert "Silent" not in row.text
        assert "1 stopped" in browser.get("/agents").html.select_one(".head").text
        assert "Its agent was stopped" in browser.get(f"/agents/{box.id}").text
        overview = browser.get("/").html
        assert "1 agent stopped" in overview.h1.text
        assert "Its agent was stopped. What runs there is unknown." in overview.find(id="wrong").text
    box.report()
    assert "Stopped" not in service.browser("vera").get("/agents").html.tbody.text
