"""What is hidden of addresses is sealed in the store: no file that the service writes holds a letter of it."""

import time
from contextlib import contextmanager

import pytest
from persistent import Persistent

from opsapp.agents.resources import agents_of
from opsapp.automations.engine import carrier
from opsapp.healing.resources import healing_of
from opsapp.lib.problems import Unavailable
from opsapp.notify.engine import damage, routes
from opsapp.runtime.secrets import sealedstore, seals
from opsapp.runtime.secrets.sealedfields import CLASSES, SEALED, SealedFields, SealedParts
from opsapp.runtime.secrets.seals import Seal
from opsapp.runtime.store import backup, inspection, pack
from opsapp.wire.probes import Outcome
from tests.support.app import Service
from tests.support.monitoring import UP, Lookout
from tests.support.waiting import until

MARK = "zq7hidden"
URL = f"https://{MARK}u:{MARK}p@example.test:8443/path?k={MARK}q#{MARK}f"
HEADERS = {"X-Plain": f"{MARK}h"}
BODY = {"text": f"{MARK}b", "rows": [f"{MARK}r", 1]}
DSN = f"postgres://app:{MARK}@db.test/main?sslpassword={MARK}"
KEYWORDS = f"host=db.test user=app password={MARK}"
HOOK = {"url": URL, "headers": HEADERS, "body": BODY, "method": "POST"}
ENV = {"DSN": DSN, "LINE": KEYWORDS, "API_TOKEN": MARK}
RULE = {"id": "nginx", "condition": 'service.nginx.state == "failed"', "severity": "critical",
        "action": {"type": "webhook", "params": {"url": URL, "body": BODY, "method": "POST"}}}  # fmt: skip
MONITORS = [
    {"type": "http", "url": URL, "headers": HEADERS},
    {"type": "keyword", "url": URL, "headers": HEADERS, "keyword": f"see {URL}"},
    {"type": "json", "url": URL, "json_path": "$.a", "expected_value": URL},
    {
        "type": "snmp",
        "url": "snmp://switch.test",
        "snmp_oid": "1.3.6.1.2.1.1.3.0",
        "snmp_version": "3",
        "snmp_user": "u",
        "snmp_auth": "sha",
        "snmp_auth_password": f"{MARK}authentic",
        "snmp_community": f"{MARK}c",
        "snmp_privacy": "aes",
        "snmp_privacy_password": f"{MARK}private",
    },
]
AUTOMATIONS = [
    {"type": "webhook", "params": HOOK},
    {"type": "script", "params": {"script": f"pg_dump '{DSN}'", "env": ENV}},
    {"type": "agent_command", "params": {"command": f"curl '{URL}'", "tag": "nobody"}},
    {"type": "notification", "params": {"title": f"see {URL}", "message": f"by {DSN}"}},
]


def fill(ward):
    """The mark through every door of the API that takes an address, and in whatever follows from it."""
    ids, service = {}, ward.service
    otto, ada = service.otto, service.ada
    for each in MONITORS:
        ids[f"monitor {each['type']}"] = otto.post_json(
            "/api/monitoring/endpoints", {"name": each["type"], **each}, status=201
        ).json["id"]
    for each in AUTOMATIONS:
        for asked in (False, True):
            body = {"name": f"{each['type']} {asked}", "requires_approval": asked, **each}
            made = otto.post_json("/api/automations", body, status=201).json["id"]
            ids[f"automation {each['type']} {asked}"] = made
            otto.put_json(f"/api/automations/{made}", {"params": each["params"], "timeout": 99})
            otto.post(f"/api/automations/{made}/run", headers={"Idempotency-Key": made})
    taking = {"name": "takes", "type": "script", "params": {"script": "true"},
              "inputs": [{"name": "address", "required": False}]}  # fmt: skip
    ids["taking"] = otto.post_json("/api/automations", taking, status=201).json["id"]
    otto.post_json(f"/api/automations/{ids['taking']}/run", {"inputs": {"address": URL}})
    otto.post_json("/api/automations/import", [{"name": "brought", **AUTOMATIONS[0]}])
    agent_id = ids["agent"] = ada.post_json("/api/agents", {"label": "web-1"}, status=201).json["agent_id"]
    shell = {"type": "shell", "params": {"command": f"curl '{URL}'"}}
    ids["command"] = otto.post_json(f"/api/agents/{agent_id}/commands", shell, status="2*").json["command_id"]
    ada.post_json("/api/healing/rules", RULE | {"id": "call"}, status=201)
    channel = {"name": "chat", "url": f"json://{MARK}:{MARK}@chat.test/?+X={MARK}"}
    ada.post_json("/api/notifications/channels", channel, status=201)
    document = {
        "monitors": [{"name": "written", **MONITORS[0]}],
        "automations": [{"name": "written", **AUTOMATIONS[0]}],
        "rules": [RULE | {"id": "written"}],
    }
    ada.post_json("/api/apply", {"document": document})
    return ids


