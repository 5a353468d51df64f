"""What people read of a target, of an action and of a condition without a sentence of its own. Pure.

Must not: say why a case ended (reasons.py).
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

from .conditions import Condition, reread, without_event
from .conditiontree import OPERATORS, Comparison, Literal, Name, Not, Several
from .readings import split

COMPARISONS = {">": "is above", ">=": "is at least", "<": "is below", "<=": "is at most", "==": "is", "!=": "is not"}
FLAG = "1"  # the unit of what is so or is not


class Readable(NamedTuple):
    """`text`: its values are words. `hint`: what they are."""

    name: str
    what: str
    unit: str = ""
    text: bool = False
    hint: str = ""

    @property
    def words(self) -> str:
        """What it is, with its unit."""
        if self.unit == FLAG:
            return f"{self.what} ({FLAG})"
        return f"{self.what}, {self.unit}" if self.unit else self.what


GROUPS: tuple[tuple[str, tuple[Readable, ...]], ...] = (
    ("A host", (
        Readable("cpu_percent", "CPU in use", "%"),
        Readable("mem_percent", "memory in use", "%"),
        Readable("swap_percent", "swap in use", "%"),
        Readable("disk_percent", "fullest disk", "%"),
        Readable("load1", "load of 1 min"),
        Readable("load5", "load of 5 min"),
        Readable("load15", "load of 15 min"),
        Readable("uptime_s", "time since it started", "s"),
        Readable("clock_off_s", "error of its clock", "s"),
        Readable("service_manager.hung_s", "silence of its service manager", "s"),
    )),
    ("A disk", (
        Readable("disk.*.percent", "disk in use", "%"),
        Readable("inodes.*.percent", "inodes in use", "%"),
        Readable("disk.*.read_only", "disk is read-only", FLAG),
    )),
    ("A service", (
        Readable("service.*.failed", "service has failed", FLAG),
        Readable("service.*.state", "service state", text=True, hint="active, failed, inactive"),
        Readable("service.*.restarts_5m", "number of starts in 5 min"),
        Readable("service.*.crash_looping", "service starts again and again", FLAG),
        Readable("service.*.masked", "service is masked", FLAG),
    )),
    ("A container", (Readable("container.*.state", "container state", text=True, hint="running, exited, removed"),)),
    ("A monitor", (
        Readable("monitor.status", "monitor state", text=True, hint="up, down, degraded, unknown"),
        Readable("response_time_ms", "response time", "ms"),
        Readable("cert_days", "time until the certificate ends", "days"),
        Readable("plugin.*", "figure of a plugin"),
    )),
    ("An event from elsewhere", (
        Readable("event.name", "name of the event", text=True),
        Readable("event.status", "state of the event", text=True, hint="firing, resolved"),
        Readable("event.labels.*", "label of the event", text=True),
    )),
)  # fmt: skip
READABLE = {readable.name: readable for _, group in GROUPS for readable in group}


def spoken_target(target: str) -> str:
    """A path begins with a slash of its own: "/var on db-1"."""
    host, _, part = target.partition("/")
    return f"{part} on {host}" if part.startswith("/") else target


def spoken_action(action: str) -> str:
    return action.replace("_", " ")


@lru_cache(maxsize=4096)
def spoken_condition(text: str) -> str:
    condition = reread(without_event(text))
    if condition is None:
        return text
    return _spoken(condition.tree, condition)


def _spoken(tree: Any, condition: Condition) -> str:
    if isinstance(tree, Comparison):
        return _comparison(tree, condition)
    if isinstance(tree, Not):
        return f"not ({_spoken(tree.part, condition)})"
    said = [(_spoken(part, condition), isinstance(part, Several)) for part in tree.parts]
    return f" {tree.word} ".join(f"({words})" if nested else words for words, nested in said)


def _comparison(tree: Comparison, condition: Condition) -> str:
    left, unit = _operand(tree.left, condition)
    right = _operand(tree.right, condition)[0]
    if unit == FLAG and isinstance(tree.right, Literal):
        so, not_so = (OPERATORS[tree.symbol](number, tree.right.value) for number in (1, 0))
        if so != not_so:
            return left if so else f"not ({left})"
    measured = isinstance(tree.right, Literal) and unit not in ("", FLAG)
    return f"{left} {COMPARISONS[tree.symbol]} {right}" + (f" {unit}" if measured else "")


def _operand(operand: Name | Literal, condition: Condition) -> tuple[str, str]:
    """In words, and its unit. The target names the subject of a condition that has only one."""
    if isinstance(operand, Literal):
        return str(operand).strip("\"'"), ""
    family, middle, attribute = split(operand.key)
    readable, which = READABLE.get(operand.key) or READABLE.get(f"{family}.*.{attribute}"), middle
    if readable is None:
        readable, which = READABLE.get(f"{operand.key.rpartition('.')[0]}.*"), attribute
    if readable is None:
        readable, which = Readable(operand.key, f"{family} {attribute}".strip().replace("_", " ")), middle
    named = which.strip("*") and (condition.subject is None or which != condition.subject.name)
    return (f"{readable.what} ({which})" if named else readable.what), readable.unit
