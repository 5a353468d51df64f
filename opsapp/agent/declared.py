"""Whether all that the action table names is here: native steps, tools, questions, kinds of snapshots.

An agent whose table names what nobody has made does not start.
"""

from __future__ import annotations

from typing import Dict, Iterable, List, Set

from opsapp.wire.actiontypes import OWN, Action

from . import backups, cleanup, firewall, media, mounts, network, recreate, storage
from .capabilities import TOOLS
from .fits import FITS
from .native import STEPS, Step
from .snapshots import KINDS

MODULES = (backups, cleanup, firewall, media, mounts, network, recreate, storage)  # they mark their steps with `@step`


def mistakes(actions: Iterable[Action]) -> List[str]:
    """What is wrong with the actions; native steps that nothing names are a mistake too."""
    actions = list(actions)
    handlers = [handler for action in actions for handler in action.handlers]
    programs = {step[0] for handler in handlers for step in handler.steps}
    own = {name[len(OWN) :] for name in programs if name.startswith(OWN)}
    own.update(kind.restore for kind in KINDS.values() if isinstance(kind.restore, str))
    back = {action.rollback for action in actions if action.rollback}
    return [
        *_missing("native step", own, set(STEPS)),
        *_missing("use of the native step", set(STEPS), own),
        *_missing("tool", {tool for handler in handlers for tool in handler.tools}, set(TOOLS)),
        *_missing("question", {handler.when for handler in handlers if handler.when}, set(FITS)),
        *_missing("kind of snapshot", {action.snapshot for action in actions if action.snapshot}, set(KINDS)),
        *_missing("way back to a snapshot", back, {name for name, kind in KINDS.items() if kind.restore}),
    ]


def _missing(kind: str, wanted: Set[str], known: Set[str]) -> List[str]:
    return [f"there is no {kind} {name}" for name in sorted(wanted - known)]


def checked_steps(actions: Iterable[Action]) -> Dict[str, Step]:
    wrong = mistakes(actions)
    if wrong:
        raise ImportError("the action table: " + "; ".join(wrong))
    return STEPS
