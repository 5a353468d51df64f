"""A run's way from asking to outcome, in transactions: asked, admitted, begun, ended; and what each sets off.

Nothing here has effects outside of the store. What a node has to carry out is in the board's queues (`carrier` takes it
up). What agents have to do is a durable command in the same transaction as its intent.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Any

from opsapp.approvals.records import Proposer
from opsapp.automations.config import AutomationSettings
from opsapp.automations.logic import inputs as given_inputs
from opsapp.automations.logic.settings import runs_programs
from opsapp.automations.logic.workflow import Step
from opsapp.automations.resources import (
    Automation,
    AutomationStanding,
    Run,
    SchedulePlan,
    automations_of,
    board_of,
    is_busy,
    run_of,
    runs_of,
    standing_of,
)
from opsapp.lib.problems import Conflict, Invalid, NotFound
from opsapp.runtime.events import emit
from opsapp.runtime.node import node_of
from opsapp.runtime.wakes import wake_after_commit
from opsapp.tree.root import Root

from . import agent_commands, approval_requests, parts
from .notices import tell_of_failure, tell_people, write

QUEUE = "automations"
CANCEL = "_run_cancel"
RETRY, TIMEOUT, START = "retry", "timeout", "start"
ORPHANS = 100
DUE_AT_ONCE = 200
BAD = ("failed", "timeout", "lost")


def options(root: Root) -> AutomationSettings:
    return node_of(root).config[AutomationSettings]


# -- asked, and admitted


def ask(
    root: Root,
    now: float,
    automation_id: str,
    *,
    given: Mapping[str, Any],
    by: str,
    origin: str,
    parent: Run | None = None,
    step: str | None = None,
    proposed: Proposer | None = None,
) -> Run:
    """A durable run, begun in this transaction where nothing stands against it; `proposed`: people always decide it."""
    automation = find(root, automation_id)
    settings, state, values = automation.settings, automation.state, _inputs(automation, given)
    run = Run(automation_id, automation.definition, settings.outline, by=by, origin=origin, now=now)
    _permitted(root, run)
    if values:
        run.inputs = values
    if parent is not None:
        run.parent, run.step = parent.id, step
        run.uses, run.hosts = parent.uses, parent.hosts
    if not settings.requires_approval and proposed is None:
        return _added(root, run, state, settings.concurrency, now)
    approval_requests.freeze(root, run, automation)  # before anything is written: the list of hosts is up to date
    runs_of(root).add(run, now, state.history.last)
    run.status = "pending_approval"
    state.history.add(run.id)  # one that begins at once enters the history with that
    run.request_id = approval_requests.request(root, run, now, proposed)
    tell_people(root, run)
    return run


def ask_planned(root: Root, now: float, automation_id: str, plan: SchedulePlan, *, by: str, origin: str) -> Run:
    """The same for a simple plan, of which alone it is made."""
    run = Run(automation_id, plan.definition, plan.outline, by=by, origin=origin, now=now)
    _permitted(root, run)
    return _added(root, run, standing_of(root, automation_id), plan.concurrency, now)


def _added(root: Root, run: Run, state: AutomationStanding, how: str, now: float) -> Run:
    require_turn(root, state, how)  # a refusal leaves nothing behind
    runs_of(root).add(run, now, state.history.last)
    admit(root, run, state, how, now)
    return run


def _permitted(root: Root, run: Run) -> None:
    if not may_run_here(root, run.kind, run.place):
        raise Conflict("Programs on the server are disabled (automations.server_scripts).", code="forbidden_here")


def find(root: Root, automation_id: str) -> Automation:
    if (automation := automations_of(root).get(automation_id)) is not None:
        return automation
    raise NotFound(f"There is no automation {automation_id}.")


def may_run_here(root: Root, kind: str, place: str) -> bool:
    """Whether the configuration lets the server do it."""
    return options(root).server_scripts or not runs_programs(kind, place)


def _inputs(automation: Automation, given: Mapping[str, Any]) -> dict[str, Any]:
    values, wrong = given_inputs.values(automation.settings.inputs, given)
    if wrong:
        raise Invalid(wrong)
    return values


def require_turn(root: Root, state: AutomationStanding, how: str) -> None:
    if how == "skip" and is_busy(root, state):
        raise Conflict("A run of this automation is under way.", code="already_running")


def admit(root: Root, run: Run, state: AutomationStanding, how: str, now: float) -> None:
    """It begins, or waits; `skip` refuses it while another run of its automation is under way."""
    require_turn(root, state, how)
    busy = is_busy(root, state)
    if busy and how == "replace":
        for other in runs_of(root).some([*state.waiting, state.current]):
            if other.id != run.id:
                cancel(root, other, by=None, why=f"replaced by run {run.id}", now=now)
        busy = state.current is not None
    if busy or not has_place(root, run):
        wait(root, run, state)
    else:
        begin(root, run, state, now)


def has_place(root: Root, run: Run) -> bool:
    """Only what this service's nodes carry out themselves takes a place."""
    if run.place != "here":
        return True
    return board_of(root).places_taken < options(root).max_running


