"""What is read of Uptime Kuma, by the names of its columns: monitors, notifications, windows, status pages, days.

Must not: say what becomes of it.
"""

from __future__ import annotations

from typing import Annotated, TypeVar

from opsapp.wire.dataclass import frozen
from opsapp.wire.records import ReadOnly

from .foreign import MANY, AsItIs, Figure, ForeignRecord, Json, Measure, Number, PartOf, Switch, Word

KumaRecord = TypeVar("KumaRecord", bound=ForeignRecord)


@frozen
class KumaBackup(ForeignRecord):
    """A file of JSON. Monitors are a list, or an object of them; so is what else there is."""

    monitor_list: AsItIs = None
    monitors: AsItIs = None
    notification_list: Annotated[tuple[AsItIs, ...] | None, MANY] = ()
    status_page_list: AsItIs = None
    maintenance_list: AsItIs = None
    proxy_list: AsItIs = None
    docker_host_list: AsItIs = None
    remote_browser_list: AsItIs = None
    api_key_list: AsItIs = None


@frozen
class KumaBeside(ForeignRecord):
    """Whatever is only named."""

    title: Word | None = None
    host: Word | None = None
    name: Word | None = None


@frozen
class KumaTag(ForeignRecord):
    name: Word = ""
    id: Figure = 0
    value: Word | None = None

    def __str__(self) -> str:
        return (f"{self.name}:{self.value}" if self.value else self.name).strip()


@frozen
class KumaTagTie(ForeignRecord):
    monitor_id: Figure = 0
    tag_id: Figure = 0
    value: Word | None = None


@frozen
class KumaNotificationTie(ForeignRecord):
    monitor_id: Figure = 0
    notification_id: Figure = 0


@frozen
class KumaMonitor(ForeignRecord):
    """`wrong`: why it makes no sense; then it has a name only."""

    id: Number = None
    name: Word = ""
    type: Word | None = None
    parent: Number = None
    active: Switch | None = True
    interval: Measure = 0.0
    timeout: Measure = 0.0
    maxretries: Figure = 0
    retry_interval: Measure = 0.0
    upside_down: Switch = False
    description: Word = ""
    ip_family: Word = ""
    tags: Annotated[tuple[Annotated[KumaTag, PartOf(KumaTag)], ...] | None, MANY] = ()
    notification_idlist: dict[str, Switch] | None = None
    proxy_id: AsItIs = None
    # the web
    url: Word = ""
    method: Word = ""
    headers: AsItIs = None
    body: Word = ""
    http_body_encoding: Word = ""
    auth_method: Word = ""
    basic_auth_user: Word = ""
    basic_auth_pass: Word = ""
    ignore_tls: Switch = False
    maxredirects: Number = None
    accepted_statuscodes: AsItIs = None
    accepted_statuscodes_json: Json = None
    keyword: Word = ""
    invert_keyword: Switch = False
    json_path: Word = ""
    json_path_operator: Word = ""
    expected_value: AsItIs = None
    # others
    hostname: Word | None = None
    port: Number = None
    conditions: AsItIs = None
    dns_resolve_server: Word = ""
    dns_resolve_type: Word = ""
    snmp_version: Word = ""
    snmp_oid: Word = ""
    radius_password: Word = ""
    rabbitmq_nodes: Json = None
    rabbitmq_username: Word = ""
    rabbitmq_password: Word = ""
    kafka_producer_brokers: Json = None
    grpc_url: Word = ""
    database_connection_string: Word = ""
    # what nothing here stands for, and what it is where nobody has said anything
    resend_interval: Figure = 0
    packet_size: Figure = 56
    cache_bust: Switch = False
    tls_cert: Word = ""

    wrong: Annotated[str, ReadOnly()] = ""

    @property
    def told(self) -> str:
        return self.name or "without a name"

    @property
    def is_group(self) -> bool:
        return self.type == "group"


@frozen
class KumaNotification(ForeignRecord):
    id: Figure = 0
    name: Word = ""
    active: Switch | None = True
    config: Json = None


@frozen
class KumaSetting(ForeignRecord):
    key: Word = ""
    value: Json = None


@frozen
class KumaTitled(ForeignRecord):
    id: Figure = 0
    title: Word | None = None
    description: Word = ""

    @property
    def told(self) -> str:
        return self.title or "without a title"


@frozen
class KumaWindow(KumaTitled):
    active: Switch | None = True
    strategy: Word | None = None
    start_date: Word = ""
    end_date: Word = ""
    start_time: Word | None = None
    end_time: Word | None = None
    weekdays: Json = None
    days_of_month: Json = None
    interval_day: AsItIs = None
    cron: Word | None = None
    duration: AsItIs = None
    timezone: Word = ""


@frozen
class KumaWindowTie(ForeignRecord):
    monitor_id: Figure = 0
    maintenance_id: Figure = 0


@frozen
class KumaPage(KumaTitled):
    slug: Word = ""
    footer_text: Word = ""
    published: Switch | None = True
    custom_css: AsItIs = None
    google_analytics_tag_id: AsItIs = None
    analytics_id: AsItIs = None


@frozen
class KumaOrdered(ForeignRecord):
    id: Figure = 0
    weight: Figure = 0

    @property
    def order(self) -> tuple[int, int]:
        return self.weight, self.id


@frozen
class KumaGroup(KumaOrdered):
    status_page_id: Figure = 0
    name: Word = ""


@frozen
class KumaGroupTie(KumaOrdered):
    group_id: Figure = 0
    monitor_id: Figure = 0


@frozen
class KumaDomain(ForeignRecord):
    status_page_id: Figure = 0
    domain: Word = ""


@frozen
class KumaDay(ForeignRecord):
    """A row counts checks."""

    monitor_id: Figure = 0
    timestamp: Figure = 0
    up: Figure = 0
    down: Figure = 0
