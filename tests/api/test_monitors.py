"""/api/monitoring/endpoints: what it takes, what it refuses, and who may do what."""

import json

import pytest

from opsapp.monitoring.queries import ORDERS
from opsapp.runtime import serieswork
from opsapp.series import HistoryReader, reads
from opsapp.wire.probes import Outcome
from tests.support.monitoring import DOWN, UP, Lookout

HTTP = {
    "name": "Shop",
    "url": "https://shop.example.org/",
    "type": "http",
    "interval": 30,
    "timeout": 5,
    "expected_status": 200,
    "retries": 1,
    "tags": ["public", "shop"],
}
PATH = "/api/monitoring/endpoints"


def create(service, **changes):
    answer = service.otto.post_json(PATH, HTTP | changes, status=201)
    assert answer.json["status"] == "created"
    return answer.json["id"]


def test_create_and_read(service):
    monitor_id = create(service)
    listed = service.vera.get(PATH)
    assert listed.headers["X-Total-Count"] == "1"
    monitor = listed.json[0]
    assert monitor == service.vera.get(f"{PATH}/{monitor_id}").json
    assert {name: monitor[name] for name in HTTP} == HTTP
    assert monitor["status"] == "pending"
    assert monitor["enabled"] is True
    assert monitor["response_time_ms"] is monitor["last_check"] is monitor["uptime_24h"] is None
    assert "push_url" not in monitor


@pytest.mark.shared
def test_defaults(service):
    answer = service.otto.post_json(PATH, {"name": "a", "type": "http", "url": "http://a.example/"})
    monitor = service.vera.get(f"{PATH}/{answer.json['id']}").json
    wanted = {"interval": 60, "timeout": 10, "retries": 2, "expected_status": None, "tags": [], "method": "GET"}
    assert {name: monitor[name] for name in wanted} == wanted
    answer = service.otto.post_json(PATH, {"name": "b", "type": "http", "url": "http://b.example/", "interval": 5})
    assert service.vera.get(f"{PATH}/{answer.json['id']}").json["timeout"] == 4


GOOD = [
    {"type": "tcp", "url": "tcp://db.example.org:5432"},
    {"type": "ping", "url": "ping://10.0.0.1"},
    {"type": "ping", "url": "ping://[2001:db8::1]"},
    {"type": "dns", "url": "dns://192.0.2.1:5353/example.org?type=MX"},
    {"type": "tls", "url": "tls://example.org:443"},
    {"type": "keyword", "keyword": "welcome"},
    {"type": "json", "json_path": "$.a.b[0]", "expected_value": 7},
    {"type": "json", "json_path": "$", "expected_value": {"a": [1]}},
    {"type": "agent"},
    {"type": "push", "url": ""},
    {"expected_status": None, "degraded_ms": 500, "method": "HEAD", "headers": {"X-A": "b"}, "follow_redirects": False},
    {"interval": 86400, "timeout": 60, "retries": 0},
    {"url": "http://münchen.example/straße"},
]


@pytest.fixture
def agent(service):
    return service.ada.post_json("/api/agents", {"label": "box"}).json["agent_id"]


@pytest.mark.parametrize("changes", GOOD)
@pytest.mark.shared
def test_every_type_can_be_made_and_its_record_sent_back(service, agent, changes):
    changes = changes | ({"url": f"agent://{agent}"} if changes.get("type") == "agent" else {})
    monitor_id = create(service, **changes)
    record = service.otto.get(f"{PATH}/{monitor_id}").json
    assert {name: record[name] for name in changes} == changes
    assert service.otto.put_json(f"{PATH}/{monitor_id}", record).json == {"status": "updated"}
    assert service.otto.get(f"{PATH}/{monitor_id}").json == record