def wait(root: Root, run: Run, state: AutomationStanding) -> None:
    run.status = "queued"
    state.history.add(run.id)
    state.waiting.add(run.id)
    board_of(root).queue[run.id] = state.id
    tell_people(root, run)


def begin(root: Root, run: Run, state: AutomationStanding, now: float) -> None:
    """Its first attempt. From here on the run has its automation to itself."""
    board = board_of(root)
    has_waited = run.id in board.queue
    if has_waited:
        del board.queue[run.id]
        state.waiting.discard(run.id)
    run.status, run.started = "running", now
    state.begin(run.id, now, known=has_waited or run.request_id is not None)
    tell_people(root, run)
    attempt(root, run, now)


def attempt(root: Root, run: Run, now: float) -> None:
    """Put one attempt under way, by whoever it is for."""
    board, place = board_of(root), run.place
    run.began, run.wrote_before = now, run.output.size
    if place == "here":
        run.owner = ""
        board.admitted.insert(run.id)
        wake_after_commit(root, QUEUE)
        return
    if run.kind == "notification":
        _start_soon(root, run)
        return
    board.agenda.add(now + run.settings.timeout, run.id, TIMEOUT)
    if place == "inside":
        _go_on(root, run, parts.plan_of(run).first(), now)
    elif agent_commands.begin(root, run):
        _start_soon(root, run)


def _start_soon(root: Root, run: Run) -> None:
    """What ends as soon as it begins is begun by the engine: whoever asked for it hears that it is `running`."""
    automations_of(root).standings.starting.insert(run.id)
    wake_after_commit(root, QUEUE)


def _start(root: Root, run: Run, now: float) -> None:
    is_message = run.kind == "notification"
    problem = agent_commands.notify(root, run, now) if is_message else agent_commands.begin(root, run)
    if problem:
        end(root, run, "failed", now, reason=problem, for_good=True)
    elif is_message:
        end(root, run, "done", now)


# -- parts of a run that is made of other runs


def _go_on(root: Root, parent: Run, step: Step, now: float) -> None:
    """One part after the other, as long as they end at once."""
    while step.automation_id is not None and step.name is not None:
        if _begin_part(root, parent, step.name, step.automation_id, now):
            return
        step = parts.following(parent)
    end(root, parent, step.status, now, reason=step.reason)


def _begin_part(root: Root, parent: Run, name: str, automation_id: str, now: float) -> bool:
    """Whether the part is under way now; else it is over, or was refused."""
    by, origin, refusal = parent.requested_by, f"run:{parent.id}", _edited(root, parent, automation_id)
    if refusal is None:
        try:
            given = parts.handed_on(parent, find(root, automation_id))
            part = ask(root, now, automation_id, given=given, by=by, origin=origin, parent=parent, step=name)
        except (Conflict, NotFound, Invalid) as problem:
            refusal = parts.refusal_of(problem)
        else:
            return parts.enter(root, parent, name, part, now)
    parts.refuse(root, parent, name, automation_id, refusal, now)
    return False


def _edited(root: Root, parent: Run, automation_id: str) -> str | None:
    """What was approved is all that runs."""
    approved = parent.uses.get(automation_id)
    if approved is None or find(root, automation_id).definition.digest == approved:
        return None
    return "it was edited after the approval"


def _part_ended(root: Root, part: Run, now: float) -> None:
    parent = run_of(root, part.parent)
    if parent is not None and parts.note_end(root, parent, part, now):
        _go_on(root, parent, parts.following(parent), now)


def promote(root: Root, now: float) -> None:
    """Begin what waits, oldest first, as far as there are places."""
    board = board_of(root)
    if not board.queue:
        return
    seen: set[str] = set()
    for run_id, automation_id in list(board.queue.items()):
        if automation_id in seen:
            continue
        seen.add(automation_id)
        run, state = run_of(root, run_id), standing_of(root, automation_id)
        if run is None or run.status != "queued":
            del board.queue[run_id]
            state.waiting.discard(run_id)
        elif automation_id not in automations_of(root):
            _end_orphans(root, automation_id, now)
        elif not is_busy(root, state):
            if has_place(root, run):
                begin(root, run, state, now)
            elif board.places_taken >= options(root).max_running:
                return


def _end_orphans(root: Root, automation_id: str, now: float) -> None:
    """A page of what still waited when its automation was deleted."""
    waiting = [run_id for run_id, whose in board_of(root).queue.items() if whose == automation_id]
    for run in runs_of(root).some(waiting[:ORPHANS]):
        end(root, run, "cancelled", now, reason="the automation was deleted")


