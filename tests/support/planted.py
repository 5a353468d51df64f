"""Words planted in a service wherever something may stand that not everybody may read, and all that may be asked.

`plant` fills a service; each word names what it stands in. `Walk` asks every GET of the API document, every page,
search, file, feed, event and tool of assistants as one person, and says where each word came up.
"""

from __future__ import annotations

import itertools
import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from opsapp.automations.engine import answers, carrier, flow
from opsapp.automations.engine.programs import AttemptEnd
from opsapp.ui.plan import PAGES
from opsapp.web import eventstream, openapi, sse
from tests.api.test_agents import Polling
from tests.support import estate
from tests.support.assistants import Door
from tests.support.hosts import place
from tests.support.twohalves import HELD, UNKNOWN, public_gets

OWNER = "box:planted"
WORD = re.compile(r"zq-[a-z]+(?:-[a-z]+)*-qz")


def word(name: str) -> str:
    """The word that stands for a place; it is cut by nobody, and found in every kind of text."""
    return f"zq-{name}-qz"


def address(name: str) -> str:
    return f"https://{word(name)}:{word(name)}@example.test/path?k={word(name)}#{word(name)}"


def words_in(text: str) -> set[str]:
    return {whole[3:-3] for whole in WORD.findall(text)}


# -- planting --------------------------------------------------------------------------------------------------------


def plant(ward: Any) -> dict[str, list[str]]:
    """Fill the service; the ids of what was made, by the name that paths have for it."""
    _healing(ward)
    estate.fill(ward)
    service = ward.service
    ids: dict[str, list[str]] = defaultdict(list)
    for name, made in estate.ids_of(service).items():
        for field, value in made.items():
            ids[_held_name(name, field)].append(value)
    _monitors(service, ids)
    box = Polling(service, "planted")
    box.report(hostname="planted", metrics={"queue": 7})
    ids["agent_id"].append(box.id)
    _commands(box, ids)
    _automations(service, box, ids)
    _elsewhere(service, ids)
    return ids


def _held_name(place: str, field: str) -> str:
    return PAGE_IDS[place] if field == "id" else field


MONITORS = (
    {"type": "http", "url": address("monitor-address"), "headers": {"X-Key": word("monitor-header")},
     "method": "POST", "body": word("monitor-body")},
    {"type": "keyword", "url": f"https://app:{word('monitor-password')}@db.test/main", "keyword": "ok"},
    {"type": "snmp", "url": "snmp://switch.test", "snmp_version": "2c", "snmp_community": word("monitor-community"),
     "snmp_oid": "1.3.6.1.2.1.1.3.0"},
)  # fmt: skip


def _monitors(service: Any, ids: dict[str, list[str]]) -> None:
    for number, body in enumerate(MONITORS):
        made = service.ada.post_json("/api/monitoring/endpoints", {"name": f"planted {number}", **body}, status=201)
        ids["monitor_id"].append(made.json["id"])


def _commands(box: Polling, ids: dict[str, list[str]]) -> None:
    """One that ended with output and a reason, and one that reads a log."""
    asked = box.ask(f"echo {word('command-text')}", env={"TOKEN": word("command-env")})
    body = {"type": "logs", "params": {"unit": "nginx.service", "lines": 5}}
    logs = box.service.ada.post_json(f"{box.path}/commands", body).json["command_id"]
    box.report()
    results = [
        {"command_id": row, "status": "failed", "exit_code": 1, "output": word(f"{kind}-output"),
         "reason": word(f"{kind}-reason")}
        for row, kind in ((asked, "command"), (logs, "log"))
    ]  # fmt: skip
    box.report(results=results)
    ids["command_id"] += [asked, logs]


