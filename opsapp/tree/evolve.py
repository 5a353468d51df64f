"""Named evolve steps: how a store made by an older version becomes one of this version.

A step runs once, in a transaction of its own, in the order in which the features are included; its name is kept in the
root. A step must be fit to run on an empty store too, which is how a new store is made.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from persistent.list import PersistentList

from .root import KEY, Root


class EvolveStep(NamedTuple):
    name: str
    run: Callable[[Root], Any]


def evolve_next(connection_root: Any, steps: list[EvolveStep]) -> str | None:
    """Run the first step that this store has not seen, and say its name; None when there is none left."""
    if KEY not in connection_root:
        connection_root[KEY] = Root()
    root = connection_root[KEY]
    done = root.system.setdefault("evolved", PersistentList())
    for step in steps:
        if step.name not in done:
            step.run(root)
            done.append(step.name)
            return step.name
    return None


def pending(connection_root: Any, steps: list[EvolveStep]) -> list[str]:
    """The names of the steps that this store still lacks."""
    done = connection_root[KEY].system.get("evolved", ()) if KEY in connection_root else ()
    return [step.name for step in steps if step.name not in done]


def unknown(connection_root: Any, steps: list[EvolveStep]) -> list[str]:
    """The names of the steps that this store has seen and this version does not have: a newer version wrote it."""
    names = {step.name for step in steps}
    done = connection_root[KEY].system.get("evolved", ()) if KEY in connection_root else ()
    return [name for name in done if name not in names]


def newer(names: list[str]) -> str:
    """What to tell of a store with such steps."""
    return (
        f"The store was written by a newer version of opsapp: it has {', '.join(names)}, which this version does not "
        f"know. Install that version again, or restore a backup that was made before it (`opsapp restore DIR`)."
    )
