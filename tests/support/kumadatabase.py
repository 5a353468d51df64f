"""A database of Uptime Kuma 2 with 50 entries of many kinds, for the test of the import.

The tables, columns and their defaults are those that its db/knex_init_db.js and db/knex_migrations make
(github.com/louislam/uptime-kuma, versions 1.23 to 2.0), written anew with what the import and these entries need.
"""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

SCHEMA = """
CREATE TABLE user (id INTEGER PRIMARY KEY, username VARCHAR(255), password VARCHAR(255), timezone VARCHAR(150));
CREATE TABLE setting (id INTEGER PRIMARY KEY, key VARCHAR(200) UNIQUE, value TEXT, type VARCHAR(20));
CREATE TABLE docker_host (id INTEGER PRIMARY KEY, user_id INTEGER, docker_daemon VARCHAR(255),
    docker_type VARCHAR(255), name VARCHAR(255));
CREATE TABLE proxy (id INTEGER PRIMARY KEY, user_id INTEGER, protocol VARCHAR(10), host VARCHAR(255), port SMALLINT,
    auth BOOLEAN, username VARCHAR(255), password VARCHAR(255), active BOOLEAN DEFAULT 1);
CREATE TABLE monitor (
    id INTEGER PRIMARY KEY, name VARCHAR(150), active BOOLEAN NOT NULL DEFAULT 1, user_id INTEGER,
    interval INTEGER NOT NULL DEFAULT 60, url TEXT, type VARCHAR(20), weight INTEGER DEFAULT 2000,
    hostname VARCHAR(255), port INTEGER, keyword VARCHAR(255), maxretries INTEGER NOT NULL DEFAULT 0,
    ignore_tls BOOLEAN NOT NULL DEFAULT 0, upside_down BOOLEAN NOT NULL DEFAULT 0,
    maxredirects INTEGER NOT NULL DEFAULT 10, accepted_statuscodes_json TEXT NOT NULL DEFAULT '["200-299"]',
    dns_resolve_type VARCHAR(5), dns_resolve_server VARCHAR(255), retry_interval INTEGER NOT NULL DEFAULT 0,
    push_token VARCHAR(32), method TEXT NOT NULL DEFAULT 'GET', body TEXT, headers TEXT,
    basic_auth_user TEXT, basic_auth_pass TEXT, docker_host INTEGER, docker_container VARCHAR(255),
    proxy_id INTEGER, expiry_notification BOOLEAN DEFAULT 1, mqtt_topic TEXT, mqtt_success_message VARCHAR(255),
    mqtt_username VARCHAR(255), mqtt_password VARCHAR(255), database_connection_string VARCHAR(2000),
    database_query TEXT, auth_method VARCHAR(250), grpc_url VARCHAR(255), grpc_protobuf TEXT, grpc_body TEXT,
    grpc_method TEXT, grpc_service_name TEXT, grpc_enable_tls BOOLEAN NOT NULL DEFAULT 0,
    radius_username VARCHAR(255), radius_password VARCHAR(255), radius_secret VARCHAR(255),
    resend_interval INTEGER NOT NULL DEFAULT 0, packet_size INTEGER NOT NULL DEFAULT 56, game VARCHAR(255),
    http_body_encoding VARCHAR(25), description TEXT, tls_ca TEXT, tls_cert TEXT, tls_key TEXT, parent INTEGER,
    invert_keyword BOOLEAN NOT NULL DEFAULT 0, json_path TEXT, json_path_operator VARCHAR(255),
    expected_value VARCHAR(255), kafka_producer_topic VARCHAR(255), kafka_producer_brokers TEXT,
    kafka_producer_message TEXT, timeout DOUBLE NOT NULL DEFAULT 0, snmp_oid VARCHAR(255),
    snmp_version VARCHAR(4) DEFAULT '2c', cache_bust BOOLEAN NOT NULL DEFAULT 0,
    conditions TEXT NOT NULL DEFAULT '[]', rabbitmq_nodes TEXT, rabbitmq_username VARCHAR(255),
    rabbitmq_password VARCHAR(255), ip_family VARCHAR(4), smtp_security VARCHAR(255));
CREATE TABLE notification (id INTEGER PRIMARY KEY, name VARCHAR(255), active BOOLEAN NOT NULL DEFAULT 1,
    user_id INTEGER, is_default BOOLEAN NOT NULL DEFAULT 0, config TEXT);
CREATE TABLE monitor_notification (id INTEGER PRIMARY KEY, monitor_id INTEGER, notification_id INTEGER);
CREATE TABLE tag (id INTEGER PRIMARY KEY, name VARCHAR(255), color VARCHAR(255));
CREATE TABLE monitor_tag (id INTEGER PRIMARY KEY, monitor_id INTEGER, tag_id INTEGER, value TEXT);
CREATE TABLE maintenance (id INTEGER PRIMARY KEY, title VARCHAR(150), description TEXT NOT NULL DEFAULT '',
    user_id INTEGER, active BOOLEAN NOT NULL DEFAULT 1, strategy VARCHAR(50) NOT NULL DEFAULT 'single',
    start_date DATETIME, end_date DATETIME, start_time TIME, end_time TIME, weekdays VARCHAR(250) DEFAULT '[]',
    days_of_month TEXT DEFAULT '[]', interval_day INTEGER, cron TEXT, timezone VARCHAR(255), duration INTEGER);
CREATE TABLE monitor_maintenance (id INTEGER PRIMARY KEY, monitor_id INTEGER, maintenance_id INTEGER);
CREATE TABLE status_page (id INTEGER PRIMARY KEY, slug VARCHAR(255) UNIQUE, title VARCHAR(255), description TEXT,
    icon VARCHAR(255) DEFAULT '/icon.svg', theme VARCHAR(30) DEFAULT 'auto', published BOOLEAN NOT NULL DEFAULT 1,
    footer_text TEXT, custom_css TEXT, password VARCHAR(255));
CREATE TABLE status_page_cname (id INTEGER PRIMARY KEY, status_page_id INTEGER, domain VARCHAR(255) UNIQUE);
CREATE TABLE maintenance_status_page (id INTEGER PRIMARY KEY, status_page_id INTEGER, maintenance_id INTEGER);
CREATE TABLE "group" (id INTEGER PRIMARY KEY, name VARCHAR(255), public BOOLEAN DEFAULT 0, active BOOLEAN DEFAULT 1,
    weight INTEGER NOT NULL DEFAULT 1000, status_page_id INTEGER);
CREATE TABLE monitor_group (id INTEGER PRIMARY KEY, monitor_id INTEGER, group_id INTEGER,
    weight INTEGER NOT NULL DEFAULT 1000, send_url BOOLEAN NOT NULL DEFAULT 0);
CREATE TABLE incident (id INTEGER PRIMARY KEY, title VARCHAR(255), content TEXT, style VARCHAR(30), pin BOOLEAN,
    active BOOLEAN, status_page_id INTEGER);
CREATE TABLE heartbeat (id INTEGER PRIMARY KEY, important BOOLEAN, monitor_id INTEGER, status SMALLINT, msg TEXT,
    time DATETIME, ping INTEGER, duration INTEGER);
CREATE TABLE stat_daily (id INTEGER PRIMARY KEY, monitor_id INTEGER NOT NULL, timestamp INTEGER NOT NULL,
    ping FLOAT NOT NULL, up SMALLINT NOT NULL, down SMALLINT NOT NULL, ping_min FLOAT NOT NULL DEFAULT 0,
    ping_max FLOAT NOT NULL DEFAULT 0, extras TEXT, UNIQUE (monitor_id, timestamp));
"""
FIRST_DAY = 2_683_584_000  # 2055-01-15, before which the days of history lie
DAYS = 60
SECRET = "hidden-from-reports"  # what is a secret in any entry

