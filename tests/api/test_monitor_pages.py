"""The pages of monitors: the list, one of them, and the form that adds, tries, clones, changes and deletes."""

import pytest

from opsapp.healing.records import DependencyGraph, RuleRecord
from opsapp.monitoring.records import IncidentRecord, MonitorRecord
from opsapp.runtime import serieswork
from opsapp.ui.shapes import monitor as shape_of_one
from opsapp.wire.probes import Outcome
from opsapp.wire.records import made
from tests.support.app import Service
from tests.support.monitoring import DOWN, UP, Lookout
from tests.support.partly import partly

API = "/api/monitoring/endpoints"
PHASES = {"name": 4.0, "connect": 11.0, "tls": 23.0, "first_byte": 148.0, "total": 205.0}
GOOD = Outcome(True, 205.0, "HTTP 200", PHASES, 43.0, "HTTP/2", 200)


@pytest.fixture
def service(tmp_path):
    service = Service(tmp_path)
    yield service
    service.close()


@pytest.fixture
def lookout(service):
    return Lookout(service)


def words_of(tag):
    return " ".join(tag.get_text(" ").split())


def filled_form(page, **values):
    form = page.forms["monitor-form"]
    for name, value in values.items():
        form[name] = value
    return form


def test_the_report_tells_uptime_worst_first(service, lookout):
    vera = service.browser("vera")
    assert "No monitor was checked then" in vera.get("/monitors/report").text
    lookout.watch_through((UP, 86_400), name="Alpha", step=600, interval=600)
    service.tokens.clear()
    lookout.watch_through((UP, 40_000), (DOWN, 46_400), name="Beta", step=600, interval=600)
    service.tokens.clear()
    lookout.add(name="Never", enabled=False)
    page = service.browser("vera").get("/monitors/report?days=1")
    rows = [[words_of(cell) for cell in row.select("td")] for row in page.html.select("#report tbody tr")]
    assert [row[0] for row in rows] == ["Beta", "Alpha", "Never"]
    assert rows[1][1:3] == ["100 %", "–"]
    assert rows[2][1] == rows[2][4] == "–", "what nobody knows is not 100 %"
    best_first = page.click("Uptime").html.select("#report tbody tr")
    assert [row.select_one("a").text for row in best_first] == ["Alpha", "Beta", "Never"]
    by_name = page.click("Name")
    assert by_name.html.select("#report tbody tr")[0].select_one("a").text == "Alpha"
    assert by_name.click("Name").html.select("#report tbody tr")[0].select_one("a").text == "Never"
    quarter = page.click("90 d")
    assert [words_of(row.select("td")[1]) for row in quarter.html.select("#report tbody tr")] == ["–"] * 3


def test_the_list_is_worst_first_with_checks_and_figures(service, lookout):
    lookout.watch_through((UP, 1800), name="Alpha", tags=["shop"])
    lookout.watch_through((UP, 600), (DOWN, 600), name="Beta")
    page = service.browser("vera").get("/monitors")
    rows = page.html.select("#rows tbody tr")
    assert [row.select_one("a").text for row in rows] == ["Beta", "Alpha"]
    assert "HTTP 500" in words_of(rows[0].select_one("td"))
    assert [words_of(row.select_one(".st")) for row in rows] == ["Down", "Up"]
    assert "20 up; newest up" in rows[1].select_one("svg.bars")["aria-label"].replace("30 up", "20 up")
    assert "down" in rows[0].select_one("svg.bars")["aria-label"]
    assert words_of(rows[1].select("td.num")[0]) == "12 ms"
    assert words_of(rows[1].select("td.num")[1]) == "100 %"
    assert rows[1].select_one("a.tag")["href"] == "/monitors?tag=shop"
    assert page.html.select("a[href='/monitors/new']") == [], "a viewer adds nothing"
    tagged = service.browser("otto").get("/monitors?tag=shop")
    assert [row.select_one("a").text for row in tagged.html.select("#rows tbody tr")] == ["Alpha"]
    assert tagged.html.select("a[href='/monitors/new']")
    by_name = service.browser("vera").get("/monitors?sort=name")
    assert [row.select_one("a").text for row in by_name.html.select("#rows tbody tr")] == ["Alpha", "Beta"]
    part = service.browser("vera").get("/monitors", headers={"X-Part": "rows"})
    assert part.text.strip().startswith("<table"), "what goes into the element that is fetched anew"


