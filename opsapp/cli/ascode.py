"""`opsapp apply|export|import`: a YAML file, for the store or for a running server."""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import yaml

from opsapp.lib.problems import Invalid, Problem
from opsapp.runtime.ascode import kinds
from opsapp.web.ascode import AskedFor
from opsapp.web.records import Applied, ChangeRecord
from opsapp.wire.records import plain

from . import archive, ascodefile, remote
from .ascodedoors import OwnStore, RunningService, door
from .ascodefile import DocumentFile, Refused
from .places import Mistaken, ToldAlready, add_options

if TYPE_CHECKING:
    from opsapp.importers.estate import Estate, PresentEntry

PROGRAMS = ("gatus", "kuma", "prometheus-blackbox")
WOULD_CHANGE = 2  # the exit code of a dry run
SIGNS = {kinds.CREATE: "+", kinds.UPDATE: "~", kinds.DELETE: "-"}


def add_commands(commands: Any) -> None:
    apply = commands.add_parser("apply", help="apply a YAML file, all of it or nothing; prints a diff")
    apply.add_argument("file", metavar="FILE", help="the YAML file, or - for standard input")
    apply.add_argument("--dry-run", action="store_true", help="print the diff, change nothing; exit code 2 if it would")
    apply.add_argument("--prune", action="store_true", help="delete what the file does not have, of the kinds it names")
    apply.set_defaults(run=apply_file)
    take = commands.add_parser("import", help="import what `export` wrote, all of it or nothing")
    take.add_argument("file", metavar="FILE", nargs="?", default="-", help="the file; standard input without one")
    take.add_argument("--dry-run", action="store_true", help="print the diff, change nothing; exit code 2 if it would")
    take.add_argument("--from", dest="program", choices=PROGRAMS, help="FILE is of this program; prints a report")
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
        command.add_argument("--json", action="store_true", help="print JSON, for programs")
        remote.add_options(command)
        add_options(command)


def import_file(asked: argparse.Namespace) -> int:
    if asked.program is None:
        return apply_file(asked)
    with _told_as_asked(asked), closing(door(asked)) as service:
        estate = _estate(asked, service)
        leave_refused(asked, service, estate)
        for line in estate.report():
            print(line, file=sys.stderr if asked.json else sys.stdout)
        return _apply(asked, service, ascodefile.of_another(asked.file, estate.document())) if estate.document() else 0


def leave_refused(asked: argparse.Namespace, service: RunningService | OwnStore, estate: Estate) -> None:
    """What the service would refuse is left, so that it does not keep the others out; so is what would write over
    something of the same name. What names an entry that is left changes by that, and is asked about again."""
    try:
        answer = _look(asked, service, ascodefile.of_another(asked.file, estate.document()))
    except Refused as refused:
        if not estate.drop({refusal.path: refusal.message for refusal in refused.refusals}):
            raise
        leave_refused(asked, service, estate)
        return
    differing = answer.of_kind(kinds.UPDATE)
    if differing:
        estate.leave_present(map(_present, differing))
        leave_refused(asked, service, estate)


def _present(change: ChangeRecord) -> PresentEntry:
    from opsapp.importers.estate import PresentEntry

    return PresentEntry(change.kind, change.key, (*change.after, *(["a secret"] if change.secrets else [])))


def _estate(asked: argparse.Namespace, service: RunningService | OwnStore) -> Estate:
    if asked.file == "-":
        raise Mistaken("give the file: --from reads no standard input")
    if asked.modules is not None and asked.program != "prometheus-blackbox":
        raise Mistaken("--modules is for --from prometheus-blackbox")
    from opsapp import importers

    try:
        return importers.read(asked.program, asked.file, asked.modules, service.timezone)
    except OSError as problem:
        raise Mistaken(f"{problem.filename} cannot be read: {problem.strerror}") from None
    except (ValueError, yaml.YAMLError) as problem:
        raise Mistaken(f"{asked.file} is not a file of {asked.program}: {problem}") from None


