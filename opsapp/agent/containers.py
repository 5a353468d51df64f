"""Containers of podman and docker: name → state, asked rarely, because asking podman costs a tenth of a second.

A container that ran and is gone is "removed" for a while, also after a restart of the agent. Those that end by being
removed (--rm) and those that a cluster replaces under new names are not missed. Must not: change anything.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
import time
from functools import partial
from typing import Any, Callable, Dict, List, NamedTuple, Optional

from opsapp.wire.fields import JsonObject

from .config import AgentConfig
from .disk import read_json, write_json
from .questions import RepeatedQuestion
from .services import ask

log = logging.getLogger("containers")
RUNTIMES = ("podman", "docker")
REMOVED = "removed"
REMOVED_AFTER_S = 30.0  # one that is made anew (an update, compose) is gone for a moment
RETRY_S = 10.0
MOST_KNOWN = 2000
RUNNING = ("running", "paused", "restarting", "stopping")
REPLACED_BY = ("com.docker.swarm.task", "io.kubernetes.pod")  # labels of those that a cluster makes and removes


class Container(NamedTuple):
    name: str
    state: str
    lasting: Optional[bool]  # whether somebody misses it when it is gone; None: the list does not say


class Containers:
    """Keeps the last answer until it is too old or told that something changed."""

    def __init__(
        self,
        config: AgentConfig,
        monotonic: Callable[[], float] = time.monotonic,
        clock: Callable[[], float] = time.time,
    ):
        self._every_s, self._keep_s = config.container_check_s, config.container_removed_s
        self._monotonic, self._clock = monotonic, clock
        self._asked = {name: RepeatedQuestion(partial(self._list, name), monotonic=monotonic) for name in RUNTIMES}
        self._states: Dict[str, Dict[str, str]] = {}  # of each runtime that answered
        self._due = float("-inf")
        self._known = KnownContainers(os.path.join(config.state_dir, "containers.json"), self._keep_s)

    def stale(self) -> None:
        self._due = float("-inf")

    def states(self) -> Dict[str, str]:
        if self._monotonic() >= self._due or self._known.settles(self._clock()):
            self._look()
        present = {name: state for states in self._states.values() for name, state in states.items()}
        return {**self._known.removed(self._clock()), **present}

    def _look(self) -> None:
        began = self._monotonic()
        self._due = began + self._every_s
        for runtime in RUNTIMES:
            self._states.pop(runtime, None)
            if not shutil.which(runtime):
                continue
            try:
                containers = self._asked[runtime]()
            except OSError as error:
                log.warning("the containers of %s are unknown: %s", runtime, error)
                self._due = min(self._due, began + RETRY_S)
                continue
            self._states[runtime] = {container.name: container.state for container in containers}
            self._known.note(runtime, containers, self._clock())

    def _list(self, runtime: str) -> List[Container]:
        containers = []
        for container in listed(runtime):
            lasting = self._known.lasting(container.name) if container.lasting is None else container.lasting
            containers.append(
                container._replace(lasting=not ends_by_removal(runtime, container.name) if lasting is None else lasting)
            )
        return containers


class KnownContainer(NamedTuple):
    """A container as it is kept on the disk."""

    runtime: str
    lasting: Optional[bool]  # None: nobody could say
    ran_at: Optional[float]
    gone_at: Optional[float]


class KnownContainers:
    """The containers that would be missed: when each was last seen running, and since when it is gone."""

    def __init__(self, path: str, keep_s: float):
        self._path = path
        self._keep_s = keep_s
        self._looked_at = 0.0
        self._rows: Dict[str, KnownContainer] = read_json(path, _known_rows, {})

    def note(self, runtime: str, containers: List[Container], now: float) -> None:
        self._looked_at = now
        rows = {name: row for name, row in self._rows.items() if row.runtime != runtime}
        for container in containers[:MOST_KNOWN]:
            before = self._rows.get(container.name)
            ran_at = before.ran_at if before else None
            if container.state in RUNNING and (ran_at is None or not 0 <= now - ran_at < self._keep_s / 2):
                ran_at = now
            rows[container.name] = KnownContainer(runtime, container.lasting, ran_at, None)
        for name, row in self._rows.items():
            if row.runtime == runtime and name not in rows:
                gone_at = now if row.gone_at is None or row.gone_at > now else row.gone_at
                ran = row.ran_at is not None and gone_at - row.ran_at <= self._keep_s
                if row.lasting and ran and now - gone_at <= self._keep_s:
                    rows[name] = row._replace(gone_at=gone_at)
        if rows != self._rows:
            self._rows = rows
            write_json(self._path, {name: row._asdict() for name, row in rows.items()})

    def lasting(self, name: str) -> Optional[bool]:
        row = self._rows.get(name)
        return None if row is None else row.lasting

    def removed(self, now: float) -> Dict[str, str]:
        """The containers that are still gone after the time that a replacement takes."""
        settled = (
            name
            for name, row in self._rows.items()
            if row.gone_at is not None
            and row.gone_at + REMOVED_AFTER_S <= self._looked_at
            and now - row.gone_at <= self._keep_s
        )
        return dict.fromkeys(settled, REMOVED)

    def settles(self, now: float) -> bool:
        """Whether it is time to look again for one that is gone."""
        return any(
            row.gone_at is not None and self._looked_at < row.gone_at + REMOVED_AFTER_S <= now
            for row in self._rows.values()
        )


def _known_rows(rows: Any) -> Dict[str, KnownContainer]:
    return {name: KnownContainer(*(row[field] for field in KnownContainer._fields)) for name, row in rows.items()}


def inspect(name: str) -> Optional[JsonObject]:
    """What the runtime says of a container, with the runtime's name; None when none knows it."""
    for runtime in RUNTIMES:
        code, output = ask([runtime, "inspect", "--type", "container", "--", name])
        if code != 0:
            continue
        try:
            return {"runtime": runtime, **json.loads(output)[0]}
        except (ValueError, IndexError, TypeError):
            log.warning("%s inspect %s cannot be read: %s", runtime, name, output.strip()[:200])
    return None


