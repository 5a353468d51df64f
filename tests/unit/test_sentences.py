"""What the records of the API say as sentences: who, what, where, and no id where there is a name."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from markupsafe import escape

import opsapp
from opsapp.approvals.records import ApprovalRecord
from opsapp.audit.records import AuditEntry
from opsapp.automations.records import RunRow
from opsapp.healing.answers import CaseGate, CaseShown, LedgerEntryShown
from opsapp.healing.stages.ledger import OUTCOMES, STATES
from opsapp.maintenance.records import WindowRecord
from opsapp.monitoring.records import IncidentNote, IncidentRecord
from opsapp.ui import sentences
from opsapp.ui.sentences import NameBook, count, listed, span
from opsapp.ui.shapes.gates import helped_before, line
from tests.support.partly import partly

NAMES = NameBook(
    monitors={"Shop database": "m1", "Checkout": "m2"}, hosts={"db-1": "a1", "Cellar": "a9"}, automations={"x1": "Tidy"}
)
ENTRY = {
    "id": 7, "case_id": "c1", "has_case": True, "rule_id": "default-disk", "condition": "disk_percent > 90",
    "target": "db-1",
    "action_type": "journal_vacuum", "action_params": '{"keep": "500M"}', "escalation_step": 0, "action_success": 1,
    "duration_s": 74.2, "source": "alert", "created_at": 100, "finished_at": 190, "state": "final",
    "outcome": "verified", "reason": "", "approval_id": None, "rolls_back": None, "metrics_before": {},
    "metrics_after": {},
}  # fmt: skip


def heal(entry):
    return sentences.heal(partly(LedgerEntryShown, entry), NAMES)


def audit(entry, names=()):
    return sentences.audit(partly(AuditEntry, entry), dict(names))


INCIDENT = IncidentRecord(
    id="i1", monitor_id="m1", monitor_name="Shop database", started=100, cause="connection refused", status="open",
    duration_minutes=1, acknowledged_by=None,
)  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({}, "db-1 was healed in 74 s by journal vacuum 500M. Why"),
        (
            {
                "metrics_before": {"disk_percent": 100.0, "up": True, "load": 3},
                "metrics_after": {"disk_percent": 91.0, "up": False, "load": 3},
            },
            "db-1 was healed in 74 s by journal vacuum 500M. disk_percent 100 → 91. Why",
        ),
        (
            {"outcome": "failed", "reason": "the condition still holds"},
            "journal vacuum 500M on db-1 did not help: the condition still holds. Why",
        ),
        (
            {"outcome": "failed", "action_success": 0, "reason": "no_capable_handler: looked for journalctl"},
            "journal vacuum 500M on db-1 failed: the host has no tool for it (looked for journalctl). Why",
        ),
        ({"outcome": "rolled_back"}, "journal vacuum 500M on db-1 did not help and was undone. Why"),
        ({"outcome": "lost"}, "journal vacuum 500M on db-1 was sent, and no answer came back. Why"),
        (
            {"outcome": "inconclusive", "reason": "the condition is unknown"},
            "journal vacuum 500M on db-1 was done, and nobody knows whether it helped: the condition is unknown. Why",
        ),
        (
            {"outcome": "suppressed", "target": "Checkout", "reason": "root cause Shop database: it is down"},
            "Checkout was left alone: its root cause is Shop database. Why",
        ),
        ({"outcome": "suppressed", "reason": "paused"}, "db-1 was left alone: healing is paused. Why"),
        (
            {"outcome": "notified", "reason": "level notify"},
            "People were notified about db-1: the rule only notifies people. Why",
        ),
        (
            {"outcome": "observed", "reason": "level observation"},
            "The condition disk_percent > 90 held on db-1: the rule only observes. Why",
        ),
        (
            {"outcome": "simulated", "reason": "level dry-run"},
            "The machine would have run journal vacuum 500M on db-1: the rule only tries dry. Why",
        ),
        ({"outcome": "absorbed"}, "Another alert of db-1 was added to its case. Why"),
        (
            {"outcome": "skipped", "reason": "low_effectiveness: 1 of 6"},
            "Nothing was done about db-1: it has helped too rarely here (1 of 6). Why",
        ),
        ({"outcome": "rejected", "reason": "too risky"}, "journal vacuum 500M on db-1 was rejected: too risky. Why"),
        ({"outcome": "expired"}, "journal vacuum 500M on db-1: nobody decided in time. Why"),
        (
            {"outcome": "withdrawn", "reason": "condition_gone: the condition no longer holds"},
            "journal vacuum 500M on db-1 was not done: it recovered by itself (the condition no longer holds). Why",
        ),
        ({"rolls_back": 3, "action_type": "rollback", "reason": "restored"}, "Undone on db-1: restored. Why"),
        (
            {"outcome": None, "state": "executing", "finished_at": None},
            "The machine runs journal vacuum 500M on db-1. Why",
        ),
        (
            {"outcome": None, "state": "verifying"},
            "The machine ran journal vacuum 500M on db-1. It measures again. Why",
        ),
        (
            {"outcome": None, "state": "awaiting_approval", "approval_id": "q1"},
            "The machine asks whether it may run journal vacuum 500M on db-1.",
        ),
        (
            {
                "outcome": None,
                "state": "awaiting_approval",
                "reason": "left alone for 60 s, to learn whether the heal is needed",
            },
            "db-1 is left alone for 60 s, to learn whether the heal is needed. Why",
        ),
        (
            {"target": "db-1/postgresql", "case_id": None},
            "postgresql on db-1 was healed in 74 s by journal vacuum 500M. ",
        ),
    ],
)
def test_an_entry_of_the_ledger(changes, text):
    assert heal(ENTRY | changes).text == text


def test_every_outcome_and_state_is_a_sentence():
    told = [heal(ENTRY | {"outcome": outcome, "reason": "x"}) for outcome in OUTCOMES]
    told += [heal(ENTRY | {"outcome": None, "state": state}) for state in STATES[:-1]]
    for sentence in told:
        assert "db-1" in sentence.text
        assert "_approval" not in sentence.text
        assert ".." not in sentence.text
        assert "/healing/cases/c1" in str(escape(sentence)) or "/approvals/" in str(escape(sentence))


def test_names_lead_to_what_they_name():
    shown = str(escape(heal(ENTRY | {"target": "db-1/postgresql"})))
    assert '<b>postgresql</b> on <a href="/agents/a1">db-1</a>' in shown
    assert NAMES.target("a9")[0].href == "/agents/a9"
    assert NAMES.target("nobody")[0].href == ""


@pytest.mark.parametrize(
    ("target", "spoken"),
    [
        ("db-1//var", "/var on db-1"),
        ("db-1//", "/ on db-1"),
        ("web-1/php-fpm", "php-fpm on web-1"),
        ("db-1", "db-1"),
        ("Shop / Berlin", "Shop / Berlin"),
        ("Shop/", "Shop/"),
    ],
)
def test_a_target_is_spoken_of_alike_where_its_host_is_known_and_where_it_is_not(target, spoken):
    assert sentences.target_words(target) == spoken
    assert "".join(word.text for word in NAMES.target(target)) == spoken


def test_what_a_program_says_is_text():
    entry = ENTRY | {"target": "<b>", "outcome": "failed", "reason": "<script>", "action_params": '{"a": "<i>"}'}
    shown = str(escape(heal(entry)))
    assert "<script" not in shown
    assert "<i>" not in shown
    assert "&lt;script&gt;" in shown


def test_an_incident():
    note = IncidentNote(130, "mara", "identified", "A full disk", public=False)
    taken = IncidentNote(120, "otto", "acknowledged", "", public=False)
    given = IncidentNote(125, "otto", "assigned", "", public=False, to="mara")
    told = sentences.of_incident(replace(INCIDENT, updates=(taken, given, note), resolved=400))
    assert [sentence.text for sentence in told] == [
        "Shop database went down: connection refused.",
        "otto acknowledged Shop database.",
        "otto assigned Shop database to mara.",
        "mara posted an update to Shop database: A full disk.",
        "Shop database is up again after 5 min.",
    ]
    assert sentences.came_back(INCIDENT) is None


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({}, "Tidy was done in 5 s. Started by mara. Output"),
        ({"status": "failed", "reason": "exit code 1"}, "Tidy failed in 5 s: exit code 1. Started by mara. Output"),
        ({"status": "running", "finished": None, "origin": "schedule"}, "Tidy runs. Started by the schedule. Output"),
        (
            {"status": "rejected", "reason": "rejected by ada."},
            "Tidy was not allowed: rejected by ada. Started by mara. Output",
        ),
    ],
)
def test_a_run(changes, text):
    record = {
        "run_id": "r1", "automation_id": "x1", "name": "Tidy", "status": "done", "reason": None, "started": 10,
        "finished": 15, "requested_by": "mara", "origin": "manual", "created_at": 9,
    }  # fmt: skip
    assert sentences.run(partly(RunRow, record | changes)).text == text


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({}, "The machine asks for restart service on postgresql on db-1."),
        ({"status": "approved", "decided_by": "mara"}, "mara approved restart service on postgresql on db-1."),
        (
            {"status": "rejected", "decided_by": "mara", "comment": "not now"},
            "mara rejected restart service on postgresql on db-1: not now.",
        ),
        ({"status": "expired"}, "restart service on postgresql on db-1: nobody decided in time."),
        (
            {"status": "withdrawn", "comment": "it recovered"},
            "restart service on postgresql on db-1 was not needed any more: it recovered.",
        ),
        ({"kind": "run", "subject": "Tidy", "requested_by": "otto"}, "otto asks for Tidy."),
    ],
)
def test_an_approval(changes, text):
    record = {
        "request_id": "q1", "kind": "heal", "subject": "db-1/postgresql", "plan": {"action": "restart_service"},
        "requested_by": "healing", "requested_at": 10, "status": "pending", "decided_by": None, "decided_at": None,
        "comment": None,
    }  # fmt: skip
    assert sentences.approval(partly(ApprovalRecord, record | changes), NAMES).text == text


def test_a_window():
    record = {"name": "Mail move", "active": True, "next_start": 50, "created_by": "jonas", "created_at": 10}
    window = partly(WindowRecord, record)
    assert sentences.window(window, 60).text == "Maintenance Mail move is on. jonas planned it."
    assert sentences.window(window, 60).at == 50
    assert sentences.window(replace(window, active=False), 60).text == "jonas planned the maintenance Mail move."


DONE = {
    "time": 1,
    "username": "ada",
    "action": "monitor.update",
    "target": "x",
    "result": "ok",
    "reason": None,
    "before": None,
    "after": None,
}


def test_a_problem_is_told_in_the_audit_as_it_is_called_elsewhere():
    noted = {"title": "nginx on db-1//var", "rule_id": "nginx", "target": "db-1//var", "state": "open"}
    entry = DONE | {"username": None, "action": "healing.problem.open", "target": "p1", "after": noted}
    assert audit(entry).text.endswith("again and again: /var on db-1 (rule nginx).")


@pytest.mark.parametrize(
    ("action", "more", "text"),
    [
        ("monitor.create", {"after": {"name": "Shop"}}, "ada created the monitor Shop."),
        ("login", {"target": "ada"}, "ada signed in."),
        ("healing.pause", {"target": "healing"}, "ada paused healing."),
        ("healing.rule.update", {"target": "disk"}, "ada changed the rule disk."),
        (
            "user.delete",
            {"target": "otto", "result": "refused", "reason": "the last admin"},
            "Refused: ada deleted the user otto (the last admin).",
        ),
        (
            "monitor.create",
            {"target": "endpoints", "result": "refused", "reason": "forbidden"},
            "Refused: ada created the monitor (the role does not allow it).",
        ),
        (
            "put /api/healing/rules/disk",
            {
                "result": "refused",
                "reason": "unauthenticated",
                "username": None,
                "time": 400,
                "after": {"count": 204, "since": 200},
            },
            "Refused 204 times within 3 min: somebody called PUT /api/healing/rules/disk (not signed in).",
        ),
        ("something.new_kind", {}, "ada something new kind x."),
    ],
)
def test_an_audit_entry(action, more, text):
    assert audit(DONE | {"action": action} | more).text == text


def test_what_was_refused_leads_only_to_what_is_there():
    refused = DONE | {"action": "monitor.check", "target": "m1", "result": "refused"}
    assert not [word for word in audit(refused | {"target": "endpoints"}, {"m1": "Shop"}).words if word.href]
    (shop,) = [word for word in audit(refused, {"m1": "Shop"}).words if word.href]
    assert (shop.text, shop.href) == ("Shop", "/monitors/m1")


def test_spans_counts_and_lists():
    assert [span(s) for s in (-1, 6.24, 41, 150, 3900, 7200, 273_600)] == [
        "0 s",
        "6.2 s",
        "41 s",
        "2 min",
        "1 h 5 min",
        "2 h",
        "3 d 4 h",
    ]
    assert [count(1, "host"), count(2000, "reply", "replies")] == ["1 host", "2\u202f000 replies"]
    assert [listed([]), listed(["a"]), listed(["a", "b", "c"])] == ["", "a", "a, b and c"]


def audited():
    """Every action that a view or an engine writes into the record."""
    patterns = (r'audit\(\s*"([a-z_.]+)"', r'audit="([a-z_.]+)"', r'note\([^"]*"([a-z_]+\.[a-z_.]+)"')
    of_kind = re.compile(r'add_kind\([^()]*audit="([a-z_.]+)"')  # a document makes, changes and deletes what it names
    texts = [path.read_text() for path in Path(opsapp.__file__).parent.rglob("*.py")]
    families = {family for text in texts for family in of_kind.findall(text)}
    found = {action for text in texts for pattern in patterns for action in re.findall(pattern, text)} - families
    found |= {f"{family}.{deed}" for family in families for deed in ("create", "update", "delete")}
    return sorted(action for action in found if not action.startswith("thing."))


@pytest.mark.parametrize("action", audited())
def test_every_audited_action_is_told_in_words(action):
    entry = {"time": 1, "action": action, "result": "ok", "reason": "", "username": "ada", "target": "it"}
    text = audit(entry | {"after": None, "before": None}).text
    assert "_" not in text
    words = action.replace(".", " ").replace("_", " ")
    assert not text.startswith(f"ada {words}"), "its name stands for it"


def test_an_audited_thing_is_called_by_its_name():
    entry = {"time": 1, "action": "monitor.check", "result": "ok", "reason": "", "username": "ada", "target": "m1"}
    entry |= {"after": None, "before": None}
    assert audit(entry, {"m1": "Checkout"}).text == "ada checked the monitor Checkout."
    assert audit(entry).text == "ada checked the monitor m1."
    edge = entry | {"action": "healing.dependencies.add", "after": {"target": "shop", "depends_on": "db"}}
    assert audit(edge).text == "ada added the dependency shop on db."
    run = entry | {"action": "automation.apply_template", "after": {"name": "Memory"}}
    assert audit(run).text == "ada used a template to create the automation Memory."


CASE = {"records": [{"action_type": "webhook", "verified": 3, "total": 4}],
        "entries": [{"action_type": "webhook", "state": "final", "outcome": "verified"}]}  # fmt: skip


def test_how_often_an_action_had_helped_leaves_the_case_out():
    assert helped_before(partly(CaseShown, CASE), "webhook") == "helped 2 of 3 times"
    assert helped_before(partly(CaseShown, CASE), "other") == ""
    first = CASE | {"records": [{"action_type": "webhook", "verified": 1, "total": 1}]}
    assert helped_before(partly(CaseShown, first), "webhook") == ""


def test_what_the_service_does_itself_is_not_sent_to_a_host():
    gate = CaseGate("execution", "execute", "passed")
    assert line(gate, by_service=True).words == "Done by the service itself"
    assert line(gate).words == "Sent to the host"
