"""`opsapp import --from`: nothing is left out without being said, and what is taken means the same here."""

import json
import sqlite3

import pytest
import yaml

from opsapp.importers import blackbox, gatus, kuma
from opsapp.notify.records import ChannelAsCode
from tests.support.imported import taken_of, unsaid


def said(estate, name):
    (line,) = [line for line in estate.lines if line.name == name]
    return line


def monitor(estate, name):
    (settings,) = [settings for settings in taken_of(estate) if settings["name"] == name]
    return settings


# ---- Uptime Kuma

KUMA = {"active": True, "interval": 60, "maxretries": 2, "accepted_statuscodes": ["200-299"], "maxredirects": 10}
SHOP = {**KUMA, "id": 1, "name": "Shop", "type": "http", "url": "https://shop.example.org/", "method": "GET"}


def kuma_file(tmp_path, *monitors, channels=(), as_object=False):
    path = tmp_path / "kuma.json"
    listed = {str(number): entry for number, entry in enumerate(monitors)} if as_object else list(monitors)
    path.write_text(json.dumps({"version": "1.23.11", "monitorList": listed, "notificationList": list(channels)}))
    return str(path)


@pytest.mark.parametrize("as_object", [False, True], ids=["1.x", "2.x"])
def test_a_web_monitor_of_kuma_keeps_what_it_means(tmp_path, as_object):
    entry = SHOP | {
        "ignoreTls": True, "maxredirects": 0, "headers": '{"X-Who": "me"}', "timeout": 48, "maxretries": 20,
        "basic_auth_user": "me", "basic_auth_pass": "p@ss", "tags": [{"name": "web", "value": ""},
                                                                    {"name": "team", "value": "blue"}],
    }  # fmt: skip
    estate = kuma.read(kuma_file(tmp_path, entry, as_object=as_object))
    assert monitor(estate, "Shop") == unsaid() | {
        "name": "Shop", "type": "http", "url": "https://me:p%40ss@shop.example.org/", "method": "GET",
        "verify_tls": False, "follow_redirects": False, "headers": {"X-Who": "me"}, "expected_status": None,
        "interval": 60, "timeout": 48, "retries": 10, "enabled": True, "tags": ["web", "team:blue"],
    }  # fmt: skip
    assert said(estate, "Shop").notes == ("a last answer of 300 to 399 counts as up here", "10 retries instead of 20")
    assert "p@ss" not in "\n".join(estate.report())


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"type": "keyword", "keyword": "ok", "invertKeyword": True},
         {"type": "keyword", "keyword": "ok", "keyword_absent": True}),
        ({"type": "json-query", "jsonPath": "state.ready", "expectedValue": "true"},
         {"type": "json", "json_path": "$.state.ready", "expected_value": True}),
        ({"type": "port", "hostname": "db", "port": 5432}, {"type": "tcp", "url": "tcp://db:5432"}),
        ({"type": "ping", "hostname": "db"}, {"type": "ping", "url": "ping://db"}),
        ({"type": "dns", "hostname": "example.org", "dns_resolve_server": "1.1.1.1", "dns_resolve_type": "MX"},
         {"type": "dns", "url": "dns://1.1.1.1/example.org?type=MX"}),
        ({"type": "push"}, {"type": "push"}),
        ({"active": False}, {"enabled": False}),
        ({"accepted_statuscodes": ["401"]}, {"expected_status": 401}),
        ({"interval": 3}, {"interval": 5}),
        ({"upsideDown": True}, {"upside_down": True}),
        ({"accepted_statuscodes": ["200-299", "401"]},
         {"accepted_statuses": ["200-299", "401"], "expected_status": None}),
        ({"method": "POST", "body": "<a/>", "httpBodyEncoding": "xml"},
         {"method": "POST", "body": "<a/>", "content_type": "text/xml; charset=utf-8"}),
        ({"description": "Our shop", "ipFamily": "ipv6", "maxredirects": 3},
         {"description": "Our shop", "ip_family": "ipv6", "max_redirects": 3}),
        ({"type": "json-query", "jsonPath": "n", "jsonPathOperator": ">", "expectedValue": "3"},
         {"comparison": ">", "expected_value": 3}),
    ],
)  # fmt: skip
def test_the_types_of_kuma_have_their_counterparts(tmp_path, changes, expected):
    taken = monitor(kuma.read(kuma_file(tmp_path, SHOP | changes)), "Shop")
    assert {name: taken[name] for name in expected} == expected


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"body": "{}", "httpBodyEncoding": "yaml"}, "written as yaml"),
        ({"proxyId": 3}, "proxy"),
        ({"authMethod": "ntlm"}, "signs in by ntlm"),
        ({"type": "docker"}, "watch the host of it with an agent instead"),
        ({"type": "carrier-pigeon"}, "no monitor of its type carrier-pigeon"),
        ({"type": "json-query", "jsonPath": "$count(items)", "expectedValue": "3"}, "more than a path"),
        ({"type": "json-query", "jsonPath": "a", "jsonPathOperator": "~", "expectedValue": "3"}, "compares by ~"),
        ({"type": "keyword", "keyword": ""}, "has no keyword"),
        ({"headers": 7}, "no JSON object"),
        ({"tags": 7}, "cannot be understood: tags"),
    ],
)
def test_what_would_mean_something_else_is_left_with_the_reason(tmp_path, changes, why):
    estate = kuma.read(kuma_file(tmp_path, SHOP | changes, SHOP | {"name": "Other"}))
    line = said(estate, "Shop")
    assert not line.taken
    assert why in line.notes[0]
    assert [settings["name"] for settings in taken_of(estate)] == ["Other"]
    assert estate.report()[0].startswith("NOT TAKEN: monitor 'Shop': ")
    assert estate.report()[-1] == "1 taken, 1 of them with a difference; 1 not taken"


