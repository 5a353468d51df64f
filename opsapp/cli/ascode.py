"""`opsapp apply|export|import`: monitors, rules and other kinds as a YAML file, in the store or in a running server."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml

from opsapp import app
from opsapp.audit.engine import SHELL, note
from opsapp.lib.jsontypes import JsonObject
from opsapp.lib.problems import Invalid
from opsapp.runtime import ascode
from opsapp.web import ascode as documents
from opsapp.web import configfile

from . import archive, remote
from .places import Mistaken, add_options, configured, existing, settings_of
from .switching import blackbox, gatus, kuma
from .switching.estate import Estate

READERS = {"kuma": kuma.read, "gatus": gatus.read, "prometheus-blackbox": blackbox.read}
SIGNS = {ascode.CREATE: "+", ascode.UPDATE: "~", ascode.DELETE: "-"}


def add_commands(commands: Any) -> None:
    apply = commands.add_parser("apply", help="apply a YAML file, all of it or nothing; prints a diff")
    apply.add_argument("file", metavar="FILE", help="the YAML file, or - for standard input")
    apply.add_argument("--dry-run", action="store_true", help="print the diff and change nothing")
    apply.add_argument("--prune", action="store_true", help="delete what the file does not have, of the kinds it names")
    apply.set_defaults(run=apply_file)
    take = commands.add_parser("import", help="import what `export` wrote, all of it or nothing")
    take.add_argument("file", metavar="FILE", nargs="?", default="-", help="the file; standard input without one")
    take.add_argument("--dry-run", action="store_true", help="print the diff and change nothing")
    take.add_argument(
        "--from", dest="program", choices=sorted(READERS), help="FILE is of this program; prints a report"
    )
    take.add_argument("--modules", metavar="FILE", help="with --from prometheus-blackbox: the exporter's own file")
    take.set_defaults(run=import_file, prune=False)
    give = commands.add_parser(
        "export", help="write everything that a file can hold to standard output, without secrets"
    )
    give.add_argument(
        "--archive", metavar="DIR", help="write what is over into DIR instead: ledger entries, cases and incidents"
    )
    give.set_defaults(run=export)
    for command in (apply, take, give):
        remote.add_options(command)
        add_options(command)


def import_file(asked: argparse.Namespace) -> None:
    if asked.program is None:
        apply_file(asked)
        return
    estate = _estate(asked)
    leave_refused(asked, estate)
    for line in estate.report():
        print(line)
    if estate.document():
        _apply_document(asked, estate.document(), {})


def leave_refused(asked: argparse.Namespace, estate: Estate) -> None:
    """What the service would refuse is left, so that it does not keep the others out; and so is what would write over
    something of the same name that is here already. What names an entry that is left changes by that, and is asked
    about again."""
    try:
        answer = _answer(asked, estate.document(), dry_run=True)
    except Invalid as problem:
        if not estate.drop(problem.fields):
            raise Mistaken(told(asked.file, problem.fields, {})) from None
        leave_refused(asked, estate)
        return
    differing = [change for change in answer["changes"] if change["change"] == ascode.UPDATE]
    for change in differing:
        estate.leave_present(change["kind"], change["key"], [*change["after"], *_secret(change)])
    if differing:
        leave_refused(asked, estate)


def _secret(change: JsonObject) -> list[str]:
    return ["a secret"] if change["secrets"] else []


def _estate(asked: argparse.Namespace) -> Estate:
    if asked.file == "-":
        raise Mistaken("give the file: --from reads no standard input")
    if asked.modules is not None and asked.program != "prometheus-blackbox":
        raise Mistaken("--modules is for --from prometheus-blackbox")
    try:
        if asked.modules is not None:
            return blackbox.read(asked.file, asked.modules)
        return kuma.read(asked.file, _zone(asked)) if asked.program == "kuma" else READERS[asked.program](asked.file)
    except OSError as problem:
        raise Mistaken(f"{problem.filename} cannot be read: {problem.strerror}") from None
    except (ValueError, yaml.YAMLError) as problem:
        raise Mistaken(f"{asked.file} is not a file of {asked.program}: {problem}") from None


def _zone(asked: argparse.Namespace) -> str:
    """By whose clock the service's windows are."""
    if asked.url:
        return remote.ask(asked.url, None, "GET", "/api/status/page")["timezone"]
    _, node = _opened(asked)
    try:
        return node.config.timezone
    finally:
        node.stop()


def apply_file(asked: argparse.Namespace) -> None:
    document, lines = read(asked.file)
    _apply_document(asked, document, lines)


def _apply_document(asked: argparse.Namespace, document: JsonObject, lines: configfile.Lines) -> None:
    try:
        answer = _answer(asked, document, dry_run=asked.dry_run)
    except Invalid as problem:
        raise Mistaken(told(asked.file, problem.fields, lines)) from None
    for line in diff(answer["changes"]):
        print(line)
    print(summary(answer))


