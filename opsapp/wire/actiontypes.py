"""What a row of the action table is: an action, and the handlers by which it is performed.

`{name}` in an argument stands for that parameter and never leaves its argument. A step "@name" is the agent's own code.
A program whose name begins with "-" may fail without ending the chain. `when` names a question about this host and
these parameters (opsapp/agent/fits.py).
Must not: run anything; name a shell, but for the actions whose purpose is one.

An action with `armed_s` can cut its host off: the agent undoes it after so long, unless the server has confirmed it.
"""

from __future__ import annotations

import ipaddress
import re
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Set, Tuple

from .actionparams import UNIT_LONGEST_S, UNIT_TIMEOUT_S, FirewallRule
from .fields import FieldProblem, JsonObject, WireError, WireField, record

LOW, MEDIUM, HIGH = "low", "medium", "high"
RISKS = (LOW, MEDIUM, HIGH)
WEBHOOK = "webhook"  # the one action that the service does by code of its own
OWN = "@"  # what the name of the agent's own step begins with
# What an action says of its time that restarts the unit of a parameter, that and those below it, or a tunnel's units.
UNIT: Dict[str, object] = {"timeout": UNIT_TIMEOUT_S, "units": "service"}
UNIT_AND_BELOW: Dict[str, object] = {"timeout": 2 * UNIT_TIMEOUT_S, "units": "service"}
UNITS_OF_TUNNEL: Dict[str, object] = {"timeout": UNIT_TIMEOUT_S, "units": "interface"}
_PARAMETER = re.compile(r"\{([a-z_]+)\}")


class Handler(NamedTuple):
    """Every tool must be usable on the host; the steps run in order until one fails."""

    tools: Tuple[str, ...]
    steps: Tuple[Tuple[str, ...], ...]
    when: str = ""

    def argv(self, params: JsonObject) -> List[List[str]]:
        return [
            [_PARAMETER.sub(lambda match: str(params[match.group(1)]), part) for part in step] for step in self.steps
        ]

    def parameters(self) -> Set[str]:
        return {name for step in self.steps for part in step for name in _PARAMETER.findall(part)}


def way(*orders: str, tool: str = "", when: str = "") -> Handler:
    """Each order is one argument list; they need the tool that the first begins with, or `tool`."""
    steps = tuple(tuple(order.split()) for order in orders)
    return Handler((tool or steps[0][0].lstrip("-"),), steps, when)


def own(name: str, *tools: str, when: str = "") -> Handler:
    return Handler(tools, ((f"{OWN}{name}",),), when)