def test_groups_of_kuma_are_tags_and_names_that_are_taken_get_a_number(tmp_path):
    group = {"id": 9, "name": "Customers", "type": "group"}
    estate = kuma.read(kuma_file(tmp_path, group, SHOP | {"parent": 9}, SHOP | {"id": 2}))
    assert monitor(estate, "Shop")["tags"] == ["Customers"]
    assert monitor(estate, "Shop (2)")["tags"] == []
    assert "a tag here" in said(estate, "Customers").notes[0]


def test_channels_of_kuma_are_tied_to_the_same_monitors(tmp_path):
    channels = [
        {"id": 1, "name": "Chat", "active": True,
         "config": json.dumps({"type": "telegram", "telegramBotToken": "1:A", "telegramChatID": "77"})},
        {"id": 2, "name": "All", "config": json.dumps({"type": "webhook", "webhookURL": "https://hook.example.org/x"})},
        {"id": 3, "name": "Nobody", "config": json.dumps({"type": "ntfy", "ntfytopic": "ops"})},
        {"id": 4, "name": "Odd", "config": json.dumps({"type": "pager2000"})},
        {"id": 5, "name": "Half", "config": json.dumps({"type": "discord"})},
    ]  # fmt: skip
    first = SHOP | {"notificationIDList": {"1": True, "2": True}}
    second = SHOP | {"id": 2, "name": "Blog", "notificationIDList": {"2": True}}
    estate = kuma.read(kuma_file(tmp_path, first, second, channels=channels))
    by_name = {channel["name"]: channel for channel in taken_of(estate, "channels")}
    chat = {"name": "Chat", "url": "tgram://1:A/77", "enabled": True, "tags": ["to:Chat"]}
    assert by_name["Chat"] == unsaid(ChannelAsCode) | chat
    assert monitor(estate, "Shop")["tags"] == ["to:Chat"]
    assert (by_name["All"]["tags"], monitor(estate, "Blog")["tags"]) == ([], [])
    assert by_name["Nobody"]["enabled"] is False
    assert "by hand" in said(estate, "Odd").notes[0]
    assert not said(estate, "Half").taken
    assert "1:A" not in "\n".join(estate.report())


def test_the_database_of_kuma_gives_the_same(tmp_path):
    path = tmp_path / "kuma.db"
    database = sqlite3.connect(path)
    database.executescript(
        """
        CREATE TABLE monitor (id, name, type, url, method, interval, maxretries, active, ignore_tls, upside_down,
            maxredirects, accepted_statuscodes_json, basic_auth_user, basic_auth_pass, invert_keyword, keyword, parent);
        CREATE TABLE notification (id, name, active, config);
        CREATE TABLE monitor_notification (id, monitor_id, notification_id);
        CREATE TABLE tag (id, name, color);
        CREATE TABLE monitor_tag (id, monitor_id, tag_id, value);
        INSERT INTO monitor VALUES (4, 'Shop', 'keyword', 'https://shop.example.org/', 'GET', 30, 1, 1, 1, 0, 10,
            '["200-299"]', NULL, NULL, 1, 'error', NULL);
        INSERT INTO tag VALUES (1, 'web', '#fff');
        INSERT INTO monitor_tag VALUES (1, 4, 1, 'a');
        INSERT INTO notification VALUES (7, 'Push', 1, '{"type": "ntfy", "ntfytopic": "ops"}');
        INSERT INTO monitor_notification VALUES (1, 4, 7);
        """
    )
    database.commit()
    database.close()
    estate = kuma.read(str(path))
    shop = monitor(estate, "Shop")
    assert (shop["type"], shop["keyword_absent"], shop["verify_tls"], shop["interval"]) == ("keyword", True, False, 30)
    assert shop["tags"] == ["web:a"]
    assert [channel["url"] for channel in taken_of(estate, "channels")] == ["ntfys://ntfy.sh/ops"]