def _automations(service: Any, box: Polling, ids: dict[str, list[str]]) -> None:
    inputs = [{"name": "given", "required": False}]
    own = {"script": f"echo {word('script-text')}", "env": {"TOKEN": word("script-env")}}
    there = {"command": f"echo {word('host-command-text')}", "agent_id": box.id}
    call = {
        "url": address("webhook-address"),
        "headers": {"X-Key": word("webhook-header")},
        "body": word("webhook-body"),
    }
    on_host = {"script": f"echo {word('host-script-text')}", "agent_id": box.id, "env": {"T": word("host-script-env")}}
    kinds = (("own", "script", own), ("there", "agent_command", there), ("call", "webhook", call),
             ("on-host", "script", on_host))  # fmt: skip
    for name, kind, params in kinds:
        body = {"name": f"planted {name}", "type": kind, "params": params, "inputs": inputs, "retries": 0}
        made = service.ada.post_json("/api/automations", body, status=201).json["id"]
        ids["automation_id"].append(made)
        given = {"inputs": {"given": word(f"{name}-input")}}
        ids["run_id"].append(service.ada.post_json(f"/api/automations/{made}/run", given).json["run_id"])
        asks = body | {"name": f"asks {name}", "requires_approval": True}
        asking = service.ada.post_json("/api/automations", asks, status=201).json["id"]
        ids["automation_id"].append(asking)
        asked = service.ada.post_json(f"/api/automations/{asking}/run", given).json["request_id"]
    service.otto.post_json(f"/api/approvals/{asked}/reject", {"comment": word("vote-comment")})
    _end_runs(service, box)


def _end_runs(service: Any, box: Polling) -> None:
    """Those of the service's own machine end with output and a reason, and so do those on the host."""
    for job in service.transact(carrier.take_up, OWNER, frozenset(), 100)[0]:
        name = "call" if "webhook" in type(job.work).__name__.lower() else "own"
        ended = AttemptEnd("failed", 1, word(f"{name}-run-reason"))
        service.transact(
            carrier.finish, job.run_id, OWNER, job.attempt, f"error: {word(f'{name}-run-output')}\n", ended
        )
    service.transact(flow.moment_come, service.clock.now())
    handed = box.report()["commands"]
    results = [
        {"command_id": row["command_id"], "status": "failed", "exit_code": 1,
         "output": f"error: {word('host-run-output')}", "reason": word("host-run-reason")}
        for row in handed
    ]  # fmt: skip
    box.report(results=results)
    service.transact(answers.look, service.clock.now())


HEAL_RULE = {
    "id": "planted",
    "severity": "critical",
    "condition": 'service.squid.state == "failed"',
    "initial_level": "notify",
    "action": {"type": "restart_service"},
    "settle_s": 5,
}
CALL_RULE = {
    "id": "planted-call",
    "condition": "queue > 500",
    "action": {"type": "webhook", "params": {"url": address("action-address"), "body": {"k": word("action-body")}}},
}


def _healing(ward: Any) -> None:
    """A heal whose commands wrote something, and that failed for a reason; and one that waits for people."""
    service = ward.service
    for rule in (HEAL_RULE, CALL_RULE):
        service.ada.post_json("/api/healing/rules", rule, status=201)
    before, ward.hosts.here = ward.hosts.here, [place("squid-1", "a9"), place("squid-2", "a8")]
    failed = {"service__squid__state": "failed"}
    ward.turn(3).at("execute", "planted").report("agent:a9", **failed).turn().turn(5)
    ward.hosts.finish(
        "snapshot", output=word("snapshot-output"), snapshot={"kind": "unit", "state": {"t": word("snapshot-state")}}
    )
    ward.turn(1)
    ward.hosts.finish(
        "execute", "failed", 1, word("heal-reason"), output=f"error: {word('heal-output')}", handler="systemctl"
    )
    ward.turn(1).turn(6)
    ward.at("approve", "planted").report("agent:a8", **failed).turn().turn(5).turn(5)
    ward.turn(1)
    ward.hosts.here = before


