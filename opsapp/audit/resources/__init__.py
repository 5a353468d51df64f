"""Audit entries: append-only, one log a writer so that writers never conflict."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from BTrees.OOBTree import OOBTree
from persistent import Persistent

from opsapp.audit.logic import Actor, AuditFilter, KeptEntry, without_secrets
from opsapp.lib import chains
from opsapp.lib.addresses import public
from opsapp.lib.ids import new_id
from opsapp.runtime.node import node_of
from opsapp.runtime.secrets.chainkey import chain_key
from opsapp.tree.folder import Folder
from opsapp.tree.places import ApiPlace, SystemPlace
from opsapp.tree.reading import ChildrenOf
from opsapp.tree.root import Root

from . import forwarding, recordpages
from .log import UNREAD, Checked, Log

WRITERS = "audit_writers"
LOG = "audit log"  # what people call one
OK, ACCEPTED, REFUSED = "ok", "accepted", "refused"


audit_of = ApiPlace[Any]("audit")
audit_logs_of = SystemPlace[OOBTree]("audit")  # writer -> Log


class Audit(Folder):
    """Read-only; the entries hang below `root.system`, where no URL leads."""

    url = "/api/audit"


def set_up(root: Root) -> None:
    """Evolve step."""
    audit_logs_of.put(root, OOBTree())
    root.system[WRITERS] = Writers()
    audit_of.put(root, Audit())


def note(
    root: Root,
    actor: Actor,
    action: str,
    target: str,
    *,
    result: str = OK,
    reason: str | None = None,
    before: Any = None,
    after: Any = None,
) -> None:
    """Record an action in the transaction that does it. `reason`: the code of a refusal."""
    node = node_of(root)
    logs = audit_logs_of(root)
    name, key = node.writer(), chain_key(root)
    log = ChildrenOf(logs, LOG).find(name)
    if log is None:
        if name in logs:  # it cannot be read: it stays, so that the record is not told as whole, and is written no more
            set_aside = f"{name}-{UNREAD}-{new_id()}"
            logs[set_aside] = logs[name]
            root.system[WRITERS].add(set_aside, key)
            forwarding.begin_anew(root, name)
        else:
            root.system[WRITERS].add(name, key)
        log = logs[name] = Log()
    entry = {
        "id": new_id(),
        "time": node.clock.now(),
        **actor._asdict(),
        "action": action,
        "target": target,
        "result": result,
        "reason": reason,
        "before": without_secrets(public(before)),
        "after": without_secrets(public(after)),
    }
    log.append(json.loads(json.dumps(entry, default=str)), key)  # as it is read later: links are made of the same


def read(root: Root, wanted: AuditFilter, last: str | None = None) -> tuple[list[KeptEntry], int]:
    """Newest first, and how many there are. `last`: the one that it goes on after."""
    page, total = recordpages.read(list(logs_of(root)), wanted, last)
    return [entry | {"time": int(entry["time"])} for entry in page], total


def retire(root: Root, before: float) -> bool:
    key = chain_key(root)
    return sum(log.retire(before, key) for log in logs_of(root)) > 0


def logs_of(root: Root) -> Iterator[Log]:
    """Those that can be read."""
    logs = audit_logs_of(root)
    return ChildrenOf(logs, LOG).some(logs.keys())


class Writers(Persistent):
    """The names of all logs, signed: a log that is gone, or one too many, is noticed."""

    def __init__(self) -> None:
        self.names: tuple[str, ...] = ()
        self.signature: str | None = None

    def add(self, name: str, key: bytes) -> None:
        known = self.is_signed(key)
        self.names = (*self.names, name)
        if known:
            self.sign(key)

    def sign(self, key: bytes) -> None:
        self.signature = chains.link(key, chains.GENESIS, list(self.names)) if key else None

    def is_signed(self, key: bytes) -> bool:
        return bool(key) and chains.fits(key, self.signature, chains.GENESIS, list(self.names))


def begin_chains(root: Root, key: bytes) -> None:
    """What is there is signed as it is."""
    root.system[WRITERS].sign(key)
    for log in audit_logs_of(root).values():
        log.begin_chain(key)


def check(root: Root, name: str) -> Checked:
    log = ChildrenOf(audit_logs_of(root), LOG).find(name)
    return Checked(0, False, None) if log is None else log.check(chain_key(root))


def writers(root: Root) -> tuple[tuple[str, ...], bool]:
    known = root.system[WRITERS]
    return known.names, known.is_signed(chain_key(root)) and set(known.names) == set(audit_logs_of(root))


def written(root: Root) -> int:
    return sum(log.number for log in logs_of(root))
