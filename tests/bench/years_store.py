"""A store that has been in use for three years: 20,000 each of ledger entries, incidents, approvals, deliveries and
audit entries, 5,000 runs, 2,000 monitors, 1,000 hosts. Made by the product's own classes, without telling anybody:
what event streams and channels would have heard then is no part of what is stored. Must not: measure (`years`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from opsapp.approvals.records import NewRequest
from opsapp.approvals.resources import KEEP_S as APPROVALS_KEPT_S
from opsapp.approvals.resources import Approval
from opsapp.automations.resources import Run, automations_of, runs_of, standing_of
from opsapp.healing.engine.default_rules import declare
from opsapp.healing.resources import healing_of
from opsapp.healing.stages.case import About, ClosedCase, PlanningCase
from opsapp.monitoring.resources import incidents_of, monitors_of
from opsapp.notify.logic.texts import MessageContent
from opsapp.notify.resources.deliveries import deliveries_of
from opsapp.runtime import serieswork
from tests.bench.audit import fill as fill_audit
from tests.bench.pages import add_monitors, report
from tests.engine.healing import Ward
from tests.support import estate
from tests.support.clock import FakeClock
from tests.support.monitoring import UP, Lookout

DAY_S = 86_400.0
YEARS_S = 3 * 365 * DAY_S
COUNT, RUNS, AUTOMATIONS, AGENTS, AT_ONCE = 20_000, 5_000, 10, 1_000, 2_000
PENDING, OPEN, RULES, TARGETS = 20, 20, 100, 1_000
CHECKED_EVERY_S, LOOKED_S = 60, 180
OUTCOMES = ("verified",) * 12 + ("failed", "notified", "notified", "suppressed", "inconclusive", "observed", "absorbed")
ACTIONS = ("restart_service", "clear_cache", "run")
SCRIPT = {"type": "script", "params": {"script": "true"}}


class Made(NamedTuple):
    """What whoever measures has to know: sessions of an admin, all pages, and the ids of one thing of each kind."""

    token: str
    cookie: str
    pages: list[str]
    ids: dict[str, str]
    hosts: list[tuple[str, str, str]]  # (name, id, key)


def make(place: Any, now: float, target: str) -> Made:
    """`target`: an address at which monitors find somebody, whenever the server checks them."""
    ward = Ward(place, clock=FakeClock(now - LOOKED_S - 600))
    service = ward.service
    estate.fill(ward)
    pages, ids = estate.addresses(service), ids_of(service)  # before the rest: what is old may be purged
    ward.configure(default_rules=True)
    service.transact(declare, ward.node.config)
    hosts = add_estate(service, target)
    rows = {add_incidents: COUNT, add_entries: COUNT, add_approvals: COUNT, add_deliveries: COUNT, add_runs: RUNS}
    for add, count in rows.items():
        for first in range(0, count, AT_ONCE):
            service.transact(add, first, min(count, first + AT_ONCE), count, service.clock.now())
    service.transact(fill_audit, "years", 0, COUNT)
    made = Made(service.tokens["ada"], cookie_of(service), pages, ids, hosts)
    ward.close()
    return made


def cookie_of(service: Any) -> str:
    return str(next(iter(service.browser("ada").cookies.values())))


def ids_of(service: Any) -> dict[str, str]:
    """By the name of a part of the API's addresses."""
    ids = {name: value for values in estate.ids_of(service).values() for name, value in values.items() if name != "id"}
    by_page = {page: values["id"] for page, values in estate.ids_of(service).items() if "id" in values}
    maintenance = service.ada.get("/api/healing/maintenance").json[0]
    named = {
        "monitor_id": "/monitors",
        "incident_id": "/incidents",
        "agent_id": "/agents",
        "automation_id": "/automations",
        "channel_id": "/notifications/channels",
        "delivery_id": "/notifications/deliveries",
        "problem_id": "/healing/problems",
        "maintenance_id": "/maintenance",
    }
    ids |= {name: by_page[page] for name, page in named.items() if page in by_page}
    ids |= {"username": "ada", "hostname": "box-1", "template_id": "memory", "window_id": maintenance["id"]}
    ids["secret_id"] = service.ada.get("/api/secrets").json[0]["id"]
    ids["run_id"] = service.ada.get("/api/automations/runs?limit=1").json[0]["run_id"]
    return ids


def add_estate(service: Any, target: str) -> list[tuple[str, str, str]]:
    body = {"name": "a-first", "type": "tcp", "url": target, "interval": CHECKED_EVERY_S, "retries": 0}
    first = service.otto.post_json("/api/monitoring/endpoints", body).json["id"]
    service.transact(add_monitors, first, service.clock.now(), target)
    names = [f"box-{number:04}" for number in range(AGENTS)]
    hosts = [(name, service.ada.post_json("/api/agents", {"label": name}).json) for name in names]
    lookout = Lookout(service)
    lookout.sees = dict.fromkeys(service.read(lambda root: list(monitors_of(root))), UP)
    lookout.run(LOOKED_S, step=20)
    serieswork.flush(service.node)
    report(service, hosts)
    for number in range(AUTOMATIONS):
        service.ada.post_json("/api/automations", {"name": f"tidy {number}", **SCRIPT})
    return [(name, host["agent_id"], host["key"]) for name, host in hosts]


