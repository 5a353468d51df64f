"""Every page and every GET call after three years of use, as an admin asks: processor of the server, others' waits.

A real server on the store that `years_store` makes. What is asked for comes from the menu's pages, their filters, and
the API document: a new page or call is among it. The first answer is named apart; `wait` is how long the longest of
another client's calls of /api/me took meanwhile. Bounds: 60 ms, 100 where an answer is about all 2,000 monitors or
1,000 hosts, none for what reads the whole record by its nature; and 50 ms of waiting. Rows are sorted by cost;
BENCH_ROWS=all prints those under 10 ms too; BENCH_ONLY=TEXT asks only for addresses that contain it. It takes 13
minutes beside other work; a line a minute says how far it has come. Tools of assistants stand as `/api/mcp NAME`.
"""

import http.client
import json
import os
import socket
import sys
import tempfile
import threading
import time
import urllib.parse
from pathlib import Path
from typing import NamedTuple

from opsapp.assistants.logic.tools import READS
from opsapp.auth.cookies import SESSION
from opsapp.ui.plan import PAGES
from tests.bench import Row
from tests.bench.pages import REPORT
from tests.bench.years_store import COUNT, make
from tests.support.app import PASSWORD
from tests.support.process import Serve
from tests.support.waiting import until

SILENT = 20
TIMES, WAITED, CHEAP_MS, DAY_S = 5, 3, 10, 86_400
REST_S, REST_SHARE, AT_MOST_S = 3, 0.1, 120
ONLY, SAID_EVERY_S = os.environ.get("BENCH_ONLY", ""), 60
EVERY_ROW = os.environ.get("BENCH_ROWS") == "all"
BOUND_MS, MANY_BOUND_MS, WAIT_MS = 60, 100, 50
CONFIG = {
    "agents": {"report_interval_s": 3600},  # hosts that have reported once stay online
    "assistants": {"calls_per_minute": 10_000},
    "monitoring": {"allow_networks": ["127.0.0.0/8"]},
    "notifications": {"keep_days": 1200},
    "retention": {"incidents": {"days": 1200}, "runs": {"days": 1200}},
}
# What is about all monitors or all hosts in one answer.
MANY = ("/api/monitoring/endpoints", "/api/monitoring/sla", "/api/monitoring/health-score", "/api/agents",
        "/api/agents/figures", "/api/overview", "/api/healing/dependencies", "/api/healing/readings", "/metrics",
        "/", "/monitors", "/monitors/report", "/api/monitoring/report", "/api/monitoring/report-total",
        "/api/monitoring/report.csv", "/agents", "/dependencies", "/find", "/api/export",
        "/api/healing/forecasts", "/api/healing/trust", "/api/monitoring/status-page", "/settings/as-code")  # fmt: skip
# What reads everything to say whether it is whole, or to carry it away: it may take long, and nobody may wait for it.
WHOLE = ("/api/healing/ledger/verify", "/api/audit/verify", "/api/doctor", "/api/healing/ledger/file",
         "/api/audit/file", "/api/monitoring/incidents/file")  # fmt: skip
UNASKED = (
    "moment",
    "stream",
    "session",
    "authorize",
    "callback",
    "{token}",
    "files",
    "install-script",
)  # in an address
GIVEN = {"q": "0017", "tag": "public", "user": "ada", "owner": "otto", "username": "ada", "action": "login",
         "target": "h77/nginx", "rule_id": "r7", "action_type": "clear_cache", "condition": "cpu_percent > 7",
         "uses": "otto", "within": "24h"}  # fmt: skip
TARGETS = {"/api/audit": "agent-77", "/audit": "agent-77"}
DEEP = COUNT - 60
MCP, TOOLS = "/api/mcp ", {tool.name: tool for tool in READS}
PAGED = {name: {"limit": 100} for name in ("list_incidents", "list_ledger", "list_requests")}


class Cost(NamedTuple):
    """Of one address, in ms."""

    address: str
    first: float
    usual: float
    wait: float
    size_kb: float

    @property
    def path(self):
        return self.address.partition("?")[0]


def measure():
    os.environ.setdefault("OPSAPP_ADMIN_PASSWORD", PASSWORD)
    with tempfile.TemporaryDirectory() as place, Listening() as target:
        data = Path(place) / "data"
        data.mkdir()
        began = time.monotonic()
        made = make(data, time.time(), target.url)
        yield Row("the store: made in", time.monotonic() - began, "s", "under 120")
        yield Row("the store", sum(path.stat().st_size for path in data.glob("*.fs")) / 1e6, "MB")
        with Serve(place, config=CONFIG, data=data) as serve:
            asker = Asker(serve, made)
            report(serve, made.hosts[SILENT:])
            rest(serve, asker)
            yield Row("the server's memory", memory_mb(serve), "MB")
            asked = pages_of(made) + calls_of(asker.json("/api/openapi.json"), made.ids) + [f"{MCP}{n}" for n in TOOLS]
            addresses = [address for address in dict.fromkeys(asked) if ONLY in address]
            costs = [asker.cost(address) for address in told(addresses)]
            yield from rows(costs)
            yield from (Row(f"not asked, it answers {status}: {path}", 0, "") for path, status in asker.refused)
            yield Row("the server's memory afterwards", memory_mb(serve), "MB")