def follow_up(here):
    """What comes of it: a monitor that goes down, people who are told, runs and a heal that are approved."""
    lookout = Lookout(here.service)
    lookout.sees |= {each["id"]: UP for each in here.service.vera.get("/api/monitoring/endpoints").json}
    lookout.run(61)
    lookout.sees[here.ids["monitor keyword"]] = Outcome(False, None, f"the text 'see {URL}' is missing")
    lookout.run(120)
    assert len(here.service.vera.get("/api/monitoring/incidents").json) == 1
    here.node.leases.want("notify")
    here.node.leases.step()
    routes.step(here.node)
    for approval in here.service.ada.get("/api/approvals?status=pending").json:
        here.service.ada.post_json(f"/api/approvals/{approval['request_id']}/approve", {})
    here.report(service__nginx__state="failed").turn().turn(5)
    assert here.node.transact(lambda root: len(healing_of(root).deeds.rows)) == 1


def marked(directory):
    """The files below it that hold the mark in some form."""
    return sorted(path.name for path in directory.rglob("*") if path.is_file() and MARK.encode() in path.read_bytes())


@pytest.fixture
def full(ward, tmp_path):
    """A service in whose store the mark is wherever it can be: at rules that ask and that act, in runs that wait."""
    here = ward(RULE)
    here.ids = fill(here)
    here.at("approve").report(service__nginx__state="failed").turn().turn(5)
    assert [case["state"] for case in here.cases] == ["awaiting_approval"]
    follow_up(here)
    return here


def test_no_file_holds_what_is_hidden(full, tmp_path):
    files = [tmp_path / "history.fs", tmp_path / "main.fs"]
    copies = backup.save(files, tmp_path / "copies")
    assert len(copies) == 2
    full.close()
    assert (tmp_path / "main.fs").stat().st_size > 100_000
    assert marked(tmp_path) == []


def plain_store(here, directory, monkeypatch):
    """The store as a version wrote it that sealed nothing of this."""
    monkeypatch.setattr(SealedFields, "__getstate__", Persistent.__getstate__)
    for oid in sealedstore._of_class(here.node.store.db.storage, tuple(CLASSES)):
        here.node.transact(lambda root, oid: setattr(root._p_jar.get(oid), "_p_changed", True), oid)
    here.node.transact(lambda root: root.system.__setitem__(sealedstore.DONE, ()))
    monkeypatch.undo()


