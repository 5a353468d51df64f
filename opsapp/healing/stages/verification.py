"""Stage 4, verification: what a fresh look at the right host says about the original condition."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from opsapp.lib.jsontypes import JsonObject
from opsapp.wire.actions import ACTIONS, Action

from .case import ConfirmingCase, SettlingCase, VerifyingCase
from .execution import end_step, roll_back
from .moves import EntryFields, Measure, Next, SendCommand, Wait
from .timing import POLL_S, patience_of
from .world import Reading, World

ASK_AGAIN_S = 10.0  # a measurement that was asked for and does not come is asked for again


class Verification(NamedTuple):
    """`outcome` is None while nothing fresh is known and there is time left."""

    outcome: str | None
    reason: str = ""


def verify(reading: Reading, *, settled_at: float, deadline: float, now: float) -> Verification:
    """Only readings taken after the settle time count. Known false is the one way to `verified`."""
    fresh = reading.measured_at is not None and reading.measured_at >= settled_at
    if fresh and reading.verdict is False:
        return Verification("verified", "the condition is known false")
    if fresh and reading.verdict is True:
        return Verification("failed", "the condition still holds")
    if now >= deadline:
        reason = "the condition is unknown" if fresh else "stale: nothing fresh was reported"
        return Verification("inconclusive", reason)
    return Verification(None)


def afterwards(outcome: str, action: Action, snapshot: JsonObject | None) -> str:
    """`close`, `rollback` or `escalate`. What is not known is never rolled back, but for what may have cut the host
    off: nobody confirms that, so its agent undoes it, and all that is left is to hear of it."""
    if outcome == "verified":
        return "close"
    back = outcome == "failed" or (outcome == "inconclusive" and action.armed_s is not None)
    return "rollback" if back and action.reversible and snapshot is not None else "escalate"


def settled(case: SettlingCase, world: World, token: int) -> Measure:
    """The settle time is over: have the right thing measured afresh."""
    patience = patience_of(case.rule_id, world)
    verifying = case.becomes(VerifyingCase, settled_at=world.now, deadline=world.now + patience)
    return _ask(verifying, patience, world, token, {"state": "verifying"})


def _ask(case: VerifyingCase, patience: float, world: World, token: int, entry: EntryFields | None = None) -> Measure:
    asking = replace(case, asked_at=world.now, asked_under=token)
    return Measure(asking, case.heal.heal_id, patience, world.now + POLL_S, entry)


def looked_at(case: VerifyingCase, world: World, token: int) -> Next:
    """What the newest reading says, and what follows from it."""
    if case.asked_under != token:  # asked by a process that is gone: nobody was there to hear the answer
        patience = patience_of(case.rule_id, world)
        return _ask(replace(case, deadline=world.now + patience), patience, world, token)
    reading = world.reading(case.about)
    verdict = verify(reading, settled_at=case.settled_at, deadline=case.deadline, now=world.now)
    if verdict.outcome is None:
        if world.now - case.asked_at >= ASK_AGAIN_S:
            return _ask(case, case.deadline - world.now, world, token)
        return Wait(case, world.now + POLL_S)
    entry: EntryFields = {"metrics_after": reading.metrics}
    then = afterwards(verdict.outcome, ACTIONS[case.heal.action], case.heal.snapshot)
    if then == "rollback":
        return roll_back(case, verdict.outcome, verdict.reason, entry)
    if verdict.outcome == "verified" and case.heal.armed:
        confirming = case.saying("verified; confirming what the agent would undo").becomes(ConfirmingCase)
        return SendCommand(confirming, entry=entry)
    return end_step(case, verdict.outcome, verdict.reason, world, entry)
