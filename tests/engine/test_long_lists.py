"""Lists that grow with the years: a page of the newest loads what it shows, and the number of all is right."""

import random
import secrets

import pytest

from opsapp.approvals.resources import count_approvals
from opsapp.automations.engine import records
from opsapp.automations.resources import automations_of, runs_of
from opsapp.automations.resources.runs import count_runs, index_runs
from opsapp.monitoring.evolve import count_incidents
from opsapp.monitoring.queries import IncidentQuery
from opsapp.monitoring.resources import incidents_of, monitors_of
from opsapp.notify.resources.deliveries import count_deliveries, deliveries_of
from opsapp.oncall.records import EscalationRecord
from opsapp.oncall.resources import count_escalations, oncall_of
from tests.bench import years_store
from tests.engine.test_bounded_purges import reading
from tests.support.monitoring import UP, Lookout

MANY, PAGE = 3000, 50
RUNNING = 60  # escalations that are not over
NODES = {"runs": 200}  # of trees, for a page of fifty: those of runs are sixteen for each way to end


@pytest.fixture
def used(service, monkeypatch):
    """3,000 incidents, approvals, deliveries and runs of one monitor, channel and automation.

    With the same ids each time: by chance a page of runs touches more or fewer nodes of the trees.
    """
    chance = random.Random(1)
    monkeypatch.setattr(secrets, "randbits", chance.getrandbits)
    monkeypatch.setattr(secrets, "token_hex", lambda length: chance.randbytes(length).hex())
    lookout = Lookout(service)
    lookout.sees[lookout.add(name="Shop")] = UP
    service.ada.post_json("/api/notifications/channels", {"name": "mail", "url": "json://127.0.0.1:9/x"}, status=201)
    call = {"name": "Call", "type": "webhook", "params": {"url": "http://127.0.0.1:9/"}}
    service.ada.post_json("/api/automations", call, status=201)
    for add in (years_store.add_incidents, years_store.add_approvals, years_store.add_deliveries, years_store.add_runs):
        service.transact(lambda root, add=add: add(root, 0, MANY, MANY, service.clock.now()))
    service.transact(add_escalations, service.clock.now())
    return service


def add_escalations(root, now):
    escalations = oncall_of(root).escalations
    for number, incident_id in enumerate(list(incidents_of(root))):
        name, status = f"{incident_id}-1", "running" if number >= MANY - RUNNING else "over"
        record = EscalationRecord(name, incident_id, "p", "Standard", "Shop is down", None, int(now))
        escalations.begin(record, now + 3600)
        if status == "over":
            escalations.end(escalations[name], status, "The incident is over.", now)


def asked(kind, root, **query):
    """(ids of a page, how many there are)"""
    return {
        "incidents": lambda: incidents_of(root).page(IncidentQuery(limit=PAGE, **query)),
        "approvals": lambda: root["api"]["approvals"].page(
            query.get("status", "all"), query.get("order", "newest"), PAGE, query.get("offset", 0)
        ),
        "deliveries": lambda: deliveries_of(root).page(
            query.get("status"), query.get("channel_id"), PAGE, query.get("offset", 0)
        ),
        "runs": lambda: records.page(
            root,
            automations_of(root).get(query.get("automation_id", "")),
            query.get("status"),
            PAGE,
            query.get("offset", 0),
        ),
        "escalations": lambda: oncall_of(root).escalations.page(
            query.get("status", "all"), PAGE, query.get("offset", 0)
        ),
    }[kind]()


def only(root, kind):
    """The one monitor, channel, automation."""
    folders = {
        "monitor_id": lambda: [monitor.id for monitor in monitors_of(root).values()],
        "channel_id": lambda: list(root["api"]["notifications"]["channels"]),
        "automation_id": lambda: list(automations_of(root)),
    }
    return folders[kind]()[0]


LISTS = [
    ("incidents", {}, MANY),
    ("incidents", {"status": "resolved"}, MANY - years_store.OPEN),
    ("incidents", {"monitor_id": None}, MANY),
    ("approvals", {}, MANY),
    ("approvals", {"status": "approved"}, (MANY - years_store.PENDING) // 2),
    ("approvals", {"status": "decided"}, MANY - years_store.PENDING),
    ("approvals", {"order": "oldest"}, MANY),
    ("deliveries", {}, MANY),
    ("deliveries", {"status": "sent"}, MANY * 9 // 10),
    ("deliveries", {"channel_id": None}, MANY),
    ("runs", {}, MANY),
    ("runs", {"status": "done"}, MANY - MANY // 7 - 1),
    ("runs", {"automation_id": None}, MANY),
    ("runs", {"automation_id": None, "status": "failed"}, MANY // 7 + 1),
    ("escalations", {}, MANY),
    ("escalations", {"status": "over"}, MANY - RUNNING),
    ("escalations", {"status": "running"}, RUNNING),
]


def known(root, query):
    return {name: only(root, name) if value is None else value for name, value in query.items()}


def test_a_page_loads_what_it_shows(used):
    """The total of 20,000 deliveries loaded 3,412 objects."""
    for kind, query, total in LISTS:
        (page, count), loaded = reading(
            used, lambda root, kind=kind, query=query: asked(kind, root, **known(root, query))
        )
        nodes = [name for name in loaded if name.endswith(("Bucket", "Set", "BTree", "TreeSet"))]
        assert (len(page), count) == (PAGE, total)
        assert len(nodes) <= NODES.get(kind, 30), f"{kind} {query}: {len(nodes)} of {len(loaded)}"


def test_its_pages_hold_each_row_once(used):
    def walk(root, kind, query):
        kept, rows = known(root, query), []
        while True:
            page, count = asked(kind, root, **kept, offset=len(rows))
            rows += [row.run_id if kind == "runs" else getattr(row, "__name__", row) for row in page]
            if len(page) < PAGE:
                return rows, count

    for kind, query, total in LISTS:
        rows, count = used.transact(walk, kind, query)
        assert len(rows) == len(set(rows)) == count == total
        assert kind == "approvals" or rows == sorted(rows, reverse=True)


def test_an_older_store_is_counted(used):
    def lost(root):
        for listed in (incidents_of(root), root["api"]["approvals"], deliveries_of(root), runs_of(root)):
            del listed.counts
        del runs_of(root).ended_of, oncall_of(root).escalations.counts, oncall_of(root).escalations.by_status

    used.transact(lost)
    for count in (count_incidents, count_approvals, count_deliveries, count_runs, index_runs, count_escalations):
        used.transact(count)
    for kind, query, total in LISTS:
        assert used.transact(lambda root, kind=kind, query=query: asked(kind, root, **known(root, query))[1]) == total


def test_what_is_deleted_is_not_counted(used):
    later = used.clock.now() + 3650 * 86400
    while used.transact(lambda root: deliveries_of(root).purge(later) or root["api"]["approvals"].purge(later)):
        pass
    first = ""
    while first is not None:
        first = used.transact(lambda root, first=first: incidents_of(root).forget(later, first, 500))
    while used.transact(lambda root: oncall_of(root).escalations.forget(later, 500)):
        pass
    ended = used.transact(lambda root: [name for ids in runs_of(root).ended.values() for name in list(ids.keys())])
    used.transact(lambda root: [runs_of(root).__delitem__(name) for name in ended])
    counts = [used.transact(lambda root, row=row: asked(row[0], root, **known(root, row[1]))[1]) for row in LISTS]
    assert counts == [20, 0, 20, 20, 0, 0, 20, 0, 0, 0, 0, 0, 0, 0, RUNNING, 0, RUNNING]
