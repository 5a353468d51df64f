"""Runs that a node carries out itself: taken up one by one, their output stored while it comes, their end committed.

A run is claimed in a transaction before anything of it is done, and only whoever claimed it does it. A node that is
gone leaves its claims behind: what it had under way is `lost`, for nobody can know how far it came.
"""

from __future__ import annotations

import logging
from collections import deque
from dataclasses import replace
from functools import partial
from typing import Any, Literal

import gevent

from opsapp.agents.config import ExecutorSettings
from opsapp.agents.engine import executor_of
from opsapp.automations.config import AutomationSettings
from opsapp.automations.logic import templates
from opsapp.automations.logic.params import ScriptParams, ServiceParams, WebhookParams
from opsapp.automations.logic.references import Missing, Values
from opsapp.automations.logic.runs import Job, ScriptWork
from opsapp.automations.resources import Run, automations_of, board_of, healed_by, outermost, run_of
from opsapp.lib.masks import masked
from opsapp.runtime.atwork import Work, within
from opsapp.runtime.events import Event as Told
from opsapp.runtime.node import Node, now_of
from opsapp.runtime.queue import until_stored
from opsapp.tree.root import Root

from . import agent_commands, clockmoves, flow, notices
from .output_writer import OutputWriter
from .programs import AttemptEnd, Program
from .webhook_sender import webhook_sender_of

log = logging.getLogger(__name__)

SHUTDOWN = "shutdown"


# -- transactions


def anything(root: Root, now: float) -> bool:
    """Whether by then there is something to begin or to carry out."""
    board = board_of(root)
    if board.queue or board.admitted or board.claimed or automations_of(root).standings.starting:
        return True
    return clockmoves.PIECES.is_left(root) or bool(board.agenda.due(now, 1))


def take_up(root: Root, owner: str, known: frozenset[str], room: int) -> tuple[list[Job], bool]:
    """What this node has to begin now, marked as its own by the commit; and whether anything else moved."""
    now, board = now_of(root), board_of(root)
    # a node may have been killed while it moved them with the clock
    moved = clockmoves.PIECES.goes_on(root) or flow.moment_come(root, now)
    flow.promote(root, now)
    mine = [run_id for run_id in board.claims.of(owner) if run_id not in known]
    fresh = list(board.admitted.keys())[: max(0, room - len(mine))]
    jobs = []
    for run_id in [*mine, *fresh]:
        run = run_of(root, run_id)
        if run_id in board.admitted:
            board.admitted.remove(run_id)
        if run is None or run.is_over or run.owner not in ("", owner):
            board.drop(run_id)
            continue
        run.owner = owner
        board.claims.claim(run_id, owner)
        job = _job(root, run, now)
        if job is not None:
            jobs.append(job)
    return jobs, moved


def _job(root: Root, run: Run, now: float) -> Job | None:
    """Everything that it takes, as plain values; None when it cannot be done and has failed."""
    if not flow.may_run_here(root, run.kind, run.place):
        flow.end(root, run, "failed", now, reason="programs on the server are disabled", for_good=True)
        return None
    try:
        filled, secrets = agent_commands.values(root, run)
        work = _filled(run, filled)
    except Missing as missing:
        flow.end(root, run, "failed", now, reason=str(missing), for_good=True)
        return None
    timeout = float(run.settings.timeout)
    return Job(run.id, run.automation_id, run.attempt, timeout, run.created_at, secrets, work, _begun_by(root, run))


def _begun_by(root: Root, run: Run) -> tuple[Literal["run", "case"], str]:
    first = outermost(root, run)
    heal_id = healed_by(first)
    return ("run", first.id) if heal_id is None else ("case", heal_id.partition(".")[0])


def _filled(run: Run, filled: Values) -> ScriptWork | ServiceParams | WebhookParams:
    params = run.params
    if isinstance(params, ScriptParams):
        text, env, descriptors = agent_commands.program(run, filled)
        return ScriptWork(text, params.interpreter, env, descriptors, templates.looks_at_processes(params))
    if isinstance(params, ServiceParams):
        return params
    assert isinstance(params, WebhookParams)
    headers = {name: filled.line(value) for name, value in (params.headers or {}).items()}
    return replace(params, url=filled.url(params.url), headers=headers, body=filled.everywhere(params.body))


def write_output(root: Root, run_id: str, owner: str, text: str) -> bool:
    """Whether more is wanted: not once the run is another's or its output is full."""
    run = run_of(root, run_id)
    if run is None or run.owner != owner:
        return False
    notices.write(root, run, text, now_of(root))
    return not run.output.cut