MONITORS: list[dict[str, Any]] = [
    {"name": "Customers", "type": "group"},
    {"name": "Inside", "type": "group"},
    {"name": "Shop", "type": "http", "url": "https://shop.example.org/", "parent": 1, "maxretries": 2,
     "retry_interval": 20, "timeout": 48, "description": "What customers see"},
    {"name": "Login", "type": "http", "url": "https://shop.example.org/login", "method": "POST", "parent": 1,
     "body": '{"user": "probe"}', "http_body_encoding": "json", "headers": '{"X-Probe": "1"}',
     "accepted_statuscodes_json": '["200-299", "401"]'},
    {"name": "Admin", "type": "http", "url": "https://admin.example.org/", "basic_auth_user": "probe",
     "basic_auth_pass": SECRET, "auth_method": "basic", "ignore_tls": 1, "maxredirects": 0, "parent": 2},
    {"name": "Must be closed", "type": "port", "hostname": "shop.example.org", "port": 23, "upside_down": 1},
    {"name": "Words", "type": "keyword", "url": "https://blog.example.org/", "keyword": "Welcome"},
    {"name": "No error", "type": "keyword", "url": "https://blog.example.org/", "keyword": "Fatal error",
     "invert_keyword": 1, "ip_family": "ipv4"},
    {"name": "Ready", "type": "json-query", "url": "https://api.example.org/health", "json_path": "status.ready",
     "json_path_operator": "==", "expected_value": "true"},
    {"name": "Queue", "type": "json-query", "url": "https://api.example.org/queue", "json_path": "$.length",
     "json_path_operator": "<", "expected_value": "100"},
    {"name": "Database port", "type": "port", "hostname": "db.example.org", "port": 5432, "parent": 2},
    {"name": "Router", "type": "ping", "hostname": "192.0.2.1", "interval": 20, "packet_size": 56},
    {"name": "Name", "type": "dns", "hostname": "example.org", "dns_resolve_server": "1.1.1.1",
     "dns_resolve_type": "A", "port": 53},
    {"name": "Mail servers", "type": "dns", "hostname": "example.org", "dns_resolve_server": "9.9.9.9",
     "dns_resolve_type": "MX", "port": 53},
    {"name": "Backup", "type": "push", "push_token": SECRET, "interval": 86400},
    {"name": "Cron of reports", "type": "push", "push_token": "another", "interval": 3600, "active": 0},
    {"name": "Bus", "type": "mqtt", "hostname": "mqtt://bus.example.org", "port": 1883, "mqtt_topic": "alive",
     "mqtt_password": SECRET},
    {"name": "MySQL", "type": "mysql", "database_connection_string": f"mysql://u:{SECRET}@my.example.org:3307/shop",
     "database_query": "SELECT 1"},
    {"name": "PostgreSQL", "type": "postgres",
     "database_connection_string": f"postgres://u:{SECRET}@pg.example.org/shop"},
    {"name": "SQL Server", "type": "sqlserver", "database_connection_string":
     f"Server=ms.example.org,1444;Database=shop;User Id=u;Password={SECRET};Encrypt=true"},
    {"name": "MongoDB", "type": "mongodb",
     "database_connection_string": f"mongodb://u:{SECRET}@m1.example.org:27018,m2.example.org/shop"},
    {"name": "Redis", "type": "redis", "database_connection_string": f"redis://:{SECRET}@cache.example.org"},
    {"name": "gRPC", "type": "grpc-keyword", "grpc_url": "grpc.example.org:50051", "keyword": "SERVING"},
    {"name": "Kafka", "type": "kafka-producer", "kafka_producer_brokers": '["k1.example.org:9093", "k2.example.org"]'},
    {"name": "Rabbit", "type": "rabbitmq", "rabbitmq_nodes": '["https://rabbit.example.org:15671/"]',
     "rabbitmq_username": "probe", "rabbitmq_password": SECRET},
    {"name": "As people see it", "type": "real-browser", "url": "https://app.example.org/"},
    {"name": "Mail", "type": "smtp", "hostname": "mail.example.org", "port": 587, "smtp_security": "starttls"},
    {"name": "Container", "type": "docker", "docker_container": "shop", "docker_host": 1},
    {"name": "Through the proxy", "type": "http", "url": "https://inside.example.org/", "proxy_id": 1},
    {"name": "Access", "type": "radius", "hostname": "radius.example.org", "port": 1812, "radius_secret": SECRET},
]  # fmt: skip
NOTIFICATIONS: list[tuple[str, dict[str, Any]]] = [
    ("Mail to all", {"type": "smtp", "smtpHost": "mail.example.org", "smtpPort": 465, "smtpSecure": True,
                     "smtpFrom": "kuma@example.org", "smtpTo": "ops@example.org", "smtpPassword": SECRET,
                     "smtpUsername": "kuma"}),
    ("Telegram", {"type": "telegram", "telegramBotToken": "123456789:" + "a" * 35, "telegramChatID": "77"}),
    ("Discord", {"type": "discord", "discordWebhookUrl": "https://discord.com/api/webhooks/12345/" + "d" * 60}),
    ("Slack", {"type": "slack", "slackwebhookURL":
               "https://hooks.slack.com/services/T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ"}),
    ("Teams", {"type": "teams", "webhookUrl": "https://prod-15.uksouth.logic.azure.com:443/workflows/3XXX5/triggers/"
               "manual/paths/invoke?api-version=2016-06-01&sp=%2Ftriggers%2Fmanual%2Frun&sv=1.0&sig=iXXXU"}),
    ("Webhook", {"type": "webhook", "webhookURL": "https://hook.example.org/kuma", "webhookContentType": "json"}),
    ("ntfy", {"type": "ntfy", "ntfyserverurl": "https://ntfy.example.org", "ntfytopic": "ops", "ntfyPriority": 5}),
    ("Gotify", {"type": "gotify", "gotifyserverurl": "https://gotify.example.org",
                "gotifyapplicationToken": "AbCdEfGhIjKlMnO"}),
    ("Pushover", {"type": "pushover", "pushoveruserkey": "u" * 30, "pushoverapptoken": "t" * 30}),
    ("Matrix", {"type": "matrix", "homeserverUrl": "https://matrix.example.org", "internalRoomId": "!abc:example.org",
                "accessToken": "syt_token"}),
    ("Mattermost", {"type": "mattermost", "mattermostWebhookUrl": "https://chat.example.org/hooks/" + "m" * 24}),
    ("Apprise", {"type": "apprise", "appriseURL": "mailto://user:pass@example.org"}),
]  # fmt: skip
WINDOWS: list[dict[str, Any]] = [
    {"title": "Move of the server", "strategy": "single", "start_date": "2055-02-01 22:00:00",
     "end_date": "2055-02-02 02:00:00", "timezone": "Europe/Berlin", "monitors": [3, 4]},
    {"title": "Every night", "strategy": "recurring-interval", "interval_day": 1, "start_time": "02:00:00",
     "end_time": "02:30:00", "start_date": "2026-12-01 00:00:00", "monitors": [1]},
    {"title": "Patches", "strategy": "recurring-weekday", "weekdays": "[1, 3]", "start_time": "23:30:00",
     "end_time": "01:00:00", "start_date": "2026-12-01 00:00:00", "timezone": "UTC", "monitors": [11]},
    {"title": "Invoices", "strategy": "recurring-day-of-month", "days_of_month": '[1, "lastDay1"]',
     "start_time": "06:00:00", "end_time": "08:00:00", "monitors": [9]},
    {"title": "By cron", "strategy": "cron", "cron": "30 3 * * 0", "duration": 5400, "timezone": "SAME_AS_SERVER",
     "monitors": [18, 19], "active": 0},
]  # fmt: skip
PAGES: list[dict[str, Any]] = [
    {"slug": "public", "title": "Example", "description": "How our services are", "footer_text": "Call 110",
     "domains": ["status.example.org"], "groups": {"Customers": [3, 4], "Rest": [7, 28]}},
    {"slug": "inside", "title": "For us", "groups": {"All": [11, 12]}},
]  # fmt: skip