def shown(service, ids):
    """What an operator is shown of everything that was filled in."""
    get = service.ada.get
    answers = {name: get(f"/api/monitoring/endpoints/{each}").json["url"]
               for name, each in ids.items() if name.startswith("monitor")}  # fmt: skip
    answers |= {name: get(f"/api/automations/{each}").json["params"]
                for name, each in ids.items() if name.startswith("automation")}  # fmt: skip
    answers["rule"] = get("/api/healing/rules/call").json["action"]
    answers["command"] = get(f"/api/agents/{ids['agent']}/commands/{ids['command']}").json["params"]
    answers["ledger"] = sorted(each["action_params"] for each in get("/api/healing/ledger").json)
    answers["approvals"] = {each["request_id"]: each["plan"] for each in get("/api/approvals?status=all").json}
    answers["causes"] = [each["cause"] for each in get("/api/monitoring/incidents").json]
    answers["chain"] = get("/api/healing/ledger/verify").json["valid"]
    return answers


@contextmanager
def opened(directory, clock):
    service = Service(directory, clock=clock)
    try:
        yield service
    finally:
        service.close()


LISTS = (
    "/api/monitoring/endpoints", "/api/monitoring/incidents", "/api/automations", "/api/automations/runs",
    "/api/healing/rules", "/api/healing/ledger", "/api/approvals?status=all", "/api/agents/{agent}/commands",
    "/api/notifications/channels", "/api/notifications/deliveries", "/", "/monitors",
)  # fmt: skip


def test_a_node_with_another_key_shows_lists_and_does_nothing_with_what_it_cannot_open(full, tmp_path):
    before = shown(full.service, full.ids)
    full.close()
    key = (tmp_path / "secret.key").read_text()
    (tmp_path / "secret.key").write_text("0" * 64 + "\n")
    with opened(tmp_path, full.clock) as service:
        said = {path: service.ada.get(path.format(**full.ids)).text for path in LISTS}
        assert [path for path, text in said.items() if MARK in text] == []
        monitors = service.vera.get("/api/monitoring/endpoints").json
        assert {each["name"] for each in monitors} == {"http", "keyword", "json", "snmp", "written"}
        assert {(each["status"], "master key" in each["unreadable"]) for each in monitors} == {("unknown", True)}
        lookout = Lookout(service)
        lookout.run(61)
        assert lookout.checked == []
        reasons = service.ada.get("/api/healing/health").json["reasons"]
        assert any("monitor http" in each and "does not have the master key" in each for each in reasons)
        assert not any("damaged" in each for each in reasons)
        for path, _ in DETAILS:
            assert service.ada.get(path.format(**full.ids), status=503).json["code"] == "no_master_key"
        _refuses_changes(service, full.ids)
        damage.step(service.node)
        found = inspection.unopened(tmp_path / "main.fs", Seal(["0" * 64]))
        assert any(f"Monitor {full.ids['monitor http']}" in each for each in found)
        assert inspection.damaged(tmp_path / "main.fs") == []
        (tmp_path / "secret.key").write_text(key)  # put back while it runs
        until(lambda: not _unreadable(service, "/api/healing/rules"), what="the key")
        assert not _unreadable(service, "/api/automations")
        service.clock.advance(61)
        assert not _unreadable(service, "/api/monitoring/endpoints")
        assert shown(service, full.ids) == before
    (tmp_path / "secret.key").write_text(key)
    with opened(tmp_path, full.clock) as service:
        assert shown(service, full.ids) == before
        assert inspection.unopened(tmp_path / "main.fs", Seal(key.split())) == []


def _unreadable(service, path):
    return [each for each in service.ada.get(path).json if "unreadable" in each]


DETAILS = (
    ("/api/monitoring/endpoints/{monitor http}", {"enabled": False}),
    ("/api/automations/{automation webhook False}", {"enabled": False}),
    ("/api/healing/rules/call", {"enabled": False}),
)


def _refuses_changes(service, ids):
    """Nothing is lost of what is sealed: what is shown does not replace it, and nothing new is stored plainly."""
    for path, body in DETAILS:
        assert service.ada.put_json(path.format(**ids), body, status=503).json["code"] == "no_master_key"
    new = {"name": "new", **MONITORS[0]}
    assert service.otto.post_json("/api/monitoring/endpoints", new, status=503).json["code"] == "no_master_key"
    run = service.otto.post(f"/api/automations/{ids['taking']}/run").json["run_id"]
    assert service.otto.get(f"/api/automations/runs/{run}").json["status"] in ("queued", "running")