@pytest.mark.parametrize("content", [b"[1]", b"{}", b"nonsense", b"SQLite format 3\0"])
def test_a_file_that_is_none_of_kuma_is_a_value_error(tmp_path, content):
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(ValueError):
        kuma.read(str(path))


# ---- Gatus


def gatus_file(tmp_path, *endpoints, **more):
    path = tmp_path / "gatus.yaml"
    path.write_text(yaml.safe_dump({"endpoints": list(endpoints), **more}))
    return str(path)


BLOG = {"name": "blog", "url": "https://blog.example.org/", "interval": "30s"}


@pytest.mark.parametrize(
    ("endpoint", "expected"),
    [
        (BLOG | {"conditions": ["[STATUS] == 204", "[RESPONSE_TIME] < 300"]},
         {"type": "http", "expected_status": 204, "degraded_ms": 300, "interval": 30, "timeout": 10}),
        (BLOG | {"conditions": ["[STATUS] < 400", "[BODY].status == UP"]},
         {"type": "json", "json_path": "$.status", "expected_value": "UP"}),
        (BLOG | {"conditions": ["[BODY] == pat(*welcome*)"], "group": "web"},
         {"type": "keyword", "keyword": "welcome", "tags": ["web"]}),
        (BLOG | {"client": {"insecure": True, "ignore-redirect": True, "timeout": "5s"}},
         {"verify_tls": False, "follow_redirects": False, "timeout": 5}),
        ({"name": "blog", "url": "tcp://db:5432", "conditions": ["[CONNECTED] == true"]},
         {"type": "tcp", "url": "tcp://db:5432"}),
        ({"name": "blog", "url": "icmp://db"}, {"type": "ping", "url": "ping://db"}),
        ({"name": "blog", "url": "8.8.8.8", "dns": {"query-name": "example.org.", "query-type": "A"},
          "conditions": ["[DNS_RCODE] == NOERROR", "[BODY] == 93.184.216.34"]},
         {"type": "dns", "url": "dns://8.8.8.8/example.org?type=A", "expected_value": "93.184.216.34"}),
    ],
)  # fmt: skip
def test_endpoints_of_gatus_have_their_counterparts(tmp_path, endpoint, expected):
    taken = monitor(gatus.read(gatus_file(tmp_path, endpoint)), "blog")
    assert {name: taken[name] for name in expected} == expected


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"conditions": ["len([BODY]) > 3"]}, "len([BODY]) > 3"),
        ({"conditions": ["[BODY].a == 1", "[BODY].b == 2"]}, "[BODY].b == 2"),
        ({"conditions": ["[STATUS] == any(200, 429)"]}, "any(200, 429)"),
        ({"url": "ssh://host:22"}, "no monitor for ssh"),
        ({"body": "x"}, "sends a body"),
        ({"client": {"proxy-url": "http://p"}}, "proxy"),
        ({"interval": "soon"}, "no span of time"),
        ({"conditions": 7}, "cannot be understood"),
    ],
)
def test_an_endpoint_with_a_condition_that_cannot_be_kept_is_left(tmp_path, changes, why):
    estate = gatus.read(gatus_file(tmp_path, BLOG | changes, alerting={"slack": {"webhook-url": "https://x/secret"}}))
    assert taken_of(estate) == []
    assert why in said(estate, "blog").notes[0]
    assert not said(estate, "slack").taken
    assert "secret" not in "\n".join(estate.report())


# ---- Prometheus

