"""What a host calls its services and mounts is its own affair: healing works whatever the name, and goes on with what
an older version has stored of one that nobody can read."""

from dataclasses import replace

import pytest

from opsapp.healing.resources import healing_of
from tests.engine.healing import Ward

DISK = {
    "id": "disk",
    "condition": "disk.*.percent > 90",
    "severity": "critical",
    "initial_level": "notify",
    "action": {"type": "temp_cleanup"},
}
LONG = {**DISK, "condition": " or ".join(f"disk.*.percent > {number}" for number in range(90, 150))}
pytestmark = pytest.mark.attack


@pytest.fixture
def ward(tmp_path):
    made = Ward(tmp_path, DISK)
    yield made
    made.close()


def full(ward, *mounts):
    ward.report(**{f"disk.{mount}.percent": 99 for mount in mounts}).turn().turn(6)
    return {entry["target"]: (entry["outcome"], entry["reason"]) for entry in ward.ledger}


@pytest.mark.parametrize("mount", ["/a\"b'c", "/a..b", "/a.", "/a*b", "/a\nb", "/" + "x" * 254])
def test_an_alert_about_a_thing_of_any_name_ends_as_another_does(ward, mount):
    told = full(ward, mount, "/var")
    assert len(told) == 2
    assert {outcome for outcome, _ in told.values()} == {"notified"}


def test_a_long_condition_about_a_long_name_does_too(tmp_path):
    ward = Ward(tmp_path, LONG)
    assert {outcome for outcome, _ in full(ward, "/" + "x" * 254).values()} == {"notified"}
    ward.close()


def test_a_case_whose_condition_nobody_can_read_holds_nothing_up(ward):
    ward.report(**{"disk./var.percent": 99}).turn()

    def spoil(root):
        book = healing_of(root).book
        for case in book.all_open():
            about = case.record.about._replace(condition='disk."/a"b\'.percent > 90')
            case.record = replace(case.record, about=about, abouts=dict.fromkeys(case.record.abouts, about))

    ward.node.transact(spoil)
    ward.turn(6).turn(60)
    assert [entry["outcome"] for entry in ward.ledger] == ["notified"]
    assert not ward.node.transact(lambda root: list(healing_of(root).book.all_open()))