BAD = [
    ({"name": ""}, {"name"}),
    ({"name": " \t\u00a0"}, {"name"}),
    ({"name": 7, "interval": "30", "tags": "x", "retries": True}, {"name", "interval", "tags", "retries"}),
    ({"name": None}, {"name"}),
    ({"interval": 4}, {"interval"}),
    ({"interval": 86401}, {"interval"}),
    ({"interval": 30.0}, {"interval"}),
    ({"timeout": 0}, {"timeout"}),
    ({"timeout": 61, "interval": 300}, {"timeout"}),
    ({"timeout": 30, "interval": 30}, {"timeout"}),
    ({"timeout": 30, "interval": 30, "name": ""}, {"timeout", "name"}),
    ({"timeout": 60, "interval": None}, {"timeout"}),  # the interval is 60 by default
    ({"retries": 11}, {"retries"}),
    ({"expected_status": 99}, {"expected_status"}),
    ({"expected_status": 600}, {"expected_status"}),
    ({"type": "smtp"}, {"type"}),
    ({"type": "smtp", "url": None}, {"type", "url"}),
    ({"type": "smtp", "url": "x" * 3000}, {"type", "url"}),
    ({"url": "ftp://x/"}, {"url"}),
    ({"url": "http://"}, {"url"}),
    ({"url": "http://a b/"}, {"url"}),
    ({"url": "http://a/\r\nX: y"}, {"url"}),
    ({"url": "http://a:99999/"}, {"url"}),
    ({"url": ""}, {"url"}),
    ({"type": "tcp", "url": "tcp://host"}, {"url"}),
    ({"type": "tcp", "url": "http://host:80"}, {"url"}),
    ({"type": "dns", "url": "dns://1.1.1.1/"}, {"url"}),
    ({"type": "dns", "url": "dns://1.1.1.1/a?type=ZZ"}, {"url"}),
    ({"type": "push"}, {"url"}),
    ({"type": "agent", "url": "agent://0123456789abcdef"}, {"url"}),
    ({"type": "agent", "url": "agent://a/b"}, {"url"}),
    ({"url": "http://[::1"}, {"url"}),
    ({"url": "http://a\u200b.example/"}, {"url"}),
    ({"type": "keyword"}, {"keyword"}),
    ({"type": "json"}, {"json_path", "expected_value"}),
    ({"type": "json", "json_path": "a.b", "expected_value": 1}, {"json_path"}),
    ({"tags": ["a", "a"]}, {"tags"}),
    ({"tags": [""]}, {"tags"}),
    ({"headers": {"X\r\nY": "z"}}, {"headers"}),
    ({"headers": {"X": "a\r\nHost: b"}}, {"headers"}),
    ({"method": "BREW"}, {"method"}),
    ({"degraded_ms": -1}, {"degraded_ms"}),
    ({"agent_id": "0123456789abcdef"}, {"agent_id"}),
    ({"probe_from": ["0123456789abcdef"]}, {"probe_from"}),
    ({"colour": "red"}, {"colour"}),
    ({"id": "0123456789abcdef"}, {"id"}),
    ({"expected_value": ["x" * 5000]}, {"expected_value"}),
    ({"expected_value": {"a": ["\ud83d"]}}, {"expected_value"}),
    ({"expected_value": json.loads("[" * 60 + "]" * 60)}, {"expected_value"}),
    ({"name": "\ud83d"}, {"name"}),
]


@pytest.mark.parametrize(("changes", "fields"), BAD)
@pytest.mark.shared
def test_bad_values_are_all_named_at_once(service, changes, fields):
    before = service.otto.get(PATH).json
    answer = service.otto.post_json(PATH, HTTP | changes, status=422).json
    assert {name.split(".")[0] for name in answer["fields"]} == fields, answer
    assert service.otto.get(PATH).json == before


@pytest.mark.shared
def test_an_agent_that_is_gone_hinders_no_other_change_of_its_monitor(service, agent):
    monitor_id = create(service, type="agent", url=f"agent://{agent}")
    service.ada.delete(f"/api/agents/{agent}")
    record = service.otto.get(f"{PATH}/{monitor_id}").json
    service.otto.put_json(f"{PATH}/{monitor_id}", record | {"name": "renamed"})
    refused = service.otto.put_json(f"{PATH}/{monitor_id}", {"url": "agent://0123456789abcdef"}, status=422)
    assert refused.json["fields"] == {"url": "no such agent"}


