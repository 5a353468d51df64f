"""The service that a document is for: a running server, or a store that no server has. It is opened once, and asked
what would change before it is told to change that.
"""

from __future__ import annotations

import argparse
import os
from typing import Any, NamedTuple

from opsapp import app
from opsapp.audit.engine import SHELL, note
from opsapp.runtime import ascode
from opsapp.runtime.ascodeapply import ApplyingActor
from opsapp.web import ascode as documents
from opsapp.web import configfile
from opsapp.web.ascode import AskedFor
from opsapp.wire.dataclass import dataclass
from opsapp.wire.kinds import AnyValues
from opsapp.wire.records import made

from . import remote
from .places import Mistaken, configured, existing, settings_of


@dataclass(frozen=True)
class AppliedChange:
    kind: str
    change: str
    key: str
    id: str | None
    before: AnyValues
    after: AnyValues
    secrets: bool
    stamp: str
    once: dict[str, str]


@dataclass(frozen=True)
class AwaitedEntry:
    kind: str
    key: str
    why: str


@dataclass(frozen=True)
class DocumentApplied:
    """What has changed, or would, as the API answers it."""

    changes: tuple[AppliedChange, ...]
    unchanged: int
    waiting: tuple[AwaitedEntry, ...]
    dry_run: bool

    def of_kind(self, change: str) -> list[AppliedChange]:
        """Those that create, update or delete."""
        return [row for row in self.changes if row.change == change]


class RunningService:
    """A running one, asked by its API."""

    def __init__(self, asked: argparse.Namespace):
        if getattr(asked, "file", "") == "-" and not (asked.token or os.environ.get(remote.TOKEN)):
            raise Mistaken(f"standard input is the file: give the token as --token or ${remote.TOKEN}")
        self._url, self._token = asked.url, remote.token_of(asked)

    def apply(self, wanted: AskedFor) -> DocumentApplied:
        references = [{"place": list(place), "text": text} for place, text in wanted.references.items()]
        seen = None if wanted.seen is None else list(wanted.seen)
        body = {**wanted._asdict(), "references": references, "seen": seen}
        return made(DocumentApplied, remote.ask(self._url, self._token, "POST", "/api/apply", body))

    def export(self) -> Any:
        return remote.ask(self._url, self._token, "GET", "/api/export")

    def timezone(self) -> str:
        """By whose clock its windows are."""
        return str(remote.ask(self._url, None, "GET", "/api/status/page")["timezone"])

    def address(self, path: str) -> str:
        return self._url.rstrip("/") + path

    def close(self) -> None:
        """Nothing is open."""


class _OnlyTried(Exception):
    """Ends a dry run's transaction; carries what it found."""


class OwnStore(NamedTuple):
    """The store itself."""

    registry: Any
    node: Any

    def apply(self, wanted: AskedFor) -> DocumentApplied:
        try:
            answer = self.node.transact(_apply, self.node, self.registry, wanted)
        except _OnlyTried as tried:
            answer = tried.args[0]
        return made(DocumentApplied, answer)

    def export(self) -> Any:
        return self.node.transact(ascode.export, self.node, self.registry.opsapp_kinds)

    def timezone(self) -> str:
        return str(self.node.config.timezone)

    def address(self, path: str) -> str:
        return path

    def close(self) -> None:
        self.node.stop()


def _apply(root: Any, node: Any, registry: Any, wanted: AskedFor) -> dict[str, object]:
    """Whoever has the store may do anything in it: there is nothing to confirm."""
    outcome = documents.apply(root, node, registry, wanted, ApplyingActor(SHELL, lambda: None))
    for change in outcome.changes:
        note(root, SHELL, change.action, change.id, before=change.before, after=change.after)
    answer = documents.answer(outcome, dry_run=wanted.dry_run)
    if wanted.dry_run:
        raise _OnlyTried(answer)
    return answer


def door(asked: argparse.Namespace) -> RunningService | OwnStore:
    if asked.url:
        return RunningService(asked)
    config = configured(existing(settings_of(asked)))
    return OwnStore(config.registry, app.prepare(config, configfile.consult))
