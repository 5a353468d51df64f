"""Anchors: what was noted outside of the store shows what nobody can see in the store alone."""

import json

import pytest

from opsapp.healing.config import AnchorSettings, HealingSettings, LedgerSettings
from opsapp.healing.engine import anchors
from opsapp.healing.resources import healing_of
from tests.engine.test_healing_ledger import fill
from tests.support.receiver import Receiver

VERIFY = "/api/healing/ledger/verify"


def anchored(service, **anchor):
    service.configure(HealingSettings, ledger=LedgerSettings(AnchorSettings(every=3600, **anchor)))
    return service


def snapshot(root):
    """What somebody keeps who wants to put the chain back as it was, signatures and all."""
    ledger = healing_of(root)["ledger"]
    return ledger.links(), ledger.head, ledger.ended


def put_back(root, links, head, ended):
    ledger = healing_of(root)["ledger"]
    for place in range(links + 1, ledger.links() + 1):
        del ledger.entries[ledger.order[place]]
    for place in range(links + 1, ledger.links() + 1):
        del ledger.order[place]
    ledger.head, ledger.ended = head, ended
    for key, tally in list(ledger.effect.items()):
        ledger.effect[key] = tally._replace(total=0)


@pytest.mark.attack
def test_a_chain_that_was_put_back_to_an_older_state_is_found(service, tmp_path):
    path = tmp_path / "anchors"
    anchored(service, file=str(path))
    service.transact(fill, 2)
    old = service.transact(snapshot)
    service.transact(fill, 3, 2)
    anchors.step(service.node)
    assert path.stat().st_mode & 0o077 == 0
    assert service.vera.get(VERIFY).json["valid"] is True
    service.transact(put_back, *old)
    found = service.vera.get(VERIFY).json
    assert (found["valid"], "first_bad" in found) == (False, True)


@pytest.mark.attack
def test_an_anchor_that_does_not_fit_is_said(service, tmp_path):
    path = tmp_path / "anchors"
    anchored(service, file=str(path))
    service.transact(fill, 3)
    path.write_text("half a li\n" + json.dumps({"time": 1, "entries": 0, "head": "0" * 64, "audited": 0}) + "\n")
    assert service.vera.get(VERIFY).json == {"valid": True, "entries": 3, "first_bad": None}
    path.write_text(json.dumps({"time": 1, "entries": 2, "head": "1" * 64, "audited": 0}) + "\n")
    found = service.vera.get(VERIFY).json
    assert (found["valid"], found["first_bad"]) == (False, 2)
    assert "anchor" in found["reason"]
    path.write_text(json.dumps({"time": 1, "entries": 9, "head": "1" * 64, "audited": 0}) + "\n")
    assert service.vera.get(VERIFY).json["first_bad"] == 4


@pytest.mark.attack
def test_audit_entries_that_were_noted_and_are_gone_are_missed(service, tmp_path):
    anchored(service, file=str(tmp_path / "anchors"))
    service.ada.post_json("/api/agents", {"label": "box-1"})
    anchors.step(service.node)
    assert service.ada.get("/api/audit/verify").json["valid"] is True
    noted = next(iter(anchors.anchors(service.node)))
    (tmp_path / "anchors").write_text(json.dumps(noted._replace(audited=noted.audited + 100)._asdict()) + "\n")
    assert service.ada.get("/api/audit/verify").json["valid"] is False


def test_an_anchor_is_sent_to_a_url_and_a_refusal_is_told(service, caplog):
    receiver = Receiver()
    try:
        anchored(service, url=receiver.url("anchors").replace("json://", "http://"))
        service.transact(fill, 2)
        anchors.step(service.node)
        assert [sent["entries"] for sent in receiver.messages] == [2]
        receiver.status = 500
        assert anchors.step(service.node) is False
        assert "the ledger's anchor was not written" in caplog.text
    finally:
        receiver.close()


def test_a_file_that_cannot_be_written_stops_nothing(service, tmp_path, caplog):
    anchored(service, file=str(tmp_path / "missing" / "anchors"))
    assert anchors.step(service.node) is False
    assert "the ledger's anchor was not written" in caplog.text


def test_without_an_anchor_nothing_is_written(service):
    assert anchors.step(service.node) is False
    assert list(anchors.anchors(service.node)) == []
