"""The post-mortem as a document: heals, roots, and what the records leave open."""

from dataclasses import replace

from opsapp.monitoring.logic import postmortem
from opsapp.monitoring.records import IncidentRecord, StandsOn, WarRoom, WarRoomEvent

INCIDENT = IncidentRecord(
    id="i1", monitor_id="m1", monitor_name="Shop", started=0, resolved=600, duration_minutes=10.0, cause="",
    status="resolved", acknowledged_by="mara",
)  # fmt: skip
HEAL = {
    "action_type": "restart_service", "target": "db-1", "outcome": "verified", "state": "final", "reason": "",
    "duration_s": 41.0,
}  # fmt: skip
STANDS_ON = (StandsOn("Shop", "Database", (), root_cause=True), StandsOn("Shop", "Rack", (), root_cause=False))
KNOWN = WarRoom(INCIDENT, None, (), (WarRoomEvent(5, "down", "Shop is down"),), (), (), STANDS_ON, (HEAL,))


def test_what_is_known_is_said():
    text = postmortem.document(KNOWN, 700.0)
    assert "| Root cause | Database |" in text
    assert "| Seen | no cause was written down |" in text
    assert "| Lasted | 10 min |" in text
    assert "- **00:00:05** down: Shop is down" in text
    assert "- restart service on db-1: verified (41 s)" in text
    assert postmortem.open_points(KNOWN) == list(postmortem.PROMPTS)


def test_a_heal_that_did_not_help_is_an_open_point():
    failed = HEAL | {"outcome": None, "state": "executing", "reason": "no tool", "duration_s": 0.0, "action_type": ""}
    known = replace(KNOWN, heals=(failed,))
    assert "No heal helped. What would have?" in postmortem.open_points(known)
    assert "- no action on db-1: executing, no tool" in postmortem.document(known, 700.0)


def test_a_file_has_a_name_that_every_system_takes():
    assert postmortem.file_name(replace(INCIDENT, monitor_name="Päy/../x")) == "post-mortem-p-y-x-1970-01-01.md"
    assert postmortem.file_name(replace(INCIDENT, monitor_name="日本")) == "post-mortem-incident-1970-01-01.md"
