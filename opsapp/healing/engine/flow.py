"""The pipeline's transaction: events are received, due cases take one step each. Under the lease: one writer.

A step reads the case and the world, lets a stage decide, writes what it decided, and queues commands as records in the
same transaction. Nothing here waits or talks to anybody.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from opsapp.healing.logic.levels import PREDICTIVE_SOURCES
from opsapp.healing.logic.rules import steps
from opsapp.healing.resources import healing_of
from opsapp.healing.resources.cases import NEVER, Case, about_of, case_of
from opsapp.healing.stages import correlation, ending, ledger, planning
from opsapp.healing.stages import trust as governor
from opsapp.healing.stages.attempt import Tried, comes_to
from opsapp.healing.stages.planning import Plan
from opsapp.healing.stages.world import World
from opsapp.tree.root import Root

from . import acting, consent, ground, suggestions, telling, turns
from .alerts import OVER, Past
from .fleet_access import FleetAccess
from .inventory import Inventory

WAIT_S = 0.5


class Worked(NamedTuple):
    """What a transaction of the pipeline did: how much, and what became of (rule, target). What is to be measured once
    it is committed: `rechecks` whatever is asked already, `above` only what is not."""

    done: int
    pasts: dict[tuple[str, str], Past]
    rechecks: list[str]
    above: list[str]


class Flow:
    """One transaction's hands."""

    def __init__(self, root: Root, world: World, reach: FleetAccess, token: int, inventory: Inventory):
        self.root = root
        self.world = world
        self.reach = reach
        self.token = token
        self.inventory = inventory
        self.now = world.now
        self.healing = healing_of(root)
        self.book = self.healing.book
        self.ledger = self.healing["ledger"]
        self.pasts: dict[tuple[str, str], Past] = {}
        self.rechecks: list[str] = []  # monitors to be checked once this is committed
        self.above: list[str] = []  # monitors and agents that something hangs on, to be measured then

    # -- stage 1: an event arrives, a hold ends

    def receive(self, event: dict[str, Any]) -> None:
        if event.get("kind") == "rollback":
            acting.begin_manual_rollback(self, event)
            return
        if event.get("kind") == OVER:
            self._end_told(event)
            return
        if event.get("early") and self._is_suppressed(event):
            return  # as its last one was, and its cooldown is not over: no alert yet
        self.book.last_event_at = int(event["at"])
        found = self._correlated(event)
        known = self.book.cases[found.case_id].fields["events"] if found.kind == "absorb" else ()
        # Once a case; and a guess is no evidence that the rule sees well.
        if event["source"] not in PREDICTIVE_SOURCES and event["rule_id"] not in known:
            self._count_trigger(event["rule_id"])
        if found.kind == "open":
            case = self.book.open(case_of(event), found.due)
            case.why(f"event of rule {event['rule_id']}: held until {found.due - self.now:.1f} s from now")
            self._remember(case, event["rule_id"])
            self._measure_above(found.ask)
        elif found.kind == "absorb":
            self._take_in(self.book.cases[found.case_id], event, found.reason)
        else:
            self.end_event(case_of(event), event["rule_id"], found.outcome or "", found.reason, 1)
            self._forget(event["rule_id"], event["target"], found.outcome or "", found.reason)

    def _end_told(self, event: Mapping[str, Any]) -> None:
        """A condition is known false. A case of its rule that is at work says itself what came of it."""
        cases = [case.fields for case in self.book.open_cases(event["target"])]
        own = [case for case in cases if event["rule_id"] in case["events"]]
        if all(case["state"] == "awaiting_approval" for case in own):
            telling.over(self, event)

    def _take_in(self, case: Case, event: dict[str, Any], reason: str) -> None:
        """The case stands for the event: as one of its own while it acts, as one more entry when it does not."""
        rule_id, state = event["rule_id"], case.fields["state"]
        waits = state == "awaiting_approval" and rule_id != case.fields["rule_id"]
        if state != "closed" and not waits:
            self._absorb(case, event)
            return
        if waits:
            about = {**case_of(event), "id": case.fields["id"]}
            self.end_event(about, rule_id, "absorbed", reason, 1)
        else:
            self._absorb_late(case, event)
        self._forget(rule_id, event["target"], "absorbed", reason)

    def _measure_above(self, names: tuple[str, ...]) -> None:
        """What the target hangs on may have failed with it, and be measured only in a minute."""
        for name in names:
            self.above.extend(self.inventory.measuring(name))

    def _is_suppressed(self, event: Mapping[str, Any]) -> bool:
        found = self._correlated(event)
        return found.outcome == "suppressed" or found.root is not None

    def _correlated(self, event: Mapping[str, Any]) -> correlation.Received:
        return correlation.receive(event, self.world, self.book.on_target(event["target"]))

    def _absorb(self, case: Case, event: dict[str, Any]) -> None:
        rule_id, fields = event["rule_id"], case.fields
        events = {**fields["events"], rule_id: fields["events"].get(rule_id, 0) + 1}
        about = fields["abouts"].get(rule_id)
        if about is None or about["source"] in PREDICTIVE_SOURCES:  # what has happened counts for more than a guess
            about = about_of(event)
        case.set(events=events, abouts={**fields["abouts"], rule_id: about})
        self._remember(case, rule_id)

    def _absorb_late(self, case: Case, event: dict[str, Any]) -> None:
        """The case is closed, and stands for what happens now all the same: one entry a rule, however often it fires,
        which becomes final with the window."""
        rule_id, late = event["rule_id"], case.fields.get("late") or {}
        if rule_id in late:
            before = self.ledger.entries[late[rule_id]].fields["events"]
            self.ledger.update(self.root, late[rule_id], events=before + 1)
        else:
            about = {**case_of(event), "id": case.fields["id"]}
            known = {"trust_level": self._level(rule_id), "metrics_before": event["metrics"], "events": 1}
            entry = self.ledger.begin(self.root, about, rule_id=rule_id, now=self.now, **known)
            late = {**late, rule_id: entry["id"]}
        counted = {**case.fields["events"], rule_id: case.fields["events"].get(rule_id, 0) + 1}
        case.set(late=late, events=counted)
        self.book.schedule(case, case.fields["opened_at"] + self.world.settings["absorption_window_s"])

    def _end_late(self, case: Case) -> None:
        """The window is over: what came after the case had closed has its outcome."""
        reason = f"case {case.fields['id']} is about the same target"
        for entry_id in (case.fields.get("late") or {}).values():
            self.ledger.finish(self.root, entry_id, outcome="absorbed", reason=reason, now=self.now)
        case.set(late={})
        self.book.rest(case)

    def _level(self, rule_id: str) -> str:
        trust = self.world.trust.get(rule_id)
        return trust.current_level if trust else ""

    def end_event(self, case: Mapping[str, Any], rule_id: str, outcome: str, reason: str, events: int) -> None:
        """An event that ends as it arrives, or that its case stood for."""
        known = {"trust_level": self._level(rule_id), "metrics_before": case.get("metrics", {})}
        self.ledger.end(
            self.root, case, rule_id=rule_id, outcome=outcome, reason=reason, now=self.now, events=events, **known
        )
        if ending.tells(outcome, reason):
            telling.unresolved(self, {**case, "rule_id": rule_id}, outcome, reason)

    # -- a case takes a step

    def advance(self, case: Case) -> None:
        state = case.fields["state"]
        if state == "closed":
            self._end_late(case)
        elif state == "correlating":
            self._correlate(case)
        elif state == "planning":
            self.plan(case)
        elif state == "awaiting_approval":
            consent.look(self, case)
        else:
            acting.advance(self, case)

    def _correlate(self, case: Case) -> None:
        found = correlation.correlate(case.plain(), self.world)
        case.set(**case.fields["abouts"].get(found.rule_id, {}), rule_id=found.rule_id)
        self.book.hold_back(case, found.kind == "wait")
        said = f"correlated: {found.kind}" + (f", {found.reason}" if found.reason else "")
        if case.fields["why"][-1:] != (said,):
            case.why(said)
        if found.kind in ("wait", "hold"):
            if found.kind == "wait":
                case.set(waits_from=case.fields.get("waits_from") or self.now)
            self._measure_above(found.ask)
            self.book.schedule(case, found.due)
        elif found.kind == "end":
            ground.held(self, case)
            self.end_now(case, found.outcome or "", found.reason)
        else:
            case.set(state="planning")
            self.plan(case)

    # -- stage 2

    def plan(self, case: Case) -> None:
        """Plan the present step, and those after it as long as they fail before they begin."""
        while True:
            lost = ground.lost(self, case)
            if lost is not None:
                self.end_now(case, lost.outcome, lost.reason)
                return
            plan = planning.plan(case.plain(), self.world)
            if self._waits_for_host(case, plan) or self._waits_for_turn(case, plan):
                return
            case.set(level=plan.effective.level)
            case.why(*plan.why)
            if plan.outcome is None:
                self._carry_out(case, plan)
                return
            if plan.outcome != "failed" or not self._escalates(case, plan):
                self._tell_of(case, plan)
                self.end_now(case, plan.outcome, plan.reason, plan)
                return

    def _waits_for_host(self, case: Case, plan: Plan) -> bool:
        """A host that is silent gets as long as a command would: after a restart of ours nobody has been heard yet."""
        since = case.fields["waits_since"] or self.now
        if not plan.reason.startswith(planning.OFFLINE) or self.now - since >= self.world.settings["command_expiry_s"]:
            case.set(waits_since=None)
            return False
        if case.fields["waits_since"] is None:
            case.why(f"{plan.reason}: waiting for it")
        case.set(waits_since=since, waits_from=case.fields.get("waits_from") or since)
        self.book.schedule(case, self.now + WAIT_S)
        return True

    def _waits_for_turn(self, case: Case, plan: Plan) -> bool:
        """Whether others act, or the ground of a case that has waited is not known yet. One that has lost it ends."""
        if plan.would != "execute" or plan.outcome is not None:
            return False
        found = turns.look(self, case, plan)
        if found.kind == "end":
            self.end_now(case, "withdrawn", found.reason)
        return found.kind != "go"

    def _escalates(self, case: Case, plan: Plan) -> bool:
        """A step that could not even begin is recorded, and the next one planned; False at the chain's end."""
        following = plan.choice.step.position + 1 if plan.choice else NEVER
        if following >= len(steps(self.world.rules[case.fields["rule_id"]])):
            return False
        entry = self.begin_entry(case, plan)
        self.ledger.finish(self.root, entry, outcome="failed", reason=plan.reason, now=self.now)
        case.set(step=int(following), entry_id=None)
        return True

    def _tell_of(self, case: Case, plan: Plan) -> None:
        if plan.outcome == "notified":
            telling.notified(self, case.fields, plan.reason)
        telling.braked(self, plan)

    def _carry_out(self, case: Case, plan: Plan) -> None:
        if plan.tell:
            telling.acts(self, case.fields, plan)
        if plan.would == "request_approval":
            consent.ask(self, case, plan)
        else:
            acting.begin(self, case, plan, self.begin_entry(case, plan, state="executing"))

    def begin_entry(self, case: Case, plan: Plan | None, **fields: Any) -> int:
        """The intent, as far as there is a plan."""
        known: dict[str, Any] = {"metrics_before": case.fields["metrics"], **fields}
        if plan is not None:
            known["trust_level"] = plan.trust_level
        else:
            known["trust_level"] = self._level(case.fields["rule_id"])
        if plan is not None and plan.choice is not None:
            choice = plan.choice
            known.update(
                action_type=choice.action.name,
                action_params=ledger.params_text(choice.params),
                risk=choice.action.risk,
                escalation_step=choice.step.position,
            )
            case.set(step=choice.step.position)
        entry = self.ledger.begin(self.root, case.plain(), rule_id=case.fields["rule_id"], now=self.now, **known)
        case.set(entry_id=entry["id"])
        return entry["id"]

    # -- ends

    def end_now(self, case: Case, outcome: str, reason: str, plan: Plan | None = None) -> None:
        """The case ends without an effect."""
        if case.fields["entry_id"] is None:
            self.begin_entry(case, plan)
        self.finish_step(case, outcome, reason)

    def finish_step(self, case: Case, outcome: str, reason: str, *, on: bool = False, **fields: Any) -> None:
        """The present entry becomes final. `on`: the chain goes on, else the case closes and stands for its events."""
        rule_id = case.fields["rule_id"]
        events = 0 if on else case.fields["events"].get(rule_id, 0)
        record = self.ledger.finish(
            self.root, case.fields["entry_id"], outcome=outcome, reason=reason, now=self.now, events=events, **fields
        )
        case.why(f"step {case.fields['step']}: {outcome}" + (f", {reason}" if reason else ""))
        case.set(entry_id=None, approval_id=None)
        if record["executed"]:
            step = (ledger.judged(record), case.fields.get("definition"))
            case.set(tried=(*case.fields.get("tried", ()), step))
            suggestions.after_outcome(self.healing, record, self.world.thresholds, self.now)
        if not on:
            self.count_case([Tried(*step) for step in case.fields.get("tried", ())], record)
            if ending.tells(outcome, reason) and not case.fields.get("manual"):
                telling.unresolved(self, case.fields, outcome, reason)
            self._close(case, outcome, reason)

    def _end_others(self, case: Case) -> list[str]:
        """The events of other rules, for which the case stood, have their outcome; these rules."""
        others = [rule_id for rule_id in case.fields["events"] if rule_id != case.fields["rule_id"]]
        reason = f"case {case.fields['id']} of {case.fields['rule_id']}"
        for rule_id in others:
            about = {**case.plain(), **case.fields["abouts"][rule_id]}
            self.end_event(about, rule_id, "absorbed", reason, case.fields["events"][rule_id])
        return others

    def let_go(self, case: Case) -> None:
        """From here on the case waits for people, and other rules need not: what they find fires again after their
        cooldown."""
        for rule_id in self._end_others(case):
            self._forget(rule_id, case.fields["target"], "absorbed", f"case {case.fields['id']}")
        leader = case.fields["rule_id"]
        case.set(events={leader: case.fields["events"][leader]})

    def _forget(self, rule_id: str, target: str, outcome: str, reason: str) -> None:
        self.pasts[rule_id, target] = Past(self.now, outcome, reason, False)
        self.book.last_of[rule_id, target] = (self.now, outcome, reason)

    def _close(self, case: Case, outcome: str, reason: str) -> None:
        self._end_others(case)
        unsure_until = self._unsure_until(case, outcome)
        self.book.close(case, outcome, reason, self.now, unsure_until)
        if outcome == "verified":  # that was a heal, which tells what came of it itself
            self.book.forget_told(case.fields["rule_id"], case.fields["target"])
        elif self.world.reading(case.fields).verdict is False:
            telling.over(self, case.fields)
        for rule_id in case.fields["events"]:
            past = Past(case.fields["opened_at"], outcome, reason, False, unsure_until)
            self.pasts[rule_id, case.fields["target"]] = past

    def _unsure_until(self, case: Case, outcome: str) -> float:
        """What was measured before that is no reason to act again. A report that an agent began before its heal was
        measured may arrive after the verdict, and says what was."""
        if outcome == "lost":
            return self.now + (acting.settle_of(self, case) if case.fields.get("action") else 0.0)
        return self.now if outcome == "verified" and str(case.fields.get("subject", "")).startswith("agent:") else 0.0

    def _remember(self, case: Case, rule_id: str) -> None:
        self.pasts[rule_id, case.fields["target"]] = Past(case.fields["opened_at"], "", "", True)

    # -- stage 6

    def _count_trigger(self, rule_id: str) -> None:
        state = self.healing["trust"].get(rule_id)
        if state is not None:
            self._govern(state, governor.triggered(state.trust, self.now, self.world.thresholds.promotion))

    def count_case(self, tried: Sequence[Tried], last: Mapping[str, Any], alone_at: float | None = None) -> None:
        """One case is one heal attempt, whatever its chain's length. `last` is the entry that it ended with.
        `alone_at`: when it ended, where an agent reports it of healing alone."""
        state = self.healing["trust"].get(last["rule_id"])
        result = state and comes_to(tried, last["outcome"], state.trust.definition)
        if state is None or result is None:
            return
        thresholds = self.world.thresholds
        if alone_at is None:
            trust, change = governor.recorded(state.trust, result, self.now, thresholds)
        else:
            trust, change = governor.reported(state.trust, result, alone_at, self.now, thresholds)
        if change is not None:
            state.become(self.root, trust, cause=change.cause, now=self.now)
            suggestions.demoted(self.healing["suggestions"], change, last["id"], self.now)
            telling.demoted(self, change, last["id"])
        self._govern(state, trust)

    def _govern(self, state: Any, trust: governor.Trust) -> None:
        """Evaluated after every trigger and case."""
        thresholds = self.world.thresholds
        trust, change = governor.evaluate(trust, self.now, thresholds.promotion)
        state.become(self.root, trust, cause=change.cause if change else "edit", now=self.now)
        self.world.trust = {**self.world.trust, trust.rule_id: trust}
        suggestions.after_trigger(self.healing["suggestions"], trust, thresholds.promotion, self.now)