# -- ended


def end(
    root: Root,
    run: Run,
    status: str,
    now: float,
    *,
    reason: str | None = None,
    exit_code: int | None = None,
    for_good: bool = False,
) -> bool:
    """An attempt's end, which is the run's unless there is another attempt. False: it was over already."""
    if run.is_over:
        return False
    board = board_of(root)
    if _may_try_again(run, status) and not for_good:
        _try_again(root, run, status, reason, now)
        return True
    if run.cancelled_by is not None and status in ("failed", "timeout"):
        status = "cancelled"
    run.status, run.reason, run.exit_code, run.finished, run.owner = status, reason, exit_code, now, ""
    board.drop(run.id)
    runs_of(root).end(run, status)
    if run.automation_id in automations_of(root):
        _settle(root, run, standing_of(root, run.automation_id), now)
    tell_people(root, run)
    if status in BAD and run.parent is None:
        tell_of_failure(root, run, now)
    if run.parent is not None:
        _part_ended(root, run, now)
    wake_after_commit(root, QUEUE)
    return True


def _may_try_again(run: Run, status: str) -> bool:
    wanted = run.attempt <= run.settings.retries and run.cancelled_by is None
    return wanted and run.status == "running" and status in ("failed", "timeout")


def _try_again(root: Root, run: Run, status: str, reason: str | None, now: float) -> None:
    delay = options(root).retry_delay_s
    board_of(root).drop(run.id)
    line = f"\n[attempt {run.attempt} {status}" + (f": {reason}" if reason else "") + f"; again in {delay:g} s]\n"
    write(root, run, line, now)
    run.attempt += 1
    run.owner, run.parts, run.commands, run.began = "", (), (), None
    board_of(root).agenda.add(now + delay, run.id, RETRY)
    wake_after_commit(root, QUEUE)


def _settle(root: Root, run: Run, state: AutomationStanding, now: float) -> None:
    """The automation is free for its next run, which begins in the same transaction where there is a place."""
    state.waiting.discard(run.id)
    was_current = state.current == run.id
    if run.started is not None or was_current:
        state.change(last_status=run.status)
    if not was_current:
        return
    state.change(current="")
    waits = state.waiting.first
    following = None if waits is None else run_of(root, waits)
    if following is not None and has_place(root, following):
        begin(root, following, state, now)


def cancel(root: Root, run: Run, *, by: str | None, why: str, now: float) -> str:
    """Have it stopped; its status afterwards. At once, unless somebody carries it out: then that one is told."""
    if run.is_over:
        raise Conflict(f"This run is {run.status} already.", code="already_over")
    if run.status == "pending_approval":
        approval_requests.withdraw(root, run, why, now)
        if not run.is_over:
            end(root, run, "cancelled", now, reason=why)
        return run.status
    run.cancelled_by = by or ""
    run.reason = why
    for child in parts.open_of(root, run):
        cancel(root, child, by=by, why="its parent was cancelled", now=now)
    if parts.open_of(root, run):
        return run.status  # it ends with its part
    if run.owner:
        emit(root, CANCEL, {"run_id": run.id})
    elif run.commands and not run.is_over:
        agent_commands.cancel(root, run)
    elif not run.is_over:
        end(root, run, "cancelled", now, reason=why)
    return run.status


# -- what came due


def moment_come(root: Root, now: float) -> bool:
    """What is to begin, retries whose pause is over, and runs of others whose time is up. Whether there were any."""
    board, starting = board_of(root), automations_of(root).standings.starting
    due: list[tuple[float, str, str]] = [(now, run_id, START) for run_id in islice(starting, DUE_AT_ONCE)]
    for _, run_id, _ in due:
        starting.remove(run_id)
    due += board.agenda.take(now, DUE_AT_ONCE - len(due))
    for _, run_id, why in due:
        run = run_of(root, run_id)
        if run is None or run.is_over:
            continue
        if why == RETRY and run.began is None:
            attempt(root, run, now)
        elif why == START and run.status == "running" and not run.commands:
            _start(root, run, now)
        elif why == TIMEOUT and run.began is not None and now - run.began >= run.settings.timeout - 0.001:
            _time_is_up(root, run, now)
    return bool(due)


def _time_is_up(root: Root, run: Run, now: float) -> None:
    for child in parts.open_of(root, run):
        child.parent = None  # its end is nobody's news any more
        cancel(root, child, by="", why="its parent ran into its time-out", now=now)
    if run.commands:
        agent_commands.cancel(root, run)
    end(root, run, "timeout", now, reason=f"not finished within {run.settings.timeout} s")
