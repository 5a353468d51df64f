"""Healing alone: policies are evaluated always, and acted on only while the server has not answered for a while.

Signed and unexpired policies only, within the budget, one heal at a time; unknown is never true.
Must not: act on anything but this host.
"""

from __future__ import annotations

import logging
import os
import secrets
import threading
import time
from dataclasses import replace
from typing import Any, Callable, Dict, List, Literal, Optional, Set, Tuple

from opsapp.wire import causes, heals
from opsapp.wire.actions import ACTIONS
from opsapp.wire.actiontypes import Action
from opsapp.wire.alerts import AlertState, look
from opsapp.wire.commands import HealCommand
from opsapp.wire.conditions import Condition
from opsapp.wire.fields import WireError, dumps, loads
from opsapp.wire.heals import HostAnswer, StepEnd
from opsapp.wire.policies import Policy, PolicyBundle, PolicyTerms, check_bundle, secret_of
from opsapp.wire.readings import RUNS, key_of, of_report, of_service
from opsapp.wire.reports import HostReport, LocalOutcome, Measurement, Passed
from opsapp.wire.verdicts import VERIFIED, ProofWindow, came_back

from .armed import ALONE, Armed
from .config import AgentConfig
from .disk import write_whole
from .executor import DISK_RETRY_S
from .heal import Healer, LocalTask
from .outcomes import Outcomes
from .processes import Ran
from .proof import HealProof, Others, ProofPace, bound, prove

log = logging.getLogger("offline")
MOST_REASON = 1900  # characters of a reason: a report has no room for more


def readings(report: Measurement, ran: Set[str]) -> Dict[str, Any]:
    """The report's values by the names that conditions use. `ran`: services that have been seen running."""
    values = of_report(report)
    counted_s = report.starts_counted_s
    for name, state in report.services.items():
        lately = of_service(state, ran=name in ran, starts=report.starts.get(name), counted_s=counted_s)
        values.update((key_of("service", name, attribute), value) for attribute, value in lately.items())
    return values


