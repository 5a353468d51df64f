"""A monitor's settings: defaults, what fits together, and what a probe gets to know. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field, replace
from functools import cached_property
from typing import Annotated, Any, ClassVar

from opsapp.lib import cron
from opsapp.lib.addresses import HIDDEN, public, public_text
from opsapp.lib.jsontypes import JsonObject
from opsapp.lib.networks import OutboundSettings
from opsapp.lib.settings import Between, CheckedBy, Length, Most
from opsapp.lib.visible import name_kind
from opsapp.lib.zones import zone_problem
from opsapp.wire.dataclass import frozen
from opsapp.wire.kinds import Choice, DeclaredField, MapOf, Text
from opsapp.wire.monitortypes import TYPES, MonitorType, every_own
from opsapp.wire.probes import FAMILIES, ProbeTarget
from opsapp.wire.records import FormField, changed, made, parts_of, sealed_in, settings_of
from opsapp.wire.typesettings import ForAdmins, TypeSettings
from opsapp.wire.webchecks import MOST_BODY, STATUS_RANGE, ranges_problem

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
STATUSES_HINT = "Codes and ranges with commas: 200-299, 301, 401. Redirects are followed first."
EveryTypeSettings: Any = every_own()
Id = Annotated[str, Text(1, 64, r"[a-z0-9]+", "0123456789abcdef")]
HEADERS = MapOf(
    DeclaredField("", Text(0, 4000, r"[^\x00-\x08\x0a-\x1f\x7f]*", "a line of text")),
    50,
    Text(1, 100, r"[A-Za-z0-9!#$%&'*+.^_`|~-]+", "X-Name"),
)
Interval = Annotated[int, Between(5, 86400), FormField("Check every", "duration")]
Timeout = Annotated[int, Between(1, 60), FormField("Wait for an answer", "duration")]
Retries = Annotated[int, Between(0, 10), FormField("Look again before it is down (times)", "number")]


def _reference_problem(address: str) -> str | None:
    kind = _kind_of(address)
    if kind not in {"http", "tcp", "ping"}:
        return "must be an http, https, tcp or ping address"
    return TYPES[kind].url_problem(address)


def _kind_of(address: str) -> str:
    scheme = address.partition("://")[0]
    return "http" if scheme == "https" else scheme


@frozen
class MonitorDefaults:
    """What a monitor gets that does not say otherwise."""

    interval: Interval = 60
    timeout: Timeout = 10
    retries: Retries = 2


@frozen
class IncidentsRetention:
    """`retention.incidents`: how long those are kept that are over."""

    days: Annotated[int, Between(90, 36_500)] = 730


@frozen
class MonitoringSettings(OutboundSettings):
    """`monitoring`"""

    connectivity: Annotated[tuple[Annotated[str, Length(1, 500), CheckedBy(_reference_problem)], ...], Most(20)] = ()
    connectivity_timeout_s: Annotated[float, Between(0.1, 60)] = 3.0
    connectivity_remember_s: Annotated[float, Between(0, 600)] = 5.0
    certificate_warn_days: Annotated[float, Between(0, 365)] = 14
    retry_spacing_s: Annotated[float, Between(0.1, 600)] = 10.0
    flapping_changes: Annotated[int, Between(2, 100)] = 6
    flapping_window_s: Annotated[float, Between(1, 86400)] = 600.0
    max_redirects: Annotated[int, Between(0, 20)] = 5
    max_body_bytes: Annotated[int, Between(1024, 64 << 20)] = 256 * 1024
    ca_file: Annotated[str, Length(0, 1000)] = ""
    max_checks: Annotated[int, Between(10, 20_000)] = 1000
    defaults: MonitorDefaults = MonitorDefaults()

    def references(self) -> list[ProbeTarget]:
        return [
            ProbeTarget("connectivity", _kind_of(address), address, self.connectivity_timeout_s)
            for address in self.connectivity
        ]


@frozen
class GeneralSettings:
    """Settings of every type."""

    expected_status: Annotated[
        int | None,
        Between(100, 599),
        FormField("Expected HTTP status", "number", "Empty: any from 200 to 399.", clears=True),
    ] = None
    accepted_statuses: Annotated[
        tuple[Annotated[str, Text(3, 7, STATUS_RANGE, "200-299 or 301")], ...],
        Most(50, unique=True),
        CheckedBy(ranges_problem),
        FormField("Accepted HTTP statuses", "list", STATUSES_HINT, clears=True),
    ] = ()
    tags: Annotated[
        tuple[Annotated[str, Text(1, 64)], ...],
        Most(50, unique=True),
        FormField("Tags", "names", "The tag public shows it on the status page.", of="tag", by="name", clears=True),
    ] = ()
    agent_id: Annotated[Id | None, FormField("It runs on the host", "choice", clears=True)] = None
    enabled: bool = True
    method: Annotated[str, Choice(*METHODS), FormField("Method", "choice", unsaid="as usual")] = "GET"
    headers: Annotated[
        dict[str, str], HEADERS, FormField("Headers", "json", 'For example {"Accept": "application/json"}')
    ] = field(default_factory=dict)
    body: Annotated[str, Text(0, MOST_BODY), FormField("Body of the request", "area", clears=True)] = ""
    content_type: Annotated[
        str, Text(0, 200, r"[!-~ ]*", "text/xml"), FormField("Content-Type", hint="Of the body.", clears=True)
    ] = "application/json"
    follow_redirects: Annotated[bool, FormField("Follow redirects", "flag")] = True
    max_redirects: Annotated[
        int | None, Between(0, 20), FormField("Redirects at most", "number", "Empty: as configured.", clears=True)
    ] = None
    verify_tls: Annotated[bool, FormField("Refuse certificates that are not trusted", "flag")] = True
    ip_family: Annotated[str, Choice(*FAMILIES), FormField("Addresses", "choice", unsaid="as usual")] = FAMILIES[0]
    certificate_warn_days: Annotated[
        int | None,
        Between(0, 365),
        FormField("Warn before the certificate ends (days)", "number", "Empty: as configured.", clears=True),
    ] = None
    upside_down: Annotated[bool, FormField("Upside down: up when it fails", "flag")] = False
    description: Annotated[str, Text(0, 2000), FormField("Description", "area", clears=True)] = ""
    degraded_ms: Annotated[int | None, Between(1, 60_000), FormField("Slow above (ms)", "number", clears=True)] = None
    probe_from: Annotated[
        tuple[Id, ...], Most(50, unique=True), FormField("Look from these hosts", "picks", "None: from this service.")
    ] = ()
    quorum: Annotated[int, Between(1, 50), FormField("How many of them must see it", "number")] = 1


@frozen(kw_only=True)
class SharedSettings(MonitorDefaults, EveryTypeSettings, GeneralSettings):
    """All settings but name and URL: many monitors are set alike."""

    type: Annotated[str, Choice(*TYPES), FormField("Type", "choice")]

    @property
    def declared(self) -> MonitorType | None:
        """None: it is of a later version."""
        return TYPES.get(self.type)

    @cached_property
    def on_host(self) -> bool:
        """Whether a program on a host looks at it."""
        return self.declared is not None and self.declared.on_host

    @cached_property
    def own(self) -> TypeSettings:
        return TypeSettings() if self.declared is None else self.declared.own(self)

    @cached_property
    def sent_headers(self) -> dict[str, str]:
        """The headers, with the type of the body."""
        is_said = any(name.lower() == "content-type" for name in self.headers)
        if not self.body or not self.content_type or is_said:
            return self.headers
        return {"Content-Type": self.content_type, **self.headers}

    @cached_property
    def for_viewers(self) -> SharedSettings:
        """The settings with only the public part of their addresses, and without headers."""
        return changed(self, public({name: getattr(self, name) for name in WITH_ADDRESSES if hasattr(self, name)}))

    @cached_property
    def for_editors(self) -> SharedSettings:
        """Without passwords: nobody is shown those."""
        passwords = {name: HIDDEN for name in PASSWORDS if getattr(self, name)}
        return changed(self, passwords) if passwords else self

    @cached_property
    def lookers(self) -> tuple[str, ...]:
        """Agents; none: the service looks, or nobody has to."""
        return (self.agent_id,) if not self.probe_from and self.agent_id and self.on_host else self.probe_from

    def late_at(self, called: float, started: float | None, zone: str) -> float:
        """When the next call of a push monitor is late. `called`: when a run ended last; `started`: when the one began
        that has not ended. It has the grace for itself; without grace it may last until another call would be due."""
        if started is None:
            return self.due(called, zone) + self.grace
        return started + self.grace if self.grace else self.due(started, zone)

    def due(self, after: float, zone: str) -> float:
        if self.schedule is None:
            return after + self.interval
        return cron.next_time(self.schedule, self.schedule_zone or zone, after)


@frozen(kw_only=True)
class MonitorSettings(SharedSettings):
    """A monitor as it is written."""

    stays_out: ClassVar = ("url", "interval", "timeout", "retries")
    sample: ClassVar[dict[str, str]] = {"name": "Shop", "type": "http", "url": "https://shop.example.org/"}

    name: Annotated[str, name_kind(), FormField("Name")]
    url: Annotated[str, Text(0, 2000), FormField("Address")] = ""

    @property
    def looked_at(self) -> tuple[str, str, object, object]:
        """Where this changes, what was measured before says nothing."""
        return self.type, self.url, self.command, self.snmp_oid

    def stored(self) -> JsonObject:
        """The settings as the store keeps them, in the order that documents have."""
        fields = {"url": self.url, **settings_of(self)}
        fields["type"] = fields.pop("type")
        return fields


class NewMonitor(MonitorSettings):
    """A monitor that is made: what its type needs must be there. (A change is judged over the stored record.)"""

    component: ClassVar[str] = "Monitor"

    @staticmethod
    def across(sound: JsonObject) -> dict[str, str]:
        """The times that are left out are not known here."""
        wrong = problems(made(MonitorSettings, UNSAID | sound))
        if not {"interval", "timeout"} <= sound.keys():
            wrong.pop("timeout", None)
        return wrong if "type" in sound or "url" in sound else {"url": "is required for every type but push", **wrong}


UNSAID = {"name": "", "type": ""}  # of a body that is still wrong
NOTHING = MonitorSettings(name="", type="")
OWN = parts_of(EveryTypeSettings)
PASSWORDS = sealed_in(EveryTypeSettings)
ADMINS_WRITE = [part.name for part in OWN if part.mark(ForAdmins) is not None]
WITH_ADDRESSES = ["url", "headers", "body", "description", *(part.name for part in OWN)]  # the others can hold none


def complete(given: JsonObject, defaults: MonitorDefaults = MonitorDefaults()) -> MonitorSettings:
    """What was given over the service's defaults; the time-out follows the interval when it is not given."""
    settings = made(MonitorSettings, UNSAID | vars(defaults) | given)
    timeout = max(1, min(settings.timeout, settings.interval - 1))
    return settings if "timeout" in given else replace(settings, timeout=timeout)