@pytest.mark.shared
def test_who_looks_is_refused_where_nobody_looks(service, agent):
    """A push monitor is called, and of an agent its reports are known."""
    looked_at = {"probe_from": [agent]}
    for body in ({"name": "p", "type": "push"}, {"name": "a", "type": "agent", "url": f"agent://{agent}"}):
        refused = service.otto.post_json(PATH, body | looked_at, status=422).json
        assert refused["fields"] == {"probe_from": f"must be empty for the type {body['type']}: nobody looks at it"}
        monitor_id = service.otto.post_json(PATH, body | {"probe_from": []}, status=201).json["id"]
        assert "probe_from" in service.otto.put_json(f"{PATH}/{monitor_id}", looked_at, status=422).json["fields"]
    monitor_id = create(service, probe_from=[agent])
    service.otto.put_json(f"{PATH}/{monitor_id}", {"type": "push", "url": ""})
    service.otto.put_json(f"{PATH}/{monitor_id}", {"name": "called by now"})


@pytest.mark.shared
def test_the_sentence_names_the_same_fields_as_the_table(service):
    told = service.otto.post_json(PATH, HTTP | {"tags": ["", 7], "interval": 1}, status=422).json
    assert told["fields"].keys() == {"interval", "tags"}
    assert told["error"] == "Some values are not valid: interval, tags"
    assert (told["fields"]["tags"].count("entry 1: "), told["fields"]["tags"].count("entry 2: ")) == (1, 1)


@pytest.mark.parametrize("name", ["name", "url", "type"])
@pytest.mark.shared
def test_what_is_required(service, name):
    body = {key: value for key, value in HTTP.items() if key != name}
    assert name in service.otto.post_json(PATH, body, status=422).json["fields"]


@pytest.mark.shared
def test_a_put_changes_only_what_it_names(service):
    monitor_id = create(service)
    service.otto.put_json(f"{PATH}/{monitor_id}", {"name": "Store", "timeout": 9})
    monitor = service.otto.get(f"{PATH}/{monitor_id}").json
    assert (monitor["name"], monitor["timeout"], monitor["url"]) == ("Store", 9, HTTP["url"])


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"interval": 5}, "timeout"),
        ({"timeout": 30}, "timeout"),
        ({"type": "tcp"}, "url"),
        ({"url": "tcp://a:1"}, "url"),
        ({"type": "keyword"}, "keyword"),
        ({"name": "  "}, "name"),
        ({"nope": 1}, "nope"),
        ({"nope": None}, "nope"),
        ({"enabled": "yes"}, "enabled"),
    ],
)
@pytest.mark.shared
def test_a_put_must_fit_what_is_stored(service, body, field):
    monitor_id = create(service)
    before = service.otto.get(f"{PATH}/{monitor_id}").json
    assert field in service.otto.put_json(f"{PATH}/{monitor_id}", body, status=422).json["fields"]
    assert service.otto.get(f"{PATH}/{monitor_id}").json == before


@pytest.mark.shared
def test_null_in_a_put_keeps_what_it_cannot_mean(service):
    monitor_id = create(service, degraded_ms=500, retries=7, tags=["a"])
    before = service.otto.get(f"{PATH}/{monitor_id}").json
    nothing = dict.fromkeys(["name", "type", "url", "interval", "retries", "tags", "enabled", "headers", "quorum"])
    service.otto.put_json(f"{PATH}/{monitor_id}", nothing)
    assert service.otto.get(f"{PATH}/{monitor_id}").json == before
    service.otto.put_json(f"{PATH}/{monitor_id}", {"degraded_ms": None})  # where null is a value it is one
    assert service.otto.get(f"{PATH}/{monitor_id}").json == before | {"degraded_ms": None}


