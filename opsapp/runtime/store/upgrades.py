"""Bringing a store to this version: who may, when, and what is kept of the store as it was.

An embedded store is copied before its first step (`before-VERSION-TIME`). On a shared store a step that older versions
cannot go on with waits until no node of another version is left; `nodes` ends an older node that comes later. Must not:
know what a step does.
"""

from __future__ import annotations

import logging
import shutil
import time
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, NamedTuple

import ZODB
from ZODB.POSException import StorageError

from opsapp.lib.problems import Conflict
from opsapp.runtime.cluster import nodes
from opsapp.runtime.internals import read_only_file
from opsapp.runtime.node import Node
from opsapp.tree import evolve
from opsapp.tree.classes import class_factory
from opsapp.tree.damage import is_damage
from opsapp.tree.evolve import EvolveStep, StepsApart
from opsapp.tree.root import KEY
from opsapp.wire.version import VERSION

from . import backup, diskspace, embedded

log = logging.getLogger(__name__)

# Beside a server the index on the disk is behind its file: no news for whoever reads the file.
logging.getLogger("ZODB.FileStorage").addFilter(lambda record: not str(record.msg).startswith("Ignoring index"))

BEFORE = "before-"  # an upgrade: the name of a copy is this, the new version and the time
UNFINISHED = ".partial"
KEPT = 2
SPARE = 64 << 20  # bytes that the steps themselves may need
UNDER_WAY = "upgrade"
LOOK_S = 0.5
TELL_S = 10.0


class UpgradeBegun(NamedTuple):
    """The version of an upgrade that began, and where the store as it was before has been kept."""

    version: str
    copy: str


class UpgradeState(NamedTuple):
    missing: list[EvolveStep]
    used: bool
    begun: UpgradeBegun | None


Beats = dict[str, nodes.Beat]  # by the name of a node


def bring_up_to_date(node: Node, files: list[Path], *, copy: bool = True, patient: bool = False) -> None:
    """All steps that the store lacks. `files`: of an embedded store, history first. `patient`: wait for nodes of other
    versions to stop; else they are a Conflict. `copy`: False where whoever asks has seen to a backup."""
    refuse_apart(node, files)
    missing, used, begun = _at_top(node, _state)
    alone = not node.exclusive and not all(step.reversible for step in missing)
    if alone:
        _wait_for_others(node, missing, patient)  # whoever is refused has begun nothing
    if missing and used:
        _keep_as_it_was(node, missing, begun, files, copy)
    while _at_top(node, evolve.pending):
        still = _wait_for_others(node, missing, patient) if alone else None
        _at_top(node, _evolve, node.name, still)
    if missing or (begun and begun.version == VERSION):
        _at_top(node, _end)


def refuse_apart(node: Node, files: list[Path]) -> None:
    """Conflict for a store that this version must not use."""
    apart: StepsApart = _at_top(node, evolve.apart)
    refusal = refused(apart, files)
    if refusal:
        raise Conflict(refusal)
    if apart.foreign:
        named = ", ".join(f"{step.name} ({step.version})" for step in apart.foreign)
        log.warning("a newer version has used this store: %s; this version (%s) may go on with it", named, VERSION)


def refused(apart: StepsApart, files: list[Path]) -> str | None:
    """Why the upgrade is refused, with the copy that was made before; None when it is not."""
    refusal = evolve.refusal(apart)
    if refusal is None or apart.lacks:
        return refusal
    first = next(step.version for step in apart.foreign if not step.reversible)
    made = [path for path in copies(files) if path.name.startswith(f"{BEFORE}{first}-")] if first else []
    return f"{refusal} The store as it was before is in {made[-1]}." if made else refusal


def steps_of_file(path: Path, steps: list[EvolveStep]) -> StepsApart:
    """The steps of a store's main file, read only, beside a server too. Conflict where the time of a change in it
    cannot be right."""
    if not embedded.is_store(path):
        return StepsApart()
    with path.open("rb") as file:
        embedded.checked_until(file, path)
    try:
        db = _database(path)
    except Exception as problem:  # noqa: BLE001 - judged by _nothing_known
        return _nothing_known(problem)
    try:
        with db.transaction() as connection:
            return evolve.apart(connection.root(), steps)
    except Exception as problem:  # noqa: BLE001 - judged by _nothing_known
        return _nothing_known(problem)
    finally:
        db.close()


def _database(path: Path) -> ZODB.DB:
    storage = read_only_file(path)
    try:
        return ZODB.DB(storage, class_factory=class_factory)
    except BaseException:
        storage.close()
        raise


def _nothing_known(problem: Exception) -> StepsApart:
    """Nothing is known of what is no store, or damaged. Whoever uses it says so."""
    if isinstance(problem, StorageError) or is_damage(problem):
        return StepsApart()
    raise problem


def copies(files: list[Path]) -> list[Path]:
    if not files:
        return []
    directories = [
        path for path in files[-1].parent.glob(f"{BEFORE}*-*") if path.is_dir() and path.suffix != UNFINISHED
    ]
    return sorted(directories, key=lambda path: path.name.rpartition("-")[2])


