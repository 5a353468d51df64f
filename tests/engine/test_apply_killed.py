"""A document is applied as a whole or not at all, wherever the process is killed; and applied again it comes true."""

import pytest

from tests.support import applychild
from tests.support.app import Service
from tests.support.clock import FakeClock
from tests.support.clockchild import children


@pytest.fixture(scope="module")
def processes():
    with children("tests.support.applychild") as processes:
        yield processes


@pytest.fixture
def after(processes, tmp_path):
    """The service as the next process finds it, when one was killed there."""
    opened = []

    def after(where):
        assert processes.exit_code(tmp_path, where) == -9
        assert (tmp_path / "began").exists(), "it was killed in the document, and not before"
        opened.append(Service(tmp_path, FakeClock()))
        return opened[0]

    yield after
    for service in opened:
        service.close()


def changes(service, **more):
    answer = service.ada.post_json("/api/apply", {**applychild.BODY, **more}).json
    return [(change["change"], change["kind"], change["key"]) for change in answer["changes"]]


def monitors(service):
    return {row["name"]: row["interval"] for row in service.ada.get("/api/monitoring/endpoints").json}


def audited(service):
    """What the audit says of the document's things."""
    return [entry["action"] for entry in service.ada.get("/api/audit").json if entry["action"].startswith("monitor.")]


@pytest.mark.parametrize("where", [*map(str, range(1, applychild.ENTRIES + 1)), *applychild.PARTS])
def test_a_kill_inside_leaves_what_was_there_and_the_next_carries_out_all(after, where):
    service = after(where)
    assert monitors(service) == {"old": 60, "kept": 60}
    assert service.ada.get("/api/notifications/channels").json == []
    assert audited(service) == ["monitor.create", "monitor.create"], "those of before"
    looked = service.ada.post_json("/api/apply", {**applychild.BODY, "dry_run": True}).json
    told = changes(service, seen=[change["stamp"] for change in looked["changes"]])
    assert {("delete", "monitors", "old"), ("update", "monitors", "kept"), ("create", "rules", "disk")} <= set(told)
    assert len(told) == applychild.ENTRIES + 1
    assert monitors(service) == {"kept": 30, "new 0": 60, "new 1": 60, "new 2": 60}
    assert changes(service) == []


def test_a_kill_after_the_commit_has_done_all_once(after):
    service = after(applychild.ANSWERED)
    assert monitors(service) == {"kept": 30, "new 0": 60, "new 1": 60, "new 2": 60}
    assert sorted(audited(service)) == ["monitor.create"] * 5 + ["monitor.delete", "monitor.update"]
    assert changes(service) == []
    assert len(audited(service)) == 7, "nothing is told a second time"