def told(addresses):
    """Each of them; and once a minute, beside the table, how far it has come."""
    began = said = time.monotonic()
    for number, address in enumerate(addresses):
        if time.monotonic() - said > SAID_EVERY_S:
            said = time.monotonic()
            print(f"{number} of {len(addresses)} in {said - began:.0f} s", file=sys.stderr, flush=True)
        yield address


def rows(costs):
    for cost in sorted(costs, key=lambda cost: -cost.usual):
        if cost.usual >= CHEAP_MS or EVERY_ROW:
            what = f"{cost.address} (first {cost.first:.0f}, wait {cost.wait:.0f}, {cost.size_kb:.0f} kB)"
            yield Row(what, cost.usual, "ms", bound_of(cost.path))
    cheap = [cost.usual for cost in costs if cost.usual < CHEAP_MS]
    yield Row(f"the dearest of {len(cheap)} others of {len(costs)}", max(cheap, default=0.0), "ms")
    for cost in sorted(costs, key=lambda cost: -cost.wait):
        if cost.wait > WAIT_MS or EVERY_ROW:
            yield Row(f"wait of another beside {cost.address}", cost.wait, "ms", f"at most {WAIT_MS}")
    yield Row("wait of another, the longest", max(cost.wait for cost in costs), "ms", f"at most {WAIT_MS}")


def bound_of(path):
    if path in WHOLE:
        return "reads all"
    return f"at most {MANY_BOUND_MS if path in MANY else BOUND_MS}"


# -- what is asked for


def pages_of(made):
    """Every page, and the lists of those that have filters with each value of them."""
    asked = list(made.pages)
    for page in PAGES:
        fields = {field.name: field.choices for part in page.parts for field in part.filters}
        if "{" not in page.path:
            asked += [
                f"{page.path}?{urllib.parse.urlencode({name: value})}"
                for name, values in fields.items()
                for value in values_of(page.path, name, values, made.ids)
            ]
            asked += [f"{page.path}?offset={DEEP}"] if fields else []
    return asked


def calls_of(document, ids):
    """Every GET of the document that answers once, each with each of its filters, and far down each list."""
    asked = [f"/api/moment?kind=hosts&id={ids['agent_id']}", f"/api/moment?kind=monitors&id={ids['monitor_id']}"]
    for path, operations in document["paths"].items():
        if "get" not in operations or any(word in path for word in UNASKED):
            continue
        parameters = operations["get"].get("parameters", [])
        filled = fill_in(path, ids)
        query = {each["name"]: each["schema"] for each in parameters if each.get("in") == "query"}
        asked.append(filled)
        pairs = [
            (name, value)
            for name, schema in query.items()
            if name not in ("limit", "offset")
            for value in values_of(path, name, schema.get("enum", ()), ids, schema.get("type"))
        ]
        asked += [f"{filled}?{urllib.parse.urlencode([pair])}" for pair in pairs]
        if "limit" in query:
            asked += [f"{filled}?limit={query['limit'].get('maximum', 1000)}", f"{filled}?limit=50&offset={DEEP}"]
    return asked


def arguments_of(tool, ids):
    if tool == "explain_moment":
        return {"kind": "monitors", "id": ids["monitor_id"]}
    ids = ids | {"request_id": ids.get("approval_id", "none")}
    return {name: ids.get(name, "none") for _, path in TOOLS[tool].parts for name in names_in(path)} | PAGED.get(
        tool, {}
    )


def fill_in(path, ids):
    if path.startswith("/api/maintenance/"):
        ids = ids | {"window_id": ids["maintenance_id"]}
    return path.format_map({**ids, **{name: "none" for name in names_in(path) if name not in ids}})


def names_in(path):
    return [part.partition("}")[0] for part in path.split("{")[1:]]


def values_of(path, name, choices, ids, kind=None):
    """What is asked for by this filter."""
    now = int(time.time())
    known = {**ids, **GIVEN, "since": now - 30 * DAY_S, "until": now - 300 * DAY_S, "as_of": now - 400 * DAY_S,
             "days": 90, "range_h": 24 * 365, "recent": 60, "resolution": 3600}  # fmt: skip
    if name == "target":
        return [TARGETS.get(path, known["target"])]
    values = [value for value in choices if value]
    return values or ([known[name]] if name in known else ["true"] if kind == "boolean" else [])