@pytest.mark.shared
def test_read_only_fields_are_ignored_in_a_put(service):
    monitor_id = create(service)
    service.otto.put_json(f"{PATH}/{monitor_id}", {"id": "other", "status": "up", "uptime_24h": 100, "cause": 7})
    monitor = service.otto.get(f"{PATH}/{monitor_id}").json
    assert (monitor["id"], monitor["status"]) == (monitor_id, "pending")


def test_off_and_on_again(service):
    monitor_id = create(service)
    service.otto.put_json(f"{PATH}/{monitor_id}", {"enabled": False})
    assert service.otto.get(f"{PATH}/{monitor_id}").json["status"] == "paused"
    service.otto.put_json(f"{PATH}/{monitor_id}", {"enabled": True})
    assert service.otto.get(f"{PATH}/{monitor_id}").json["status"] == "pending"


def test_delete(service):
    monitor_id = create(service)
    assert service.ada.delete(f"{PATH}/{monitor_id}").json == {"status": "deleted"}
    service.vera.get(f"{PATH}/{monitor_id}", status=404)
    assert service.vera.get(PATH).json == []
    service.ada.delete(f"{PATH}/{monitor_id}", status=404)


@pytest.mark.parametrize(
    ("method", "path", "roles"),
    [
        ("GET", PATH, "voa"),
        ("POST", PATH, "oa"),
        ("GET", PATH + "/{id}", "voa"),
        ("PUT", PATH + "/{id}", "oa"),
        ("DELETE", PATH + "/{id}", "a"),
        ("GET", "/api/monitoring/incidents", "voa"),
    ],
)
@pytest.mark.shared
def test_roles(service, method, path, roles):
    path = path.format(id=create(service))
    service.anonymous.request(path, method=method, status=401)
    for who in ("vera", "otto", "ada"):
        answer = service.client(who).request(path, method=method, expect_errors=True)
        assert (answer.status_int != 403) == (who[0] in roles), (who, answer.status_int)


@pytest.mark.shared
def test_the_permission_is_judged_before_the_body(service):
    service.vera.post_json(PATH, {"nonsense": 1}, status=403)


@pytest.mark.parametrize("path", ["/nothing", "/nothing/else", "/0123456789abcdef/more"])
@pytest.mark.shared
def test_unknown_paths(service, path):
    create(service)
    service.vera.get(PATH + path, status=404)
    service.anonymous.get(PATH + path, status=401)


@pytest.mark.shared
def test_wrong_methods(service):
    monitor_id = create(service)
    assert service.ada.delete(PATH, status=405).headers["Allow"] == "GET, HEAD, POST"
    service.ada.post_json(f"{PATH}/{monitor_id}", {}, status=405)


def test_lists_are_filtered_and_paged(service):
    for n in range(5):
        create(service, name=f"shop {n}", tags=["even" if n % 2 == 0 else "odd"])
    create(service, name="Blog", url="https://blog.example.org/", tags=[])
    get = service.vera.get
    assert [each["name"] for each in get(PATH).json] == ["Blog"] + [f"shop {n}" for n in range(5)]
    page = get(f"{PATH}?limit=2&offset=1")
    assert ([each["name"] for each in page.json], page.headers["X-Total-Count"]) == (["shop 0", "shop 1"], "6")
    assert get(f"{PATH}?tag=even").headers["X-Total-Count"] == "3"
    assert [each["name"] for each in get(f"{PATH}?q=BLOG").json] == ["Blog"]
    assert len(get(f"{PATH}?q=shop+odd").json) == 2
    assert len(get(f"{PATH}?status=pending").json) == 6
    assert get(f"{PATH}?status=up").json == []
    blog, first = (row["id"] for row in get(f"{PATH}?limit=2").json)
    assert [row["name"] for row in get(f"{PATH}?ids={first}&ids={blog}&ids=gone").json] == ["Blog", "shop 0"]
    assert [row["name"] for row in get(f"{PATH}?ids={first}&as_of={int(service.clock.now())}").json] == ["shop 0"]


@pytest.mark.parametrize(
    "query",
    ["limit=0", "limit=1001", "limit=x", "offset=-1", "status=fine", "limit=1.5", "ids=A,b", "&".join(["ids=a"] * 101)],
)
@pytest.mark.shared
def test_wrong_queries(service, query):
    assert service.vera.get(f"{PATH}?{query}", status=422).json["fields"]


