"""Runs that people must allow: what they are asked, and what their answer stands on."""

from __future__ import annotations

from opsapp.agents.engine import subject
from opsapp.approvals import engine as approvals
from opsapp.approvals import resources
from opsapp.approvals.config import ApprovalSettings
from opsapp.approvals.records import Kind, NewRequest, Proposer, RequestAbout
from opsapp.approvals.resources import approvals_of
from opsapp.automations.resources import Automation, Run, automations_of, digests, run_of, with_parts
from opsapp.lib.addresses import public
from opsapp.lib.jsontypes import JsonObject
from opsapp.runtime.node import node_of
from opsapp.tree.root import Root
from opsapp.wire.records import plain

from . import targets

KIND: Kind = "run"


def freeze(root: Root, run: Run, automation: Automation) -> None:
    """Freeze what the automation is made of, and the hosts on which all of it would run."""
    run.uses, run.hosts = uses(root, automation), targets.hosts_of(root, automation.id)


def request(root: Root, run: Run, now: float, proposed: Proposer | None = None) -> str:
    """Ask people, in the transaction of the run; the request's id."""
    settings = run.settings
    about: RequestAbout = {"run_id": run.id, "automation_id": run.automation_id}
    if proposed is not None:
        about["assistant"] = plain(proposed)
    wanted = NewRequest(
        KIND,
        settings.name,
        plan(run),
        f"asked for by {run.requested_by} ({run.origin})" if proposed is None else proposed.reason,
        run.requested_by,
        node_of(root).config[ApprovalSettings].expiry_s,
        about,
        approvers=settings.approvers,
        quorum=settings.quorum,
        subjects=_subjects(root, run),
    )
    return resources.request(root, wanted, now).__name__


def _subjects(root: Root, run: Run) -> list[str]:
    """The hosts that it is about; none where it does anything elsewhere too."""
    places = {automation.params.place for automation in with_parts(root, run.automation_id)}
    hosts = {agent_id for pairs in (run.hosts or {}).values() for agent_id, _ in pairs}
    return [subject(agent_id) for agent_id in sorted(hosts)] if places <= {"agents", "inside"} else []


def plan(run: Run) -> JsonObject:
    """What is approved is exactly this: the definition, those that it is made of, the hosts, and the inputs."""
    shown = public(run.definition.settings)
    return {
        "automation_id": run.automation_id,
        "definition": run.definition.digest,
        "uses": run.uses,
        "hosts": targets.plain(run.hosts or {}),
        "inputs": run.inputs,
        **{name: shown[name] for name in ("name", "type", "params", "timeout", "retries")},
    }


def uses(root: Root, automation: Automation) -> dict[str, str]:
    """Every automation that this one is made of, at any depth: id -> digest."""
    return {
        automation_id: made
        for automation_id, made in digests(root, automation.id).items()
        if automation_id != automation.id
    }


def shown_of(root: Root, automation_id: str) -> JsonObject:
    """What an approval of something else that runs it stands on: what it does, and on which hosts."""
    hosts = targets.plain(targets.hosts_of(root, automation_id))
    return {"automation": digests(root, automation_id), "hosts": hosts}


def written_by(root: Root, automation_id: str, name: str) -> str | None:
    """What this person has had to do with an automation since it was last approved."""
    mine = [part.name for part in with_parts(root, automation_id) if name in part.authors]
    if not mine:
        return None
    return f"You have written or edited {mine[0]!r}, or made its webhook token: somebody else has to approve it."


def accepted(root: Root, automation_id: str) -> None:
    """Note that an automation was accepted: from here on those count who change it."""
    for automation in with_parts(root, automation_id):
        if automation.authors:
            automation.authors = ()


def ground_gone(root: Root, run: Run | None, plan_hash: str) -> str | None:
    """Why an approval no longer stands, or None."""
    if run is None or run.status != "pending_approval":
        return "the run is gone"
    automation = automations_of(root).get(run.automation_id)
    if automation is None:
        return "the automation was deleted"
    if automation.definition.digest != run.definition.digest:
        return "the automation was edited after the request"
    if uses(root, automation) != run.uses:
        return "an automation that it is made of was edited after the request"
    return None if resources.plan_hash(plan(run)) == plan_hash else "the plan has changed"


def undecided(root: Root) -> list[Run]:
    """Runs that people have not decided about yet."""
    folder = approvals_of(root)
    pending = folder.some(name for _, name in list(folder.pending))
    runs = [run_of(root, approval.about["run_id"]) for approval in pending if approval.kind == KIND]
    return [run for run in runs if run is not None and not run.is_over]


def withdraw(root: Root, run: Run, why: str, now: float) -> None:
    """Nobody needs to decide any more."""
    request_id = run.request_id
    if request_id is not None and request_id in approvals_of(root):
        approvals.lapse(root, request_id, "withdrawn", why, now)