def under_way(top: Any) -> UpgradeBegun | None:
    stored = top[KEY].system.get(UNDER_WAY) if KEY in top else None
    return None if stored is None else UpgradeBegun(*stored)


def _at_top(node: Node, fn: Any, *values: Any) -> Any:
    return node.store.transact(fn, (node.evolve_steps, *values), root_from=lambda connection: connection.root())


def _evolve(top: Any, steps: list[EvolveStep], name: str, still: Beats | None) -> None:
    """One step; in a new store all: it is made whole or not at all. None if another process has moved since we looked;
    one that comes meanwhile is a conflict."""
    if still is not None and KEY in top:
        if _others(top, steps, name) != still:
            return
        nodes.read_current(top[KEY])
    new = not evolve.has_evolved(top)
    while evolve.evolve_next(top, steps) and new:
        pass


def _others(top: Any, _steps: list[EvolveStep], name: str) -> Beats:
    """The nodes of other versions, living or not."""
    beats = nodes.beats(top[KEY]) if KEY in top else {}
    return {other: heard for other, heard in beats.items() if other != name and heard.version != VERSION}


def _state(top: Any, steps: list[EvolveStep]) -> UpgradeState:
    return UpgradeState(evolve.pending(top, steps), evolve.has_evolved(top), under_way(top))


def _begin(top: Any, _steps: list[EvolveStep], copy: str) -> None:
    top[KEY].system[UNDER_WAY] = VERSION, copy


def _end(top: Any, _steps: list[EvolveStep]) -> None:
    top[KEY].system.pop(UNDER_WAY, None)


def _keep_as_it_was(
    node: Node, missing: list[EvolveStep], begun: UpgradeBegun | None, files: list[Path], copy: bool
) -> None:
    """Keep a copy once for each upgrade: one that broke off goes on, and its first copy counts."""
    if begun is not None and begun.version == VERSION:
        log.warning("the upgrade to %s goes on; the store as it was before: %s", VERSION, begun.copy or "not kept here")
        return
    if not files:
        log.warning(
            "upgrading the store to version %s by %d steps. It is not embedded, so it is not copied here: to go back, "
            "restore the backup that was made before the upgrade (docs/guide/cluster.md)", VERSION, len(missing)
        )  # fmt: skip
    _at_top(node, _begin, str(_copy(files)) if files and copy else "")


def _copy(files: list[Path]) -> Path:
    beside = files[-1].parent
    size = sum(path.stat().st_size for path in files)
    free = diskspace.free(beside)
    if free < size + SPARE:
        raise Conflict(
            f"There is no room for a copy of the store before the upgrade to version {VERSION}: {beside} needs "
            f"{(size + SPARE) >> 20} MiB and has {int(free) >> 20}. Free some space; or keep a backup elsewhere "
            f"(`opsapp backup DIR`, by the older version) and run `opsapp init --no-backup`.",
            code="no_room",
        )
    target = beside / f"{BEFORE}{VERSION}-{_time_in_name()}"
    for left in beside.glob(f"{BEFORE}*{UNFINISHED}"):
        shutil.rmtree(left)
    partial = target.with_name(target.name + UNFINISHED)
    saved = backup.save(files, partial, damaged=True)
    partial.rename(target)
    lacking = backup.lacking(target)
    log.warning(
        "the store as it was before version %s is in %s (%d bytes%s): `opsapp restore` takes it",
        VERSION, target, sum(copy.size for copy in saved), f", {len(lacking)} objects damaged" if lacking else "",
    )  # fmt: skip
    for old in copies(files)[:-KEPT]:
        shutil.rmtree(old)
        log.info("deleted an older copy of the store: %s", old)
    return target


def _time_in_name() -> str:
    """The time to the millisecond: copies are told apart and ordered by it, and two upgrades may begin within a
    second."""
    return datetime.now(timezone.utc).strftime("%Y%m%dT%H%M%S.%f")[:-3] + "Z"


def _wait_for_others(node: Node, missing: list[EvolveStep], patient: bool) -> Beats:
    """What a node of another version reads and writes is about to change. The last beats of those that do not live."""
    told_at = float("-inf")
    while True:
        still, living = _watch_others(node)
        if not living:
            return still
        them = ", ".join(f"{name}: {heard.version or 'an older one'}" for name, heard in sorted(living.items()))
        named = ", ".join(step.name for step in missing if not step.reversible)
        message = (
            f"nodes of another version use the store ({them}), and {named} changes what they read. Stop them first"
        )
        if not patient:
            raise Conflict(f"This version ({VERSION}) cannot use the store yet: {message}.")
        if time.monotonic() - told_at >= TELL_S:
            log.warning("waiting before the upgrade to %s: %s", VERSION, message)
            told_at = time.monotonic()


def _watch_others(node: Node) -> tuple[Beats, Beats]:
    """The nodes of other versions that stand still, or those that live. A killed node is known by how long its beat
    stands still."""
    still, began = _at_top(node, _others, node.name), time.monotonic()
    while still and time.monotonic() - began < nodes.DEAD_AFTER_S:
        time.sleep(LOOK_S)
        now = _at_top(node, _others, node.name)
        living = {name: heard for name, heard in now.items() if still.get(name) != heard}
        if living:
            return {}, living
        still = now
    return still, {}
