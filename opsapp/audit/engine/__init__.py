"""Auditing outside a view's transaction: by a deferred answer, a command line, an engine. In time, counts of refusals
come into the record and old entries go."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from opsapp.audit.config import AuditRetention
from opsapp.audit.interfaces import IAnchored, IPoster
from opsapp.audit.logic import Actor, changed
from opsapp.audit.logic.tally import CountedRefusals, RefusalKind, RefusalLimits, Tally
from opsapp.audit.records import AuditVerdict
from opsapp.audit.resources import REFUSED, check, note, retire, writers, written
from opsapp.lib.networks import counted_address
from opsapp.lib.problems import Problem
from opsapp.runtime.node import Node
from opsapp.runtime.threads.sharedread import SharedRead
from opsapp.tree.root import Root

from . import forwarding
from .forwarding import forwarding_trouble

TALLY = "opsapp.refusals"
CHECKS = "opsapp.audit.checks"
DAY_S = 86_400


SHELL = Actor(None, None)  # somebody with a shell on the server
THE_SERVICE = Actor(None, None)  # by itself


def note_refusal(root: Root, actor: Actor, action: str, target: str, reason: str) -> None:
    note(root, actor, action, target, result=REFUSED, reason=reason)


def refused(node: Node, actor: Actor, action: str, target: str, reason: str) -> None:
    """Record a refusal in a transaction of its own, or only count it where there are too many."""
    if admits(node, actor, action, reason):
        node.transact(note_refusal, actor, action, target, reason)


def admits(node: Node, actor: Actor, action: str, reason: str) -> bool:
    kind = RefusalKind(actor.ip and counted_address(actor.ip), action, reason)
    settings = node.config[AuditRetention]
    limits = RefusalLimits(settings.refusals_of_a_kind, settings.refusals)
    return node.registry[TALLY].admits(kind, actor.username, node.clock.now(), limits)


@contextlib.contextmanager
def refusals_noted(node: Node, actor: Actor, action: str, target: str) -> Iterator[None]:
    try:
        yield
    except Problem as problem:
        refused(node, actor, action, target, problem.code)
        raise


def verify(node: Node) -> AuditVerdict:
    """Each writer's log in a transaction of its own: there may be a million entries."""
    names, signed = node.transact(writers)
    if not signed:
        return AuditVerdict(False, 0, None, "logs of the record are missing or too many")
    anchored = node.registry.queryUtility(IAnchored)
    noted = None if anchored is None else anchored(node)
    if noted is not None and noted > node.transact(written):
        reason = f"{noted} entries were noted outside of the store; there are fewer"
        return AuditVerdict(False, 0, None, reason)
    entries = 0
    for name in names:
        checked = node.transact(check, name)
        entries += checked.sound
        if not checked.valid:
            return AuditVerdict(False, entries, checked.first_bad, "entries were changed, added or taken out")
    return AuditVerdict(True, entries, None)


def prepare(node: Node) -> None:
    node.registry[CHECKS] = SharedRead(node, lambda: verify(node))


def check_whole(node: Node) -> AuditVerdict:
    """What a check finds that begins now, or soon; on the hub."""
    checks: SharedRead[AuditVerdict] = node.registry[CHECKS]
    return checks()


def start(node: Node) -> None:
    node.supervisor.add("audit-retention", lambda: retain(node), every=3600, lease="housekeeping", cleans=True)
    forwarding.start(node)


def start_everywhere(node: Node) -> None:
    node.supervisor.add("audit-refusals", lambda: tell_counts(node), every=10)


def stop(node: Node) -> None:
    """What has been counted is told before the node goes."""
    tell_counts(node, all=True)


def tell_counts(node: Node, *, all: bool = False) -> None:
    """One entry for each kind of refusal of which there were too many in the last minute."""
    tally: Tally = node.registry[TALLY]
    due = tally.due(node.clock.now(), all=all)
    if due:
        node.transact(_tell, due)


def _tell(root: Root, due: list[CountedRefusals]) -> None:
    for kind, username, times, since in due:
        counted = {"count": times, "since": int(since)}
        note(root, Actor(username, kind.ip), kind.action, "", result=REFUSED, reason=kind.reason, after=counted)


def retain(node: Node) -> bool:
    days = node.config[AuditRetention].days
    return node.transact(retire, node.clock.now() - days * DAY_S)