@pytest.mark.shared
def test_credentials_are_not_for_viewers(service):
    monitor_id = create(service, headers={"Authorization": "Bearer s3cret"}, url="http://me:s3cret@shop.example/")
    push_id = create(service, type="push", url="")
    seen = service.vera.get(PATH).text + service.vera.get(f"{PATH}/{monitor_id}").text
    assert "s3cret" not in seen
    assert "/push/" not in seen
    assert service.otto.get(f"{PATH}/{monitor_id}").json["headers"] == {"Authorization": "Bearer s3cret"}
    assert service.otto.get(f"{PATH}/{push_id}").json["push_url"].startswith("/api/monitoring/push/")


@pytest.mark.shared
def test_a_push_address_is_public_and_says_nothing_of_others(service):
    monitor_id = create(service, type="push", url="")
    url = service.otto.get(f"{PATH}/{monitor_id}").json["push_url"]
    assert service.anonymous.get(url).json == {"status": "ok"}
    assert service.otto.get(f"{PATH}/{monitor_id}").json["status"] == "up"
    assert service.anonymous.post(url, b"\x00 anything").json == {"status": "ok"}
    service.anonymous.get("/api/monitoring/push/" + "0" * 64, status=404)
    service.vera.get(url + "/more", status=404)
    service.anonymous.put(url, status=405)
    service.otto.put_json(f"{PATH}/{monitor_id}", {"type": "ping", "url": "ping://127.0.0.1"})
    service.anonymous.get(url, status=404)


def test_events_tell_of_changes(service):
    monitor_id = create(service)
    service.otto.put_json(f"{PATH}/{monitor_id}", {"name": "Store"})
    service.ada.delete(f"{PATH}/{monitor_id}")
    service.node.events.step()
    told = [(each.kind, each.data["id"], each.data["change"]) for each in service.node.events.since("")]
    assert told == [("monitor", monitor_id, change) for change in ("created", "updated", "deleted")]


@pytest.mark.shared
def test_the_audit_tells_of_changes_without_their_secrets(service):
    monitor_id = create(service, headers={"X-Api-Key": "s3cret"}, url="http://me:s3cret@shop.example/")
    service.otto.put_json(f"{PATH}/{monitor_id}", {"name": "Store"})
    service.ada.delete(f"{PATH}/{monitor_id}")
    entries = service.ada.get("/api/audit?target=" + monitor_id)
    assert [(each["action"], each["username"]) for each in entries.json] == [
        ("monitor.delete", "ada"),
        ("monitor.update", "otto"),
        ("monitor.create", "otto"),
    ]
    assert entries.json[1]["before"]["name"] == "Shop"
    assert entries.json[1]["after"]["name"] == "Store"
    assert "s3cret" not in entries.text


@pytest.mark.shared
def test_what_is_wrong_is_named_at_once_whoever_knows_it(service):
    wrong = {"name": "", "type": "tcp", "url": "http://x/", "interval": 10, "timeout": 30, "agent_id": "none"}
    fields = service.otto.post_json(PATH, wrong, status=422).json["fields"]
    assert fields.keys() == {"name", "url", "timeout", "agent_id"}
    made = service.otto.post_json(PATH, {"name": "x", "type": "http", "url": "http://x/"}).json["id"]
    assert service.otto.put_json(f"{PATH}/{made}", wrong, status=422).json["fields"] == fields
    refused = service.otto.put_json(f"{PATH}/{made}", {"interval": 7, "retries": 99}, status=422)
    assert refused.json["fields"].keys() == {"timeout", "retries"}


