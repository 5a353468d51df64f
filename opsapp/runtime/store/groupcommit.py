"""One commit for many callers that come together: each gets its own answer, after that commit.

A commit costs a disk write and every piece of a tree that it changes, for one caller or a hundred. Must not: let what
one caller sent refuse another's.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from gevent import Greenlet
from gevent.event import AsyncResult
from transaction.interfaces import TransientError

from opsapp.lib.problems import OutcomeUnknown, StoreAway, Unavailable
from opsapp.runtime.node import Node
from opsapp.tree.root import Root

Value = TypeVar("Value")
Outcomes = list[Any]  # for each value what its caller gets, or the exception that is raised there


class WaitingCall(NamedTuple, Generic[Value]):
    value: Value
    outcome: AsyncResult


class GroupCommit(Generic[Value]):
    """`fn(root, values)`: transaction function, an outcome for each value in order. An exception among them is raised
    to that caller alone; `fn` has changed nothing for it. Runs after the calls that wait in its lane: a storm makes
    large groups, a single call waits for nobody."""

    def __init__(
        self,
        node: Node,
        lane: str,
        fn: Callable[[Root, Sequence[Value]], Outcomes],
        *,
        most: int,
        weight: Callable[[Value], int] = lambda _value: 1,
    ):
        """`most`: the weight of a group, unless a single value has more."""
        self._node, self._lane, self._fn, self._most, self._weight = node, lane, fn, most, weight
        self._waiting = deque[WaitingCall[Value]]()
        self._leader: Greenlet | None = None

    def commit(self, value: Value) -> Any:
        """On the hub the value is committed with the others that wait. In a thread it is committed by itself."""
        if not self._node.hub.is_here():
            return _given(self._outcomes([value])[0])
        call = WaitingCall(value, AsyncResult())
        self._waiting.append(call)
        if self._leader is None:
            self._leader = self._node.supervisor.spawn(self._lead)
            self._leader.rawlink(self._leader_has_ended)
        return _given(call.outcome.get())

    def _lead(self) -> None:
        try:
            while self._waiting:
                self._let_others_come()
                self._commit_group(self._next_group())
        finally:
            self._stop_leading()

    def _leader_has_ended(self, leader: Greenlet) -> None:
        if self._leader is leader:  # it was ended before its first turn, so no `finally` of its own has run
            self._stop_leading()

    def _stop_leading(self) -> None:
        self._leader = None
        while self._waiting:  # the node stops: nothing of these was stored
            self._waiting.popleft().outcome.set(StoreAway())

    def _let_others_come(self) -> None:
        """Wait until nobody waits for the lane, or the group is full."""
        lane = self._node.lane(self._lane, 1)
        for _ in range(self._most):
            if not lane.waiting() or len(self._waiting) >= self._most:
                return
            lane.run(_nothing)

    def _next_group(self) -> list[WaitingCall[Value]]:
        group = [self._waiting.popleft()]
        weight = self._weight(group[0].value)
        while self._waiting and (weight := weight + self._weight(self._waiting[0].value)) <= self._most:
            group.append(self._waiting.popleft())
        return group

    def _commit_group(self, group: list[WaitingCall[Value]]) -> None:
        outcomes: Outcomes = [OutcomeUnknown()] * len(group)  # where the process ends meanwhile
        try:
            outcomes = self._node.lane(self._lane, 1).run(self._outcomes, [call.value for call in group])
        except Exception as problem:  # noqa: BLE001 - each caller raises it
            outcomes = [problem] * len(group)
        finally:
            for call, outcome in zip(group, outcomes, strict=True):
                call.outcome.set(outcome)

    def _outcomes(self, values: Sequence[Value]) -> Outcomes:
        """The outcomes, computed in a thread. An unforeseen failure may be the fault of one value: then each has a
        transaction of its own."""
        try:
            return list(self._node.transact(self._fn, values))
        except (Unavailable, TransientError):
            raise
        except Exception:
            if len(values) == 1:
                raise
        return [self._alone(value) for value in values]

    def _alone(self, value: Value) -> Any:
        try:
            return self._node.transact(self._fn, [value])[0]
        except Exception as problem:  # noqa: BLE001 - its caller raises it
            return problem


def _given(outcome: Any) -> Any:
    if isinstance(outcome, BaseException):
        raise outcome
    return outcome


def _nothing() -> None:
    """A turn in the lane."""
