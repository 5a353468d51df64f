"""Monitoring plugins that the server asks for: only what stands below a directory of `plugin_dirs`, in a safe place.

When a plugin has ended, what is left of its process group or has left it is killed, and so is what a killed agent
left, by the next one. Must not: read what a plugin says (`wire.plugins`).
"""

from __future__ import annotations

import os
import stat
import threading
from typing import Dict, List, Tuple

from opsapp.agent.proc import start_time
from opsapp.agent.processes import Cancel, ProcessGroup, Ran, RunOptions, end_strays, new_mark, run, signal_group
from opsapp.agent.tails import MARK, whose
from opsapp.wire.plugins import READ, outcome_of
from opsapp.wire.probes import Gate, Outcome, ProbeFailed, ProbeTarget, ProbeUnavailable
from opsapp.wire.typesettings import PluginSettings

OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH
# Numbers with a point, texts in UTF-8, whatever the host's own language is.
LANGUAGE = {"LC_ALL": "C.UTF-8"}
KILL = 9


class PluginRunner:
    """`probe` may be called from any thread. After `stop` nothing runs and nothing begins."""

    def __init__(self, directories: Tuple[str, ...], state_dir: str):
        self._directories = directories
        self._state_dir = state_dir
        self._lock = threading.Lock()
        self._running: Dict[str, ProcessGroup] = {}  # by their marks
        self._stopped = False

    def probe(self, target: ProbeTarget, gate: Gate) -> Outcome:
        assert isinstance(target.own, PluginSettings)
        program, *arguments = target.own.command
        ran = self._run([self.place_of(program), *arguments], gate.left())
        if ran.status == "timeout":
            # As the guidelines have it: what does not answer in time is not as it should be.
            raise ProbeFailed(f"no answer within {target.timeout:g} s")
        if ran.exit_code is None or ran.exit_code < 0:
            raise ProbeUnavailable(f"the plugin did not run to its end: {ran.reason}")
        return outcome_of(ran.exit_code, ran.output, gate.elapsed())

    def place_of(self, program: str) -> str:
        """Its name is kept: some plugins are one file that goes by the name it is called by."""
        if not self._directories:
            raise ProbeUnavailable("this agent runs no plugins: its configuration has no plugin_dirs")
        directory, name = os.path.split(program)
        place = os.path.join(os.path.realpath(directory), name)
        real = os.path.realpath(place)
        for path in (place, real):
            self._require_inside(path)
        if not os.path.isfile(real) or not os.access(real, os.X_OK):
            raise ProbeUnavailable("there is no such plugin on this host, or the agent may not run it")
        for path in (real, *self._above(real), *self._above(place)):
            _require_safe(path)
        return place

    def _root_of(self, path: str) -> str:
        """The directory of `plugin_dirs` that the path is below; "" where there is none."""
        roots = (os.path.realpath(directory) for directory in self._directories)
        return next((root for root in roots if path.startswith(root.rstrip("/") + "/")), "")

    def _require_inside(self, path: str) -> None:
        if not self._root_of(path):
            raise ProbeUnavailable("the agent runs only plugins below its plugin_dirs")

    def _above(self, path: str) -> List[str]:
        """The directories above the path, up to the one of `plugin_dirs`."""
        root, directories = self._root_of(path), [os.path.dirname(path)]
        while directories[-1] != root:
            directories.append(os.path.dirname(directories[-1]))
        return directories

    def _run(self, argv: List[str], timeout: float) -> Ran:
        mark = new_mark()
        cancel = Cancel()
        try:
            return run(
                argv,
                timeout,
                cancel,
                env={**LANGUAGE, MARK: whose(self._state_dir)},
                on_start=lambda group: self._begin(mark, group),
                limit=READ,
                manner=RunOptions(with_errors=False, mark=mark),
            )
        finally:
            cancel.close()
            self._end(mark)

    def _begin(self, mark: str, group: ProcessGroup) -> None:
        with self._lock:
            if self._stopped:
                raise ProbeUnavailable("the agent stops")
            self._running[mark] = group

    def _end(self, mark: str) -> None:
        """Its number is somebody else's once a process has it again."""
        with self._lock:
            group = self._running.pop(mark, None)
            if group is not None and not start_time(group.pid):
                signal_group(group.pid, KILL)
        if group is not None:
            end_strays(mark)

    def stop(self) -> None:
        with self._lock:
            self._stopped = True
            running = dict(self._running)
            for group in running.values():
                signal_group(group.pid, KILL)
        for mark in running:
            end_strays(mark)


def _require_safe(path: str) -> None:
    """Who may write a plugin is who it runs as: nobody but root and the agent's user, or their groups."""
    about = os.stat(path)
    mine = about.st_uid in (0, os.geteuid())
    group = about.st_gid in (0, os.getegid())
    writable = about.st_mode & (stat.S_IWOTH if group else OTHERS_MAY_WRITE)
    if writable or not mine:
        raise ProbeUnavailable("the agent does not run the plugin: other users may change it, or its directory")