def listed(runtime: str) -> List[Container]:
    """The containers of a runtime; OSError when the runtime does not say."""
    code, output = ask([runtime, "ps", "--all", "--format", "{{json .}}" if runtime == "docker" else "json"])
    if code != 0:
        raise OSError(f"{runtime} ps: {output.strip()[:200]}")
    return parse(output)


def ends_by_removal(runtime: str, name: str) -> bool:
    """Whether the container was started with --rm, which docker's list does not say."""
    code, output = ask(
        [runtime, "inspect", "--type", "container", "--format", "{{.HostConfig.AutoRemove}}", "--", name]
    )
    return code != 0 or output.strip() != "false"


def parse(output: str) -> List[Container]:
    """podman writes one array, docker one object a line. OSError when it is neither."""
    try:
        is_list = output.lstrip().startswith("[")
        rows = json.loads(output) if is_list else [json.loads(line) for line in output.splitlines() if line]
    except ValueError:
        raise OSError(f"the list of containers cannot be read: {output.strip()[:200]}") from None
    containers = []
    for row in rows or ():
        names = row.get("Names") or []
        name = names[0] if isinstance(names, list) and names else names
        if isinstance(name, str) and name:
            state = str(row.get("State") or "unknown").lower()
            containers.append(Container(name.split(",")[0], state, _lasting(row)))
    return containers


def _lasting(row: JsonObject) -> Optional[bool]:
    labels = row.get("Labels") or ()
    if any(label in labels for label in REPLACED_BY):  # docker: one text, podman: names and values
        return False
    return not row["AutoRemove"] if isinstance(row.get("AutoRemove"), bool) else None
