"""Many decide at once: one decision, whoever wins, and the heal it stands for goes one way only."""

import pytest

from opsapp.approvals import resources as approvals
from opsapp.approvals.engine import IApprovalKind, Voter, decide, expire, lapse
from opsapp.approvals.records import NewRequest
from opsapp.auth.resources import create
from tests.support.app import Service
from tests.support.together import at_once


class Kind:
    """Counts what it is told. A retried transaction tells it again, so the store is what is counted."""

    def gone(self, root, approval):
        return None

    def own(self, root, approval, name):
        return None

    def record(self, root, approval):
        return None

    def decided(self, root, approval):
        root.system["test-decided"] = (*root.system.get("test-decided", ()), approval.status)


def operators(root):
    for number in range(20):
        create(root, f"user{number}", "operator", "", 0)


@pytest.fixture
def asked(tmp_path):
    service = Service(tmp_path)
    service.node.registry.registerUtility(Kind(), IApprovalKind, "heal")
    service.transact(operators)

    def ask(quorum=1):
        def write(root):
            return approvals.request(
                root,
                NewRequest(
                    kind="heal",
                    subject="box-1",
                    plan={"action": "x"},
                    reason="",
                    risk="low",
                    requested_by="healing",
                    expiry_s=60,
                    about={"ledger_id": 1},
                    quorum=quorum,
                ),
                service.clock.now(),
            ).__name__

        return service.transact(write)

    service.ask = ask
    yield service
    service.close()


@pytest.mark.parametrize("attempt", range(3))
def test_twenty_clicks_an_expiry_and_a_recovery_make_one_decision(asked, attempt):
    request_id, node, now = asked.ask(), asked.node, asked.clock.now()
    clicks = [
        lambda n=n: (
            node.transact(
                decide, request_id, Voter(f"user{n}", "operator"), "approve" if n % 2 else "reject", None, now
            ).status
        )
        for n in range(20)
    ]
    others = [
        lambda: node.transact(expire, now + 61) and None,
        lambda: node.transact(lapse, request_id, "withdrawn", "condition_gone", now),
    ]
    results = at_once([*clicks, *others])
    told = node.transact(lambda root: root.system["test-decided"])
    final = node.transact(lambda root: root["api"]["approvals"][request_id].status)
    assert told == (final,)
    assert [result for result in results if result in ("approved", "rejected")] in ([], [final])
    assert node.transact(lambda root: len(root["api"]["approvals"].pending)) == 0


def test_a_quorum_is_met_once(asked):
    request_id, node, now = asked.ask(quorum=5), asked.node, asked.clock.now()
    clicks = [
        lambda n=n: node.transact(decide, request_id, Voter(f"user{n}", "operator"), "approve", None, now).status
        for n in range(12)
    ]
    results = at_once(clicks)
    assert results.count("pending") == 4
    assert results.count("approved") == 1
    assert results.count("already_decided") == 7
    assert node.transact(lambda root: root.system["test-decided"]) == ("approved",)
    assert node.transact(lambda root: len(root["api"]["approvals"][request_id].votes)) == 5