def test_lists_sort_by_what_is_worst_and_filter_by_type(service):
    lookout = Lookout(service)
    names = {"Alpha": UP, "Beta": DOWN, "Gamma": Outcome(True, 900.0, "HTTP 200"), "Delta": Outcome(True, 20.0, "")}
    for name, outcome in names.items():
        lookout.sees[lookout.add(name=name, retries=0, degraded_ms=500)] = outcome
    lookout.add(name="Echo", enabled=False, type="push", url="")
    lookout.run(180, step=5)  # each is checked twice at least, wherever in the minute its turn is
    serieswork.flush(service.node)
    sorted_by = {sort: [row["name"] for row in service.vera.get(f"{PATH}?sort={sort}").json] for sort in ORDERS}
    assert sorted_by["name"] == ["Alpha", "Beta", "Delta", "Echo", "Gamma"]
    assert sorted_by["worst"] == ["Beta", "Gamma", "Alpha", "Delta", "Echo"]
    assert sorted_by["response"][:2] == ["Gamma", "Delta"]
    assert sorted_by["uptime"][0] == "Beta"
    assert sorted_by["uptime"][-1] == "Echo", "nobody knows its uptime"
    assert [row["name"] for row in service.vera.get(f"{PATH}?type=push").json] == ["Echo"]
    assert service.vera.get(f"{PATH}?type=tcp").json == []
    service.vera.get(f"{PATH}?type=carrier", status=422)
    service.vera.get(f"{PATH}?sort=luck", status=422)


def test_a_list_that_is_asked_for_again_does_not_reckon_the_month_again(service, monkeypatch):
    """Pages ask for it every few seconds, and it is about 2,000 monitors."""
    lookout = Lookout(service)
    lookout.sees = dict.fromkeys([lookout.add(retries=0), lookout.add(name="Zeta", retries=0)], UP)
    lookout.run(90 * 60, step=60)
    serieswork.flush(service.node)
    totals, asked = HistoryReader.totals, []

    def noting(reading, start, end, numbers, **how):
        asked.append(len(numbers))
        return totals(reading, start, end, numbers, **how)

    monkeypatch.setattr(HistoryReader, "totals", noting)
    first = service.vera.get(f"{PATH}?recent=5").json
    assert [row["recent"]["uptime_30d"] for row in first] == [100, 100]
    assert asked == [2, 2], "of a day, and of a month"
    service.clock.advance(10)
    assert [row["recent"]["uptime_30d"] for row in service.vera.get(f"{PATH}?recent=5").json] == [100, 100]
    assert asked == [2, 2]
    service.clock.advance(25)
    service.vera.get(f"{PATH}?recent=5")
    assert asked == [2, 2, 2, 2]


def test_lists_have_the_last_checks_and_the_last_day_where_they_are_asked_for(service):
    lookout = Lookout(service)
    monitor_id = lookout.add(retries=0)
    new = lookout.add(name="Zeta", enabled=False)
    for outcome, seconds in ((UP, 3600), (DOWN, 120), (UP, 60)):
        lookout.sees[monitor_id] = outcome
        lookout.run(seconds, step=5)
    serieswork.flush(service.node)
    shop, zeta = service.vera.get(f"{PATH}?recent=5").json
    assert shop["recent"]["statuses"] == ["up", "up", "down", "down", "up"]
    assert (len(shop["recent"]["p95_ms"]), shop["recent"]["p95_ms"][-1]) == (24, 12.0)
    assert shop["recent"]["p95_24h_ms"] == 12.0
    assert 90 < shop["recent"]["uptime_30d"] < 100
    assert zeta["id"] == new
    assert zeta["recent"] == {"statuses": [], "p95_ms": [None] * 24, "p95_24h_ms": None, "uptime_30d": None}
    assert "recent" not in service.vera.get(PATH).json[0], "nobody asked for it"
    service.vera.get(f"{PATH}?recent=101", status=422)


