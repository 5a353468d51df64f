"""The service that a document is for: a running server, or a store that no server has."""

from __future__ import annotations

import argparse
import os
from typing import Any, NamedTuple

from opsapp import app
from opsapp.audit.engine import SHELL, note
from opsapp.runtime.ascode import kinds
from opsapp.runtime.ascode.apply import ApplyingActor
from opsapp.web import ascode as documents
from opsapp.web import configfile
from opsapp.web.ascode import AskedFor
from opsapp.web.records import Applied
from opsapp.wire.records import made

from . import remote
from .places import Mistaken, configured, existing, settings_of


class RunningService:
    def __init__(self, asked: argparse.Namespace):
        if getattr(asked, "file", "") == "-" and not (asked.token or os.environ.get(remote.TOKEN)):
            raise Mistaken(f"standard input is the file: give the token as --token or ${remote.TOKEN}")
        self._url, self._token = asked.url, remote.token_of(asked)

    def apply(self, wanted: AskedFor) -> Applied:
        references = [{"place": list(place), "text": text} for place, text in wanted.references.items()]
        seen = None if wanted.seen is None else list(wanted.seen)
        body = {**wanted._asdict(), "references": references, "seen": seen}
        return made(Applied, remote.ask(self._url, self._token, "POST", "/api/apply", body))

    def export(self) -> Any:
        return remote.ask(self._url, self._token, "GET", "/api/export")

    def timezone(self) -> str:
        """The time zone of its windows."""
        return str(remote.ask(self._url, None, "GET", "/api/status/page")["timezone"])

    def address(self, path: str) -> str:
        return self._url.rstrip("/") + path

    def close(self) -> None:
        """Nothing is open."""


class _OnlyTried(Exception):
    """Ends a dry run's transaction."""

    def __init__(self, answer: Applied):
        self.answer = answer
        super().__init__()


class OwnStore(NamedTuple):
    registry: Any
    node: Any

    def apply(self, wanted: AskedFor) -> Applied:
        try:
            return self.node.transact(_apply, self.node, self.registry, wanted)
        except _OnlyTried as tried:
            return tried.answer

    def export(self) -> Any:
        return self.node.transact(kinds.export, self.node, self.registry.opsapp_kinds)

    def timezone(self) -> str:
        return str(self.node.config.timezone)

    def address(self, path: str) -> str:
        return path

    def close(self) -> None:
        self.node.stop()


def _apply(root: Any, node: Any, registry: Any, wanted: AskedFor) -> Applied:
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
