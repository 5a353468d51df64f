"""keyword: an http probe whose body must (or must not) hold a text."""

from __future__ import annotations

from opsapp.monitoring.probes import http
from opsapp.monitoring.probes.outcome import Outcome, ProbeTarget
from opsapp.monitoring.probes.transfers import Reply


def probe(prober, target: ProbeTarget) -> Outcome:
    return http.measure(prober, target, judge)


def judge(target: ProbeTarget, reply: Reply) -> str:
    found = target.keyword in reply.body.decode("utf-8", errors="replace")
    if found == target.keyword_absent:
        return f"the text {target.keyword!r} {'is there' if found else 'is missing'}"
    return ""