def test_a_run_that_cannot_be_opened_fails_and_nothing_is_executed(full, tmp_path):
    full.close()
    (tmp_path / "secret.key").write_text("0" * 64 + "\n")
    with opened(tmp_path, full.clock) as service:
        jobs, _ = service.transact(carrier.take_up, "box:1", frozenset(), 100)
        assert MARK not in str(jobs)
        assert "***" not in str(jobs)
        runs = service.ada.get("/api/automations/runs?status=failed").json
        assert len(runs) > 3
        assert {each["reason"] for each in runs if each["reason"]} == {
            "This node does not have the master key that secrets are sealed with: see OPSAPP_SECRET_FILE."
        }
        assert service.transact(lambda root: healing_of(root).deeds.begin(1, 8)) == []
        queue = service.transact(lambda root: agents_of(root)[full.ids["agent"]].commands.offer("s", 0.0, again=True))
        assert queue == ([], [])


def test_with_a_new_key_all_is_there_and_the_old_one_opens_nothing(full, tmp_path):
    before, old = shown(full.service, full.ids), (tmp_path / "secret.key").read_text()
    at = int(time.time())
    until(lambda: time.time() >= at + 1, what="the next second, for what was before")
    assert sealedstore.rekey(full.node) > 20
    full.close()
    assert marked(tmp_path) == []
    with opened(tmp_path, full.clock) as service:
        assert shown(service, full.ids) == before
        sealed = list(sealedstore._of_class(service.node.store.db.storage, tuple(CLASSES)))
        states = service.transact(lambda root: [load_state(root, oid) for oid in sealed])
        states = [state for state in states if SEALED in state]
        assert len(states) > 20
        old_names = {Seal(old.split()).present}
        assert not old_names & {SealedParts(*state[SEALED]).sealed.partition(".")[0] for state in states}
        monitor = service.ada.get(f"/api/monitoring/endpoints/{full.ids['monitor http']}?as_of={at}").json
        assert monitor["url"] == "https://***@example.test:8443/path?***"  # sealed with a key that is gone


def load_state(root, oid):
    return inspection.read(root._p_jar.db().storage.load(oid)[0]).state


def test_a_store_of_before_is_sealed_in_small_transactions(full, tmp_path, monkeypatch):
    before = shown(full.service, full.ids)
    plain_store(full, tmp_path, monkeypatch)
    full.close()
    assert "main.fs" in marked(tmp_path)
    lots, store_lot = [], sealedstore._store_lot
    monkeypatch.setattr(sealedstore, "AT_ONCE", 7)
    monkeypatch.setattr(sealedstore, "_store_lot", lambda root, lot: lots.append(len(lot)) or store_lot(root, lot))
    with opened(tmp_path, full.clock) as service:
        assert shown(service, full.ids) == before
        assert len(lots) > 5
        assert max(lots) == 7
        pack.pack(service.node.store, 0, service.clock.now())
    assert marked(tmp_path) == []
    lots.clear()
    with opened(tmp_path, full.clock) as service:
        assert lots == []
        assert shown(service, full.ids) == before


def test_a_storage_that_cannot_be_gone_through_is_refused_and_not_passed_over(full, monkeypatch):
    """Else a new key would leave records behind that only the old one opens, and then the old one goes."""
    with pytest.raises(Unavailable, match="cannot be listed"):
        list(sealedstore._of_class(object(), tuple(CLASSES)))
    key_file = seals.key_file(full.node.registry.settings)
    old = seals.read(key_file)
    monkeypatch.setattr(sealedstore, "_of_class", lambda *_: (_ for _ in ()).throw(Unavailable("no")))
    with pytest.raises(Unavailable):
        sealedstore.rekey(full.node)
    assert set(old) <= set(seals.read(key_file))
