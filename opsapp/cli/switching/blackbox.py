"""Prometheus with its blackbox exporter: the jobs of prometheus.yml that go through it, one monitor for each target.

The exporter's modules are in a file of its own; without it, the names of its example configuration are understood.
Must not: take over a job of another exporter.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

from opsapp.lib.jsontypes import JsonObject

from .estate import Estate, NotImported, named, note_others, others, seconds, tag, times, with_user

USUAL_S, USUAL_TIMEOUT_S = 60.0, 10.0
MODULES: JsonObject = {"http_2xx": {"prober": "http"}, "tcp_connect": {"prober": "tcp"}, "icmp": {"prober": "icmp"}}
# What of a module can be kept, by prober; anything else makes it another check.
KEPT = {
    "http": {
        "method", "headers", "valid_status_codes", "no_follow_redirects", "follow_redirects", "tls_config",
        "basic_auth", "fail_if_body_matches_regexp", "fail_if_body_not_matches_regexp", "preferred_ip_protocol",
        "ip_protocol_fallback", "valid_http_versions", "fail_if_not_ssl",
    },
    "tcp": {"tls", "preferred_ip_protocol", "ip_protocol_fallback"},
    "icmp": {"preferred_ip_protocol", "ip_protocol_fallback"},
    "dns": {"query_name", "query_type", "transport_protocol", "preferred_ip_protocol", "ip_protocol_fallback"},
}  # fmt: skip
KNOWN = {"job_name", "metrics_path", "params", "static_configs", "scrape_interval", "scrape_timeout", "relabel_configs"}
USUAL_LABELS = ("__param_target", "instance", "__address__")  # where a job of the exporter must write
WITHOUT_MEANING = {
    "preferred_ip_protocol": "both families of addresses are tried",
    "valid_http_versions": "any version",
}


def read(path: str, modules: str | None = None) -> Estate:
    """ValueError when this is no file of Prometheus."""
    document = _yaml(path)
    if not isinstance(document.get("scrape_configs"), list):
        raise ValueError("it has no scrape_configs")
    known = MODULES if modules is None else _yaml(modules).get("modules")
    if not isinstance(known, dict):
        raise ValueError("the file of the exporter has no modules")
    estate, general = Estate(), document.get("global") or {}
    for job in document["scrape_configs"]:
        name = str(job.get("job_name")) if isinstance(job, dict) else named(job)
        with estate.entry("job", name):
            _job(estate, name, job, general, known)
    for section in others(document, ("scrape_configs", "global")):
        estate.leave("section", section, "only jobs that go through the blackbox exporter are taken")
    return estate


def _yaml(path: str) -> JsonObject:
    document = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    if not isinstance(document, dict):
        raise ValueError("it is no YAML mapping")
    return document


def _job(estate: Estate, name: str, job: JsonObject, general: JsonObject, modules: JsonObject) -> None:
    if not str(job.get("metrics_path", "")).endswith("/probe"):
        raise NotImported("it does not go through the blackbox exporter")
    discoveries = sorted(key for key in job if key.endswith("_sd_configs"))
    for discovery in discoveries:
        estate.leave("job", name, f"its targets come from {discovery}: write them as static_configs")
    targets = [
        (str(target), group.get("labels") or {})
        for group in job.get("static_configs") or []
        for target in group.get("targets") or []
    ]
    if not targets and not discoveries:
        raise NotImported("it has no targets")
    of_job = _of_job(job)
    params = job.get("params") or {}
    asked = params.get("module") or ["http_2xx"]
    for target, labels in targets:
        with estate.entry("target", f"{name}: {target}") as notes:
            if len(asked) > 1:
                raise NotImported(f"it is checked by more than one module: {', '.join(map(str, asked))}")
            module = modules.get(asked[0])
            settings = _settings(target, module, asked[0], notes)
            settings |= _times([module or {}, job, general], notes)
            tags = [tag(name), *(tag(f"{key}:{value}") for key, value in labels.items())]
            estate.take("monitor", {"name": target, **settings, "tags": tags}, [*notes, *of_job])


def _of_job(job: JsonObject) -> list[str]:
    """What is said with each of its targets; NotImported where it makes them other checks."""
    notes: list[str] = []
    odd = others(job.get("params") or {}, ("module",))
    if odd:
        raise NotImported(f"its params have {', '.join(odd)}")
    for rule in job.get("relabel_configs") or []:
        label, action = str(rule.get("target_label")), rule.get("action", "replace")
        if label.startswith("__param_") and label not in USUAL_LABELS:
            raise NotImported(f"its relabel_configs write {label}: each target is another check")
        if action != "replace" or label not in USUAL_LABELS:
            what = f"replace {label}" if action == "replace" else action
            notes.append(f"its relabel_configs are not followed: {what}")
    note_others({key: value for key, value in job.items() if not key.endswith("_sd_configs")}, KNOWN, notes)
    return notes


def _times(given: list[JsonObject], notes: list[str]) -> JsonObject:
    """`given`: the module, the job and what is true for all jobs."""
    module, job, general = given
    interval = seconds(job.get("scrape_interval", general.get("scrape_interval", USUAL_S)))
    scrape = job.get("scrape_timeout", general.get("scrape_timeout", USUAL_TIMEOUT_S))
    return times(interval, min(interval, seconds(scrape), seconds(module.get("timeout", scrape))), notes)


def _settings(target: str, module: Any, name: str, notes: list[str]) -> JsonObject:
    if module is None:
        raise NotImported(f"its module {name} is not known: give the exporter's file with --modules")
    prober = module.get("prober")
    if prober not in KEPT:
        raise NotImported(f"there is no monitor for the prober {prober}")
    options = module.get(prober) or {}
    odd = sorted(set(options) - KEPT[prober])
    if odd:
        raise NotImported(f"its module {name} has {', '.join(odd)}")
    notes += [text for option, text in WITHOUT_MEANING.items() if option in options]
    return PROBERS[prober](target, options, notes)


def _http(target: str, options: JsonObject, notes: list[str]) -> JsonObject:
    url = target if "://" in target else f"http://{target}"
    tls = dict(options.get("tls_config") or {})
    settings: JsonObject = {
        "type": "http",
        "url": url,
        "method": options.get("method") or "GET",
        "headers": {str(key): str(value) for key, value in (options.get("headers") or {}).items()},
        "follow_redirects": options.get("follow_redirects", not options.get("no_follow_redirects", False)),
        "verify_tls": not tls.pop("insecure_skip_verify", False),
        **_word(options),
    }
    if tls:
        raise NotImported(f"its TLS has {', '.join(sorted(tls))}")
    if options.get("fail_if_not_ssl") and not url.startswith("https://"):
        raise NotImported("it must be https, and the target is not")
    if options.get("basic_auth"):
        user = options["basic_auth"]
        if "password" not in user:
            raise NotImported("the password of basic_auth is in another file")
        settings["url"] = with_user(url, str(user.get("username")), str(user["password"]))
    codes = options.get("valid_status_codes") or []
    if len(codes) > 1:
        raise NotImported(f"it accepts {', '.join(map(str, codes))}: here it is one status, or any of 200 to 399")
    if codes:
        settings["expected_status"] = codes[0]
    else:
        notes.append("a last answer of 300 to 399 counts as up here")
    return settings


def _word(options: JsonObject) -> JsonObject:
    """A regular expression that is a plain word is a keyword."""
    wanted, unwanted = (options.get(f"fail_if_body_{how}_regexp") or [] for how in ("not_matches", "matches"))
    if not wanted and not unwanted:
        return {}
    words = [re.sub(r"\\([^A-Za-z0-9])", r"\1", word) for word in (*wanted, *unwanted)]
    plain = [re.sub(r"\\[^A-Za-z0-9]", "", word) for word in (*wanted, *unwanted)]
    if len(words) > 1 or re.search(r"[\\^$.|?*+()\[\]{}]", plain[0]):
        raise NotImported("it looks for a regular expression; here it is one word")
    return {"type": "keyword", "keyword": words[0], "keyword_absent": bool(unwanted)}


def _tcp(target: str, options: JsonObject, notes: list[str]) -> JsonObject:
    kind = "tls" if options.get("tls") else "tcp"
    return {"type": kind, "url": f"{kind}://{target}"}


def _icmp(target: str, options: JsonObject, notes: list[str]) -> JsonObject:
    return {"type": "ping", "url": f"ping://{target}"}


def _dns(target: str, options: JsonObject, notes: list[str]) -> JsonObject:
    name, kind = str(options.get("query_name")).rstrip("."), options.get("query_type") or "ANY"
    if kind == "ANY":
        raise NotImported("it asks for any record; here it is one type")
    return {"type": "dns", "url": f"dns://{target}/{name}?type={kind}"}


PROBERS = {"http": _http, "tcp": _tcp, "icmp": _icmp, "dns": _dns}
