"""`opsapp export --archive` and `verify-archive`: what is over is written down, whole, and can be checked elsewhere."""

import hashlib
import json
import shutil
import stat

import pytest
from ZODB.Connection import Connection
from ZODB.POSException import POSKeyError

from opsapp.healing.engine import ledgerfolding
from opsapp.healing.resources import healing_of
from opsapp.healing.resources.cases import case_of
from opsapp.healing.stages.case import ClosedCase
from opsapp.monitoring.resources import incidents_of, monitors_of
from opsapp.runtime.secrets.chainkey import NAME as CHAIN_KEY
from opsapp.runtime.store import archive
from tests.support.app import Service
from tests.support.monitoring import Lookout
from tests.support.waitress import listening

FILES = ("cases.jsonl", "incidents.jsonl", "ledger.jsonl", "manifest.json")
SECRET = "hunter2"
LEDGER = "/api/healing/ledger/archive"


def fill(root, now, count=5, target="box-1", **event):
    """Final entries, each of a case that is over."""
    healing = healing_of(root)
    for n in range(count):
        at = now + n
        told = {"source": "test", "rule_id": "r", "condition": "c", "target": target, "at": at, **event}
        case = healing.book.open(case_of(told), at)
        entry = healing["ledger"].begin(root, case.record, rule_id="r", now=at, action_type="run", executed=True)
        healing["ledger"].finish(root, entry.id, outcome="verified", reason="", now=at, metrics_after={"x": 0.1 + n})
        closed = case.record.becomes(ClosedCase, outcome="verified", closed_at=at)
        healing.book.close(case, closed, "", 0.0)


def fail(root, monitor, now):
    """An incident that is over, and one that is open."""
    incidents = incidents_of(root)
    over = incidents.start(monitors_of(root)[monitor], f"no answer from https://eve:{SECRET}@shop.test/", now - 50)
    incidents.end(over.id, now - 10)
    incidents.start(monitors_of(root)[monitor], "no answer", now)


def begin(root, now):
    """A case that is open, with its intent."""
    healing = healing_of(root)
    case = healing.book.open(case_of({"source": "t", "rule_id": "r", "condition": "c", "target": "b", "at": now}), now)
    healing["ledger"].begin(root, case.record, rule_id="r", now=now)


@pytest.fixture(scope="module")
def lived(tmp_path_factory):
    """A store that has lived; no process has it open."""
    data = tmp_path_factory.mktemp("lived") / "data"
    service = Service(data)
    monitor = Lookout(service).add(name="Shop")
    service.transact(fill, service.clock.now() - 1000)
    service.transact(fail, monitor, service.clock.now())
    service.transact(begin, service.clock.now())
    service.close()
    return data


@pytest.fixture
def place(lived, tmp_path):
    """A copy of it."""
    return ("--data", shutil.copytree(lived, tmp_path / "data"))


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_what_is_over_is_written_down_and_can_be_checked(opsapp, place, tmp_path):
    code, out, err = opsapp("export", "--archive", tmp_path / "out", *place)
    assert (code, err) == (0, "")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == sorted(FILES)
    assert [stat.S_IMODE(path.stat().st_mode) for path in sorted((tmp_path / "out").iterdir())] == [0o600] * 4
    assert stat.S_IMODE((tmp_path / "out").stat().st_mode) == 0o700
    rows = {name: lines(tmp_path / "out" / name) for name in FILES[:3]}
    assert [row["entry"]["id"] for row in rows["ledger.jsonl"]] == [1, 2, 3, 4, 5]
    assert {case["outcome"] for case in rows["cases.jsonl"]} == {"verified"}
    assert len(rows["cases.jsonl"]) == 5
    assert [row["status"] for row in rows["incidents.jsonl"]] == ["resolved"]
    assert "ledger.jsonl\t5 rows" in out
    code, out, err = opsapp("verify-archive", tmp_path / "out", *place)
    assert (code, err) == (0, "")
    assert "ledger.jsonl\t5 entries, links 1 to 5: as they were written" in out
    service = Service(place[1])
    assert service.transact(lambda root: healing_of(root)["ledger"].archived) == 5
    assert service.ada.get("/api/audit?action=healing.ledger.archived").json[0]["username"] is None, "a shell"
    service.close()


def test_an_archive_holds_no_secret(opsapp, place, tmp_path):
    service = Service(place[1])
    service.transact(fill, service.clock.now(), 1, f"https://eve:{SECRET}@shop.test/")
    sealed = service.transact(lambda root: root.system[CHAIN_KEY])
    service.close()
    assert opsapp("export", "--archive", tmp_path / "out", *place)[0] == 0
    text = "".join(path.read_text() for path in (tmp_path / "out").iterdir())
    assert SECRET not in text
    assert sealed not in text
    assert "https://***@shop.test/" in text
    out = opsapp("verify-archive", tmp_path / "out", *place)[1]
    assert "1 of them hold `***` and are signed like that" in out


