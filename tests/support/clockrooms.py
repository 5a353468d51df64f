"""What waits for its time, room by room: many of a kind, put into the store as the rooms do it, and when each is due.

`python -m tests.support.clockrooms` is for `clockchild.children`: it reads lines of [DIRECTORY, ROOM, COUNT, PIECES,
BY], and kills itself in the store's process after so many pieces of a step of the clock.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

from opsapp.agents.engine import sweep
from opsapp.agents.resources import add_agent, agents_of, keep_index
from opsapp.approvals import engine as approvals
from opsapp.approvals.records import NewRequest
from opsapp.approvals.resources import Approval, approvals_of
from opsapp.automations.engine import runretention
from opsapp.automations.resources import board_of
from opsapp.healing.engine import clocks
from opsapp.healing.logic.lift import Draw
from opsapp.healing.resources import healing_of
from opsapp.healing.resources.edges import EdgeTrial
from opsapp.healing.resources.injections import Injection
from opsapp.healing.resources.trials import Coins, DrawnOutage, TossedCoin
from opsapp.healing.stages.trials import Trial
from opsapp.monitoring.engine import pushes
from opsapp.monitoring.logic.settings import MonitorSettings
from opsapp.monitoring.resources import add_monitor, monitors_of
from opsapp.notify.engine import routes
from opsapp.notify.logic.messagegroups import MessageGroup
from opsapp.notify.logic.texts import MessageContent
from opsapp.notify.resources.deliveries import deliveries_of
from opsapp.notify.resources.groups import groups_of
from opsapp.oncall.engine import escalations
from opsapp.oncall.records import EscalationRecord
from opsapp.oncall.resources import oncall_of
from opsapp.runtime import deletions
from opsapp.runtime.clocks.pieces import ClockPieces
from opsapp.statuspages.engine import clockmoves
from opsapp.statuspages.engine.settings import LEASE
from opsapp.statuspages.logic.addresses import MAIL, WEBHOOK
from opsapp.statuspages.resources import Announcement, store_of
from opsapp.tree.reading import ChildrenOf, sound
from tests.support.app import Service
from tests.support.clock import FakeClock
from tests.support.clockchild import serve

Root = Any
DUE_IN = 60.0


class Room(NamedTuple):
    """`times(root)`: by what waits, all its moments."""

    lease: str
    add: Callable[[Root, int, float], None]
    times: Callable[[Root], dict[Any, tuple[float, ...]]]
    mover: Any


def _trials(root: Root, count: int, now: float) -> None:
    book = healing_of(root).trials
    for number in range(count):
        draw = Draw(0.5, 0.5, True)
        trial = Trial(f"{number:032x}", f"rule-{number % 50}", f"box-{number}/nginx", now, 60.0, now, draw, now)
        book.begin(trial)
        book.keep(trial, now + DUE_IN)


def _trial_times(root: Root) -> dict[Any, tuple[float, ...]]:
    book = healing_of(root).trials
    due = {case_id: at for at, case_id in book.due}
    assert due == dict(book.due_of)
    return {name: (trial.began_at, trial.acted_at, trial.drawn_at, due[name]) for name, trial in book.open.items()}


def _coins(root: Root, count: int, now: float) -> None:
    for number in range(count):
        coins: Coins = healing_of(root).trials.coins_of(f"rule-{number}")
        coins.toss(TossedCoin(f"{number}", "d", None), DrawnOutage(now, "control"))


def _coin_times(root: Root) -> dict[Any, tuple[float, ...]]:
    coins = ChildrenOf(healing_of(root).trials.coins, "coins of a rule")
    return {name: tuple(outage.began_at for outage in coin.outages) for name, coin in coins.items()}


def _edges(root: Root, count: int, now: float) -> None:
    for number in range(count):
        healing_of(root).edges.follow(EdgeTrial(f"web-{number}", "db", now, now + 200), now + DUE_IN)


def _edge_times(root: Root) -> dict[Any, tuple[float, ...]]:
    book = healing_of(root).edges
    due = {edge: at for at, edge in book.due}
    assert due == dict(book.due_of)
    return {edge: (trial.healed_at, trial.ends_at, due[edge]) for edge, trial in book.trials.items()}


def _ends(root: Root, count: int, now: float) -> None:
    book = healing_of(root).book
    for number in range(count):
        target = f"box-{number}/nginx"
        book.unhealed_on[target] = now
        book.unhealed.insert((now, target))
        book.last_of["nginx", target] = (now, "failed", "", now + DUE_IN)


def _end_times(root: Root) -> dict[Any, tuple[float, ...]]:
    book = healing_of(root).book
    unhealed = {target: at for at, target in book.unhealed}
    assert unhealed == dict(book.unhealed_on)
    return {key: (unhealed[key[1]], row[0], row[3]) for key, row in book.last_of.items()}


def _escalations(root: Root, count: int, now: float) -> None:
    for number in range(count):
        record = EscalationRecord(f"{number:016x}-1", f"{number:016x}", "p", "Standard", "it is down", None, now)
        oncall_of(root).escalations.begin(record, now + DUE_IN)


def _escalation_times(root: Root) -> dict[Any, tuple[float, ...]]:
    book = oncall_of(root).escalations
    due = {name: at for at, name in book.agenda}
    read = {name: (escalation.due,) for name, escalation in book.items()}
    assert all(due[name] == at for name, (at,) in read.items())
    return read


def _commands(root: Root, count: int, now: float) -> None:
    for number in range(count):
        agent = agents_of(root)[add_agent(root, f"box-{number}", [], now)[0]]
        agent.commands.add("shell", {"command": "true"}, "otto", now, now + DUE_IN)
        keep_index(root, agent)


def _command_times(root: Root) -> dict[Any, tuple[float, ...]]:
    commands = {agent.id: agent.commands.unfinished() for agent in agents_of(root).values()}
    return {name: tuple(command.expires_at for command in rows) for name, rows in commands.items()}


def _pushes(root: Root, count: int, now: float) -> None:
    for number in range(count):
        settings = MonitorSettings(name=f"job {number}", type="push", url="", interval=60)
        add_monitor(root, settings, number + 1, now).state.run_started = now


def _push_times(root: Root) -> dict[Any, tuple[float, ...]]:
    states = ((monitor.id, monitor.state) for monitor in monitors_of(root).values())
    return {name: (state.run_started,) for name, state in sound(monitors_of(root), "state", states)}


def _groups(root: Root, count: int, now: float) -> None:
    for number in range(count):
        words = ("a.b", "warning", "t", "", (), None, None, "")
        group = MessageGroup(*words, now, now, 1, ("t",), now + DUE_IN)
        groups_of(root).put(f"a:{number}", group, 60.0)


def _group_times(root: Root) -> dict[Any, tuple[float, ...]]:
    book = groups_of(root)
    due = {key: at for at, key in book.agenda}
    return {key: (book.get(key).due, due[key]) for key in book.groups}


def _deliveries(root: Root, count: int, now: float) -> None:
    channel = SimpleNamespace(id="c", record=SimpleNamespace(name="mail"))
    log = deliveries_of(root)
    for number in range(count):
        content = MessageContent(f"monitor:{number}", "monitor.down", "critical", "down", "", first_at=now, last_at=now)
        log.enqueue(channel, [log.add_message(content, now)], now, now + DUE_IN, None)


def _delivery_times(root: Root) -> dict[Any, tuple[float, ...]]:
    log = deliveries_of(root)
    due = {name: at for rows in log.queue.values() for at, name in rows}
    read = {name: (log[name].due, log[name].created_at + log[name].moved) for name in due}
    assert {name: at for name, (at, _) in read.items()} == due
    return read


def _requests(root: Root, count: int, now: float) -> None:
    for number in range(count):
        wanted = NewRequest(
            kind="run", subject=f"run {number}", plan={}, reason="", risk=None, requested_by="otto", expiry_s=DUE_IN,
            about={"run_id": str(number)},
        )  # fmt: skip
        approvals_of(root).add(Approval(wanted, now), wanted)


def _request_times(root: Root) -> dict[Any, tuple[float, ...]]:
    folder = approvals_of(root)
    due = {name: at for at, name in folder.pending}
    read = {name: (approval.expires_at,) for name, approval in folder.items()}
    assert due == {name: at for name, (at,) in read.items()}
    return read


def _deletions(root: Root, count: int, now: float) -> None:
    for _ in range(count):
        deletions.keep(root, "automations", "a", "a", None)


def _deletion_times(root: Root) -> dict[Any, tuple[float, ...]]:
    return {name: (deletion.until,) for name, deletion in deletions.deletions_of(root).items()}


def _runs(root: Root, count: int, now: float) -> None:
    for number in range(count):
        board_of(root).agenda.add(now + DUE_IN, f"{number:032x}", "retry")


def _run_times(root: Root) -> dict[Any, tuple[float, ...]]:
    return {(name, why): (at,) for at, name, why in board_of(root).moments}


def _letters(root: Root, count: int, now: float) -> None:
    store = store_of(root)
    for number in range(count):
        kind, row = (MAIL, WEBHOOK)[number % 2], f"{number:04d}/subscriber"
        store.announcements[f"{number:04d}"] = Announcement((), now)
        store.queues[kind].agenda(row).add(now + DUE_IN, row)
        store.queues[kind].attempts[row] = (1, now)


def _letter_times(root: Root) -> dict[Any, tuple[float, ...]]:
    store = store_of(root)
    due = {row: (queue, at) for queue in store.queues.values() for at, row in queue.rows}
    news = {name: news.at for name, news in ChildrenOf(store.announcements, "news").items()}
    return {row: (at, queue.attempts[row][1], news[row[:4]]) for row, (queue, at) in due.items() if row[:4] in news}


def _faults(root: Root, count: int, now: float) -> None:
    for number in range(count):
        fault = Injection("nginx", "a", f"box-{number}", (), "", "c", "true", now + DUE_IN)
        healing_of(root).injections.add(fault)


def _fault_times(root: Root) -> dict[Any, tuple[float, ...]]:
    book = healing_of(root).injections
    due = {name: at for at, name in book.open}
    assert due == {name: book.get(name).due for name in book.rows}
    return {book.get(name).hostname: (at,) for name, at in due.items()}


ROOMS = {
    "trials": Room(clocks.LEASE, _trials, _trial_times, clocks),
    "coins": Room(clocks.LEASE, _coins, _coin_times, clocks),
    "edges": Room(clocks.LEASE, _edges, _edge_times, clocks),
    "ends": Room(clocks.LEASE, _ends, _end_times, clocks),
    "faults": Room(clocks.LEASE, _faults, _fault_times, clocks),
    "letters": Room(LEASE, _letters, _letter_times, clockmoves.PIECES),
    "escalations": Room(escalations.LEASE, _escalations, _escalation_times, escalations.PIECES),
    "commands": Room(sweep.LEASE, _commands, _command_times, sweep.clockmoves.PIECES),
    "pushes": Room(pushes.LEASE, _pushes, _push_times, pushes.PIECES),
    "groups": Room(routes.LEASE, _groups, _group_times, routes.PIECES),
    "deliveries": Room(routes.LEASE, _deliveries, _delivery_times, routes.PIECES),
    "requests": Room(approvals.LEASE, _requests, _request_times, approvals.PIECES),
    "deletions": Room(deletions.LEASE, _deletions, _deletion_times, deletions.PIECES),
    "runs": Room(runretention.clockmoves.LEASE, _runs, _run_times, runretention.clockmoves.PIECES),
}


def ready(service: Any, name: str) -> None:
    """The node has the lease, and carries the room's queue."""
    room, node = ROOMS[name], service.node
    node.clock_steps.carry(room.lease, NAMES.get(name, name), room.mover.move, room.mover.move_on)
    node.leases.want(room.lease)
    node.leases.step()
    while room.lease not in node.leases.held:
        service.clock.advance(6)
        node.leases.step()


NAMES = {"trials": "healing", "coins": "healing", "edges": "healing", "ends": "healing", "faults": "healing"}


def main(directory: str, name: str, count: str, pieces: str, by: str) -> None:
    service = Service(Path(directory), FakeClock())
    service.transact(ROOMS[name].add, int(count), service.clock.now())
    ready(service, name)
    whole, moved = ClockPieces.go_on, list[Any]()

    def go_on(self: ClockPieces, root: Root) -> bool:
        if self.is_left(root) and len(moved) == int(pieces):
            os.kill(os.getpid(), signal.SIGKILL)
        moved.append(self)
        return whole(self, root)

    ClockPieces.go_on = go_on
    service.clock.set_by(float(by))
    service.node.clock_steps.step()


if __name__ == "__main__":
    serve(main)