def test_an_empty_list_says_what_to_do(service):
    page = service.browser("otto").get("/monitors")
    assert page.html.select_one(".empty a[href='/monitors/new']")
    assert "Ask for less" in service.browser("otto").get("/monitors?q=x").text


def test_one_monitor_says_how_it_stands_and_what_was_measured(service, lookout):
    monitor_id = lookout.watch_through(
        (GOOD, 3600), (DOWN, 2700), (GOOD, 900), name="Shop", degraded_ms=900, tags=["public"]
    )
    page = service.browser("otto").get(f"/monitors/{monitor_id}")
    assert page.html.h1.text == "Shop"
    chart = page.html.select_one("#moment svg.plot[aria-label^='Response time']")
    assert "half within between 205 ms and 205 ms" in chart["aria-label"]
    assert "slow above 900 ms" in words_of(chart)
    assert "Shop was down: HTTP 500, for 45 min" in page.html.select_one("#moment svg a")["aria-label"]
    figures = [words_of(row) for row in page.html.select("#moment .data tbody tr")]
    assert any("205 ms 205 ms up" in row for row in figures)
    assert any("– – down" in row for row in figures)
    assert len(page.html.select("#uptime .figs dt")) == 4
    assert [words_of(figure).partition(" ")[0] for figure in page.html.select("#uptime .figs dd")] == ["–"] * 4
    assert words_of(page.html.select_one("#uptime .figs dd:last-of-type")).endswith("% measured")
    assert "today" in words_of(page.html.select_one("#uptime .strip"))
    assert words_of(page.html.select_one("#past tbody tr")).startswith("HTTP 500 Resolved")
    assert words_of(page.html.select_one("#phases dl")) == "Name 4 ms Connect 11 ms TLS 23 ms Wait 148 ms Body 19 ms"
    assert "ends in 43 d" in words_of(page.html.select_one("#facts"))
    assert page.html.select(".acts a[href$='/edit']")
    assert "Deleting" not in page.text
    assert page.html.select("#delete") == [], "only an admin deletes"
    losses = words_of(service.browser("ada").get(f"/monitors/{monitor_id}").html.select_one("#delete"))
    assert "Its history goes with it" in losses
    assert "It is removed from the public status page." in losses


def test_a_monitor_that_was_never_checked_says_so(service, lookout):
    monitor_id = lookout.add(type="push", url="", name="Backup")
    page = service.browser("otto").get(f"/monitors/{monitor_id}")
    assert "Not checked yet" in words_of(page.html.select_one("#now"))
    assert "Nothing was measured in this time" in page.text
    assert "/api/monitoring/push/" in words_of(page.html.select_one("#facts"))
    assert "when it is called" in words_of(page.html.select_one("#facts"))
    assert "not watched yet" in words_of(page.html.select_one("#uptime"))


def test_a_monitor_is_checked_paused_and_goes_on(service, lookout):
    monitor_id = lookout.watch_through((UP, 60))
    otto, path = service.browser("otto"), f"/monitors/{monitor_id}"
    lookout.sees[monitor_id] = DOWN
    otto.get(path).forms[form_number(otto.get(path), "monitor.check")].submit()
    assert lookout.monitor(monitor_id)["status"] == "down"
    page = otto.get(path)
    assert "War room" in words_of(page.html.select_one("#now"))
    page.forms[form_number(page, "monitor.pause")].submit()
    assert lookout.monitor(monitor_id)["enabled"] is False
    page = otto.get(path)
    assert "paused: not checked" in words_of(page.html.select_one("#facts"))
    page.forms[form_number(page, "monitor.resume")].submit()
    assert lookout.monitor(monitor_id)["enabled"] is True


def form_number(page, act):
    return next(number for number, form in page.forms.items() if "act" in form.fields and form["act"].value == act)