def spread(first: int, last: int, count: int, now: float, over_s: float = YEARS_S) -> Iterator[tuple[int, float]]:
    """(number, its time), evenly from that long ago until now."""
    for number in range(first, last):
        yield number, now - over_s * (count - number) / count


def add_incidents(root: Any, first: int, last: int, count: int, now: float) -> None:
    incidents, monitors = incidents_of(root), list(monitors_of(root).values())
    for number, at in spread(first, last, count, now):
        monitor = monitors[number % len(monitors)]
        before = monitor.state.incident_id
        incident = incidents.start(monitor, "connection refused", at)
        incident.acknowledge(("ada", "otto")[number % 2], "I am on it.", at + 60)
        monitor.state.incident_id = before
        if number < count - OPEN:
            incidents.end(incident.id, at + 600)


def add_entries(root: Any, first: int, last: int, count: int, now: float) -> None:
    book = healing_of(root)["ledger"]
    untold(book, "tell", lambda: entries(root, book, spread(first, last, count, now)))


def untold(owner: Any, name: str, act: Callable[[], None]) -> None:
    setattr(owner, name, lambda *_: None)
    try:
        act()
    finally:
        delattr(owner, name)


def entries(root: Any, book: Any, numbers: Iterator[tuple[int, float]]) -> None:
    cases = healing_of(root).book
    for number, at in numbers:
        rule_id, outcome = f"r{number % RULES}", OUTCOMES[number % len(OUTCOMES)]
        about = About("alert", f"cpu_percent > {number % 50}", f"h{number % TARGETS}/nginx")
        planned = PlanningCase(about=about, rule_id=rule_id, events={rule_id: 1}, abouts={}, opened_at=at)
        case = cases.open(planned, at)
        fields = {
            "action_type": ACTIONS[number % len(ACTIONS)],
            "executed": True,
            "metrics_before": {"cpu_percent": 99},
        }
        entry = book.begin(root, case.record, rule_id=rule_id, now=at, **fields)
        book.finish(root, entry.id, outcome=outcome, reason="made for a bench", now=at + 60, events=1)
        closed = case.record.becomes(ClosedCase, outcome=outcome, closed_at=at + 60, recovered_at=at + 60)
        cases.close(case, closed, "", 0.0)


def add_approvals(root: Any, first: int, last: int, count: int, now: float) -> None:
    folder = root["api"]["approvals"]
    for number, at in spread(first, last, count, now, APPROVALS_KEPT_S - DAY_S):
        waits = number >= count - PENDING
        plan = {"action": "restart_service", "params": {"service": "nginx"}, "target": f"h{number % TARGETS}"}
        wanted = NewRequest(
            "heal",
            f"r{number % RULES} on h{number % TARGETS}",
            plan,
            reason="its level asks for it",
            risk="low",
            requested_by="opsapp",
            expiry_s=now + DAY_S - at if waits else 3600,
            about={"case_id": "made", "ledger_id": number + 1},
        )
        approval = Approval(wanted, at)
        folder.add(approval, wanted)
        if not waits:
            status = ("approved", "approved", "rejected", "expired")[number % 4]
            folder.decide(approval, status, at + 60)
            approval.status, approval.decided_by, approval.decided_at = status, "ada", at + 60


def add_deliveries(root: Any, first: int, last: int, count: int, now: float) -> None:
    log, channels = deliveries_of(root), list(root["api"]["notifications"]["channels"].values())
    for number, at in spread(first, last, count, now):
        about = (f"monitor:{number % 500}", "monitor.down", "critical", f"Part {number % 500} is down", "It is.")
        message = log.add_message(MessageContent(*about, first_at=at, last_at=at), at)
        delivery = log.enqueue(channels[number % len(channels)], [message], at, at, None)
        log.end(delivery, "failed" if number % 10 == 0 else "sent", at + 5)


def add_runs(root: Any, first: int, last: int, count: int, now: float) -> None:
    automations = list(automations_of(root).values())
    for number, at in spread(first, last, count, now):
        automation = automations[number % len(automations)]
        definition, state = automation.definition, standing_of(root, automation.id)
        run = Run(automation.id, definition, definition.record.outline, by="otto", origin="manual", now=at)
        runs_of(root).add(run, at, state.history.last)
        state.history.add(run.id)
        run.write("nothing to do\n", at)
        run.status = "failed" if number % 7 == 0 else "done"
        run.started, run.finished, run.exit_code = at, at + 2, int(number % 7 == 0)
        runs_of(root).end(run, run.status)
