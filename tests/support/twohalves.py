"""An estate of two halves: one that a team sees, made first, and all of `estate.fill`, which it must not hear of.

`Walk` asks everything that the API document and the table of pages have, as one caller, and keeps what was answered.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from opsapp.approvals import resources as approvals
from opsapp.approvals.records import NewRequest
from opsapp.auth import resources as auth
from opsapp.runtime import serieswork
from opsapp.tree.rights import RIGHTS
from opsapp.ui.plan import PAGES
from opsapp.web import openapi
from opsapp.web.sse import CONTENT_TYPE
from tests.support import estate
from tests.support.hosts import place
from tests.support.monitoring import DOWN, UP, Lookout

TEAM_TAG, OTHER_TAG = "northern", "southern-tag"
NAMING = ("id", "name", "label", "hostname", "ip", "url", "target", "monitor_name", "subject", "slug", "tag", "tags",
          "push_url", "title", "key", "summary")  # fmt: skip
UNKNOWN = "0" * 16
SEARCHED = ("zulu", "Shop", "box-1", OTHER_TAG, "memory", "frost")
HELD = re.compile(r"{(\w+)}")


WINDOW = {"name": "Northern works", "start": "2055-01-15T00:00:00", "end": "2055-01-16T00:00:00"}


class Half(NamedTuple):
    """What the team sees."""

    up: str
    down: str
    host: str
    incident: str
    window: str
    request: str
    case: str
    deployment: str
    schedule: str
    policy: str
    automation: str
    run: str


def own_half(ward: Any, lookout: Lookout) -> Half:
    service = ward.service
    up, down = (
        lookout.add(name=name, url=f"http://{name}.example/", retries=0, tags=[TEAM_TAG])
        for name in ("polaris", "vega")
    )
    lookout.sees |= {up: UP, down: DOWN}
    lookout.run(120, step=10)
    agent = service.ada.post_json("/api/agents", {"label": "frost-1", "tags": [TEAM_TAG]}).json
    report = {"hostname": "frost-1", "os": "Debian 12", "cpu_percent": 5, "disks": {"/": 71.5}}
    path = f"/api/agents/{agent['agent_id']}"
    service.anonymous.post_json(f"{path}/report", report, headers={"X-Agent-Key": agent["key"]})
    service.otto.post_json(f"{path}/commands", {"type": "shell", "params": {"command": "true"}})
    serieswork.flush(service.node)
    incident = service.ada.get(f"/api/monitoring/incidents?monitor_id={down}").json[0]["id"]
    service.transact(estate.add_rule, service.clock.now())  # it holds everywhere
    rule(service, "own-rule", "frost-1", f"tag:{TEAM_TAG}")
    heal(ward, "frost-1", agent["agent_id"])
    request = service.ada.get("/api/approvals").json[0]
    asked = request["request_id"], request["case_id"]
    window = service.otto.post_json("/api/maintenance", WINDOW | {"scope": [down, agent["agent_id"]]}).json["id"]
    service.otto.post_json("/api/maintenance", WINDOW | {"name": "All of it", "recurring": "0 3 * * 0"})
    here, ward.hosts.here = ward.hosts.here, [place("frost-1", agent["agent_id"])]
    posted = {"title": "polaris 1.0", "monitors": [f"tag:{TEAM_TAG}"], "hosts": ["frost-1"]}
    deployment = service.otto.post_json("/api/deployments", posted).json["id"]
    service.otto.post_json("/api/deployments", {"title": "new certificates"})
    ward.hosts.here = here
    layer = {"users": ["otto"], "start": "2055-01-11"}
    schedule = {"name": "Northern watch", "zone": "UTC", "layers": [layer]}
    on_call = service.ada.post_json("/api/oncall/schedules", schedule).json["id"]
    calls = {"name": "Northern calls", "steps": [{"schedules": [on_call]}], "tags": [TEAM_TAG]}
    policy = service.ada.post_json("/api/oncall/policies", calls).json["id"]
    acting = acting_on(service, "frost words", agent["agent_id"])
    return Half(up, down, agent["agent_id"], incident, window, *asked, deployment, on_call, policy, *acting)


def rule(service: Any, rule_id: str, *targets: str) -> None:
    service.ada.post_json(
        "/api/healing/rules",
        {
            "id": rule_id,
            "condition": "cpu_percent > 90",
            "action": {"type": "temp_cleanup"},
            "description": f"about {rule_id}",
            "targets": {"agents": list(targets)},
        },
    )


def heal(ward: Any, name: str, agent_id: str) -> None:
    """One that people were told of and that is over, and one that waits for people."""
    ward.hosts.here = [place(name, agent_id), *ward.hosts.here]
    for level in ("notify", "approve"):
        ward.at(level).report(f"agent:{agent_id}", **estate.FAILED).turn().turn(6)
        if level == "notify":
            ward.turn(400).report(f"agent:{agent_id}", service__nginx__state="active").turn().turn(6)


def shared_request(ward: Any, *agent_ids: str) -> str:
    """One about hosts of both halves."""

    def ask(root: Any) -> str:
        plan = {"host": None, "targets": [{"case_id": agent_id, "target": agent_id} for agent_id in agent_ids]}
        asked = approvals.request(
            root,
            NewRequest(
                kind="heal",
                subject="southern outage",
                plan=plan,
                reason="both halves",
                risk="low",
                requested_by="healing",
                expiry_s=36000,
                about={"case_id": agent_ids[0]},
                subjects=[f"agent:{agent_id}" for agent_id in agent_ids],
            ),
            ward.clock.now(),
        )
        return asked.__name__

    return str(ward.service.transact(ask))


def acting_on(service: Any, name: str, agent_id: str) -> tuple[str, str]:
    """The ids of an automation on this host, and of a run of it."""
    params = {"command": "true", "agent_id": agent_id}
    automation = {"name": name, "type": "agent_command", "params": params, "description": f"{name} said"}
    automation_id = service.ada.post_json("/api/automations", automation).json["id"]
    return automation_id, service.ada.post_json(f"/api/automations/{automation_id}/run").json["run_id"]


def other_half(ward: Any) -> None:
    estate.fill(ward)
    service = ward.service
    of_everything_to_its_own(service)
    for kind, body in (
        ("monitoring/endpoints", {"name": "zulu-shop", "type": "http", "url": "http://zulu.example/"}),
        ("agents", {"label": "zulu-host"}),
    ):
        made = service.ada.post_json(f"/api/{kind}", body | {"tags": [OTHER_TAG]}).json
    acting_on(service, "zulu words", made["agent_id"])
    lost = service.ada.post_json("/api/monitoring/endpoints", {"name": "zulu-lost", "type": "push"}).json["id"]
    box = service.ada.get("/api/agents?q=box-1").json[0]["id"]
    frost = service.ada.get("/api/agents?q=frost-1").json[0]["id"]
    shared_request(ward, frost, box)
    rule(service, "zulu-rule", "zulu-host")
    rule(service, "zulu-both", f"tag:{TEAM_TAG}", f"tag:{OTHER_TAG}")
    rule(service, "zulu-none")
    service.ada.delete(f"/api/monitoring/endpoints/{lost}")  # can be put back: it is told of for a minute


def of_everything_to_its_own(service: Any) -> None:
    """What `estate.fill` makes for all, everybody in a team would see: there is one in the first half already. It
    covers this half alone from now on."""
    own = [row["id"] for row in service.ada.get("/api/monitoring/endpoints").json if "public" in row["tags"]]
    windows = [row for row in service.ada.get("/api/maintenance").json if row["name"] == "Patch day"]
    for path in (f"/api/maintenance/{row['id']}" for row in windows):
        service.ada.put_json(path, {"scope": own})
    policies = [row for row in service.ada.get("/api/oncall/policies").json if row["name"] == "Standard"]
    for path in (f"/api/oncall/policies/{row['id']}" for row in policies):
        service.ada.put_json(path, {"tags": ["web"]})


def member(service: Any, name: str = "lena", role: str = "operator", **rights: list[str]) -> Any:
    """A client for a new user who is in a team of their own."""
    service.transact(lambda root: auth.create(root, name, role, "", service.clock.now()).role)
    given = rights or {right: [TEAM_TAG] for right in RIGHTS}
    service.ada.post_json("/api/teams", {"name": f"of {name}", "members": [name], **given})
    return service.client(name)


class Route(NamedTuple):
    method: str
    path: str

    def filled(self, ids: dict[str, str]) -> str:
        return HELD.sub(lambda name: ids.get(name[1], UNKNOWN), self.path)


def routes(service: Any) -> list[Route]:
    """Whatever the API document has, and /metrics; what everybody may ask without a credential is left out, and so are
    streams, which have no end."""
    views = openapi.endpoints(service.app.registry)
    told = [
        view for view in views if view.path.startswith(("/api", "/metrics")) and view.role not in ("public", "agent")
    ]
    return [Route(view.method, view.path) for view in told if view.options.get("returns") != CONTENT_TYPE]


def streams(service: Any) -> list[Route]:
    views = openapi.endpoints(service.app.registry)
    return [Route(view.method, view.path) for view in views if view.options.get("returns") == CONTENT_TYPE]


def known_ids(client: Any, all_routes: list[Route]) -> Iterator[dict[str, str]]:
    """For each thing of each list that an admin sees, what fills in the paths below it."""
    for path in sorted({route.path for route in all_routes}):
        match = re.match(r"(/[^{}]*)/{(\w+)}", path)
        answer = client.get(match[1], expect_errors=True) if match else None
        if answer is None or answer.status_int != 200 or not isinstance(answer.json, list):
            continue
        for row in answer.json:
            own = [row[name] for name in (match[2], "id", "request_id", "username", "slug") if name in row]
            yield from ({match[2]: str(value)} for value in own[:1])
            yield from ({"hostname": row["hostname"]} for _ in own if row.get("hostname"))


def public_gets(service: Any) -> list[Route]:
    """What everybody may ask, tokens aside."""
    views = openapi.endpoints(service.app.registry)
    told = [view for view in views if view.role == "public" and view.method == "GET" and "{" not in view.path]
    forms = ("/login", "/api/auth", "/static")  # the first have tokens of their own; nothing is at the last
    return [Route("GET", view.path) for view in told if not view.path.startswith(forms)]


def queries(service: Any, route: Route) -> Iterator[str]:
    """Each choice of each parameter that has choices, and the past."""
    document = openapi.document(service.app.registry)
    operation = document["paths"].get(route.path, {}).get(route.method.lower(), {})
    for parameter in operation.get("parameters", ()):
        schema = parameter.get("schema", {})
        yield from (f"{parameter['name']}={choice}" for choice in schema.get("enum", ()) if choice is not None)
        if parameter.get("name") == "as_of":
            yield f"as_of={int(service.clock.now())}"


class Answer(NamedTuple):
    status: int
    total: str | None
    text: str


def page_path(path: str, names: dict[str, str]) -> str:
    return HELD.sub(lambda name: names.get(name[1], names.get("any", UNKNOWN)), path)


class Walk:
    """Every GET of every route with these ids, and every page."""

    def __init__(self, service: Any, client: Any, browser: Any):
        self.service, self.client, self.browser = service, client, browser
        self.answers: dict[str, Answer] = {}
        self.asked_otherwise: set[str] = set()

    def ask(self, path: str, *, page: bool = False) -> Answer:
        """Once: many ids lead to one path, where a page is not about their kind of thing."""
        if path in self.answers:
            return self.answers[path]
        asked = (self.browser if page else self.client).get(path, expect_errors=True)
        word = path.partition("?q=")[2]  # a search says again what was searched for
        text = asked.text.replace(word, "") if word else asked.text
        kept = Answer(asked.status_int, asked.headers.get("X-Total-Count"), text)
        self.answers[path] = kept
        return kept

    def all(self, *ids: dict[str, str]) -> Walk:
        for route in routes(self.service):
            held = set(HELD.findall(route.path))
            wanted = [names for names in ids if held & names.keys()] if held else [{}]
            if route.method == "GET":
                for names in wanted:
                    path = route.filled(names)
                    self.ask(path)
                    self.asked_otherwise |= {f"{path}?{query}" for query in queries(self.service, route)}
        for word in SEARCHED:
            self.ask(f"/find?q={word}", page=True)
        for page in PAGES:
            held = set(HELD.findall(page.path))
            for names in ids if held else [{}]:
                self.ask(page_path(page.path, names), page=True)
        return self

    @property
    def text(self) -> str:
        return "\n".join(answer.text for answer in self.answers.values())


def naming_words(value: Any, key: str = "") -> Iterator[str]:
    """The ids, names, tags and addresses in an answer."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from naming_words(inner, name)
    elif isinstance(value, list):
        for inner in value:
            yield from naming_words(inner, key)
    elif isinstance(value, str) and len(value) > 3 and (key in NAMING or key.endswith(("_id", "_ids"))):
        yield value


def json_of(answer: Answer) -> Any:
    try:
        return json.loads(answer.text)
    except ValueError:
        return None