def test_settings_are_tried_and_then_saved(service, lookout):
    seen = []

    def measure(entry):
        seen.append(entry.target)
        return GOOD if entry.target.url.startswith("https://shop") else DOWN

    lookout.checker.measuring.measure = measure
    otto = service.browser("otto")
    values = {"name": "Shop", "url": "https://down.example/", "json_path": "$.status", "expected_value": '"ok"'}
    form = filled_form(otto.get("/monitors/new?type=json"), **values, tags="shop, public", interval="30")
    tried = form.submit("act", value="try")
    assert "It is down" in words_of(tried.html.select_one("#tried"))
    assert "HTTP 500" in words_of(tried.html.select_one("#tried"))
    again = tried.forms["monitor-form"]
    kept = {name: again[name].value for name in (*values, "tags", "interval", "type")}
    assert kept == values | {"tags": "shop, public", "interval": "30", "type": "json"}, "nothing is lost"
    assert service.vera.get(API).json == [], "nothing is saved"
    tried = filled_form(tried, url="https://shop.example/status").submit("act", value="try")
    told = words_of(tried.html.select_one("#tried"))
    assert "It is up" in told
    assert "43.0 days left" in told
    assert "Wait 148.0 ms" in told
    answer = tried.forms["monitor-form"].submit("act", value="create")
    made = service.vera.get(API).json[0]
    assert answer.headers["Location"].endswith(f"/monitors/{made['id']}")
    assert (made["json_path"], made["expected_value"], made["tags"]) == ("$.status", "ok", ["shop", "public"])
    assert made["interval"] == 30


def test_what_is_wrong_stands_beside_its_field(service, lookout):
    otto = service.browser("otto")
    form = filled_form(otto.get("/monitors/new?type=tcp"), name="Database", url="tcp://db.example")
    wrong = form.submit("act", value="create", status=422)
    assert "must name a port" in words_of(wrong.html.select_one("#m-url-wrong"))
    assert wrong.forms["monitor-form"]["name"].value == "Database"
    assert wrong.forms["monitor-form"]["type"].value == "tcp"
    late = filled_form(wrong, url="tcp://db.example:5432", interval="5", timeout="9").submit(
        "act", value="try", status=422
    )
    assert "less than the interval" in words_of(late.html.select_one("#m-timeout-wrong"))
    assert late.html.select_one("details.more-fields").has_attr("open"), "what is wrong is not hidden"


def test_each_type_has_the_fields_that_it_needs(service):
    otto = service.browser("otto")

    def names(kind):
        fields = otto.get(f"/monitors/new?type={kind}").forms["monitor-form"].fields
        return {name for name in fields if name}

    assert {"keyword", "keyword_absent", "method"} <= names("keyword")
    assert not {"keyword", "json_path", "method"} & names("tcp")
    assert "url" not in names("push")
    assert "probe_from" not in names("push")
    assert otto.get("/monitors/new?type=carrier").forms["monitor-form"]["type"].value == "http"


def test_a_host_is_chosen_by_its_name(service):
    service.ada.post_json("/api/agents", {"label": "box-1"}, status=201)
    host = service.ada.get("/api/agents").json[0]
    page = service.browser("otto").get("/monitors/new?type=agent")
    assert page.html.select_one(f"#m-url option[value='agent://{host['id']}']")
    form = filled_form(page, name="Box", url=f"agent://{host['id']}", agent_id=host["id"])
    form.submit("act", value="create")
    assert service.vera.get(API).json[0]["agent_id"] == host["id"]


def test_a_monitor_is_changed_and_cloned(service, lookout):
    monitor_id = lookout.watch_through((UP, 60), name="Shop", tags=["shop"], degraded_ms=500, headers={"X-A": "b"})
    otto = service.browser("otto")
    form = otto.get(f"/monitors/{monitor_id}/edit").forms["monitor-form"]
    assert (form["name"].value, form["tags"].value, form["degraded_ms"].value) == ("Shop", "shop", "500")
    assert form["headers"].value == '{"X-A": "b"}'
    form["tags"], form["degraded_ms"], form["retries"] = "", "", "4"
    assert form.submit("act", value="save").headers["Location"].endswith(f"/monitors/{monitor_id}")
    changed = lookout.monitor(monitor_id)
    assert (changed["tags"], changed["degraded_ms"], changed["retries"]) == ([], None, 4)
    assert changed["headers"] == {"X-A": "b"}
    copy = otto.get(f"/monitors/{monitor_id}/clone").forms["monitor-form"]
    assert copy["name"].value == "Shop (copy)"
    copy.submit("act", value="create")
    made = {row["name"]: row for row in service.vera.get(API).json}
    assert made["Shop (copy)"]["retries"] == 4
    assert made["Shop (copy)"]["id"] != monitor_id