def _elsewhere(service: Any, ids: dict[str, list[str]]) -> None:
    channel = {
        "name": "planted",
        "url": f"json://{word('channel-user')}:{word('channel-pass')}@127.0.0.1:9/?+X={word('channel-header')}",
    }
    made = service.ada.post_json("/api/notifications/channels", channel, status=201).json["id"]
    service.ada.post(f"/api/notifications/channels/{made}/test", expect_errors=True)
    ids["channel_id"].append(made)
    secret = service.ada.post_json("/api/secrets", {"name": "planted", "value": word("secret-value")}).json
    ids["secret_id"].append(secret["name"])
    inlet = service.ada.post_json("/api/healing/inlets", {"name": "planted"}).json["url"]
    event = {"id": "p", "status": "firing", "name": "Planted", "target": "nowhere", "summary": word("event-summary"),
             "description": f"see {address('event-link')}"}  # fmt: skip
    service.anonymous.post_json(inlet, event)
    for incident in service.ada.get("/api/monitoring/incidents").json[:1]:
        place = f"/api/monitoring/incidents/{incident['id']}/updates"
        service.ada.post_json(place, {"stage": "investigating", "message": word("incident-update"), "public": False})
    lost = {"name": "planted lost", "type": "push"}
    lost_id = service.ada.post_json("/api/monitoring/endpoints", lost).json["id"]
    service.ada.delete(f"/api/monitoring/endpoints/{lost_id}")
    notice = {"title": "planted", "text": word("notice-text")}
    ids["notice_id"].append(service.ada.post_json("/api/monitoring/notices", notice, status=201).json["id"])
    lists = {"incident_id": "monitoring/incidents", "deployment_id": "deployments",
             "escalation_id": "oncall/escalations", "template_id": "automations/templates"}  # fmt: skip
    for name, path in lists.items():
        ids[name] += [str(row["id"]) for row in service.ada.get(f"/api/{path}").json]
    ids["window_id"] += [str(row["id"]) for row in service.ada.get("/api/healing/maintenance").json]
    ids["run_id"] += [row["run_id"] for row in service.ada.get("/api/automations/runs?limit=1000").json]
    ids["request_id"] += [row["request_id"] for row in service.ada.get("/api/approvals?status=all").json]
    ids["case_id"] += list(
        {row["case_id"] for row in service.ada.get("/api/healing/ledger").json if row.get("case_id")}
    )
    ids["rule_id"].append("planted")
    ids["hostname"] += ["planted", "box-1"]


# -- asking everything -----------------------------------------------------------------------------------------------


def filled(path: str, ids: dict[str, list[str]]) -> Iterator[str]:
    """The path with every id that there is in each of its places."""
    names = HELD.findall(path)
    for values in itertools.product(*(sorted(set(ids.get(name, [UNKNOWN]))) for name in names)):
        by_name = dict(zip(names, values, strict=True))
        yield HELD.sub(lambda name, by_name=by_name: by_name[name[1]], path)


