"""The release before this version, out of the clone's own history: its code, its commands, its server and its agent.

A release is a heading of CHANGELOG.md, and its code is what the commit has that wrote the heading. It runs with the
packages of this version's environment.
"""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from opsapp.wire.version import VERSION

from .agent_process import EnrolledAgent
from .process import ROOT, Serve
from .waiting import patience

HEADING = re.compile(r"^## (\d+\.\d+\.\d+) \(", re.M)


class Release(NamedTuple):
    version: str
    code: Path

    @property
    def path(self):
        """The release's code, with what it says itself of its entry points, comes before this version's."""
        return {"PYTHONPATH": str(self.code)}

    def opsapp(self, *words):
        return subprocess.run(
            [sys.executable, "-m", "opsapp.cli", *map(str, words)],
            cwd=self.code,
            env={**os.environ, **self.path},
            capture_output=True,
            text=True,
            timeout=60 * patience(),
            check=False,
        )


class ReleaseServe(Serve):
    """A server of the release."""

    def __init__(self, directory, release, **more):
        super().__init__(directory, ini=release.code / "development.ini", **more)
        self.config.write_text("")  # what tests say there usually is newer
        self.release = release

    def environment(self):
        return {**super().environment(), **self.release.path}


class ReleaseAgent(EnrolledAgent):
    """An agent whose program is the release's."""

    def __init__(self, directory, serve, **more):
        super().__init__(directory, serve, **more)
        done = serve.release.opsapp("agent-file", self.program)
        assert done.returncode == 0, done.stderr


def released():
    """Versions of the change log, newest first."""
    return HEADING.findall((ROOT / "CHANGELOG.md").read_text())


def last_release(place):
    """The newest release that is not this version, with its code in `place`."""
    return release_of(next(candidate for candidate in released() if candidate != VERSION), place)


def release_of(version, place):
    """This release, with its code in `place`; skips where the history is not there."""
    lacking = f"the code of {version} is in the history, which this shallow clone or copy does not have"
    if git("rev-parse", "--is-shallow-repository") != "false":
        pytest.skip(lacking)
    commit = git("log", "--reverse", f"-S## {version} (", "--format=%H", "--", "CHANGELOG.md").partition("\n")[0]
    if f'VERSION = "{version}"' not in git("show", f"{commit}:opsapp/wire/version.py"):
        pytest.skip(lacking)  # commits were put together since
    place.mkdir(exist_ok=True)
    archive = place / "release.tar"
    git("archive", f"--output={archive}", commit)
    code = place / version
    code.mkdir(parents=True)
    subprocess.run(["tar", "-xf", archive, "-C", code], check=True)
    subprocess.run([sys.executable, "setup.py", "-q", "egg_info"], cwd=code, check=True)
    return Release(version, code)


def git(*words):
    """What git says; nothing where there is no repository."""
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip()