PROMETHEUS = {
    "global": {"scrape_interval": "15s"},
    "scrape_configs": [
        {"job_name": "node", "static_configs": [{"targets": ["a:9100"]}]},
        {"job_name": "web", "metrics_path": "/probe", "params": {"module": ["http_2xx"]},
         "static_configs": [{"targets": ["https://a.example.org", "b.example.org"], "labels": {"team": "blue"}}]},
        {"job_name": "mail", "metrics_path": "/probe", "params": {"module": ["smtp_starttls"]},
         "static_configs": [{"targets": ["mail:25"]}], "file_sd_configs": [{"files": ["more.json"]}]},
    ],
}  # fmt: skip
MODULES = {
    "modules": {
        "http_2xx": {"prober": "http", "http": {"fail_if_body_not_matches_regexp": ["all\\.fine"],
                                                "tls_config": {"insecure_skip_verify": True}}},
        "smtp_starttls": {"prober": "tcp", "tcp": {"query_response": [{"expect": "^220"}]}},
    }
}  # fmt: skip


def prometheus_files(tmp_path):
    (tmp_path / "prometheus.yml").write_text(yaml.safe_dump(PROMETHEUS))
    (tmp_path / "blackbox.yml").write_text(yaml.safe_dump(MODULES))
    return str(tmp_path / "prometheus.yml"), str(tmp_path / "blackbox.yml")


def test_targets_of_the_blackbox_exporter_are_monitors(tmp_path):
    estate = blackbox.read(*prometheus_files(tmp_path))
    taken = monitor(estate, "https://a.example.org")
    assert (taken["type"], taken["keyword"], taken["verify_tls"]) == ("keyword", "all.fine", False)
    assert (taken["interval"], taken["timeout"], taken["tags"]) == (15, 10, ["web", "team:blue"])
    assert monitor(estate, "b.example.org")["url"] == "http://b.example.org"
    assert "query_response" in said(estate, "mail: mail:25").notes[0]
    assert "file_sd_configs" in said(estate, "mail").notes[0]
    assert "not go through" in said(estate, "node").notes[0]


def test_without_its_own_file_only_the_usual_modules_are_known(tmp_path):
    estate = blackbox.read(prometheus_files(tmp_path)[0])
    assert monitor(estate, "https://a.example.org")["type"] == "http"
    assert "--modules" in said(estate, "mail: mail:25").notes[0]


@pytest.mark.parametrize(
    ("module", "target", "expected"),
    [
        ({"prober": "tcp", "tcp": {"tls": True}}, "a:443", {"type": "tls", "url": "tls://a:443"}),
        ({"prober": "icmp"}, "a", {"type": "ping", "url": "ping://a"}),
        ({"prober": "dns", "dns": {"query_name": "x.org", "query_type": "AAAA"}}, "9.9.9.9",
         {"type": "dns", "url": "dns://9.9.9.9/x.org?type=AAAA"}),
        ({"prober": "http", "http": {"valid_status_codes": [401], "basic_auth": {"username": "u", "password": "p"}}},
         "https://a/", {"expected_status": 401, "url": "https://u:p@a/"}),
        ({"prober": "http", "http": {"fail_if_body_matches_regexp": ["error"]}}, "https://a/",
         {"keyword": "error", "keyword_absent": True}),
        ({"prober": "http", "http": {"fail_if_body_matches_regexp": ["err.*"]}}, "https://a/", None),
        ({"prober": "http", "http": {"valid_status_codes": [200, 201]}}, "https://a/", None),
        ({"prober": "http", "http": {"body": "x"}}, "https://a/", None),
        ({"prober": "http", "http": {"basic_auth": {"username": "u", "password_file": "f"}}}, "https://a/", None),
        ({"prober": "http", "http": {"tls_config": {"ca_file": "f"}}}, "https://a/", None),
        ({"prober": "http", "http": {"fail_if_not_ssl": True}}, "http://a/", None),
        ({"prober": "dns", "dns": {"query_name": "x.org"}}, "9.9.9.9", None),
        ({"prober": "grpc"}, "a:1", None),
    ],
)  # fmt: skip
def test_the_probers_of_the_exporter_have_their_counterparts(tmp_path, module, target, expected):
    job = {"job_name": "j", "metrics_path": "/probe", "params": {"module": ["m"]},
           "static_configs": [{"targets": [target]}]}  # fmt: skip
    (tmp_path / "p.yml").write_text(yaml.safe_dump({"scrape_configs": [job]}))
    (tmp_path / "b.yml").write_text(yaml.safe_dump({"modules": {"m": module}}))
    estate = blackbox.read(str(tmp_path / "p.yml"), str(tmp_path / "b.yml"))
    if expected is None:
        assert taken_of(estate) == []
        assert not said(estate, f"j: {target}").taken
    else:
        assert {name: taken_of(estate)[0][name] for name in expected} == expected