def test_a_place_that_is_taken_is_refused_and_left(opsapp, place, tmp_path):
    (tmp_path / "out").mkdir()
    code, _, err = opsapp("export", "--archive", tmp_path / "out", *place)
    assert (code, "is there already" in err) == (1, True)
    assert list((tmp_path / "out").iterdir()) == []
    assert opsapp("export", "--archive", tmp_path / "no" / "such" / "place", *place)[0] == 1


def test_what_breaks_off_leaves_nothing(opsapp, place, tmp_path, monkeypatch):
    monkeypatch.setattr("opsapp.cli.archive.os.fsync", full)
    code, _, err = opsapp("export", "--archive", tmp_path / "out", *place)
    assert (code, "No space left" in err) == (1, True)
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("out")] == []


def full(_descriptor):
    raise OSError(28, "No space left on device")


# -- tampering


def edit(name, change):
    def edited(directory):
        rows = lines(directory / name)
        change(rows)
        (directory / name).write_text("".join(json.dumps(row) + "\n" for row in rows))

    return edited


def manifest_too(how):
    """Who edits the rows sets the checksums right as well."""

    def edited(directory):
        how(directory)
        told = json.loads((directory / "manifest.json").read_text())
        for name, file in told["files"].items():
            content = (directory / name).read_bytes()
            file["sha256"], file["rows"] = hashlib.sha256(content).hexdigest(), content.count(b"\n")
        (directory / "manifest.json").write_text(json.dumps(told))

    return edited


def shorter_manifest(directory):
    """A chain that ends earlier, told so in the manifest."""
    edit("ledger.jsonl", lambda rows: rows.pop())(directory)
    told = json.loads((directory / "manifest.json").read_text())
    told["ledger"] |= {"links": 4, "head": lines(directory / "ledger.jsonl")[-1]["entry"]["hash"]}
    (directory / "manifest.json").write_text(json.dumps(told))


def begins_later(directory):
    edit("ledger.jsonl", lambda rows: rows.pop(0))(directory)
    told = json.loads((directory / "manifest.json").read_text())
    told["ledger"]["folded"] |= {"links": 1, "head": lines(directory / "ledger.jsonl")[0]["entry"]["prev_hash"]}
    (directory / "manifest.json").write_text(json.dumps(told))


TAMPERED = {
    "a byte": (edit("cases.jsonl", lambda rows: rows[0].update(outcome="failed")), "cases.jsonl is not as it was"),
    "an entry": (manifest_too(edit("ledger.jsonl", lambda rows: rows[2]["entry"].update(reason="no"))), "entry 3"),
    "masked": (manifest_too(edit("ledger.jsonl", lambda rows: rows[2]["entry"].update(hash="0" * 64))), "entry 3"),
    "said to be masked": (manifest_too(edit("ledger.jsonl", lambda rows: rows[2].update(masked="0" * 64))), "entry 3"),
    "one less": (manifest_too(edit("ledger.jsonl", lambda rows: rows.pop(2))), "entry 4"),
    "swapped": (manifest_too(edit("ledger.jsonl", lambda rows: rows.reverse())), "entry 5"),
    "cut off": (manifest_too(edit("ledger.jsonl", lambda rows: rows.pop())), "the end"),
    "cut off and told so": (manifest_too(shorter_manifest), "the end"),
    "begins later": (manifest_too(begins_later), "not signed"),
    "not JSON": (manifest_too(lambda directory: (directory / "ledger.jsonl").write_text("{")), "line 1"),
    "no manifest": (lambda directory: (directory / "manifest.json").unlink(), "manifest.json"),
    "no archive": (lambda directory: (directory / "manifest.json").write_text("[]"), "is no archive"),
    "a file gone": (lambda directory: (directory / "ledger.jsonl").unlink(), "ledger.jsonl"),
}


@pytest.mark.attack
@pytest.mark.parametrize("how", TAMPERED)
def test_what_was_done_to_an_archive_is_found(opsapp, place, tmp_path, how):
    assert opsapp("export", "--archive", tmp_path / "out", *place)[0] == 0
    change, says = TAMPERED[how]
    change(tmp_path / "out")
    code, _, err = opsapp("verify-archive", tmp_path / "out", *place)
    assert (code, says in err, "Traceback" in err) == (1, True, False), err


def test_an_archive_of_another_store_does_not_verify(opsapp, place, tmp_path):
    Service(tmp_path / "other").close()
    assert opsapp("export", "--archive", tmp_path / "out", *place)[0] == 0
    code, _, err = opsapp("verify-archive", tmp_path / "out", "--data", tmp_path / "other")
    assert (code, "not signed" in err) == (1, True)


# -- beside a running service