class Offline:
    def __init__(
        self,
        config: AgentConfig,
        healer: Healer,
        outcomes: Outcomes,
        armed: Armed,
        *,
        measure: Callable[[], HostReport],
        recent: Callable[[float], HostReport],
        silent_for: Callable[[], float],
        tell: Callable[[], None],
        server_time: Callable[[], float] = time.time,
    ):
        self.bundle: Optional[PolicyBundle] = None
        self._path = os.path.join(config.state_dir, "policies.json")
        self._config = config
        self._healer = healer
        self._outcomes = outcomes
        self._armed = armed
        self._measure = measure
        self._recent = recent
        self._silent_for = silent_for
        self._tell = tell
        self._server_time = server_time
        self._ran: Set[str] = set()
        self._watches: Dict[Tuple[str, str], AlertState] = {}  # by the time since the boot, as all that is counted here
        self._over_at: Dict[Tuple[str, str], float] = {}  # when what was healed was known to be over last
        self._stop = threading.Event()
        self._pace = ProofPace(time.monotonic, self._stop.wait, silent_for)
        self._load()

    @property
    def version(self) -> int:
        return self.bundle.version if self.bundle else 0

    def take(self, bundle: Any, signature: str) -> None:
        """Take in a signed bundle; WireError when it is not for us."""
        clean = self._checked(bundle, signature)
        if self.bundle and clean.version < self.bundle.version:
            raise WireError("newer policies are here already", "stale_policies")
        write_whole(self._path, dumps({"bundle": bundle, "signature": signature}))
        self.bundle = clean
        log.info("policies version %s: %s rules", clean.version, len(clean.policies))

    def _checked(self, bundle: Any, signature: str) -> PolicyBundle:
        return check_bundle(bundle, signature, secret_of(self._config.key), self._config.agent_id)

    def run(self) -> None:
        while not self._stop.wait(self._every()):
            if self.bundle:
                self.turn(self._recent(self._every()))

    def stop(self) -> None:
        self._stop.set()

    def turn(self, report: HostReport) -> None:
        bundle = self.bundle
        if bundle is None or self._server_time() > bundle.expires_at:
            return
        values, now = self._readings(report), self._outcomes.clock.running()
        for policy in bundle.policies:
            for name, condition in bound(policy.condition, values):
                if self._acts(bundle, policy, (policy.rule_id, name), condition.evaluate(values), now):
                    self._heal(policy, name, condition, report)

    # ---- inside
    def _readings(self, report: HostReport) -> Dict[str, Any]:
        self._ran.update(name for name, state in report.services.items() if state in RUNS)
        return readings(report, self._ran)

    def _every(self) -> float:
        if self.bundle is None:
            return 1.0
        return max(self._config.service_check_s, min(self._config.interval_s, self.bundle.offline_after_s / 3))

    def _load(self) -> None:
        try:
            with open(self._path, "rb") as file:
                kept = loads(file.read())
            self.bundle = self._checked(kept["bundle"], kept["signature"])
        except FileNotFoundError:
            return
        except (OSError, WireError, KeyError, TypeError) as error:
            log.error("the kept policies are not used: %s", error)

    def _acts(
        self, terms: PolicyTerms, policy: Policy, key: Tuple[str, str], verdict: Optional[bool], now: float
    ) -> bool:
        """What may not act is as due as before."""
        before = self._watches.get(key, AlertState())
        if verdict is False and before.announced:
            self._over_at[key] = now
        watch, fires = look(before, verdict, now, hold=policy.for_s, cooldown=policy.cooldown_s, open_case=False)
        acts = fires and self._may(terms, policy, key)
        watch = before._replace(true_since=watch.true_since) if fires and not acts else watch
        if watch == AlertState():
            self._watches.pop(key, None)
        else:
            self._watches[key] = watch
        return acts

    def _comes_and_goes(self, key: Tuple[str, str]) -> bool:
        """What an earlier process has seen is not known: then the last heal stands for its end."""
        now = self._outcomes.clock.running()
        return came_back(now, self._over_at.get(key, now - self._outcomes.last(*key)))

    def _may(self, terms: PolicyTerms, policy: Policy, key: Tuple[str, str]) -> bool:
        if self._silent_for() < terms.offline_after_s:
            return False
        if self._outcomes.last(*key) < policy.cooldown_s:  # also after a restart of this agent
            return False
        if heals.used_up(self._outcomes.within(terms.budget_window_s), terms.budget):
            log.warning("the heal budget is used up: %s on %s is left alone", *key)
            return False
        return True

    def _heal(self, policy: Policy, name: str, condition: Condition, report: HostReport) -> None:
        """Heal by the policy's steps until one resolves it. Each is an outcome of its own."""
        positions, case_id = self._positions(policy, name), secrets.token_hex(8)
        flaps = self._comes_and_goes((policy.rule_id, name))
        for position in positions:
            step = policy.steps[position]
            outcome = self._begin(policy, name, condition, report, position, case_id)
            try:
                self._outcomes.begin(outcome)
            except OSError as error:  # what cannot be written down is not done
                log.error("%s on %s is left alone: %s", step.action, name or "the host", error)
                return
            began = time.monotonic()
            outcome = self._step(policy, name, condition, outcome, flaps)
            duration_s = round(time.monotonic() - began, 3)
            goes_on = heals.escalates(outcome.outcome, position != positions[-1]) and self._is_alone()
            self._finish(replace(outcome, duration_s=duration_s, escalated=goes_on))
            self._tell()
            log.info("alone: %s on %s: %s", step.action, name or "the host", outcome.outcome)
            if not goes_on:
                return

    def _is_alone(self) -> bool:
        alone = self.bundle is not None and self._silent_for() >= self.bundle.offline_after_s
        return alone and not self._stop.is_set()

    def _positions(self, policy: Policy, name: str) -> List[int]:
        """The steps that may be done. What was undone because nobody could confirm it is not done again until the
        server was heard: it would cut this host off for good."""
        silent_s, positions = self._silent_for(), []
        for position, step in enumerate(policy.steps):
            action = ACTIONS[step.action]
            params = action.complete(step.params, name or None)
            if self._armed.unconfirmed(action.name, params, silent_s):
                log.warning("%s on %s was undone unconfirmed: it is left alone", action.name, name or "the host")
            else:
                positions.append(position)
        return positions

    def _finish(self, outcome: LocalOutcome) -> None:
        """Store the end of an outcome, however long the disk has no room: those that come later wait behind it."""
        while True:
            try:
                self._outcomes.finish(outcome)
                return
            except OSError as error:
                log.error("the outcome %s cannot be written: %s", outcome.outcome_id, error)
            if self._stop.wait(DISK_RETRY_S):
                return

    def _begin(
        self, policy: Policy, name: str, condition: Condition, report: HostReport, position: int, case_id: str
    ) -> LocalOutcome:
        step, host = policy.steps[position], report.hostname
        values = self._readings(report)
        return LocalOutcome(
            secrets.token_hex(8),
            policy.rule_id,
            "failed",
            self._outcomes.clock.wall(),
            case_id,
            str(condition),
            f"{host}/{name}" if name else host,
            step.action,
            ACTIONS[step.action].complete(step.params, name or None),
            position,
            policy_version=self.version,
            metrics_before={key: values[key] for key in condition.names if key in values},
        )

    def _step(
        self, policy: Policy, name: str, condition: Condition, outcome: LocalOutcome, flaps: bool
    ) -> LocalOutcome:
        action = ACTIONS[policy.steps[outcome.escalation_step].action]
        try:
            params = action.check(outcome.action_params)
        except WireError as error:
            return replace(outcome, reason=f"bad_params: {error}", executed=False)
        others = self._others(policy, name, outcome.target.partition("/")[0])
        answer = self._phase("execute", outcome, params)
        end = heals.broken(answer)
        if end is not None:
            cause = causes.read(answer.cause)
            reason = end.reason if cause is None else f"{cause.sentence} ({end.reason})"
            return replace(_ended(outcome, end._replace(reason=reason)), executed=answer.was_tried)
        earliest = self._pace.clock() + heals.settle_of(action, policy.settle_s)
        window = ProofWindow(earliest, earliest + policy.verify_timeout_s)
        proof = prove(condition, others, lambda: self._readings(self._measure()), window, flaps, self._pace)
        return self._ending(action, condition, outcome, params, proof)

    def _others(self, policy: Policy, name: str, host: str) -> Others:
        """The other policies and the readings of a recent report, taken right before the act."""
        policies = () if self.bundle is None else self.bundle.policies
        return Others(host, policies, (policy.rule_id, name), self._readings(self._recent(self._every())))

    def _ending(
        self, action: Action, condition: Condition, outcome: LocalOutcome, params: Passed, proof: HealProof
    ) -> LocalOutcome:
        """The outcome once the act is confirmed, rolled back, or left as it is."""
        judged, seen = proof.judgement, {key: proof.values[key] for key in condition.names if key in proof.values}
        outcome = replace(outcome, action_success=1, metrics_after=seen)
        if judged.kind == VERIFIED:
            if action.armed_s:  # nobody else is there who could say that we can still be reached
                self._phase("confirm", outcome, params)
            return replace(outcome, verified=1, outcome=VERIFIED)
        end = StepEnd(judged.outcome, judged.reason)
        if heals.afterwards(end.outcome, action, True) == "rollback":  # what was begun has its snapshot on the disk
            end = heals.rolled_back(end.outcome, end.reason, self._phase("rollback", outcome, params))
        return _ended(replace(outcome, worse=proof.worse), end)

    def _phase(self, phase: str, outcome: LocalOutcome, params: Passed) -> HostAnswer:
        name = outcome.outcome_id
        command = HealCommand(f"{ALONE}{name}", 0, phase, outcome.action_type, params)
        task = LocalTask(command, lambda group: self._outcomes.process(name, group))
        try:
            answer = self._healer.perform(task)
        except Exception as error:  # whatever a handler does, the heal must come to an end
            log.exception("a heal failed inside the agent")
            return HostAnswer("failed", f"agent error: {type(error).__name__}: {error}")
        finally:
            task.cancel.close()
        ran = answer.ran or Ran("failed", None, b"")
        return HostAnswer.read({**ran._asdict(), "data": answer.data})


def _ended(outcome: LocalOutcome, end: StepEnd) -> LocalOutcome:
    verdict: Optional[Literal["inconclusive"]] = "inconclusive" if end.verdict else None
    return replace(outcome, outcome=end.outcome, reason=end.reason[:MOST_REASON], verdict=verdict)