def test_a_monitor_is_deleted_by_an_admin(service, lookout):
    monitor_id = lookout.watch_through((UP, 60), name="Shop")
    ada = service.browser("ada")
    page = ada.get(f"/monitors/{monitor_id}")
    answer = page.forms[form_number(page, "monitor.delete")].submit()
    assert "/monitors?undo=" in answer.headers["Location"]
    assert service.vera.get(API).json == []


def test_a_viewer_has_no_form(service, lookout):
    monitor_id = lookout.watch_through((UP, 60))
    vera = service.browser("vera")
    for page in ("/monitors/new", f"/monitors/{monitor_id}/edit", f"/monitors/{monitor_id}/clone"):
        vera.get(page, status=403)
    assert vera.get(f"/monitors/{monitor_id}").html.select(".acts form, .acts a") == []


class TestLosses:
    MONITOR = MonitorRecord(id="m1", name="Shop", type="http")
    OPEN = IncidentRecord(
        id="i1", monitor_id="m1", monitor_name="Shop", started=0, duration_minutes=1, cause="", status="open",
        acknowledged_by=None,
    )  # fmt: skip

    def test_rules_that_name_it_are_named(self):
        rules = [
            {"id": "by-target", "condition": 'status == "down"', "targets": {"monitors": ["Shop"]}},
            {"id": "by-condition", "condition": 'monitor("Shop").status == "down"', "targets": None},
            {"id": "other", "condition": "cpu_percent > 90", "targets": {"agents": ["web"]}},
        ]
        told = shape_of_one.losses(self.MONITOR, [self.OPEN], [made(RuleRecord, rule) for rule in rules])
        assert told[-1] == "Rules that name it find nothing any more: by-target, by-condition."
        assert "Its open incident ends." in told


def test_what_it_hangs_on_is_beside_what_hangs_on_it():
    nodes = [{"target": "db", "status": "failed"}, {"target": "shop", "status": "ok"}]
    edges = [{"from": "shop", "to": "db"}, {"from": "mail", "to": "shop"}]
    graph = partly(DependencyGraph, {"nodes": nodes, "edges": edges})
    above = shape_of_one.neighbours(graph, "shop", above=True)
    below = shape_of_one.neighbours(graph, "shop", above=False)
    assert above == {"db": "failed"}
    assert below == {"mail": "unknown"}
    assert shape_of_one.neighbours(None, "shop", above=True) == {}


def test_a_new_monitor_shows_its_last_checks_and_the_time_that_it_is_there(service):
    lookout = Lookout(service)
    shop = lookout.add(name="Shop", retries=0, interval=60)
    lookout.sees[shop] = UP
    browser = service.browser("vera")
    first = browser.get(f"/monitors/{shop}").html
    assert first.select_one("#beats [data-again]")["data-again"] == "2", "its first check is on the way"
    lookout.run(300, step=10)
    serieswork.flush(service.node)
    page = browser.get(f"/monitors/{shop}").html
    assert "the last 30 checks: " in page.select_one("#beats svg")["aria-label"]
    assert "up; newest up" in page.select_one("#beats svg")["aria-label"]
    assert "The last one was" in page.select_one("#beats").text
    told = service.vera.get(f"/api/moment?kind=monitors&id={shop}").json
    assert told["until"] - told["since"] == 300, "no day of nothing"
    alone = browser.get(f"/monitors/{shop}", headers={"X-Part": "beats"}).html
    assert alone.svg is not None
    assert int(alone.select_one("[data-again]")["data-again"]) <= 61
    service.otto.put_json(f"/api/monitoring/endpoints/{shop}", {"enabled": False})
    assert not browser.get(f"/monitors/{shop}").html.select("#beats [data-again]")