class Walk:
    """Everything that one person may ask. `found`: by word, the places at which it came up; `answered`: those
    of which there was an answer that was no refusal."""

    def __init__(self, service: Any, who: str, ids: dict[str, list[str]]):
        self.service, self.who, self.ids = service, who, ids
        self.found: dict[str, set[str]] = defaultdict(set)
        self.answered: set[str] = set()
        self.client, self.browser = service.client(who), service.browser(who)

    def note(self, place: str, text: str) -> None:
        self.answered.add(place)
        for name in words_in(text):
            self.found[name].add(place)

    def all(self) -> Walk:
        self.routes()
        self.pages()
        self.feeds()
        self.events()
        self.runs()
        self.tools()
        return self

    def _get(self, client: Any, place: str, path: str) -> None:
        answer = client.get(path, expect_errors=True)
        assert answer.status_int < 500, (path, answer.text)
        told = "\n".join(f"{name}: {value}" for name, value in answer.headers.items())
        body = answer.body.decode("utf-8", "replace")
        if answer.status_int == 200:
            self.note(place, told + body)
        else:
            assert not words_in(told + body), (path, body)

    def routes(self) -> None:
        """Every GET, with each of its choices, as text, as JSON and as a file, now and as it was."""
        document = openapi.document(self.service.app.registry)["paths"]
        for view in openapi.endpoints(self.service.app.registry):
            if view.method != "GET" or not view.path.startswith(("/api", "/metrics")) or view.role == "agent":
                continue
            if view.options.get("returns") == sse.CONTENT_TYPE or "{token}" in view.path:
                continue
            parameters = document.get(view.path, {}).get("get", {}).get("parameters", ())
            for path in filled(view.path, self.ids):
                self._get(self.client, f"GET {view.path}", path)
                if view.path == "/api/moment":
                    self._get(self.client, f"GET {view.path}", f"{path}?kind=hosts&id={self.ids['agent_id'][0]}")
                for query in (*_queries(parameters, self.service), *NEEDED.get(view.path, ())):
                    self._get(self.client, f"GET {view.path}", f"{path}?{query}")

    def pages(self) -> None:
        for page in PAGES:
            own = PAGE_IDS.get(page.path.partition("/{")[0])
            ids = {**self.ids, "kind": [KINDS_OF_MOMENT[0]]} | ({"id": self.ids[own]} if own else {})
            for path in filled(page.path, ids):
                self._get(self.browser, f"page {page.path}", path)
        known = [re.compile(HELD.sub("[^/]+", page.path)) for page in PAGES]
        for path in estate.addresses(self.service):
            if any(pattern.fullmatch(path) for pattern in known):
                continue
            self._get(self.browser, f"page {_without_ids(path)}", path)
        for text in ("planted", "zq", "qz", "script-text"):
            self._get(self.browser, "page /find", f"/find?q={text}")

    def feeds(self) -> None:
        """What everybody may ask, and the calendar of a schedule by its own address."""
        for route in public_gets(self.service):
            self._get(self.client, f"GET {route.path}", route.path)
        for schedule in self.ids["schedule_id"]:
            made = self.service.otto.post(f"/api/oncall/schedules/{schedule}/calendar").json
            self._get(self.service.anonymous, "GET /api/oncall/calendars/{token}", _path_of(made["url"]))

    def events(self) -> None:
        """What the event stream of this person has, from the first event that is remembered on."""
        self.service.node.events.step()
        feed = eventstream.feed(self.service.node, "", whole=self.who != "vera")
        feed.open()
        feed.end("read")
        told = b"".join(feed).decode()
        feed.close()
        assert told.count("event: ") > 20
        self.note("stream /api/stream", told)

    def runs(self) -> None:
        """The streams of runs that are over: they have an end."""
        for run_id in sorted(set(self.ids["run_id"])):
            path = f"/api/automations/runs/{run_id}"
            if self.service.ada.get(path).json["finished"] is not None:
                self._get(self.client, "stream /api/automations/runs/{run_id}/stream", f"{path}/stream")

    def tools(self) -> None:
        """Every tool, resource and prompt at the door for assistants, with the key of an assistant of this person."""
        door = Door(self.service, self.who)
        for tool in door.result("tools/list")["tools"]:
            needed = tool["inputSchema"].get("required", [])
            known = [name if name in self.ids else {"id": "monitor_id"}.get(name, name) for name in needed]
            for values in itertools.product(*(sorted(set(self.ids.get(name, ()))) for name in known)):
                given = dict(zip(needed, values, strict=True))
                self.note(f"tool {tool['name']}", str(door.ask("tools/call", name=tool["name"], arguments=given)))
        for listed in door.result("resources/list")["resources"]:
            self.note("resource", str(door.ask("resources/read", uri=listed["uri"])))


PAGE_IDS = {
    "/monitors": "monitor_id", "/incidents": "incident_id", "/agents": "agent_id", "/maintenance": "window_id",
    "/automations": "automation_id", "/oncall/schedules": "schedule_id", "/oncall/policies": "policy_id",
    "/notifications/channels": "channel_id", "/notifications/deliveries": "delivery_id",
    "/healing/problems": "problem_id", "/moment": "agent_id",
}  # fmt: skip
# What has no answer without it.
NEEDED = {
    "/api/healing/wait": ["rule_id=planted"],
    "/api/healing/lift": ["rule_id=planted"],
    "/api/healing/effectiveness": ["action_type=restart_service&condition=service.squid.state"],
}
KINDS_OF_MOMENT = ("hosts", "monitors")


def _without_ids(path: str) -> str:
    return re.sub(r"/[0-9a-f]{12,}", "/{id}", path.partition("?")[0])


def _path_of(url: str) -> str:
    return re.sub(r"^[a-z]+://[^/]+", "", url)


def _queries(parameters: Any, service: Any) -> Iterator[str]:
    """Each choice of each parameter that has choices, the past, and a search for what was planted."""
    for parameter in parameters:
        name, schema = parameter.get("name"), parameter.get("schema", {})  # one by reference is a header
        yield from (f"{name}={choice}" for choice in schema.get("enum", ()) if choice is not None)
        yield from {"as_of": [f"as_of={int(service.clock.now())}"], "q": ["q=planted", "q=zq"]}.get(name, [])