def problems(settings: MonitorSettings) -> dict[str, str]:
    """What does not fit together, by field."""
    wrong: dict[str, str] = {}
    declared = settings.declared
    if declared is not None:
        url_problem = declared.url_problem(settings.url)
        wrong = declared.problems(settings) | ({"url": url_problem} if url_problem else {})
    if settings.on_host and not settings.lookers:
        wrong["agent_id"] = "is required for this type: the host that runs the command (or name hosts in probe_from)"
    if settings.accepted_statuses and settings.expected_status is not None:
        wrong["accepted_statuses"] = "is instead of expected_status: leave one of them out"
    if settings.body and settings.method == "HEAD":
        wrong["body"] = "is not sent with HEAD"
    if settings.schedule is not None and (problem := cron.problem(settings.schedule)):
        wrong["schedule"] = problem
    if settings.schedule_zone is not None and (problem := zone_problem(settings.schedule_zone)):
        wrong["schedule_zone"] = problem
    for name in PASSWORDS:
        if getattr(settings, name) == HIDDEN:
            wrong[name] = f"{HIDDEN} stands for a secret that was not shown: write it in"
    if settings.timeout >= settings.interval:
        wrong["timeout"] = "must be less than the interval"
    if settings.probe_from and settings.quorum > len(settings.probe_from):
        wrong["quorum"] = "is more than the agents of probe_from"
    return wrong


def needs_admin(before: MonitorSettings, after: MonitorSettings) -> bool:
    """Whether the change writes what only admins may: a command, or where one is run. `before` is NOTHING for a new
    monitor."""
    if any(getattr(after, name) != getattr(before, name) for name in ADMINS_WRITE):
        return True
    moved = after.type != before.type or after.lookers != before.lookers
    return moved and after.on_host


def agent_of(url: str) -> str:
    return url.partition("://")[2].strip("/")


def searched(name: str, url: str, tags: Iterable[str]) -> str:
    """The text to search in, with nothing that a viewer may not see: whoever may search for it piece by piece knows it
    in the end."""
    return f"{name} {public_text(url)} {' '.join(tags)}".casefold()
