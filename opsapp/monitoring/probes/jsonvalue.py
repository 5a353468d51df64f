"""json: an http probe whose body must hold an expected value at a path."""

from __future__ import annotations

import json

from opsapp.monitoring.probes import http
from opsapp.monitoring.probes.outcome import Outcome, ProbeTarget
from opsapp.monitoring.probes.transfers import Reply
from opsapp.wire.jsonpath import PathMissing, read_path, same_value, shown


def probe(prober, target: ProbeTarget) -> Outcome:
    return http.measure(prober, target, judge)


def judge(target: ProbeTarget, reply: Reply) -> str:
    if reply.cut:
        return f"the JSON body is larger than {len(reply.body) // 1024} KiB"
    try:
        found = read_path(json.loads(reply.body), target.json_path)
    except (ValueError, RecursionError):
        return "the body is not JSON"
    except PathMissing as missing:
        return str(missing)
    if not same_value(found, target.expected_value):
        return f"{target.json_path} is {shown(found)}, expected {shown(target.expected_value)}"
    return ""
