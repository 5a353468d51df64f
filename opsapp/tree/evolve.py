"""Named evolve steps: how a store made by an older version becomes one of this version.

A step runs once, in a transaction of its own (in a new store all in one), in the order in which the features are
included; the root keeps its name, with the version that ran it. A step must run on an empty store too. A version
refuses a store with a step that it does not know, unless that is reversible, and a store that an older version than
0.2.0 has left (docs/adr/112).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from persistent.list import PersistentList
from persistent.mapping import PersistentMapping

from opsapp.wire.version import VERSION

from .root import KEY, Root

EVOLVED, RAN_BY = "evolved", "evolved-by"
BASE = "0.2.0"
# The steps by which 0.2.0 brought older stores up to itself. A new store has what they made from its beginning.
OF_BASE = (
    "approvals-2-index", "audit-2-logs", "audit-3-writers", "automations-2-standing", "automations-3-ended",
    "automations-4-secrets", "healing-2", "healing-3", "healing-4", "healing-5", "healing-6-closed", "healing-alone",
    "healing-edges", "healing-foresight", "healing-inlet-shares", "healing-inlets", "healing-line", "healing-problems",
    "healing-queues", "healing-trials", "healing-unsure", "healing-windows-moved", "monitoring-2-updates",
    "monitoring-3-told", "notify-3-index", "notify-5-members", "notify-6-senders", "web-2-idempotency-ages",
)  # fmt: skip


class EvolveStep(NamedTuple):
    """`reversible`: a version without this step may go on with the store, and what it writes meanwhile is fit for a
    version with it, although the step does not run again."""

    name: str
    run: Callable[[Root], Any]
    reversible: bool = False


class ForeignStep(NamedTuple):
    """A step of the store that this version does not have. `version`: who ran it; empty where that did not write it
    down."""

    name: str
    version: str
    reversible: bool


class StepsApart(NamedTuple):
    """`foreign`: steps that this version does not have, in the order in which they ran; `lacks`: steps of 0.2.0 that an
    older store has not seen."""

    foreign: tuple[ForeignStep, ...] = ()
    lacks: tuple[str, ...] = ()


def evolve_next(connection_root: Any, steps: list[EvolveStep]) -> str | None:
    """Run the first step that this store has not seen; its name, None when there is none left."""
    if KEY not in connection_root:
        connection_root[KEY] = Root()
    root = connection_root[KEY]
    done = root.system.setdefault(EVOLVED, PersistentList(OF_BASE))
    for step in steps:
        if step.name not in done:
            step.run(root)
            done.append(step.name)
            root.system.setdefault(RAN_BY, PersistentMapping())[step.name] = VERSION, step.reversible
            return step.name
    return None


def has_evolved(connection_root: Any) -> bool:
    return KEY in connection_root and bool(connection_root[KEY].system.get(EVOLVED))


def pending(connection_root: Any, steps: list[EvolveStep]) -> list[EvolveStep]:
    done = connection_root[KEY].system.get(EVOLVED, ()) if KEY in connection_root else ()
    return [step for step in steps if step.name not in done]


def apart(connection_root: Any, steps: list[EvolveStep]) -> StepsApart:
    return apart_in(connection_root[KEY], steps) if KEY in connection_root else StepsApart()


def apart_in(root: Root, steps: list[EvolveStep]) -> StepsApart:
    done, ran_by = root.system.get(EVOLVED, ()), root.system.get(RAN_BY, {})
    known = {*OF_BASE, *(step.name for step in steps)}
    foreign = (ForeignStep(name, *ran_by.get(name, ("", False))) for name in done if name not in known)
    return StepsApart(tuple(foreign), tuple(name for name in OF_BASE if name not in done) if done else ())


def refusal(apart: StepsApart) -> str | None:
    """Why this version may not use the store, and what to do; None when it may."""
    if apart.lacks:
        return (
            f"The store was written by a version of opsapp before {BASE}, which this version ({VERSION}) cannot bring "
            f"up to date. Install opsapp {BASE}, run `opsapp init` once, and then install this version again."
        )
    barred = [step for step in apart.foreign if not step.reversible]
    if not barred:
        return None
    named = ", ".join(f"{step.name} ({step.version})" if step.version else step.name for step in barred)
    version = barred[-1].version
    again = f"Install opsapp {version} or newer" if version else "Install that version"
    return (
        f"The store was written by a newer version of opsapp: it has {named}, which this version ({VERSION}) does not "
        f"know. {again} again, or restore a backup that was made before it (`opsapp restore DIR`)."
    )


def read_current(root: Root) -> None:
    """Fail the commit if a step runs meanwhile."""
    if EVOLVED in root.system:
        root._p_jar.readCurrent(root.system[EVOLVED])
