"""`opsapp import --from`: what is not taken is named in the report, nothing turns into its opposite, and nothing that
is here already is written over."""

import json
import sqlite3

import pytest
import yaml

from opsapp.importers import blackbox, gatus, kuma
from tests.support.imported import taken_of

SHOP = {"id": 1, "name": "Shop", "type": "http", "url": "https://shop.example.org/", "interval": 60}
BLOG = {"name": "blog", "url": "https://blog.example.org/", "conditions": ["[STATUS] == 200"]}
PROBES = {"job_name": "web", "metrics_path": "/probe", "static_configs": [{"targets": ["https://a.example.org"]}]}


def kuma_read(tmp_path, *monitors, **more):
    path = tmp_path / "kuma.json"
    path.write_text(json.dumps({"version": "1.23.11", "monitorList": list(monitors), **more}))
    return kuma.read(str(path))


def gatus_read(tmp_path, *endpoints, **more):
    path = tmp_path / "gatus.yaml"
    path.write_text(yaml.safe_dump({"endpoints": list(endpoints), **more}))
    return gatus.read(str(path))


def prometheus_read(tmp_path, *jobs, modules=None, **more):
    path, exporter = tmp_path / "prometheus.yml", tmp_path / "blackbox.yml"
    path.write_text(yaml.safe_dump({"scrape_configs": list(jobs), **more}))
    exporter.write_text(yaml.safe_dump({"modules": modules}))
    return blackbox.read(str(path), str(exporter) if modules else None)


def left(estate):
    """By name, what was not taken, and why."""
    return {line.name: " ".join(line.notes) for line in estate.lines if not line.taken}


def notes(estate, name):
    (line,) = [line for line in estate.lines if line.name == name and line.taken]
    return "; ".join(line.notes)


# ---- Gatus


@pytest.mark.parametrize(
    ("url", "condition"),
    [
        ("tcp://db:5432", "[CONNECTED] == false"),
        ("tcp://db:5432", "[CONNECTED] != true"),
        ("https://a/", "[CONNECTED] == false"),
        ("https://a/", "[CERTIFICATE_EXPIRATION] < 48h"),
        ("tcp://db:5432", "[STATUS] == 200"),
        ("https://a/", "[RESPONSE_TIME] > 300"),
    ],
)
def test_a_condition_that_means_the_opposite_here_is_left(tmp_path, url, condition):
    estate = gatus_read(tmp_path, {"name": "blog", "url": url, "conditions": [condition]})
    assert taken_of(estate) == []
    assert condition in left(estate)["blog"]


@pytest.mark.parametrize("condition", ["[CONNECTED] == true", "[CONNECTED] != false"])
def test_a_target_that_must_be_reached_is_taken(tmp_path, condition):
    (taken,) = taken_of(gatus_read(tmp_path, {"name": "db", "url": "tcp://db:5432", "conditions": [condition]}))
    assert taken["type"] == "tcp"


@pytest.mark.parametrize(
    "conditions", [["[STATUS] == 200", "[STATUS] == 404"], ["[BODY] == 1.2.3.4", "[BODY] == 5.6.7.8"]]
)
def test_a_second_condition_does_not_take_the_place_of_the_first(tmp_path, conditions):
    endpoint = BLOG | {"conditions": conditions}
    if "[BODY]" in conditions[0]:
        endpoint |= {"url": "8.8.8.8", "dns": {"query-name": "example.org", "query-type": "A"}}
    estate = gatus_read(tmp_path, endpoint)
    assert conditions[1] in left(estate)["blog"]


