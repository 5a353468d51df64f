"""Making automations on a real server, running them, and reading what their streams say."""

import http.client
import json
import re
import urllib.parse

from .waiting import until

FINAL = {"done", "failed", "timeout", "cancelled", "rejected", "lost"}


HARMLESS = {"script": {"script": "true"}, "agent_command": {"command": "true"}, "webhook": {"url": "http://127.0.0.1/"}}


def make(serve, kind, params, **more):
    body = {"name": more.pop("name", f"a {kind}"), "type": kind, "params": params, **more}
    used = set(re.findall(r"{{ *secret:([^} ]+)", str(params)))
    if not used:
        return serve.admin.post("/api/automations", body)["id"]
    targets = {name: params[name] for name in ("agent_id", "hostname", "tag") if name in params}
    made = serve.admin.post("/api/automations", body | {"params": HARMLESS[kind] | targets})["id"]
    for name in used:
        serve.admin.post(f"/api/secrets/{name}/allow", {"automation_id": made})
    serve.admin.call("PUT", f"/api/automations/{made}", {"params": params})
    return made


def script(serve, text, **more):
    return make(serve, "script", {"script": text}, **more)


def run(serve, automation, inputs=None):
    return serve.admin.post(f"/api/automations/{automation}/run", inputs)["run_id"]


def cancel(serve, run_id):
    return serve.admin.post(f"/api/automations/runs/{run_id}/cancel")


def record(serve, run_id):
    return serve.admin.get(f"/api/automations/runs/{run_id}")


def ended(serve, run_id, timeout=20):
    def final():
        run = record(serve, run_id)
        return run if run["status"] in FINAL else None

    return until(final, timeout, what=f"the end of run {run_id}")


def events(serve, run_id, after=None, timeout=30):
    """The events of a run's stream, until it ends."""
    parts = urllib.parse.urlsplit(serve.url)
    link = http.client.HTTPConnection(parts.hostname, parts.port, timeout=timeout)
    headers = {"Authorization": f"Bearer {serve.admin.token}"} | ({"Last-Event-ID": after} if after else {})
    try:
        link.request("GET", f"/api/automations/runs/{run_id}/stream", headers=headers)
        answer = link.getresponse()
        assert answer.status == 200, answer.read()
        yield from _parsed(answer)
    finally:
        link.close()


def _parsed(answer):
    event = {}
    for raw in answer:
        line = raw.decode().rstrip("\n")
        if line.startswith((":", "retry:")):
            continue
        name, _, value = line.partition(": ")
        if name:
            event[name] = json.loads(value) if name == "data" else value
        elif event:
            yield event
            event = {}
