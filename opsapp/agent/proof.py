"""The proof of a heal that this host does alone: looks at the condition from the settle time on, until one proves it or
its window is over. What the looks mean, opsapp/wire/verdicts.py says. Must not: act, or undo anything."""

from __future__ import annotations

from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Tuple

from opsapp.wire.alerts import AlertState, look
from opsapp.wire.conditions import Condition, parse
from opsapp.wire.harms import MOST_HARMS, Harm
from opsapp.wire.policies import Policy
from opsapp.wire.verdicts import INCONCLUSIVE, WAIT, ConditionLook, HealJudgement, LooksSeen, ProofWindow, judge

LOOK_S = 5.0  # between two looks
BACK = "the service is heard again: it decides from here on"
STOPPED = "the agent was stopped before it was known"
Values = Dict[str, Any]  # readings, by the names that conditions use


class HealProof(NamedTuple):
    judgement: HealJudgement
    values: Values
    worse: Tuple[Harm, ...] = ()


class ProofPace(NamedTuple):
    """`clock`: seconds of one clock; `wait` says whether the agent is to stop; `silent_for` is about the server."""

    clock: Callable[[], float]
    wait: Callable[[float], bool]
    silent_for: Callable[[], float]


class Others:
    """The conditions of this host's policies that are known false right before an act, but for the one healed."""

    def __init__(self, host: str, policies: Tuple[Policy, ...], own: Tuple[str, str], values: Values):
        self._host = host
        self._watches: Dict[Tuple[str, str], AlertState] = {}
        self._calm = {
            (policy.rule_id, name): (condition, policy.for_s)
            for policy in policies
            for name, condition in bound(policy.condition, values)
            if (policy.rule_id, name) != own and condition.evaluate(values) is False
        }

    def worse(self, values: Values, now: float) -> Tuple[Harm, ...]:
        """Those that hold by now, for as long as their rules ask for."""
        harms: List[Harm] = []
        for key, (condition, for_s) in self._calm.items():
            verdict, watch = condition.evaluate(values), self._watches.get(key, AlertState())
            self._watches[key], _ = look(watch, verdict, now, hold=for_s, cooldown=0.0, open_case=True)
            if verdict is True and self._watches[key].announced:
                rule_id, name = key
                harms.append(Harm(rule_id, f"{self._host}/{name}" if name else self._host, str(condition)))
        return tuple(harms[:MOST_HARMS])


def prove(
    condition: Condition,
    others: Others,
    measure: Callable[[], Values],
    window: ProofWindow,
    flaps: bool,
    pace: ProofPace,
) -> HealProof:
    """Prove by measuring that the act has resolved the condition; the act is done, and its window known."""
    acted_at = pace.clock()
    stops, seen = pace.wait(max(0.0, window.earliest - acted_at)), LooksSeen(flaps=flaps)
    while True:
        measured_at = pace.clock()  # before the look: it may take a while, and has begun by then
        values = measure()
        now = pace.clock()
        worse = others.worse(values, now) if measured_at >= window.earliest else ()
        judgement = judge(seen, ConditionLook(condition.evaluate(values), measured_at), window, now, worse)
        if judgement.kind != WAIT:
            return HealProof(judgement, values, worse)
        if stops or pace.silent_for() < now - acted_at:
            return HealProof(judgement._replace(kind=INCONCLUSIVE, reason=STOPPED if stops else BACK), values)
        seen = judgement.seen
        stops = pace.wait(min(LOOK_S, window.latest - now))


def bound(text: str, values: Values) -> Iterator[Tuple[str, Condition]]:
    """The condition for each thing that it is about: ("nginx", …), or ("", …) for the host itself."""
    condition = parse(text)
    names: List[str] = condition.bindings(values)
    if names:
        for name in names:
            yield name, condition.bind(name)
        return
    if condition.family is None:
        yield (condition.subject.name if condition.subject else ""), condition