# -- how it is measured


class Listening:
    """Whom the monitors look at: somebody who takes every connection."""

    def __enter__(self):
        self.link = socket.create_server(("127.0.0.1", 0), backlog=1024)
        threading.Thread(target=self._take, daemon=True).start()
        self.url = f"tcp://127.0.0.1:{self.link.getsockname()[1]}"
        return self

    def _take(self):
        while self.link.fileno() >= 0:
            try:
                self.link.accept()[0].close()
            except OSError:
                return

    def __exit__(self, *_error):
        self.link.close()


class Asker:
    """One client who asks for pages with a cookie and for calls with a token, on one connection."""

    def __init__(self, serve, made):
        self.serve, self.made, self.refused = serve, made, []
        self.link = http.client.HTTPConnection(serve.host, serve.port, timeout=120)

    def ask(self, address):
        """(status, body)"""
        token = {"Authorization": f"Bearer {self.made.token}"}
        if address.startswith(MCP):
            return self.call(address.removeprefix(MCP), token)
        page = {"Cookie": f"{SESSION}={self.made.cookie}"}
        self.link.request("GET", address, headers=token if address.startswith(("/api/", "/metrics")) else page)
        answer = self.link.getresponse()
        return answer.status, answer.read()

    def call(self, tool, token):
        """Of an assistant's tool; what it refuses counts as a mistake of the caller."""
        message = {"name": tool, "arguments": arguments_of(tool, self.made.ids)}
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": message}
        self.link.request("POST", MCP.strip(), json.dumps(body), headers={"Content-Type": "application/json", **token})
        answer = self.link.getresponse()
        text = answer.read()
        is_refused = "error" in (told := json.loads(text)) or told["result"]["isError"]
        return 400 if is_refused else answer.status, text

    def json(self, address):
        return json.loads(self.ask(address)[1])

    def cost(self, address):
        spent = []
        for _ in range(1 + TIMES):
            before = processor_ms(self.serve.child.pid)
            status, body = self.ask(address)
            spent.append(processor_ms(self.serve.child.pid) - before)
        if status >= 400:
            self.refused.append((address, status))
        with Other(self.serve.host, self.serve.port, self.made.token) as other:
            waits = sorted(other.longest_while(lambda: self.ask(address)) for _ in range(WAITED))
        return Cost(address, spent[0], sorted(spent[1:])[TIMES // 2], waits[WAITED // 2], len(body) / 1000)


class Other:
    """Another client, who asks for something cheap again and again."""

    def __init__(self, host, port, token):
        self.link = http.client.HTTPConnection(host, port, timeout=120)
        self.headers = {"Authorization": f"Bearer {token}"}
        self.calls, self.over, self.began = [], False, threading.Event()

    def __enter__(self):
        self.thread = threading.Thread(target=self._ask, daemon=True)
        self.thread.start()
        self.began.wait()
        return self

    def _ask(self):
        while not self.over:
            began = time.monotonic()
            self.link.request("GET", "/api/me", headers=self.headers)
            self.link.getresponse().read()
            self.calls.append((began, time.monotonic()))
            self.began.set()

    def longest_while(self, act):
        began = time.monotonic()
        act()
        ended, known = time.monotonic(), len(self.calls)
        while len(self.calls) <= known:  # the call that was under way at the end
            time.sleep(0.001)
        return 1000 * max(done - asked for asked, done in self.calls if done >= began and asked <= ended)

    def __exit__(self, *_error):
        self.over = True
        self.thread.join()
        self.link.close()


def processor_ms(pid):
    """Of all threads of a process, to the microsecond; of those that have ended nothing is known."""
    total = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        try:
            total += int((task / "schedstat").read_text().split()[0])
        except OSError:
            continue
    return total / 1e6


def report(serve, hosts):
    """The hosts are there, as they are in a service in use."""
    for number, (name, agent_id, key) in enumerate(hosts):
        report = REPORT | {"hostname": name, "cpu_percent": number % 100}
        serve.client(headers={"X-Agent-Key": key}).post(f"/api/agents/{agent_id}/report", report)


def rest(serve, asker):
    """Until every monitor was looked at, and the start and what it sets off is over."""
    until(lambda: asker.json("/api/overview")["monitors"]["unknown"] == 0, AT_MOST_S, every=1, what="a look at all")
    deadline = time.monotonic() + AT_MOST_S
    while time.monotonic() < deadline:
        before = serve.cpu_s()
        time.sleep(REST_S)
        if (serve.cpu_s() - before) / REST_S < REST_SHARE:
            return


def memory_mb(serve):
    status = Path(f"/proc/{serve.child.pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) / 1000