def test_the_last_day_of_many_is_read_again_without_the_hours_of_each(service, monkeypatch):
    lookout, read = Lookout(service), []
    ids = [lookout.add(name=f"Shop {number}") for number in range(3)]
    lookout.sees = dict.fromkeys(ids, UP)
    for _ in range(3):
        lookout.run(3600, step=60)
        serieswork.flush(service.node)
        serieswork.follow(service.node)
    service.node.leases.want("series")
    service.node.leases.step()
    serieswork.fold(service.node)
    while serieswork.merge(service.node):
        pass
    decode = reads.codec.decode_rollups
    monkeypatch.setattr(reads.codec, "decode_rollups", lambda data: read.append(1) or decode(data))
    for few in ("FEW", "MANY"):
        monkeypatch.setattr(reads, few, 0, raising=False)

    def days():
        return [row["recent"]["p95_ms"] for row in service.vera.get(f"{PATH}?recent=5").json]

    service.vera.get(f"{PATH}?recent=5")
    service.clock.advance(301)
    read.clear()
    assert days() == [[None] * 20 + [12.0] * 4] * 3
    assert read == []


def test_settings_are_tried_before_they_are_saved(service):
    lookout = Lookout(service)
    seen = []

    def measure(entry):
        seen.append(entry.target.url)
        return Outcome(True, 900.0, "HTTP 200", {"connect": 4.0}, 40.0, "HTTP/2", 200)

    lookout.checker.measuring.measure = measure
    answer = service.otto.post_json(f"{PATH}/check", HTTP | {"degraded_ms": 500}).json
    assert answer == {
        "status": "degraded",
        "cause": "slow: 900 ms, more than 500",
        "response_time_ms": 900.0,
        "http_status": 200,
        "protocol": "HTTP/2",
        "phases": {"connect": 4.0},
        "cert_days": 40.0,
        "detail": "HTTP 200",
        "metrics": None,
    }
    assert seen == [HTTP["url"]]
    lookout.checker.measuring.measure = lambda entry: DOWN
    down = service.otto.post_json(f"{PATH}/check", HTTP | {"retries": 5}).json
    assert (down["status"], down["cause"]) == ("down", "HTTP 500"), "one look is enough to say what it is now"
    lookout.checker.measuring.measure = lambda entry: None
    assert service.otto.post_json(f"{PATH}/check", HTTP).json["status"] == "unknown"
    assert service.vera.get(PATH).json == [], "nothing is stored"
    entry = service.ada.get("/api/audit?action=monitor.try").json
    assert len(entry) == 3


def test_a_push_monitor_has_nothing_to_try(service):
    Lookout(service)
    answer = service.otto.post_json(f"{PATH}/check", {"name": "Backup", "type": "push"}).json
    assert answer["status"] == "pending"
    assert "waits to be called" in answer["cause"]


def test_what_is_tried_obeys_the_rules_of_what_is_saved(service):
    Lookout(service)
    wrong = service.otto.post_json(f"{PATH}/check", {"name": "Shop", "type": "http"}, status=422).json
    assert "url" in wrong["fields"]
    service.otto.post_json(f"{PATH}/check", HTTP | {"probe_from": ["0123456789abcdef"]}, status=422)
    service.vera.post_json(f"{PATH}/check", HTTP, status=403)
    refused = service.otto.post_json(f"{PATH}/check", HTTP | {"url": "http://169.254.169.254/latest"}).json
    assert refused["status"] in ("down", "unknown")
    assert "169.254.169.254" in refused["cause"], "the guards of addresses hold here too"


@pytest.mark.shared
def test_a_node_without_checks_says_so(service):
    monitor_id = create(service)
    service.otto.post_json(f"{PATH}/check", HTTP, status=503)
    service.otto.post_json(f"{PATH}/{monitor_id}/check", status=503)


def test_a_monitor_is_checked_now(service):
    lookout = Lookout(service)
    monitor_id = lookout.add(retries=0)
    lookout.watch.follow()
    lookout.sees[monitor_id] = DOWN
    answer = service.otto.post_json(f"{PATH}/{monitor_id}/check").json
    assert (answer["status"], answer["cause"]) == ("down", "HTTP 500")
    assert lookout.monitor(monitor_id)["status"] == "down", "it counts like any other check"
    service.vera.post_json(f"{PATH}/{monitor_id}/check", status=403)
    service.otto.post_json(f"{PATH}/0123456789abcdef/check", status=404)