def apply_file(asked: argparse.Namespace) -> int:
    with _told_as_asked(asked):
        file = ascodefile.read(asked.file)
        with closing(door(asked)) as service:
            return _apply(asked, service, file)


@contextlib.contextmanager
def _told_as_asked(asked: argparse.Namespace) -> Iterator[None]:
    """With --json a refusal is JSON, too."""
    try:
        yield
    except (Problem, Mistaken, Refused) as problem:
        if not asked.json:
            raise Mistaken(str(problem)) from None
        refusals = problem.refusals if isinstance(problem, Refused) else []
        print(json.dumps({"error": str(problem), "mistakes": [refusal._asdict() for refusal in refusals]}))
        raise ToldAlready from None


def _apply(asked: argparse.Namespace, service: RunningService | OwnStore, file: DocumentFile) -> int:
    answer = _look(asked, service, file)
    if asked.dry_run:
        _print(asked, service, answer)
        return WOULD_CHANGE if answer.changes else 0
    for change in [] if asked.json else answer.of_kind(kinds.DELETE):
        print(f"will be deleted: {change.kind} {change.key}", flush=True)
    seen = [change.stamp for change in answer.changes]
    wanted = AskedFor(file.document, False, asked.prune, file.references, seen)
    _print(asked, service, _answer(service, file, wanted))
    return 0


def _look(asked: argparse.Namespace, service: RunningService | OwnStore, file: DocumentFile) -> Applied:
    return _answer(service, file, AskedFor(file.document, True, asked.prune, file.references))


def _answer(service: RunningService | OwnStore, file: DocumentFile, wanted: AskedFor) -> Applied:
    try:
        return service.apply(wanted)
    except Invalid as problem:
        raise Refused(file.told(problem.fields)) from None


def _print(asked: argparse.Namespace, service: RunningService | OwnStore, answer: Applied) -> None:
    changes = tuple(
        replace(change, once={name: service.address(text) for name, text in change.once.items()})
        for change in answer.changes
    )
    if asked.json:
        print(json.dumps(plain(replace(answer, changes=changes)), ensure_ascii=False))
        return
    for line in diff(changes):
        print(line)
    for waiting in answer.waiting:
        print(f"? {waiting.kind} {waiting.key}: {waiting.why}")
    print(summary(answer))


def diff(changes: Iterable[ChangeRecord]) -> Iterable[str]:
    for change in changes:
        yield f"{SIGNS[change.change]} {change.kind} {change.key}"
        if change.change == kinds.CREATE:
            filled = {name: value for name, value in change.after.items() if value not in (None, [], {}, "")}
            yield from (f"    {name}: {json.dumps(value)}" for name, value in filled.items() if name != "name")
        elif change.change == kinds.UPDATE:
            for name in {**change.before, **change.after}:
                before, after = change.before.get(name), change.after.get(name)
                yield f"    {name}: {json.dumps(before)} -> {json.dumps(after)}"
            if change.secrets:
                yield "    a secret differs"
        yield from (f"    {name}, shown this once: {text}" for name, text in change.once.items())


def summary(answer: Applied) -> str:
    words = ("would create", "change", "delete") if answer.dry_run else ("created", "changed", "deleted")
    changes = zip(words, (kinds.CREATE, kinds.UPDATE, kinds.DELETE), strict=True)
    counts = ", ".join(f"{word} {len(answer.of_kind(change))}" for word, change in changes)
    return f"{counts}, {answer.unchanged} as they were"


def export(asked: argparse.Namespace) -> None:
    if asked.archive:
        archive.export_archive(asked)
        return
    with _told_as_asked(asked), closing(door(asked)) as service:
        document = service.export()
    if asked.json:
        json.dump(document, sys.stdout, ensure_ascii=False)
        print()
        return
    yaml.safe_dump(document, sys.stdout, sort_keys=False, allow_unicode=True, width=120)
