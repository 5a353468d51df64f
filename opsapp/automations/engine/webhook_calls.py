"""Inbound webhooks: whose token it is, how often it may be used, and the run that a call makes."""

from __future__ import annotations

from opsapp.audit.engine import Actor, note
from opsapp.automations.resources import Automation, automations_of, board_of
from opsapp.automations.resources.board import Calls
from opsapp.lib.ids import digest
from opsapp.lib.jsontypes import JsonObject
from opsapp.lib.problems import Conflict, TooMany
from opsapp.tree.root import Root

from . import flow, notices

WEBHOOK = "webhook"


def automation_of(root: Root, token: str) -> Automation | None:
    """Whose token this is; nobody's, when it is wrong."""
    automation_id = board_of(root).webhooks.get(digest(token))
    return None if automation_id is None else automations_of(root).get(automation_id)


def count(root: Root, automation: Automation, now: float) -> None:
    """Count a call; TooMany when there were too many in the last minute. What is refused is not written."""
    calls = board_of(root).calls
    most = flow.options(root).webhook_calls_per_minute
    mine = calls.get(automation.id)
    if mine is None:
        mine = calls[automation.id] = Calls()
    recent = mine.recent(now)
    if len(recent) >= most:
        raise TooMany("This webhook is called too often.", retry_after=max(1.0, recent[-most] + 60 - now + 1))
    mine.add(now)


def called(root: Root, automation: Automation, given: JsonObject, ip: str, now: float) -> JsonObject:
    if not automation.settings.enabled:
        raise Conflict("This automation is disabled.", code="disabled")
    run = flow.ask(root, now, automation.id, given=given, by=WEBHOOK, origin=WEBHOOK)
    note(root, Actor(None, ip), "automation.webhook", automation.id, after={"run_id": run.id, "status": run.status})
    return notices.started(run)
