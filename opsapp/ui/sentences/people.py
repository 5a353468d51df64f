"""Incidents, runs, approvals, windows and what people did, in sentences. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from opsapp.approvals.records import RequestSummary
from opsapp.audit.records import AuditEntry
from opsapp.automations.records import RunRow
from opsapp.maintenance.records import WindowRecord
from opsapp.monitoring.records import IncidentNote, IncidentRecord
from opsapp.wire.spoken import spoken_action

from .words import (
    PLACES,
    NameBook,
    Sentence,
    Word,
    case,
    count,
    person,
    place_of,
    said,
    sentence_of,
    span,
    target_words,
)

STAGES = {
    "investigating": "We are investigating",
    "identified": "The cause has been identified",
    "monitoring": "A fix is in place, we are monitoring it",
    "resolved": "Resolved",
    "acknowledged": "Acknowledged",
    "assigned": "Assigned",
}
# The last word of an audited action, as what somebody did to a thing of its family.
DEEDS = {
    "create": "created the {thing}",
    "update": "changed the {thing}",
    "change": "changed the {thing}",
    "delete": "deleted the {thing}",
    "run": "ran the {thing}",
    "import": "imported",
    "cancel": "cancelled the {thing}",
    "open": "started the {thing}",
    "end": "ended the {thing}",
    "activate": "enabled the {thing}",
    "deactivate": "disabled the {thing}",
    "dismiss": "dismissed the {thing}",
    "confirm": "confirmed the {thing}",
    "promote": "promoted the {thing}",
    "demote": "demoted the {thing}",
    "unlock": "unlocked the {thing}",
    "test": "tested the {thing}",
    "allow": "allowed the use of the {thing}",
    "disallow": "no longer allows the use of the {thing}",
    "deploy": "deployed an agent on",
    "save": "saved the {thing}",
    "check": "checked the {thing}",
    "try": "tried the {thing}",
    "assign": "assigned the {thing}",
    "leave": "is no longer assigned to the {thing}",
    "webhook": "called the webhook of the {thing}",
}
THINGS = {
    "healing.window": "healing window",
    "healing.rule": "rule",
    "healing.suggestion": "suggestion",
    "healing.trust": "rule",
    "healing.problem": "problem",
    "window": "maintenance window",
    "agent": "host",
    "agent.command": "command",
    "oncall.calendar": "calendar address of the on-call schedule",
    "oncall.override": "override of the on-call schedule",
    "oncall.policy": "escalation policy",
    "oncall.schedule": "on-call schedule",
    "healing.dependency": "dependencies of",
    "healing.inlet": "inlet",
    "key": "API key",
    "secret": "secret",
    "filter": "saved filter",
    "invitation": "invitation of",
    "team": "team",
    "scim_token": "token for SCIM",
    "scim.user": "user by SCIM",
    "scim.group": "group of the identity provider",
    "subscription": "subscription to the status page",
}
WHOLE = {
    "login": "signed in",
    "login.totp": "signed in with the second factor",
    "logout": "signed out",
    "healing.pause": "paused healing",
    "healing.resume": "resumed healing",
    "healing.here": 'set "I am here": actions of medium risk need an approval',
    "healing.here.end": 'ended "I am here"',
    "agent.hands_off": "turned healing off (hands off) for the host",
    "agent.hands_off.end": "turned healing on again for the host",
    "healing.rollback": "rolled back a heal",
    "healing.case.act_now": "chose Act now for the case",
    "healing.letter.update": "changed the settings of the morning letter",
    "healing.ledger.archived": "archived entries of the ledger",
    "healing.trust.edited": "found an edited trust state and demoted the rule",
    "healing.trust.signed": "signed the trust states that an older version had stored unsigned",
    "healing.problem.open": "opened a problem, because the same heal is needed again and again:",
    "healing.problem.close": "closed the problem, because it did not come back:",
    "healing.dependencies": "changed the dependencies",
    "healing.dependencies.add": "added the dependency",
    "healing.dependencies.remove": "removed the dependency",
    "healing.chaos.run": "ran the chaos scenario",
    "incident.update": "posted an update to the incident",
    "incident.acknowledge": "acknowledged the incident",
    "incident.open": "opened the incident",
    "incident.end": "resolved the incident",
    "notice.create": "posted a notice on the status page",
    "notice.update": "changed a notice on the status page",
    "notice.end": "ended a notice on the status page",
    "notice.delete": "deleted a notice from the status page",
    "deployment.create": "posted the deployment",
    "deployment.delete": "deleted the deployment",
    "approval.approve": "approved the request",
    "approval.reject": "rejected the request",
    "assistant.propose_action": "had an assistant propose an action:",
    "assistant.propose_run": "had an assistant propose a run:",
    "assistant.propose_rule": "had an assistant propose a rule:",
    "assistant.action.begin": "allowed an assistant's action, once, by the rule",
    "assistant.action.end": "deleted, because its action was over, the rule",
    "agent.file.write": "wrote a file on the host",
    "agent.key": "created a new key for the host",
    "agent.key.revoke": "revoked the key of the host",
    "automation.webhook_token": "created a new webhook address for the automation",
    "automation.apply_template": "used a template to create the automation",
    "agent.command": "ran a command on the host",
    "status_page.update": "changed the status page",
    "earlier_day.create": "imported the days before of the monitor",
    "earlier_day.update": "changed the imported days before of the monitor",
    "earlier_day.delete": "removed the imported days before of the monitor",
    "status_page.create": "created the status page",
    "status_page.password": "set the password of the status page",
    "status_page.enter": "tried passwords of the status page",
    "status_page.delete": "deleted the status page",
    "status_page.logo": "changed the logo of the status page",
    "user.adopt": "took over, by SCIM, the user",
    "scim.group.members": "changed who is in the group of the identity provider",
    "deletion.undo": "restored",
    "settings.own": "changed their own settings",
    "session.confirm": "confirmed their identity",
    "automation.import": "imported automations",
    "totp.enable": "enabled the second factor",
    "totp.disable": "disabled the second factor",
    "totp.begin": "started to set up the second factor",
    "session.end": "ended a session",
    "invitation.use": "became a user by an invitation",
    "password.change": "changed the password",
}
# Of those without a place: what they name belongs to the sentence.
NAMED = ("agent.file.write", "agent.key.revoke", "healing.chaos.run", "healing.dependencies.add",
         "healing.dependencies.remove")  # fmt: skip
COUNTED = {"count", "since"}  # what an entry has that stands for many refusals
WHY_REFUSED = {
    "unauthenticated": "not signed in",
    "role_too_low": "the role does not allow it",
    "forbidden": "the role does not allow it",
    "invalid": "the values are not valid",
    "malformed_json": "the body is not JSON",
    "bad_credentials": "wrong name or password",
    "unknown_user": "nobody of this name in the directory",
    "ambiguous_user": "more than one of this name in the directory",
    "no_id": "the directory shows no id of this person",
    "too_many_groups": "too many groups in the directory",
    "directory_unreachable": "the directory did not answer",
}
MAKES = ("create", "apply_template", "import")  # refused, they name the place where the thing would have been


def _of_monitor(incident: IncidentRecord) -> Word:
    return Word(incident.monitor_name, place_of("incident", incident.id))


def went_down(incident: IncidentRecord) -> Sentence:
    cause = f": {incident.cause}" if incident.cause else ""
    what = " was told" if incident.monitor_id is None else " went down"
    return said(incident.started, "bad", _of_monitor(incident), what, sentence_of(cause) or ".")


def came_back(incident: IncidentRecord) -> Sentence | None:
    """The end of an incident; None while it is open."""
    if incident.resolved is None:
        return None
    took = span(incident.resolved - incident.started)
    what = "over" if incident.monitor_id is None else "up again"
    return said(incident.resolved, "ok", _of_monitor(incident), f" is {what} after {took}.")


def update(incident: IncidentRecord, note: IncidentNote) -> Sentence:
    who, of = person(note.user), _of_monitor(incident)
    told = f": {note.message}" if note.message else ""
    if note.stage in ("acknowledged", "assigned"):
        if note.stage == "assigned":
            to = person(note.to)
            return said(note.time, "icon:user", who, " assigned ", of, " to ", to, sentence_of(told) or ".")
        return said(note.time, "icon:user", who, " acknowledged ", of, sentence_of(told) or ".")
    return said(note.time, "icon:bell", who, " posted an update to ", of, sentence_of(told))


def of_incident(incident: IncidentRecord) -> list[Sentence]:
    end = came_back(incident)
    told = [went_down(incident), *(update(incident, note) for note in incident.updates)]
    return told + ([end] if end is not None else [])


def run(record: RunRow) -> Sentence:
    name = Word(record.name, place_of("automation", record.automation_id))
    place = place_of("run", record.run_id)
    by = {"schedule": "the schedule", "catch_up": "the schedule", "webhook": "its webhook", "healing": "healing"}
    who = by.get(record.origin) or by.get(record.requested_by) or record.requested_by
    status = record.status
    began, ended = record.started or record.created_at, record.finished
    took = f" in {span(ended - began)}" if ended and record.started else ""
    why = f": {record.reason}" if record.reason else ""
    told = {
        "done": ("ok", f" was done{took}"),
        "failed": ("bad", f" failed{took}{why}"),
        "timeout": ("bad", f" took too long and was stopped{why}"),
        "lost": ("bad", f" was lost{why}"),
        "cancelled": ("icon:x", f" was stopped{why}"),
        "rejected": ("icon:x", f" was not allowed{why}"),
        "running": ("icon:bolt", " runs"),
        "queued": ("icon:bolt", " waits for its turn"),
        "pending_approval": ("icon:check", " waits for an approval"),
    }
    look, text = told.get(status, ("icon:bolt", f" is {status}"))
    more = " " if text.endswith((".", "!", "?")) else ". "
    return said(ended or began, look, name, text, f"{more}Started by {who}. ", Word("Output", place))


def approval(record: RequestSummary, names: NameBook) -> Sentence:
    what = Word(asked_for(record), place_of("approval", record.request_id))
    where = (Word(" on "), *names.target(record.subject)) if _acts(record) else ()
    status = record.status
    if status == "pending":
        asker = "The machine" if record.requested_by == "healing" else record.requested_by
        asker = f"The {asker}" if record.assistant else asker
        return said(record.requested_at, "icon:check", f"{asker} asks for ", what, where, ".")
    at = record.decided_at or record.requested_at
    because = f": {record.comment}" if record.comment else ""
    if status in ("approved", "rejected"):
        look = "icon:check" if status == "approved" else "icon:x"
        who = person(record.decided_by)
        ended = sentence_of(because) or "."
        came = _came_of(record)
        return said(at, look, who, f" {status} ", what, where, ended, *((" ", came) if came else ()))
    ended = (
        ": nobody decided in time." if status == "expired" else f" was not needed any more{sentence_of(because) or '.'}"
    )
    return said(at, "icon:x", what, where, ended)


def _came_of(record: RequestSummary) -> Word | str:
    if record.status != "approved":
        return ""
    words, run_id = "What came of it", record.run_id
    return Word(words, place_of("run", run_id)) if run_id else case(record.case_id, words)


def asked_for(record: RequestSummary) -> str:
    return spoken_action(str(record.plan.get("action"))) if _acts(record) else record.subject


def _acts(record: RequestSummary) -> bool:
    return record.kind == "heal" or (record.kind == "proposal" and record.plan["what"] == "action")


def window(record: WindowRecord, now: int) -> Sentence:
    name, who = Word(record.name, "/maintenance"), person(record.created_by)
    if not record.active:
        return said(int(record.created_at), "icon:cal", who, " planned the maintenance ", name, ".")
    start = record.next_start
    began = start if start is not None and start <= now else record.created_at
    return said(int(began), "maint", "Maintenance ", name, " is on. ", who, " planned it.")


def audit(entry: AuditEntry, names: Mapping[str, str] = {}) -> Sentence:
    """What somebody did, or was refused. `names`: of ids, as far as they are known."""
    action = entry.action
    done = entry.result in ("ok", "accepted")
    refused = "" if done else f" ({_why_refused(entry)})"
    look = "icon:x" if refused else "icon:list"
    family, _, verb = action.rpartition(".")
    name = "" if verb in MAKES and not done and entry.after is None else named(entry, names)
    leads = family in PLACES and (done or entry.target in names) and verb != "delete"
    target = Word(name, place_of(family, entry.target)) if leads else Word(name, strong=True)
    actor = person(entry.username if done else entry.username or "somebody")
    who = (actor, " ") if done else (_times_refused(entry), actor, " ")
    method, _, path = action.partition(" ")
    if path:  # a call that has no action of its own
        return said(entry.time, look, *who, "called ", Word(f"{method.upper()} {path}", code=True), refused, ".")
    if action in WHOLE:
        tail = (" ", target) if name and (family in PLACES or action in NAMED) else ()
        return said(entry.time, look, *who, WHOLE[action], *tail, refused, ".")
    if verb in DEEDS:
        deed = DEEDS[verb].format(thing=THINGS.get(family, family.rpartition(".")[2]))
        return said(entry.time, look, *who, deed, *((" ", target) if name else ()), refused, ".")
    return said(entry.time, look, *who, action.replace(".", " ").replace("_", " "), " ", target, refused, ".")


def _why_refused(entry: AuditEntry) -> str:
    why = entry.reason or entry.result
    return WHY_REFUSED.get(why, why.replace("_", " "))


def _times_refused(entry: AuditEntry) -> str:
    """Refusals of one kind are counted: the entry says how many there were, and since when."""
    after = entry.after
    if not isinstance(after, dict) or after.keys() != COUNTED:
        return "Refused: "
    return f"Refused {count(after['count'], 'time')} within {span(max(1, entry.time - after['since']))}: "


def named(entry: AuditEntry, names: Mapping[str, str] = {}) -> str:
    """The name where it was written down or is known; else the id."""
    for told in (entry.after, entry.before):
        if isinstance(told, dict):
            if isinstance(told.get("depends_on"), str):
                return f"{told.get('target')} on {told['depends_on']}"
            if isinstance(told.get("rule_id"), str) and isinstance(told.get("target"), str):
                return f"{target_words(told['target'])} (rule {told['rule_id']})"
            for field in ("name", "label", "username", "title"):
                if isinstance(told.get(field), str):
                    return str(told[field])
    return names.get(entry.target, entry.target)
