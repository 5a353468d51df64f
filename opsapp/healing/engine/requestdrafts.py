"""People are asked about an outage once, about all of its targets, however many transactions it takes to write that.

Of more than `ASKED_AT_ONCE` targets, each transaction keeps as many as a draft that nobody sees; the last one makes
the request and its message. Must not: decide what a target wants; stages do.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import islice

from opsapp.healing.resources.cases import Case
from opsapp.healing.resources.requestdrafts import Asking, RequestDraft
from opsapp.healing.resources.waves import StoredDeed
from opsapp.healing.stages import moves
from opsapp.healing.stages import waves as stage
from opsapp.healing.stages.approval import AskedTarget, HealPlan
from opsapp.healing.stages.case import CaseRecord, PlanningCase
from opsapp.healing.stages.moves import AskApproval
from opsapp.healing.stages.planning import Plan
from opsapp.healing.stages.waves import DeedChange

from . import approvals, notifications, reach, steps, waves
from .context import PipelineContext

ASKED_AT_ONCE = 200  # cases, in one transaction: as long as others may have to wait for it
Asked = list[tuple[Case, AskApproval]]
Step = tuple[str, int]  # the action, and its place in the chain


def ask(context: PipelineContext, stored: StoredDeed) -> None:
    """What comes later falls under a further request."""
    book, room = context.healing.waves, ASKED_AT_ONCE - context.asked
    asking = book.asking_of(stored.deed.id)
    wanting = _wanting(context, stored, "" if asking is None else asking.after, room + 1)
    if asking is None and not wanting:
        return
    if asking is None and waves.gathers(context, stored):
        context.book.schedule(wanting[0], context.now + stage.GATHER_LOOK_S)
        return
    if asking is None and len(wanting) > room:
        asking = book.begin_asking(stored.deed.id)
    piece = wanting[:room]
    for step, asked in _planned(context, stored, piece).items():
        if asking is None:
            steps.ask_together(context, asked)
        else:
            _add(context, asking, step, asked)
        members = (stored.members[case.record.id]._replace(asked=True) for case, _ in asked)
        stored.keep(DeedChange(stored.deed, tuple(members)))
    if asking is None:
        return
    if piece:
        asking.after = piece[-1].record.id
    if len(wanting) <= room:
        book.end_asking(stored.deed.id)
        for draft in asking.whole():
            _ask_whole(context, draft)


def _wanting(context: PipelineContext, stored: StoredDeed, after: str, most: int) -> list[Case]:
    ids = stored.wanting.keys(after, excludemin=True)
    cases = (case for case_id in ids if (case := context.book.find(case_id)) is not None)
    return list(islice((case for case in cases if isinstance(case.record, PlanningCase)), max(most, 0)))


def _planned(context: PipelineContext, stored: StoredDeed, cases: list[Case]) -> dict[Step, Asked]:
    """Group the cases by what they would do; those that do not want to ask do what they want instead."""
    context.asking.add(stored.deed.id)
    context.asked += len(cases)
    alike = defaultdict[Step, Asked](list)
    for case in cases:
        then = steps.following_now(context, case.record)
        if isinstance(then, AskApproval) and then.plan.choice is not None:
            moves.check(case.record.place, then)
            alike[then.plan.choice.action.name, then.plan.choice.step.position].append((case, then))
        else:
            steps.carry_on(context, case, then)
    context.asking.discard(stored.deed.id)
    return alike


def _add(context: PipelineContext, asking: Asking, step: Step, asked: Asked) -> None:
    """Add the cases to the step's draft of a request; from here on they wait for it."""
    records = [steps.intent(context, then) for _, then in asked]
    plans = [then.plan for _, then in asked]
    shown = [
        approvals.shown(record, plan, context.world, context.root) for record, plan in zip(records, plans, strict=True)
    ]
    draft = asking.of_step(step) or _begun(asking, step, records[0], plans[0], shown[0])
    asked_about = [*zip(records, shown, strict=True)]
    subjects = {subject for record, plan in asked_about for subject in reach.subjects_asked(record, plan)}
    draft.add(tuple(approvals.target_of(record, plan) for record, plan in asked_about), subjects)
    for record, (case, then) in zip(records, asked, strict=True):
        steps.await_request(context, case, then._replace(case=record), draft.name, f"{draft.name}/{record.id}")


def _begun(asking: Asking, step: Step, record: CaseRecord, plan: Plan, shown: HealPlan) -> RequestDraft:
    assert plan.choice is not None
    reason, lowered = approvals.reason_of(record, plan), notifications.lowered(plan)
    draft = RequestDraft(step, shown, risk=plan.choice.action.risk, reason=reason, lowered=lowered)
    asking.drafts[draft.name] = draft
    return draft


def _ask_whole(context: PipelineContext, draft: RequestDraft) -> None:
    waiting = context.book.waiting_for
    targets = [target for target in draft.targets() if f"{draft.name}/{target.case_id}" in waiting]
    named = _records(context, targets[: notifications.NAMED])
    if not named:
        return
    approvals.ask_drafted(context, draft, named[0], targets)
    wish = notifications.Wish(draft.step[0], draft.lowered, len(targets))
    notifications.asked(context, named, wish, draft.name)


def _records(context: PipelineContext, targets: list[AskedTarget]) -> list[CaseRecord]:
    records = (context.book.record_of(target.case_id) for target in targets)
    return [record for record in records if record is not None]