class Action(NamedTuple):
    name: str
    risk: str
    params: Dict[str, WireField]
    target_param: Optional[str] = None  # filled from the event's target when it is left out
    snapshot: Optional[str] = None  # which state the agent records before it acts: "unit", "container", ...
    rollback: Optional[str] = None  # how that state is brought back; None: cannot be reversed
    timeout: int = 60
    settle: float = 5.0
    least_settle: float = 0.0  # a rule may not wait for less: the action answers before its effect is there
    where: str = "host"
    shell: bool = False  # its purpose is a shell: the only actions whose text one may read
    armed_s: Optional[float] = None  # it can cut the host off: undone after this long unless confirmed
    either: Tuple[str, ...] = ()  # each may be left out, but one of them is required
    handlers: Tuple[Handler, ...] = ()  # the first that fits is taken
    runs: Optional[str] = None  # the service runs the automation that this parameter names
    units: Optional[str] = None  # systemd restarts what this parameter names, and knows for how long to wait

    @property
    def longest(self) -> int:
        """The seconds that the action takes at most."""
        return max(self.timeout, UNIT_LONGEST_S) if self.units else self.timeout

    @property
    def reversible(self) -> bool:
        return self.rollback is not None

    def check(self, params: Any) -> JsonObject:
        clean = record(params, self.params, unknown="refuse", what=f"{self.name} parameters")
        wrong = {**self.undecided(clean), **self.contradictions(clean)}
        if wrong:
            told = ", ".join(dict.fromkeys(message for message in wrong.values()))
            raise WireError(f"{self.name}: {told}", "invalid", wrong)
        return clean

    def undecided(self, given: JsonObject) -> Dict[str, str]:
        """Parameters of which one is required, where none is given: no target of an event stands for them."""
        if not self.either or any(given.get(name) is not None for name in self.either):
            return {}
        return {name: f"{' or '.join(self.either)} is required" for name in self.either}

    def contradictions(self, given: JsonObject) -> Dict[str, str]:
        """Contradictions that no single parameter shows. Each is right by itself; any may be missing."""
        wrong = {}
        if given.get("pid") is not None and given.get("top") is not None:
            wrong.update(dict.fromkeys(("pid", "top"), "give either pid or top"))
        problem = "" if given.get("rule") is None else _rule_problem(FirewallRule(**given["rule"]))
        if problem:
            wrong["rule"] = problem
        return wrong

    def complete(self, params: JsonObject, target: Optional[str]) -> JsonObject:
        """A missing parameter is taken from the event's target. One that may be left out stays out where the target is
        something else: an event about a service names no mount."""
        name = self.target_param
        if name and params.get(name) is None and target and (self.params[name].required or self._takes(name, target)):
            return {**params, name: target}
        return dict(params)

    def _takes(self, name: str, value: str) -> bool:
        try:
            self.params[name].check(value)
        except FieldProblem:
            return False
        return True

    def choose(
        self, usable: Callable[[str], bool], fits: Callable[[Handler], bool] = lambda handler: True
    ) -> Optional[Handler]:
        for handler in self.handlers:
            if all(usable(tool) for tool in handler.tools) and fits(handler):
                return handler
        return None

    def tools(self) -> List[str]:
        """The tools in the order they are looked for."""
        return list(dict.fromkeys(tool for handler in self.handlers for tool in handler.tools))

    def describe(self) -> JsonObject:
        return {
            "name": self.name,
            "risk": self.risk,
            "where": self.where,
            "reversible": self.reversible,
            "implemented": True,  # `table` takes no other
            "timeout": self.timeout,
            "settle_s": self.settle,
            "params": {name: field.describe() for name, field in self.params.items()},
            "target_param": self.target_param,
            "either": list(self.either),
            "snapshot": self.snapshot,
            "armed_s": self.armed_s,
            "handlers": [
                {"tools": list(handler.tools), "steps": [list(step) for step in handler.steps], "when": handler.when}
                for handler in self.handlers
            ],
        }


def _rule_problem(rule: FirewallRule) -> str:
    wrong = ""
    if rule.port is not None and rule.protocol not in ("tcp", "udp"):
        wrong = "a port needs the protocol tcp or udp"
    families = set()
    for side in ("source", "destination"):
        address = getattr(rule, side)
        if address is not None:
            try:
                families.add(ipaddress.ip_network(address, strict=False).version)
            except ValueError:
                wrong = f"{side} is no address or network"
    if len(families) == 2:
        wrong = "source and destination are of different families"
    return wrong


def act(name: str, risk: str, params: Dict[str, WireField], *handlers: Handler, **facts: Any) -> Action:
    return Action(name, risk, params, handlers=handlers, **facts)


def table(*rows: Action) -> Dict[str, Action]:
    """A ValueError names a row that is wrong: nothing in the table is without effect."""
    actions: Dict[str, Action] = {}
    for action in rows:
        wrong = "it is declared twice" if action.name in actions else _wrong_in(action)
        if wrong:
            raise ValueError(f"action {action.name}: {wrong}")
        actions[action.name] = action
    return actions


def _wrong_in(action: Action) -> str:
    named = {name for handler in action.handlers for name in handler.parameters()}
    named.update(action.either, *[{name} for name in (action.target_param, action.runs, action.units) if name])
    unknown = sorted(named - action.params.keys())
    if unknown:
        return f"it has no parameter {', '.join(unknown)}"
    if not (action.handlers or action.runs or action.name == WEBHOOK):
        return "it has no handler"
    if action.reversible and not action.snapshot:
        return "it is reversible and records nothing"
    return "" if action.risk in RISKS else f"{action.risk} is no risk"