def test_a_running_service_is_asked_page_by_page_and_knows_it_afterwards(opsapp, service, tmp_path, monkeypatch):
    monkeypatch.setattr(archive, "PAGE", 2)
    service.transact(fill, service.clock.now() - 1000)
    service.client("ada")
    with listening(service.app) as url:
        asked = ("--url", url, "--token", service.tokens["ada"])
        code, out, _ = opsapp("export", "--archive", tmp_path / "out", *asked)
        assert (code, "ledger.jsonl\t5 rows" in out) == (0, True)
        service.client("vera")
        viewers = ("--url", url, "--token", service.tokens["vera"])
        assert opsapp("export", "--archive", tmp_path / "other", *viewers)[0] == 1
    assert service.transact(lambda root: healing_of(root)["ledger"].archived) == 5
    (entry,) = service.ada.get("/api/audit?action=healing.ledger.archived").json
    assert (entry["username"], entry["after"]["links"]) == ("ada", 5)
    service.close()
    assert opsapp("verify-archive", tmp_path / "out", "--data", tmp_path)[0] == 0


def test_an_archive_of_a_folded_ledger_begins_at_the_mark(opsapp, service, tmp_path):
    service.node.leases.want("healing")
    service.node.leases.step()
    service.transact(fill, service.clock.now() - 6 * 365 * 86400)
    service.transact(fill, service.clock.now() - 1000, 2)
    ledgerfolding.step(service.node)
    service.client("ada")
    with listening(service.app) as url:
        assert opsapp("export", "--archive", tmp_path / "out", "--url", url, "--token", service.tokens["ada"])[0] == 0
    service.close()
    out = opsapp("verify-archive", tmp_path / "out", "--data", tmp_path)[1]
    assert "ledger.jsonl\t2 entries, links 6 to 7: as they were written" in out


def test_entries_that_are_folded_while_they_are_archived_are_told(opsapp, service, tmp_path, monkeypatch):
    monkeypatch.setattr(archive, "PAGE", 2)
    service.transact(fill, service.clock.now() - 1000)
    first = service.ada.get(LEDGER).json
    assert [row["place"] for row in first["rows"]] == [1, 2]

    def fold(root):
        ledger = healing_of(root)["ledger"]
        ledger.folded = ledger.folded._replace(links=3)
        for n in (1, 2, 3):
            del ledger.order[n], ledger.entries[n]

    service.transact(fold)
    refused = service.ada.get(LEDGER, {"after": first["after"]}, status=409)
    assert refused.json["code"] == "folded_meanwhile"


def test_what_is_said_to_be_archived_is_what_the_chain_has(service):
    service.transact(fill, service.clock.now() - 1000)
    head = service.transact(lambda root: healing_of(root)["ledger"].head)
    path = "/api/healing/ledger/archived"
    for links, told in ((4, head), (6, head), (5, "0" * 64)):
        assert "head" in service.ada.post_json(path, {"links": links, "head": told}, status=422).json["fields"]
    service.otto.post_json(path, {"links": 5, "head": head}, status=403)
    assert service.ada.post_json(path, {"links": 5, "head": head}).json == {"success": True}
    for path in (LEDGER, "/api/healing/cases/archive", "/api/monitoring/incidents/archive"):
        service.otto.get(path, status=403)
        assert service.ada.get(path).json["after"] is None
    for place in ("no such place", "1-", "-1", "1-x", "9" * 40 + "-1"):
        service.ada.get(LEDGER, {"after": place}, status=422)


def test_what_cannot_be_read_is_counted(opsapp, service, tmp_path, monkeypatch):
    service.transact(fill, service.clock.now() - 1000)

    def victims(root):
        healing = healing_of(root)
        return {healing["ledger"].entries[3]._p_oid, next(iter(healing.book.cases.values()))._p_oid}

    lost = service.transact(victims)
    real = Connection.setstate

    def damaged(connection, thing):
        if thing._p_oid in lost:
            raise POSKeyError(thing._p_oid)
        real(connection, thing)

    monkeypatch.setattr(Connection, "setstate", damaged)
    service.node.store.db.cacheMinimize()
    pages = [service.ada.get(path).json for path in (LEDGER, "/api/healing/cases/archive")]
    assert [(len(page["rows"]), page["unreadable"]) for page in pages] == [(5, 1), (4, 1)]
    service.client("ada")
    with listening(service.app) as url:
        code, out, _ = opsapp("export", "--archive", tmp_path / "out", "--url", url, "--token", service.tokens["ada"])
    assert code == 0
    assert "cases.jsonl\t4 rows; 1 cannot be read: `opsapp doctor` names it" in out
    monkeypatch.undo()
    service.close()
    code, _, err = opsapp("verify-archive", tmp_path / "out", "--data", tmp_path)
    assert (code, "entry 3" in err) == (1, True)
