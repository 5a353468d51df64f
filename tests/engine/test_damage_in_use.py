"""A store in use, with one of each kind of thing, has one object overwritten: the service starts, every step goes on,
and every list and the overview are there. So a damaged object costs nothing but itself, whatever it is."""

import json
import re
import shutil
from pathlib import Path

import pytest
from ZODB.FileStorage import FileStorage
from ZODB.utils import get_pickle_metadata

from tests.engine.healing import Ward
from tests.support.app import Service
from tests.support.damage import overwrite
from tests.support.estate import addresses, fill

DOCUMENT = Path(__file__).parents[2] / "docs" / "openapi.json"
# Things that there are many of. What there is one of (the book of cases, the folder of monitors) is the store itself.
THINGS = [
    "agents.Agent", "agents.AgentState", "commands.Command", "commands.Commands", "approvals.resources.Approval",
    "log.Kept", "log.Log", "keys.ApiKey", "sessions.Session", "users.User", "automations.Automation",
    "automations.Definition", "runs.Run", "secrets.Secret", "cases.Case", "ledger.LedgerEntry",
    "problems.RecurringProblem", "rules.Rule", "rules.TrustState", "resources.HealingWindow", "resources.Window",
    "resources.Incident", "resources.Monitor", "resources.State", "channels.Channel", "events.Batch", "leases.Lease",
    "leases.Pulse", "resources.Schedule", "resources.CallPolicy", "earlier.EarlierDays", "deployments.Deployment",
    "teams.Team", "resources.OwnPage", "scimtokens.ScimToken", "provisioned.ProvisionedUser",
    "provisioned.ProvisionedGroup",
]  # fmt: skip
# What is written into a file is written whole, or the thing that is lacking is named.
WHOLE = {"/api/export", "/api/automations/export"}
MANY = {"log.Log": "/api/audit"}  # a thing that others are kept in
LATER_S = 100 * 86400.0


@pytest.fixture(scope="module")
def estate(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPSAPP_ADMIN_PASSWORD", "first admin password")
        directory = tmp_path_factory.mktemp("estate")
        ward = Ward(directory)
        fill(ward)
        ward.close()
        yield directory


def objects(path):
    """Class -> ids of its objects."""
    storage, found, following = FileStorage(str(path), read_only=True), {}, b""
    while following is not None:
        oid, _, data, following = storage.record_iternext(following or None)
        found.setdefault(".".join(get_pickle_metadata(data)), []).append(oid)
    storage.close()
    return found


def lists():
    paths = json.loads(DOCUMENT.read_text())["paths"]
    left_out = ("{", "stream", "oidc", "/api/docs", "/api/openapi")  # of the last two nothing is in the store
    return sorted(path for path in paths if "get" in paths[path] and not any(word in path for word in left_out))


def start(service):
    node = service.node
    for engine in node.engines:
        engine(node)
    node.leases.step()
    node.events.step()
    node.projections.step()


def failed_steps(service):
    failed = {}
    for name, worker in service.node.supervisor.workers.items():
        for _ in range(2 if name != "executor" else 0):  # that one starts a process
            try:
                worker.step()
            except Exception as problem:
                failed[name] = repr(problem)
    return failed


def answers(service):
    """Path -> its status and how many rows there are."""
    found = {}
    for path in lists():
        answer = service.ada.get(path, expect_errors=True)
        rows = answer.json if answer.content_type == "application/json" else None
        found[path] = (answer.status_int, len(rows) if isinstance(rows, list) else 0)
    for path in ("/", "/approvals", "/automations", "/healing", "/incidents", "/status"):
        answer = service.browser("ada").get(path, expect_errors=True)
        found[f"page {path}"] = (answer.status_int, 0)
    return found


def started(estate, directory):
    """The service on a copy of the estate, whole."""
    shutil.copytree(estate, directory, dirs_exist_ok=True)
    service = Service(directory)
    start(service)
    return service


@pytest.fixture(scope="module")
def sound(estate, tmp_path_factory):
    """What is answered where nothing is damaged."""
    service = started(estate, tmp_path_factory.mktemp("sound"))
    assert failed_steps(service) == {}
    found = answers(service)
    service.clock.advance(LATER_S)
    service.node.leases.step()
    assert failed_steps(service) == {}
    service.close()
    return found


def test_every_kind_of_thing_is_in_the_estate(estate):
    stored = objects(estate / "main.fs")
    assert [thing for thing in THINGS if not any(name.endswith(f".{thing}") for name in stored)] == []


@pytest.mark.parametrize("thing", THINGS)
def test_it_costs_nothing_but_itself(estate, sound, tmp_path, thing):
    shutil.copytree(estate, tmp_path, dirs_exist_ok=True)
    (ids,) = [ids for name, ids in objects(estate / "main.fs").items() if name.endswith(f".{thing}")]
    for oid in {ids[0], ids[-1]}:
        shutil.copy(estate / "main.fs", tmp_path / "main.fs")
        (tmp_path / "main.fs.index").unlink(missing_ok=True)  # of the file that was there before
        overwrite(tmp_path / "main.fs", oid, 0.5)
        service = Service(tmp_path)
        try:
            start(service)
            assert failed_steps(service) == {}
            found = answers(service)
            service.clock.advance(LATER_S)  # what is old expires, ends and is deleted
            service.node.leases.step()
            assert failed_steps(service) == {}
        finally:
            service.close()
        assert {path for path in found if path not in WHOLE and found[path][0] != sound[path][0]} == set()
        fewer = {path for path in found if path not in WHOLE and found[path][1] < sound[path][1] - 1}
        assert fewer <= {MANY.get(thing)}


# A damaged thing, and pages that are about another one.
ELSEWHERE = [
    ("resources.Incident", "/status(/acme)?/history"),
    ("resources.Monitor", r"/incidents/\w+"),
    ("commands.Command", r"/agents/\w+"),
    ("automations.Automation", r"/automations/runs/\w+"),
    ("automations.Definition", r"/automations/runs/\w+"),
    ("agents.Agent", r"/healing/cases/\w+"),
]  # fmt: skip


@pytest.fixture(scope="module")
def pages(estate, tmp_path_factory):
    service = started(estate, tmp_path_factory.mktemp("pages"))
    yield addresses(service)
    service.close()


@pytest.mark.parametrize(("thing", "about"), ELSEWHERE)
def test_pages_of_other_things_are_there(estate, pages, tmp_path, thing, about):
    shutil.copytree(estate, tmp_path, dirs_exist_ok=True)
    (ids,) = [ids for name, ids in objects(estate / "main.fs").items() if name.endswith(f".{thing}")]
    for oid in ids:
        overwrite(tmp_path / "main.fs", oid, 0.5)
    asked = [page for page in pages if re.fullmatch(about, page)]
    assert asked
    service = Service(tmp_path)
    try:
        start(service)
        ada = service.browser("ada")
        answered = {page: ada.get(page, expect_errors=True) for page in asked}
    finally:
        service.close()
    assert {page: answer.status_int for page, answer in answered.items()} == dict.fromkeys(asked, 200)
    if thing.startswith("automations."):  # a part of it that cannot be read is named, not passed over
        assert all("cannot be read: its object in the store is damaged" in page.text for page in answered.values())