def read(path: str) -> tuple[JsonObject, configfile.Lines]:
    try:
        text = sys.stdin.read() if path == "-" else Path(path).read_text(encoding="utf-8")
    except OSError as problem:
        raise Mistaken(f"{path} cannot be read: {problem.strerror}") from None
    except UnicodeDecodeError as problem:
        raise Mistaken(f"{path} is not UTF-8: see byte {problem.start}") from None
    return configfile.parse(text, path)


def told(path: str, fields: dict[str, str], lines: configfile.Lines) -> str:
    """Every mistake with its line, as check-config tells them."""
    mistakes = []
    for place, text in fields.items():
        steps = tuple(place.removeprefix("document.").split("."))
        line = next((lines[steps[:n]] for n in range(len(steps), 0, -1) if steps[:n] in lines), None)
        mistakes.append(configfile.Mistake(".".join(steps), line, text))
    mistakes.sort(key=lambda mistake: (mistake.line or 0, mistake.path))
    return "\n".join(f"{path}: {mistake}" for mistake in mistakes)


def _answer(asked: argparse.Namespace, document: JsonObject, *, dry_run: bool) -> JsonObject:
    return _ask(asked, document, dry_run) if asked.url else _apply_here(asked, document, dry_run)


def _ask(asked: argparse.Namespace, document: JsonObject, dry_run: bool) -> JsonObject:
    if asked.file == "-" and not (asked.token or os.environ.get(remote.TOKEN)):
        raise Mistaken(f"standard input is the file: give the token as --token or ${remote.TOKEN}")
    body = {"document": document, "dry_run": dry_run, "prune": asked.prune}
    return remote.ask(asked.url, remote.token_of(asked), "POST", "/api/apply", body)


class _OnlyTried(Exception):
    """Ends a dry run's transaction; carries what it found."""


def _apply_here(asked: argparse.Namespace, document: JsonObject, dry_run: bool) -> JsonObject:
    config, node = _opened(asked)
    try:
        entries, mistakes = documents.judged(config.registry, document)
        kinds = config.registry.opsapp_kinds
        return node.transact(_apply, node, kinds, entries, mistakes, asked.prune, dry_run)
    except _OnlyTried as tried:
        return tried.args[0]
    finally:
        node.stop()


def _apply(root: Any, node: Any, kinds: Any, entries: Any, mistakes: Any, prune: bool, dry_run: bool) -> JsonObject:
    changes, unchanged = ascode.apply(root, node, kinds, entries, mistakes, prune=prune)
    for change in changes:
        note(root, SHELL, change.action, change.id, before=change.before, after=change.after)
    shown = [documents.record(change, dry_run=dry_run) for change in changes]
    answer = {"changes": shown, "unchanged": unchanged, "dry_run": dry_run}
    if dry_run:
        raise _OnlyTried(answer)
    return answer


def _opened(asked: argparse.Namespace) -> tuple[Any, Any]:
    config = configured(existing(settings_of(asked)))
    return config, app.prepare(config, configfile.consult)


def diff(changes: Iterable[JsonObject]) -> Iterable[str]:
    """Line by line, as people read it; of what is new, the fields that hold something."""
    for change in changes:
        yield f"{SIGNS[change['change']]} {change['kind']} {change['key']}"
        if change["change"] == ascode.CREATE:
            filled = {name: value for name, value in change["after"].items() if value not in (None, [], {}, "")}
            yield from (f"    {name}: {json.dumps(value)}" for name, value in filled.items() if name != "name")
        elif change["change"] == ascode.UPDATE:
            for name in {**change["before"], **change["after"]}:
                before, after = change["before"].get(name), change["after"].get(name)
                yield f"    {name}: {json.dumps(before)} -> {json.dumps(after)}"
            if change["secrets"]:
                yield "    a secret differs"


def summary(answer: JsonObject) -> str:
    kinds = [change["change"] for change in answer["changes"]]
    would = "would create" if answer["dry_run"] else "created"
    other = ("change", "delete") if answer["dry_run"] else ("changed", "deleted")
    return (
        f"{would} {kinds.count(ascode.CREATE)}, {other[0]} {kinds.count(ascode.UPDATE)}, "
        f"{other[1]} {kinds.count(ascode.DELETE)}, {answer['unchanged']} as they were"
    )


def export(asked: argparse.Namespace) -> None:
    if asked.archive:
        archive.export_archive(asked)
        return
    if asked.url:
        document = remote.ask(asked.url, remote.token_of(asked), "GET", "/api/export")
    else:
        config, node = _opened(asked)
        try:
            document = node.transact(ascode.export, node, config.registry.opsapp_kinds)
        finally:
            node.stop()
    yaml.safe_dump(document, sys.stdout, sort_keys=False, allow_unicode=True, width=120)
