"""The service that a document is for: a running server, or a store that no server has. It is opened once, and asked
what would change before it is told to change that.
"""

from __future__ import annotations

import argparse
import os
from typing import Any, NamedTuple

from opsapp import app
from opsapp.audit.engine import SHELL, note
from opsapp.lib.jsontypes import JsonObject
from opsapp.runtime import ascode
from opsapp.runtime.ascodeapply import ApplyingActor
from opsapp.web import ascode as documents
from opsapp.web import configfile
from opsapp.web.ascode import AskedFor

from . import remote
from .places import Mistaken, configured, existing, settings_of


class RunningService:
    """A running one, asked by its API."""

    def __init__(self, asked: argparse.Namespace):
        if getattr(asked, "file", "") == "-" and not (asked.token or os.environ.get(remote.TOKEN)):
            raise Mistaken(f"standard input is the file: give the token as --token or ${remote.TOKEN}")
        self._url, self._token = asked.url, remote.token_of(asked)

    def apply(self, wanted: AskedFor) -> JsonObject:
        references = [{"place": list(place), "text": text} for place, text in wanted.references.items()]
        seen = None if wanted.seen is None else list(wanted.seen)
        body = {**wanted._asdict(), "references": references, "seen": seen}
        answer: JsonObject = remote.ask(self._url, self._token, "POST", "/api/apply", body)
        return answer

    def export(self) -> JsonObject:
        document: JsonObject = remote.ask(self._url, self._token, "GET", "/api/export")
        return document

    def timezone(self) -> str:
        """By whose clock its windows are."""
        settings: JsonObject = remote.ask(self._url, None, "GET", "/api/status/page")
        return str(settings["timezone"])

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

    def apply(self, wanted: AskedFor) -> JsonObject:
        try:
            answer: JsonObject = self.node.transact(_apply, self.node, self.registry, wanted)
        except _OnlyTried as tried:
            answer = tried.args[0]
        return answer

    def export(self) -> JsonObject:
        document: JsonObject = self.node.transact(ascode.export, self.node, self.registry.opsapp_kinds)
        return document

    def timezone(self) -> str:
        return str(self.node.config.timezone)

    def address(self, path: str) -> str:
        return path

    def close(self) -> None:
        self.node.stop()


def _apply(root: Any, node: Any, registry: Any, wanted: AskedFor) -> JsonObject:
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
