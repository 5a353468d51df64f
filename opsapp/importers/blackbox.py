"""Prometheus with its blackbox exporter: the jobs of prometheus.yml that go through it, one monitor for each target.

Without the exporter's own file of modules, the names of its example configuration are understood. Must not: take over a
job of another exporter.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import yaml

from opsapp.wire.dataclass import frozen
from opsapp.wire.records import SaidAs

from .estate import Estate, MonitorEntry, seconds, timed, with_user
from .foreign import MANY, AsItIs, ForeignRecord, Label, Labels, NotImported, PartOf, Switch, Word, named
from .foreign import read as read_record

USUAL_S, USUAL_TIMEOUT_S = 60.0, 10.0
USUAL_LABELS = ("__param_target", "instance", "__address__")  # where a job of the exporter must write


@frozen
class ScrapeTimes(ForeignRecord):
    scrape_interval: AsItIs = None
    scrape_timeout: AsItIs = None


@frozen
class TargetGroup(ForeignRecord):
    targets: Labels = ()
    labels: dict[str, Label] | None = None


@frozen
class JobParams(ForeignRecord):
    module: Labels = None


@frozen
class Relabeling(ForeignRecord):
    target_label: Word | None = None
    action: Word = "replace"


@frozen
class ScrapeJob(ScrapeTimes):
    job_name: Word | None = None
    metrics_path: Word = ""
    params: Annotated[JobParams, PartOf(JobParams)] = JobParams()
    static_configs: Annotated[tuple[Annotated[TargetGroup, PartOf(TargetGroup)], ...] | None, MANY] = ()
    relabel_configs: Annotated[tuple[Annotated[Relabeling, PartOf(Relabeling)], ...] | None, MANY] = ()

    @property
    def discoveries(self) -> list[str]:
        return [name for name in self.besides if name.endswith("_sd_configs")]


@frozen
class PrometheusFile(ForeignRecord):
    scrape_configs: Annotated[tuple[AsItIs, ...], MANY]
    usual: Annotated[ScrapeTimes, SaidAs("global"), PartOf(ScrapeTimes)] = ScrapeTimes()


@frozen
class BasicAuth(ForeignRecord):
    username: Word | None = None
    password: Word | None = None


@frozen
class TlsConfig(ForeignRecord):
    insecure_skip_verify: Switch = False


@frozen
class ProbeOptions(ForeignRecord):
    """What of a module can be kept; anything else makes it another check."""

    preferred_ip_protocol: Word | None = None
    ip_protocol_fallback: AsItIs = None


@frozen
class HttpOptions(ProbeOptions):
    method: Word = "GET"
    headers: dict[str, Label] | None = None
    valid_status_codes: Annotated[tuple[AsItIs, ...] | None, MANY] = ()
    no_follow_redirects: Switch = False
    follow_redirects: Switch | None = None
    tls_config: Annotated[TlsConfig, PartOf(TlsConfig)] = TlsConfig()
    basic_auth: Annotated[BasicAuth | None, PartOf(BasicAuth)] = None
    fail_if_body_matches_regexp: Labels = ()
    fail_if_body_not_matches_regexp: Labels = ()
    valid_http_versions: AsItIs = None
    fail_if_not_ssl: Switch = False


@frozen
class TcpOptions(ProbeOptions):
    tls: Switch = False


@frozen
class DnsOptions(ProbeOptions):
    query_name: Word | None = None
    query_type: Word = "ANY"
    transport_protocol: AsItIs = None


@frozen
class ProbeModule(ForeignRecord):
    prober: Word | None = None
    timeout: AsItIs = None
    http: Annotated[HttpOptions, PartOf(HttpOptions)] = HttpOptions()
    tcp: Annotated[TcpOptions, PartOf(TcpOptions)] = TcpOptions()
    icmp: Annotated[ProbeOptions, PartOf(ProbeOptions)] = ProbeOptions()
    dns: Annotated[DnsOptions, PartOf(DnsOptions)] = DnsOptions()


@frozen
class ExporterFile(ForeignRecord):
    modules: dict[str, AsItIs]


Modules = Mapping[str, Any]  # by name, not read yet: only the modules that a job names must make sense
MODULES: Modules = {"http_2xx": {"prober": "http"}, "tcp_connect": {"prober": "tcp"}, "icmp": {"prober": "icmp"}}


def read(path: str, modules: str | None = None) -> Estate:
    """ValueError when this is no file of Prometheus."""
    document = _yaml(path)
    if not isinstance(document.get("scrape_configs"), list):
        raise ValueError("it has no scrape_configs")
    file, known = read_record(PrometheusFile, document), MODULES
    if modules is not None:
        exporter = _yaml(modules)
        if not isinstance(exporter.get("modules"), dict):
            raise ValueError("the file of the exporter has no modules")
        known = read_record(ExporterFile, exporter).modules
    estate = Estate()
    for given in file.scrape_configs:
        name = str(given.get("job_name")) if isinstance(given, dict) else named(given)
        with estate.entry("job", name):
            _job(estate, name, read_record(ScrapeJob, given), file.usual, known)
    for section in file.besides:
        estate.leave("section", section, "only jobs that go through the blackbox exporter are taken")
    return estate


def _yaml(path: str) -> Any:
    document = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    if not isinstance(document, dict):
        raise ValueError("it is no YAML mapping")
    return document


def _job(estate: Estate, name: str, job: ScrapeJob, usual: ScrapeTimes, modules: Modules) -> None:
    if not job.metrics_path.endswith("/probe"):
        raise NotImported("it does not go through the blackbox exporter")
    for discovery in job.discoveries:
        estate.leave("job", name, f"its targets come from {discovery}: write them as static_configs")
    groups = job.static_configs or ()
    targets = [(target, group.labels or {}) for group in groups for target in group.targets or ()]
    if not targets and not job.discoveries:
        raise NotImported("it has no targets")
    of_job = _of_job(job)
    asked = job.params.module or ("http_2xx",)
    for target, labels in targets:
        with estate.entry("target", f"{name}: {target}") as notes:
            if len(asked) > 1:
                raise NotImported(f"it is checked by more than one module: {', '.join(asked)}")
            module = _module(modules.get(asked[0]), asked[0])
            entry = _monitor(target, module, asked[0], notes)
            entry = _timed(entry, module, job, usual, notes)
            tags = (name.strip(), *(f"{key}:{value}".strip() for key, value in labels.items()))
            estate.take(replace(entry, tags=tags), [*notes, *of_job])


def _of_job(job: ScrapeJob) -> list[str]:
    """What is said with each of its targets; NotImported where it makes them other checks."""
    notes: list[str] = []
    if job.params.besides:
        raise NotImported(f"its params have {', '.join(job.params.besides)}")
    for rule in job.relabel_configs or ():
        label = str(rule.target_label)
        if label.startswith("__param_") and label not in USUAL_LABELS:
            raise NotImported(f"its relabel_configs write {label}: each target is another check")
        if rule.action != "replace" or label not in USUAL_LABELS:
            what = f"replace {label}" if rule.action == "replace" else rule.action
            notes.append(f"its relabel_configs are not followed: {what}")
    others = [name for name in job.besides if name not in job.discoveries]
    if others:
        notes.append(f"not taken of it: {', '.join(others)}")
    return notes


def _timed(
    entry: MonitorEntry, module: ProbeModule, job: ScrapeJob, usual: ScrapeTimes, notes: list[str]
) -> MonitorEntry:
    interval = seconds(_first(job.scrape_interval, usual.scrape_interval, USUAL_S))
    scrape = _first(job.scrape_timeout, usual.scrape_timeout, USUAL_TIMEOUT_S)
    timeout = min(interval, seconds(scrape), seconds(_first(module.timeout, scrape)))
    return timed(entry, interval, timeout, notes)


def _first(*told: object) -> object:
    return next(text for text in told if text is not None)


def _module(given: object, name: str) -> ProbeModule:
    if given is None:
        raise NotImported(f"its module {name} is not known: give the exporter's file with --modules")
    return read_record(ProbeModule, given)


def _monitor(target: str, module: ProbeModule, name: str, notes: list[str]) -> MonitorEntry:
    if module.prober not in ("http", "tcp", "icmp", "dns"):
        raise NotImported(f"there is no monitor for the prober {module.prober}")
    options: ProbeOptions = getattr(module, module.prober)
    if options.besides:
        raise NotImported(f"its module {name} has {', '.join(options.besides)}")
    if options.preferred_ip_protocol is not None:
        notes.append("both families of addresses are tried")
    if isinstance(options, HttpOptions):
        return _http(target, options, notes)
    if isinstance(options, TcpOptions):
        kind = "tls" if options.tls else "tcp"
        return MonitorEntry(name=target, type=kind, url=f"{kind}://{target}")
    if isinstance(options, DnsOptions):
        return _dns(target, options)
    return MonitorEntry(name=target, type="ping", url=f"ping://{target}")


def _http(target: str, options: HttpOptions, notes: list[str]) -> MonitorEntry:
    if options.valid_http_versions is not None:
        notes.append("any version")
    url = target if "://" in target else f"http://{target}"
    follows = not options.no_follow_redirects if options.follow_redirects is None else options.follow_redirects
    entry = MonitorEntry(
        name=target,
        type="http",
        url=url,
        method=options.method or "GET",
        headers=options.headers or {},
        follow_redirects=follows,
        verify_tls=not options.tls_config.insecure_skip_verify,
    )
    entry = _with_word(entry, options)
    if options.tls_config.besides:
        raise NotImported(f"its TLS has {', '.join(options.tls_config.besides)}")
    if options.fail_if_not_ssl and not url.startswith("https://"):
        raise NotImported("it must be https, and the target is not")
    if options.basic_auth:
        if options.basic_auth.password is None:
            raise NotImported("the password of basic_auth is in another file")
        entry = replace(entry, url=with_user(url, str(options.basic_auth.username), options.basic_auth.password))
    codes = options.valid_status_codes or ()
    if len(codes) > 1:
        raise NotImported(f"it accepts {', '.join(map(str, codes))}: here it is one status, or any of 200 to 399")
    if codes:
        return replace(entry, expected_status=codes[0])
    notes.append("a last answer of 300 to 399 counts as up here")
    return entry


def _with_word(entry: MonitorEntry, options: HttpOptions) -> MonitorEntry:
    """A regular expression that is a plain word is a keyword."""
    unwanted = options.fail_if_body_matches_regexp or ()
    told = (*(options.fail_if_body_not_matches_regexp or ()), *unwanted)
    if not told:
        return entry
    words = [re.sub(r"\\([^A-Za-z0-9])", r"\1", word) for word in told]
    if len(words) > 1 or re.search(r"[\\^$.|?*+()\[\]{}]", re.sub(r"\\[^A-Za-z0-9]", "", told[0])):
        raise NotImported("it looks for a regular expression; here it is one word")
    return entry.having(type="keyword", keyword=words[0], keyword_absent=bool(unwanted))


def _dns(target: str, options: DnsOptions) -> MonitorEntry:
    name, kind = str(options.query_name).rstrip("."), options.query_type or "ANY"
    if kind == "ANY":
        raise NotImported("it asks for any record; here it is one type")
    return MonitorEntry(name=target, type="dns", url=f"dns://{target}/{name}?type={kind}")