def test_what_gatus_has_besides_its_endpoints_is_named(tmp_path):
    estate = gatus_read(
        tmp_path,
        BLOG | {"ui": {"hide-url": True}, "maintenance-windows": [{"start": "23:00"}]},
        BLOG | {"name": "elsewhere", "client": {"dns-resolver": "tcp://1.1.1.1:53"}},
        BLOG | {"name": "body", "conditions": ["[BODY] == pat(*fine*)"]},
        "no mapping",
        maintenance={"start": "23:00"},
        security={"basic": {"password": "secret"}},
        storage={"type": "sqlite"},
        **{"external-endpoints": ["odd", {"name": "job"}], "remote": {"instances": []}},
    )
    assert "maintenance-windows" in notes(estate, "blog")
    assert "ui" in notes(estate, "blog")
    assert "its status is not looked at there" in notes(estate, "body")
    assert "dns-resolver" in left(estate)["elsewhere"]
    named = {"elsewhere", "no mapping", "maintenance", "security", "storage", "odd", "job", "remote"}
    assert left(estate).keys() == named
    assert "secret" not in "\n".join(estate.report())


# ---- Uptime Kuma


def test_what_kuma_has_besides_its_monitors_is_named(tmp_path):
    entry = SHOP | {
        "resendInterval": 5, "description": "Our shop", "retryInterval": 20, "maxretries": 2, "maxredirects": 3,
        "tags":
        [{"name": "x" * 70}, *({"name": f"t{number}"} for number in range(60))],
    }  # fmt: skip
    estate = kuma_read(
        tmp_path, entry, proxyList=[{"id": 1, "host": "proxy"}], statusPageList=[{"title": "Public"}], apiKeyList=[]
    )
    fields = ("resendInterval", "retryInterval")
    for part in (*fields, "50 of its 61 tags", "64 characters"):
        assert part in notes(estate, "Shop")
    assert left(estate).keys() == {"proxy", "Public"}


def test_a_plain_monitor_of_kuma_has_nothing_to_say(tmp_path):
    usual = {
        "resendInterval": 0, "description": None, "retryInterval": 60, "maxredirects": 10, "timeout": 48,
        "accepted_statuscodes": ["200-399"], "expiryNotification": False, "packetSize": 56,
    }  # fmt: skip
    assert notes(kuma_read(tmp_path, SHOP | usual), "Shop") == ""


def test_what_the_database_of_kuma_has_besides_is_named(tmp_path):
    path = tmp_path / "kuma.db"
    database = sqlite3.connect(path)
    database.executescript(
        """
        CREATE TABLE monitor (id, name, type, url, interval);
        CREATE TABLE notification (id, name, active, config);
        CREATE TABLE monitor_notification (id, monitor_id, notification_id);
        CREATE TABLE tag (id, name, color);
        CREATE TABLE monitor_tag (id, monitor_id, tag_id, value);
        CREATE TABLE status_page (id, slug, title);
        CREATE TABLE maintenance (id, title);
        CREATE TABLE proxy (id, host, password);
        CREATE TABLE heartbeat (id, monitor_id, status);
        INSERT INTO monitor VALUES (4, 'Shop', 'http', 'https://shop.example.org/', 30);
        INSERT INTO status_page VALUES (1, 'public', 'Public');
        INSERT INTO maintenance VALUES (1, 'Sunday night');
        INSERT INTO proxy VALUES (1, 'proxy.example.org', 'secret');
        INSERT INTO heartbeat VALUES (1, 4, 1), (2, 4, 1);
        """
    )
    database.commit()
    database.close()
    estate = kuma.read(str(path))
    assert left(estate).keys() == {"Public", "Sunday night", "proxy.example.org", "2 heartbeats"}
    assert "secret" not in "\n".join(estate.report())


def test_channels_with_like_names_do_not_share_their_monitors(tmp_path):
    config = json.dumps({"type": "ntfy", "ntfytopic": "ops"})
    channels = [{"id": number, "name": name, "config": config} for number, name in ((1, "on call"), (2, "on-call"))]
    monitors = [SHOP | {"id": n, "name": f"m{n}", "notificationIDList": {str(n): True}} for n in (1, 2)]
    estate = kuma_read(tmp_path, *monitors, notificationList=channels)
    assert [channel["tags"] for channel in taken_of(estate, "channels")] == [["to:on-call"], ["to:on-call-2"]]
    assert [settings["tags"] for settings in taken_of(estate)] == [["to:on-call"], ["to:on-call-2"]]