def finish(root: Root, run_id: str, owner: str, attempt: int, text: str, ended: AttemptEnd) -> None:
    """The outcome, once: a run that is another's by now, or over, is left as it is."""
    run, now = run_of(root, run_id), now_of(root)
    if run is None or run.owner != owner or run.attempt != attempt:
        return
    notices.write(root, run, text, now)
    reason = ended.reason
    if ended.status == "cancelled" and run.cancelled_by is not None:
        reason = run.reason
    flow.end(root, run, ended.status, now, reason=reason, exit_code=ended.exit_code)


def recover(root: Root) -> int:
    """What nodes that are gone had under way is lost; how many claims they left."""
    node = flow.node_of(root)
    now, abandoned = node.clock.now(), board_of(root).claims.abandoned(node.nodes.owners(root))
    for run_id in abandoned:
        run = run_of(root, run_id)
        board_of(root).drop(run_id)
        if run is not None and not run.is_over:
            flow.end(root, run, "lost", now, reason="the server ended while it ran", for_good=True)
    return len(abandoned)


# -- on the hub


class Attempt:
    def __init__(self, job: Job):
        self.job = job
        self.running: Program | None = None
        self.call: Any = None
        self.greenlet: Any = None
        self.stopped: str | None = None

    def stop(self, why: str) -> None:
        self.stopped = self.stopped or why
        if self.running is not None:
            self.running.stop(why)
        elif self.call is not None:
            self.call.kill(block=False)


class Carrier:
    """Lives on the hub of an engine node."""

    def __init__(self, node: Node):
        self.node = node
        self.owner = node.owner
        self.tasks: dict[str, Attempt] = {}
        self.stopping = False
        self.ended: dict[str, int] = {}  # status -> how many since the start
        self.latencies: deque[float] = deque(maxlen=1000)  # seconds from the asking to the process
        self.sender = webhook_sender_of(node)

    def step(self) -> bool:
        if self.stopping:
            return False
        room = self.node.config[AutomationSettings].max_running - len(self.tasks)
        jobs, moved = self.node.transact(take_up, self.owner, frozenset(self.tasks), room)
        for job in jobs:
            task = self.tasks[job.run_id] = Attempt(job)
            task.greenlet = gevent.spawn(within, self._work(job), self._do, task)
        return moved

    def recover(self) -> bool:
        """Step, on one node: what others left."""
        self.node.transact(recover)
        return False

    def on_event(self, event: Told) -> None:
        """Somebody wants a run stopped; every node hears it, one has it."""
        if event.kind == flow.CANCEL:
            task = self.tasks.get(event.data["run_id"])
            if task is not None:
                task.stop("cancelled")

    def begin_stop(self) -> None:
        """The server stops: programs get TERM now, and their runs end `cancelled`."""
        self.stopping = True
        for task in list(self.tasks.values()):
            task.stop(SHUTDOWN)

    def finish_stop(self) -> None:
        """Wait for them; each is killed when its grace is over."""
        with gevent.Timeout(self.node.config[AutomationSettings].kill_grace_s + 1.5, False):
            gevent.joinall([task.greenlet for task in self.tasks.values() if task.greenlet is not None])

    def _work(self, job: Job) -> Work:
        return Work(self.node, "run", job.run_id, job.begun_by)

    def _do(self, task: Attempt) -> None:
        job = task.job
        pen = OutputWriter(partial(self._store, job.run_id), job.secrets)
        try:
            ended = self._carry(task, pen)
        except Exception as problem:
            log.exception("run failed run=%s", job.run_id)
            ended = AttemptEnd("failed", None, f"the server could not carry it out: {type(problem).__name__}")
        if ended.reason:
            ended = ended._replace(reason=masked(ended.reason, job.secrets))
        self.ended[ended.status] = self.ended.get(ended.status, 0) + 1
        until_stored(self.node, finish, job.run_id, self.owner, job.attempt, pen.rest(), ended)
        del self.tasks[job.run_id]

    def _store(self, run_id: str, text: str) -> bool:
        return until_stored(self.node, write_output, run_id, self.owner, text)

    def _carry(self, task: Attempt, pen: OutputWriter) -> AttemptEnd:
        job = task.job
        if isinstance(job.work, WebhookParams):
            return self._call(task, job.work, pen)
        config = self.node.config
        task.running = Program(executor_of(self.node), job, config[AutomationSettings], config[ExecutorSettings])
        if task.stopped:
            task.running.stop(task.stopped)
        return task.running.run(lambda: self.latencies.append(self.node.clock.now() - job.asked_at), pen.put)

    def _call(self, task: Attempt, work: WebhookParams, pen: OutputWriter) -> AttemptEnd:
        task.call = gevent.spawn(within, self._work(task.job), self.sender.call, task.job, work, pen.put)
        if task.stopped:
            task.call.kill(block=False)
        ended = task.call.get()
        return ended if isinstance(ended, AttemptEnd) else AttemptEnd("cancelled", None, task.stopped)
