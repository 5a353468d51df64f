"""The phases look, snapshot, execute, rollback, confirm and measure of one heal action on this host.

At-most-once comes from the journal (one command id a phase), fencing from the token. Must not: decide whether to heal.
"""

from __future__ import annotations

import logging
import threading
import time
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple

from opsapp.wire.actionparams import HealParams
from opsapp.wire.actions import ACTIONS
from opsapp.wire.actiontypes import OWN, Action, Handler
from opsapp.wire.causes import LookSubject
from opsapp.wire.commands import ASKING, HealCommand
from opsapp.wire.frames import OUTPUT_LIMIT
from opsapp.wire.records import made, plain
from opsapp.wire.reports import HostReport, Passed

from . import protection, unittimes
from .armed import CONFIRMED, UNDONE, Armed
from .declared import checked_steps
from .executor import CommandAnswer, CommandTask, refused
from .fits import FITS
from .journal import CommandJournal
from .looks import CauseLooks, finder
from .native import Context
from .processes import Cancel, ProcessGroup, Ran, run
from .services import is_masked
from .snapshots import KINDS, LocalHost, Snapshot, Snapshots, snapshot_of

log = logging.getLogger("heal")
CHANGES = ("execute", "rollback")  # phases after which the host is not as it was
STEPS = checked_steps(tuple(ACTIONS.values()))


class LocalTask:
    """What a heal needs of a task when no command asked for it."""

    type = "heal"

    def __init__(self, params: HealCommand, on_start: Callable[[ProcessGroup], None]):
        self.id = params.heal_id
        self.params = params
        self.cancel = Cancel()
        self.on_start = on_start

    def on_output(self, data: bytes) -> None:
        """Nobody watches."""


class StepRun(NamedTuple):
    argv: List[str]
    exit_code: Optional[int]
    status: str