def make(path: Path, *, zone: str = "UTC") -> Path:
    """The database, and where it is."""
    database = sqlite3.connect(path)
    database.executescript(SCHEMA)
    _insert(database, "setting", key="serverTimezone", value=json.dumps(zone), type="general")
    _insert(database, "docker_host", name="local", docker_type="socket", docker_daemon="/var/run/docker.sock")
    _insert(database, "proxy", protocol="http", host="proxy.example.org", port=3128, auth=1, password=SECRET)
    for monitor in MONITORS:
        number = _insert(database, "monitor", **monitor)
        _insert(database, "monitor_notification", monitor_id=number, notification_id=1)
    for name, config in NOTIFICATIONS:
        number = _insert(database, "notification", name=name, config=json.dumps(config))
        if number > 1:
            _insert(database, "monitor_notification", monitor_id=3, notification_id=number)
    _insert(database, "tag", name="team", color="#fff")
    _insert(database, "monitor_tag", monitor_id=3, tag_id=1, value="web")
    for window in WINDOWS:
        number = _insert(database, "maintenance", **{name: window[name] for name in window if name != "monitors"})
        for monitor in window["monitors"]:
            _insert(database, "monitor_maintenance", maintenance_id=number, monitor_id=monitor)
    for page in PAGES:
        _add_page(database, page)
    for monitor in range(3, 13):
        for day in range(1, DAYS + 1):
            rows = {"timestamp": FIRST_DAY - day * 86400, "ping": 20.5, "up": 1430, "down": 10 if day == 5 else 0}
            _insert(database, "stat_daily", monitor_id=monitor, **rows)
    database.commit()
    database.close()
    return path


def _add_page(database: sqlite3.Connection, page: dict[str, Any]) -> None:
    columns = {name: value for name, value in page.items() if name not in ("groups", "domains")}
    number = _insert(database, "status_page", **columns)
    for domain in page.get("domains", ()):
        _insert(database, "status_page_cname", status_page_id=number, domain=domain)
    for place, (name, monitors) in enumerate(page["groups"].items()):
        group = _insert(database, "group", name=name, weight=place, status_page_id=number)
        for weight, monitor in enumerate(monitors):
            _insert(database, "monitor_group", group_id=group, monitor_id=monitor, weight=weight)


def _insert(database: sqlite3.Connection, table: str, **values: Any) -> int:
    names = ", ".join(f'"{name}"' for name in values)
    marks = ", ".join("?" * len(values))
    return database.execute(f'INSERT INTO "{table}" ({names}) VALUES ({marks})', list(values.values())).lastrowid or 0