def test_long_names_that_begin_alike_stay_two(tmp_path):
    names = ["x" * 200 + "1", "x" * 200 + "2"]
    estate = kuma_read(tmp_path, *(SHOP | {"name": name} for name in names))
    assert [settings["name"] for settings in taken_of(estate)] == ["x" * 200, "x" * 196 + " (2)"]
    assert "its name is cut to 200 characters" in notes(estate, names[0])
    assert "its name was taken" in notes(estate, names[1])


# ---- Prometheus


def test_what_prometheus_has_besides_its_targets_is_named(tmp_path):
    relabeled = {"source_labels": ["env"], "action": "drop", "regex": "test"}
    by_label = {"source_labels": ["module"], "target_label": "__param_module"}
    estate = prometheus_read(
        tmp_path,
        PROBES | {"relabel_configs": [{"source_labels": ["__address__"], "target_label": "__param_target"}, relabeled],
                  "basic_auth": {"username": "u", "password": "secret"}},
        PROBES | {"job_name": "chosen", "relabel_configs": [by_label]},
        PROBES | {"job_name": "two", "params": {"module": ["http_2xx", "icmp"]}},
        PROBES | {"job_name": "host", "params": {"module": ["http_2xx"], "hostname": ["b"]}},
        {"job_name": "empty", "metrics_path": "/probe"},
        "no mapping",
        rule_files=["a.yml"], alerting={}, remote_write=[{"url": "https://x"}],
    )  # fmt: skip
    (line,) = [line for line in estate.lines if line.taken]
    assert line.name == "https://a.example.org"
    assert "drop" in notes(estate, line.name)
    assert "basic_auth" in notes(estate, line.name)
    assert left(estate).keys() == {
        "chosen", "two: https://a.example.org", "host", "empty", "no mapping", "rule_files", "remote_write",
    }  # fmt: skip
    assert "secret" not in "\n".join(estate.report())


@pytest.mark.parametrize(
    ("job", "module", "timeout"),
    [({}, {}, 10), ({"scrape_timeout": "7s"}, {}, 7), ({"scrape_timeout": "7s"}, {"timeout": "3s"}, 3)],
)
def test_the_time_outs_of_prometheus_are_kept(tmp_path, job, module, timeout):
    estate = prometheus_read(tmp_path, PROBES | job, modules={"http_2xx": {"prober": "http", **module}})
    assert [settings["timeout"] for settings in taken_of(estate)] == [timeout]


def test_targets_with_one_name_in_two_jobs_stay_two(tmp_path):
    estate = prometheus_read(tmp_path, PROBES, PROBES | {"job_name": "again"})
    assert [settings["name"] for settings in taken_of(estate)] == ["https://a.example.org", "https://a.example.org (2)"]


# ---- what is here already


@pytest.fixture
def imported(opsapp, place, tmp_path):
    def take(*monitors, more=()):
        path = tmp_path / "kuma.json"
        path.write_text(json.dumps({"monitorList": list(monitors)}))
        code, out, err = opsapp("import", "--from", "kuma", path, *place, *more)
        assert (code, err) == (2 if more and "would create 1" in out else 0, "")
        return out.splitlines()

    return take


def test_what_has_the_name_here_already_is_not_written_over(opsapp, place, imported):
    imported(SHOP)
    before = opsapp("export", *place)[1]
    for more in (["--dry-run"], []):
        out = imported(SHOP | {"url": "https://other.example.org/", "interval": 20}, SHOP | {"name": "Blog"}, more=more)
        assert out[0].startswith("NOT TAKEN: monitor 'Shop': there is one with this name here, which differs in ")
        assert "interval" in out[0]
        assert "url" in out[0]
        assert out[-1].split(",")[1] in (" change 0", " changed 0")
    after = yaml.safe_load(opsapp("export", *place)[1])["monitors"]
    assert yaml.safe_load(before)["monitors"][0] in after
    assert [monitor["name"] for monitor in after] == ["Shop", "Blog"]