class Healer:
    def __init__(
        self,
        journal: CommandJournal,
        host: LocalHost,
        snapshots: Snapshots,
        armed: Armed,
        measure: Callable[[], HostReport],
        acted: Callable[[], None],
    ):
        self._journal = journal
        self._armed = armed
        armed.undo = lambda record: self._undo(record.snapshot)
        self._host = host
        self._snapshots = snapshots
        self._measure = measure
        self._acted = acted
        self._looks = CauseLooks(finder(host))
        self._one = threading.Lock()

    def __call__(self, task: CommandTask) -> CommandAnswer:
        asks = task.params.phase in ASKING  # whoever asks may know
        if not (asks or self._journal.admit(task.params.token, task.store)):
            return refused("stale_token", {"newest": self._journal.newest(task.store)})
        return self.perform(task)

    def perform(self, task: Any) -> CommandAnswer:
        """Phases that change the host come one after the other, whoever asks."""
        if task.params.phase == "measure":
            return CommandAnswer(Ran("done", 0, b""), {"phase": "measure", "report": plain(self._measure())})
        if task.params.phase == "look":
            return self._look(task)
        action = ACTIONS[task.params.action_type]
        phase = {
            "snapshot": self._snapshot,
            "execute": self._execute,
            "rollback": self._rollback,
            "confirm": self._confirm,
        }[task.params.phase]
        with self._one:
            answer = phase(task, action)
        if task.params.phase in CHANGES:
            self._acted()
        return CommandAnswer(
            answer.ran, {"phase": task.params.phase, "action_type": action.name, **(answer.data or {})}
        )

    # ---- phases
    def _look(self, task: Any) -> CommandAnswer:
        """What shows the cause may come from outputs, and goes where an output goes."""
        cause = self._looks(LookSubject.read(task.params.params))
        evidence = "" if cause is None else "\n".join(cause.evidence)
        told = None if cause is None else cause.told()
        return CommandAnswer(Ran("done", 0, evidence.encode()), {"phase": "look", "cause": told})

    def _snapshot(self, task: Any, action: Action) -> CommandAnswer:
        snapshot, why = self._take(task, action)
        return CommandAnswer(Ran("done", 0, b"", why), {"snapshot": snapshot and plain(snapshot)})

    def _execute(self, task: Any, action: Action) -> CommandAnswer:
        params = task.params.params
        told = HealParams.read(params)
        protected = protection.refusal(action.name, told, self._host.protected)
        if protected:
            return refused(protected)

        def fits(handler: Handler) -> bool:
            return not handler.when or FITS[handler.when](told, self._host)

        handler = action.choose(self._host.capabilities.usable, fits)
        if handler is None:
            usable = [tool for tool in action.tools() if self._host.capabilities.usable(tool)]
            return refused("no_capable_handler", {"looked_for": action.tools(), "unfit": usable})
        snapshot, why = self._take(task, action)
        if snapshot is None and action.reversible:
            return refused(f"no_snapshot: {why}", {"snapshot": None})
        state = snapshot.state if snapshot else {}
        if action.snapshot == "process" and not state:
            return refused(f"no_snapshot: {why}", {"snapshot": None})
        data: Dict[str, object] = {"handler": list(handler.tools), "snapshot": snapshot and plain(snapshot)}
        if why:
            data["snapshot_missing"] = why
        armed: Dict[str, object] = {}
        if action.armed_s and snapshot:
            ran, steps, armed = self._armed_steps(task, action, handler.argv(params), snapshot)
        else:
            ran, steps = self._steps(task, action, handler.argv(params), state)
        data.update(steps=_told(steps), **armed)
        if ran.status == "failed" and is_masked(state):
            ran = ran._replace(reason=f"masked: nothing can start {state['service']} until somebody unmasks it")
        if ran.status == "failed":
            cause = self._looks(made(LookSubject, params))
            data["cause"] = None if cause is None else cause.told()
        return CommandAnswer(ran, data)

    def _armed_steps(
        self, task: Any, action: Action, steps: List[List[str]], snapshot: Snapshot
    ) -> Tuple[Ran, List[StepRun], Dict[str, object]]:
        """The record of the undoing first; what fails half-way is undone at once."""
        heal_id = task.params.heal_id
        wanted = float(task.params.arm_s or action.armed_s or 0)
        patience = _patience(task, action, HealParams.read(task.params.params))
        self._armed.arm(heal_id, snapshot, patience.seconds + wanted)
        ran, done = self._steps(task, action, steps, snapshot.state)
        if ran.status == "done":
            self._armed.postpone(heal_id, wanted)
            return ran, done, {"armed_s": wanted}
        undone = self._undo(snapshot)
        if undone:
            self._armed.settle(heal_id, UNDONE)
        return ran, done, {"undone": undone}

    def _undo(self, snapshot: Snapshot) -> bool:
        """Restore the state, without waiting for other heals; whether it is back."""
        action = ACTIONS[snapshot.action_type]
        command = HealCommand("", 0, "rollback", snapshot.action_type, snapshot.params)
        task = LocalTask(command, on_start=lambda _: None)  # nothing to note: one that is cut off is done again
        try:
            ran, _, now = self._restore(task, action, snapshot)
        except (OSError, ValueError, KeyError) as error:
            log.error("%s: the state cannot be looked at: %s", action.name, error)
            return False
        finally:
            task.cancel.close()
        if now is None:
            log.error("%s was not undone: %s", action.name, ran.reason or ran.status)
        self._acted()
        return now is not None

    def _rollback(self, task: Any, action: Action) -> CommandAnswer:
        kind = KINDS.get(action.rollback or "")
        if kind is None or kind.restore is None:
            return refused("not_reversible")
        sent = task.params.snapshot
        snapshot = snapshot_of(sent) if sent else self._snapshots.load(task.params.heal_id)
        if not snapshot or snapshot.kind != action.rollback:
            return refused("no_snapshot")
        try:
            ran, steps, now = self._restore(task, action, snapshot)
        except (OSError, ValueError, KeyError) as error:
            return refused(f"the state cannot be looked at: {error}", {"restored": False})
        if now is not None:
            self._armed.settle(task.params.heal_id, UNDONE)
        return CommandAnswer(ran, {"restored": now is not None, "steps": _told(steps), "state": now})

    def _restore(self, task: Any, action: Action, snapshot: Snapshot) -> Tuple[Ran, List[StepRun], Optional[Passed]]:
        """Restore the state unless things are so already; the state then, None when it is not back."""
        kind, before = KINDS[action.rollback or ""], snapshot.state
        params = {**snapshot.params, **task.params.params}
        if "pid" in before:
            params.update(pid=before["pid"], top=None)
        told = HealParams.read(params)
        if kind.same(before, kind.now(before, told, self._host)):
            return Ran("done", 0, b""), [], before
        ran, steps = self._steps(task, action, kind.way_back(before), before, params)
        now = kind.now(before, told, self._host)
        if kind.same(before, now):  # what counts; the timer may have been a moment faster, and the steps have failed
            return ran._replace(status="done", reason=None), steps, now
        return (
            ran._replace(status="failed", reason="the state was not restored") if ran.status == "done" else ran,
            steps,
            None,
        )

    def _confirm(self, task: Any, action: Action) -> CommandAnswer:
        """Confirm an action; one that the timer has undone, or is undoing, stays undone."""
        state = self._armed.confirm(task.params.heal_id)
        if state is None:
            return CommandAnswer(
                Ran("done", 0, b"", f"{action.name} had armed nothing"), {"armed": False, "kept": False}
            )
        if state == CONFIRMED:
            return CommandAnswer(Ran("done", 0, b""), {"armed": False, "kept": True})
        return refused(
            f"undone: nobody confirmed {action.name} in time", {"armed": False, "kept": False, "state": state}
        )

    # ---- inside
    def _take(self, task: Any, action: Action) -> Tuple[Optional[Snapshot], Optional[str]]:
        """A snapshot that is kept on the disk, or the reason why there is none."""
        if action.snapshot is None:
            return None, "this action has no snapshot"
        known = self._snapshots.load(task.params.heal_id)
        if known and known.action_type == action.name and known.params == task.params.params:
            return known, None
        try:
            state = KINDS[action.snapshot].take(HealParams.read(task.params.params), self._host)
        except (OSError, ValueError, KeyError, IndexError) as error:
            return None, str(error)
        snapshot = Snapshot(action.snapshot, time.time(), action.name, task.params.params, state)
        self._snapshots.save(task.params.heal_id, snapshot)
        return snapshot, None

    def _steps(
        self, task: Any, action: Action, steps: List[List[str]], state: Passed, params: Optional[Passed] = None
    ) -> Tuple[Ran, List[StepRun]]:
        """Run the steps in order until one fails, all within one time-out."""
        told = HealParams.read(params or task.params.params)
        patience = _patience(task, action, told)
        deadline = time.monotonic() + patience.seconds
        context = Context(
            told,
            state,
            self._host.capabilities,
            task.cancel,
            deadline,
            self._host.protected,
            self._host.config,
            task.on_start,
        )
        done: List[StepRun] = []
        output = b""
        ran = Ran("done", 0, b"")
        for argv in steps:
            may_fail = argv[0].startswith("-")
            argv = [argv[0].lstrip("-"), *argv[1:]]
            if argv[0].startswith(OWN):
                ran = STEPS[argv[0][len(OWN) :]](context)
            else:
                ran = run(
                    argv,
                    max(0.1, deadline - time.monotonic()),
                    task.cancel,
                    on_start=task.on_start,
                    on_output=task.on_output,
                )
            output = (output + ran.output)[: OUTPUT_LIMIT + 1]
            done.append(StepRun([part[:1000] for part in argv], ran.exit_code, ran.status))
            if ran.status != "done" and not (may_fail and ran.status == "failed"):
                break
        return patience.told(ran._replace(output=output)), done


def _patience(task: Any, action: Action, params: HealParams) -> unittimes.UnitPatience:
    """The time that was asked for, else the time that systemd gives the units."""
    given = task.params.timeout
    return unittimes.UnitPatience(float(given)) if given else unittimes.for_action(action, params)


def _told(steps: List[StepRun]) -> List[Dict[str, object]]:
    return [step._asdict() for step in steps]
